// Works that go through the same rows become one work if its kernel keeps a row near while it adds
// it up and computes with the sums: the norm of a channel and its gradient go through memory once.
#include <algorithm>
#include <map>

#include <relay/graph/rewrite.h>
#include <relay/graph/units.h>
#include <relay/tensor_expr/walk.h>

namespace relay::graph {
namespace {

constexpr size_t kMostRowTensors = 24;
/// Nodes of the expressions of a work.
constexpr size_t kMostRowSteps = 400;
/// Tensors with so few elements are not worth a look.
constexpr int64_t kFewElements = int64_t{1} << 15;

/// The facts about a work that decide if it may be joined.
struct RowFacts {
  bool plain = false;  // maps and views, which cannot fail, of known extents
  bool folds = false;
  size_t steps = 0;
};

RowFacts row_facts_of(const Work& work) {
  RowFacts facts;
  const te::Computation& computation = work.computation();
  facts.plain = !work.prepared && work.elements.empty() && work.num_symbols == 0;
  for (const te::Output& output : computation.outputs)
    facts.plain = facts.plain && !output.tensor.is_input();
  for (const te::Stage& stage : computation.stages) {
    facts.plain = facts.plain && (std::holds_alternative<te::Map>(stage.body) ||
                                  std::holds_alternative<te::View>(stage.body));
    for (const te::ScalarNode* node : te::post_order(te::stage_roots(stage))) {
      ++facts.steps;
      facts.folds |= node->kind == te::ScalarKind::kFold;
      facts.plain = facts.plain && !te::can_fail(*node);
    }
  }
  return facts;
}

/// Joins nodes of one graph.
class RowJoiner {
 public:
  RowJoiner(Graph& graph, NodeJoiner& joiner, std::map<WorkRef, RowFacts>& facts,
            size_t most_operators)
      : graph_(graph),
        joiner_(joiner),
        facts_(facts),
        most_operators_(most_operators),
        units_(graph) {}

  bool run() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      // What could not be joined may be, once another part of its row is there.
      while (joins(i) && join_with_some(i)) {
      }
    }
    return units_.write(joiner_);
  }

 private:
  const RowFacts& facts(size_t node) {
    const WorkRef& work = graph_.nodes[node].work;
    auto [entry, added] = facts_.try_emplace(work);
    if (added) entry->second = row_facts_of(*work);
    return entry->second;
  }

  bool joins(size_t node) { return facts(node).plain && !units_.is_placed(node); }

  bool is_large(uint32_t tensor) const {
    const Dim count = product(graph_.tensors[tensor].info.dims);
    return count.is_int() && count.as_int() >= kFewElements;
  }

  Device device_of(size_t node) const {
    return graph_.tensors[graph_.nodes[node].outputs[0]].device;
  }

  // Joins the unit of a node with that of a node that makes what it reads.
  bool join_with_some(size_t node) {
    const std::vector<size_t> own = units_.nodes(units_.of(node));
    for (size_t each : own) {
      for (uint32_t input : graph_.nodes[each].inputs) {
        const size_t maker = units_.producer(input);
        if (maker == Units::kNone || units_.of(maker) == units_.of(node) || !joins(maker)) continue;
        if (device_of(maker) == device_of(node) && try_join(units_.of(maker), units_.of(node)))
          return true;
      }
    }
    return false;
  }

  bool try_join(size_t a, size_t b) {
    const size_t both[] = {a, b};
    bool folds = false;
    size_t steps = 0;
    size_t operators = 0;
    std::vector<size_t> nodes;
    for (size_t unit : both) {
      for (size_t node : units_.nodes(unit)) {
        nodes.push_back(node);
        folds |= facts(node).folds;
        steps += facts(node).steps;
        operators += std::max<size_t>(graph_.nodes[node].origins.size(), 1);
      }
    }
    const std::vector<uint32_t> tensors = units_.tensors(both);
    if (!folds || steps > kMostRowSteps || operators > most_operators_ ||
        tensors.size() > kMostRowTensors || !share_large(a, b) || units_.leads_to(a, b) ||
        units_.leads_to(b, a))
      return false;
    std::sort(nodes.begin(), nodes.end());
    if (!joiner_.join(graph_, nodes, units_.results(both))) return false;
    units_.join(a, b);
    return true;
  }

  // True if both go through a large tensor, which one of them may make, or if one of them computes
  // with sums alone, which the next one wants.
  bool share_large(size_t a, size_t b) const {
    const std::vector<uint32_t> of_a = units_.tensors({&a, 1}), of_b = units_.tensors({&b, 1});
    auto large = [&](uint32_t tensor) { return is_large(tensor); };
    if (std::none_of(of_a.begin(), of_a.end(), large) !=
        std::none_of(of_b.begin(), of_b.end(), large))
      return true;
    return std::any_of(of_a.begin(), of_a.end(), [&](uint32_t tensor) {
      return is_large(tensor) && std::binary_search(of_b.begin(), of_b.end(), tensor);
    });
  }

  Graph& graph_;
  NodeJoiner& joiner_;
  std::map<WorkRef, RowFacts>& facts_;
  const size_t most_operators_;
  Units units_;
};

}  // namespace

bool join_rows(Rewriting& program) {
  if (!program.options().runs_by_rows) return false;
  NodeJoiner joiner(program.options().runs_by_rows);
  std::map<WorkRef, RowFacts> facts;
  bool changed = false;
  for (Graph& graph : program.graphs())
    changed = RowJoiner(graph, joiner, facts, program.options().most_operators).run() || changed;
  return changed;
}

}  // namespace relay::graph
