// A product, what is computed from its results alone, and a product that reads that become one
// work, if it runs block by block: the tensors between them are never whole in memory.
#include <algorithm>
#include <map>

#include <relay/graph/join_nodes.h>
#include <relay/graph/rewrite.h>
#include <relay/tensor_expr/walk.h>

namespace relay::graph {
namespace {

/// Nodes that are looked at between two products.
constexpr size_t kMostBetween = 3;

bool is_sum_of_products(const te::ScalarNode& node) {
  return node.kind == te::ScalarKind::kFold && node.dtype.is_float() &&
         node.combiner->kind == te::Combiner::Kind::kSum &&
         node.args[0]->kind == te::ScalarKind::kBinary &&
         node.args[0]->binary == te::BinaryOp::kMul;
}

/// The facts about a work that decide if it may be joined.
struct Facts {
  bool product = false;
  bool plain = false;  // maps and views, which cannot fail; one result; no sizes from elements
};

Facts facts_of(const Work& work) {
  Facts facts;
  const te::Computation& computation = work.computation();
  facts.plain = !work.prepared && work.elements.empty() && computation.outputs.size() == 1 &&
                !computation.outputs[0].tensor.is_input();
  for (const te::Stage& stage : computation.stages) {
    facts.plain = facts.plain && (std::holds_alternative<te::Map>(stage.body) ||
                                  std::holds_alternative<te::View>(stage.body));
    for (const te::ScalarNode* node : te::post_order(te::stage_roots(stage))) {
      facts.product |= is_sum_of_products(*node);
      facts.plain = facts.plain && !te::can_fail(*node);
    }
  }
  return facts;
}

class Joiner {
 public:
  Joiner(Rewriting& program, const RewriteOptions& options)
      : joiner_(options.runs_in_blocks), graphs_(program.graphs()) {}

  bool run() {
    bool changed = false;
    for (Graph& graph : graphs_) changed = join_in(graph) || changed;
    return changed;
  }

 private:
  const Facts& facts(const WorkRef& work) {
    auto [entry, added] = facts_.try_emplace(work);
    if (added) entry->second = facts_of(*work);
    return entry->second;
  }

  bool join_in(Graph& graph) {
    uses_.assign(graph.tensors.size(), 0);
    producer_.assign(graph.tensors.size(), -1);
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      for (uint32_t input : graph.nodes[i].inputs) ++uses_[input];
      for (uint32_t output : graph.nodes[i].outputs) producer_[output] = static_cast<int64_t>(i);
    }
    for (uint32_t output : graph.outputs) uses_[output] += 2;
    removed_.assign(graph.nodes.size(), false);
    bool changed = false;
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const Facts known = facts(graph.nodes[i].work);
      if (!known.product || !known.plain) continue;
      std::vector<size_t> row{i};
      if (!find_row(graph, row)) continue;
      std::reverse(row.begin(), row.end());
      changed = join(graph, row) || changed;
    }
    if (changed) drop_nodes(graph, removed_);
    return changed;
  }

  /// The nodes back to a product, the last first: each is read by the one before it alone.
  bool find_row(const Graph& graph, std::vector<size_t>& row) {
    const Node& user = graph.nodes[row.back()];
    for (uint32_t input : user.inputs) {
      const Tensor& tensor = graph.tensors[input];
      if (tensor.kind != Tensor::Kind::kComputed || uses_[input] != 1 || tensor.place) continue;
      const auto before = static_cast<size_t>(producer_[input]);
      const Node& node = graph.nodes[before];
      const Facts known = facts(node.work);
      if (removed_[before] || !known.plain || node.outputs.size() != 1 ||
          !(tensor.device == graph.tensors[user.outputs[0]].device))
        continue;
      row.push_back(before);
      // Two products in a row have nothing between them that a block would save.
      if (known.product ? row.size() > 2 : row.size() <= kMostBetween + 1 && find_row(graph, row))
        return true;
      row.pop_back();
    }
    return false;
  }

  bool join(Graph& graph, const std::vector<size_t>& row) {
    std::optional<Node> joined = joiner_.join(graph, row, graph.nodes[row.back()].outputs);
    if (!joined) return false;
    facts_[joined->work] = Facts();  // it has its two products, and is no end of another
    for (size_t k = 0; k + 1 < row.size(); ++k) removed_[row[k]] = true;
    graph.nodes[row.back()] = std::move(*joined);
    return true;
  }

  NodeJoiner joiner_;
  std::span<Graph> graphs_;
  std::map<WorkRef, Facts> facts_;
  std::vector<uint32_t> uses_;     // of each tensor
  std::vector<int64_t> producer_;  // the same: a node, or -1
  std::vector<bool> removed_;      // nodes
};

}  // namespace

bool join_products(Rewriting& program) {
  if (!program.options().runs_in_blocks) return false;
  return Joiner(program, program.options()).run();
}

}  // namespace relay::graph
