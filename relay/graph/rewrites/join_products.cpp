// A product, what is computed from its results alone, and a product that reads that become one
// work, if it runs block by block: the tensors between them are never whole in memory.
#include <algorithm>
#include <map>

#include <relay/graph/append_stages.h>
#include <relay/graph/builder.h>
#include <relay/graph/rewrite.h>
#include <relay/graph/work.h>
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
      : pays_(options.runs_in_blocks), graphs_(program.graphs()) {}

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
    if (changed) drop_removed(graph);
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

  /// Where an input of a node in a row comes from: a node before it, or an input of all, by number.
  struct Source {
    bool inside;
    size_t number;
    auto operator<=>(const Source&) const = default;
  };
  bool join(Graph& graph, const std::vector<size_t>& row) {
    std::vector<uint32_t> inputs;
    WorkSizes sizes;
    std::vector<te::TensorInfo> infos;
    std::vector<std::vector<Source>> sources;
    for (size_t k = 0; k < row.size(); ++k) {
      sources.emplace_back();
      for (uint32_t input : graph.nodes[row[k]].inputs) {
        auto inside =
            std::find_if(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(k),
                         [&](size_t before) { return graph.nodes[before].outputs[0] == input; });
        if (inside != row.begin() + static_cast<std::ptrdiff_t>(k)) {
          sources.back().push_back({true, static_cast<size_t>(inside - row.begin())});
          continue;
        }
        auto known = std::find(inputs.begin(), inputs.end(), input);
        sources.back().push_back({false, static_cast<size_t>(known - inputs.begin())});
        if (known != inputs.end()) continue;
        inputs.push_back(input);
        infos.push_back(graph.tensors[input].info);
        for (Dim& dim : infos.back().dims) dim = sizes(dim);
      }
    }
    // Extents of nodes in terms of the joined work's symbols, which are those of its inputs.
    std::vector<std::vector<Dim>> terms;
    const size_t known = sizes.terms.size();
    for (size_t node : row) {
      terms.emplace_back();
      for (Dim term : graph.nodes[node].terms) terms.back().push_back(sizes(term));
    }
    if (sizes.terms.size() != known) return false;
    std::vector<WorkRef> works;
    for (size_t node : row) works.push_back(graph.nodes[node].work);
    std::vector<std::vector<Dim>> extents;
    for (const te::TensorInfo& info : infos) extents.push_back(info.dims);
    auto [entry, added] = joined_.try_emplace(Key{works, sources, texts(terms), texts(extents)});
    if (added) entry->second = joined(graph, row, sources, terms, std::move(infos));
    if (entry->second == nullptr) return false;
    facts_[entry->second] = Facts();  // it has its two products, and is no end of another

    Node& last = graph.nodes[row.back()];
    std::vector<uint32_t> origins;
    for (size_t node : row) {
      const std::vector<uint32_t>& own = graph.nodes[node].origins;
      origins.insert(origins.end(), own.begin(), own.end());
    }
    for (size_t k = 0; k + 1 < row.size(); ++k) removed_[row[k]] = true;
    last.work = entry->second;
    last.inputs = std::move(inputs);
    last.terms = std::move(sizes.terms);
    last.origins = std::move(origins);
    return true;
  }

  WorkRef joined(const Graph& graph, const std::vector<size_t>& row,
                 const std::vector<std::vector<Source>>& sources,
                 const std::vector<std::vector<Dim>>& terms, std::vector<te::TensorInfo> inputs) {
    auto work = std::make_shared<Work>();
    Group& group = work->group;
    te::Computation& computation = group.computation;
    computation.inputs = std::move(inputs);
    std::vector<te::Output> results;
    uint32_t origins = 0;
    for (size_t k = 0; k < row.size(); ++k) {
      const Node& node = graph.nodes[row[k]];
      Group part = node.work->group;
      substitute_dims(part, [&](Dim atom) -> Dim {
        for (size_t s = 0; s < terms[k].size(); ++s)
          if (atom == work_symbol(s)) return terms[k][s];
        return atom;
      });
      Operands operands;
      for (const Source& source : sources[k]) {
        operands.constants.emplace_back();
        if (source.inside) {
          operands.tensors.push_back(results[source.number]);
        } else {
          const TensorId id{-1, static_cast<int32_t>(source.number)};
          operands.tensors.push_back({id, computation.inputs[source.number].dims});
        }
      }
      results.push_back(
          append_stages(computation, std::move(part.computation), operands, 0, {})[0]);
      for (Condition& check : part.checks) {
        if (check.origin != 0) check.origin += origins;
        group.checks.push_back(std::move(check));
      }
      for (auto& [shape, origin] : part.shapes)
        group.shapes.emplace_back(std::move(shape), origin == 0 ? 0 : origin + origins);
      if (k + 1 == row.size()) {
        group.results = std::move(part.results);
        for (ResultDim& result : group.results)
          if (result.origin != 0) result.origin += origins;
      }
      origins += static_cast<uint32_t>(node.origins.size());
      work->name += (k == 0 ? "" : "_") + node.work->name;
      work->source += (k == 0 ? "" : "\n") + node.work->source;
    }
    computation.outputs = {results.back()};
    for (const te::TensorInfo& input : computation.inputs) {
      for (Dim dim : input.dims) {
        if (!dim.is_int()) work->num_symbols = std::max(work->num_symbols, number_of(dim) + 1);
      }
    }
    computation.verify();
    return pays_(computation) ? work : nullptr;
  }

  static size_t number_of(Dim symbol) {
    size_t k = 0;
    while (!(work_symbol(k) == symbol)) ++k;
    return k;
  }

  static std::vector<std::string> texts(const std::vector<std::vector<Dim>>& lists) {
    std::vector<std::string> result;
    for (const std::vector<Dim>& list : lists) {
      result.emplace_back();
      for (Dim dim : list) result.back() += dim.str() + ",";
    }
    return result;
  }

  void drop_removed(Graph& graph) const {
    std::vector<Node> nodes;
    std::vector<bool> gone(graph.tensors.size());
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      if (!removed_[i]) {
        nodes.push_back(std::move(graph.nodes[i]));
      } else {
        for (uint32_t output : graph.nodes[i].outputs) gone[output] = true;
      }
    }
    std::vector<uint32_t> number(graph.tensors.size());
    std::vector<Tensor> tensors;
    for (size_t t = 0; t < graph.tensors.size(); ++t) {
      number[t] = static_cast<uint32_t>(tensors.size());
      if (!gone[t]) tensors.push_back(std::move(graph.tensors[t]));
    }
    graph.nodes = std::move(nodes);
    graph.tensors = std::move(tensors);
    auto move = [&](std::vector<uint32_t>& list) {
      for (uint32_t& tensor : list) tensor = number[tensor];
    };
    for (Node& node : graph.nodes) {
      move(node.inputs);
      move(node.outputs);
    }
    move(graph.inputs);
    move(graph.outputs);
    for (Symbol& symbol : graph.symbols) symbol.tensor = number[symbol.tensor];
    for (Tensor& tensor : graph.tensors) {
      if (tensor.place) tensor.place->whole = number[tensor.place->whole];
    }
  }

  using TensorId = te::TensorId;
  using Key = std::tuple<std::vector<WorkRef>, std::vector<std::vector<Source>>,
                         std::vector<std::string>, std::vector<std::string>>;
  const std::function<bool(const te::Computation&)>& pays_;
  std::span<Graph> graphs_;
  std::map<WorkRef, Facts> facts_;
  std::map<Key, WorkRef> joined_;
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
