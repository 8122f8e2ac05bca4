#include <relay/graph/join_nodes.h>

#include <algorithm>

#include <relay/graph/append_stages.h>
#include <relay/graph/builder.h>
#include <relay/graph/work.h>
#include <relay/tensor_expr/origin.h>

namespace relay::graph {
namespace {

size_t number_of(Dim symbol) {
  size_t k = 0;
  while (!(work_symbol(k) == symbol)) ++k;
  return k;
}

std::vector<std::string> texts(const std::vector<std::vector<Dim>>& lists) {
  std::vector<std::string> result;
  for (const std::vector<Dim>& list : lists) {
    result.emplace_back();
    for (Dim dim : list) result.back() += dim.str() + ",";
  }
  return result;
}

// The parts of a group beside its stages, behind those of nodes with so many origins.
void append_rest(Group& into, Group part, uint32_t origins) {
  auto moved = [&](uint32_t origin) { return origin == 0 ? 0 : origin + origins; };
  for (Condition& check : part.checks) {
    check.origin = moved(check.origin);
    into.checks.push_back(std::move(check));
  }
  for (auto& [shape, origin] : part.shapes)
    into.shapes.emplace_back(std::move(shape), moved(origin));
  for (ResultDim& result : part.results) {
    result.origin = moved(result.origin);
    into.results.push_back(std::move(result));
  }
}

}  // namespace

std::optional<Node> NodeJoiner::join(const Graph& graph, std::span<const size_t> nodes,
                                     std::vector<uint32_t> outputs) {
  Node node;
  Plan plan;
  WorkSizes sizes;
  std::map<uint32_t, Source> made;
  for (size_t k = 0; k < nodes.size(); ++k) {
    const Node& each = graph.nodes[nodes[k]];
    plan.works.push_back(each.work);
    plan.num_origins.push_back(static_cast<uint32_t>(each.origins.size()));
    node.origins.insert(node.origins.end(), each.origins.begin(), each.origins.end());
    std::vector<Source>& sources = plan.sources.emplace_back();
    for (uint32_t input : each.inputs) {
      if (auto inside = made.find(input); inside != made.end()) {
        sources.push_back(inside->second);
        continue;
      }
      auto known = std::find(node.inputs.begin(), node.inputs.end(), input);
      sources.push_back({Source::kInput, static_cast<size_t>(known - node.inputs.begin())});
      if (known != node.inputs.end()) continue;
      node.inputs.push_back(input);
      te::TensorInfo& info = plan.inputs.emplace_back(graph.tensors[input].info);
      for (Dim& dim : info.dims) dim = sizes(dim);
    }
    for (size_t i = 0; i < each.outputs.size(); ++i) made[each.outputs[i]] = {k, i};
  }
  // Extents of nodes in terms of the joined work's symbols, which are those of its inputs.
  const size_t known = sizes.terms.size();
  for (size_t each : nodes) {
    std::vector<Dim>& terms = plan.terms.emplace_back();
    for (Dim term : graph.nodes[each].terms) terms.push_back(sizes(term));
  }
  if (sizes.terms.size() != known) return std::nullopt;
  for (uint32_t output : outputs) plan.results.push_back(made.at(output));
  std::vector<std::vector<Dim>> extents;
  for (const te::TensorInfo& info : plan.inputs) extents.push_back(info.dims);
  auto [entry, added] = joined_.try_emplace(
      Key{plan.works, plan.sources, plan.results, texts(plan.terms), texts(extents)});
  if (added) entry->second = joined(plan);
  if (entry->second == nullptr) return std::nullopt;
  node.work = entry->second;
  node.terms = std::move(sizes.terms);
  node.outputs = std::move(outputs);
  node.position = graph.nodes[nodes.back()].position;
  return node;
}

WorkRef NodeJoiner::joined(const Plan& plan) const {
  auto work = std::make_shared<Work>();
  Group& group = work->group;
  te::Computation& computation = group.computation;
  computation.inputs = plan.inputs;
  std::vector<std::vector<te::Output>> results;
  uint32_t origins = 0;
  for (size_t k = 0; k < plan.works.size(); ++k) {
    const Work& each = *plan.works[k];
    Group part = each.group;
    substitute_dims(part, [&](Dim atom) -> Dim {
      for (size_t s = 0; s < plan.terms[k].size(); ++s)
        if (atom == each.symbol(s)) return plan.terms[k][s];
      return atom;
    });
    Operands operands;
    for (const Source& source : plan.sources[k]) {
      operands.constants.emplace_back();
      if (source.node != Source::kInput) {
        operands.tensors.push_back(results[source.node][source.number]);
      } else {
        const te::TensorId id{-1, static_cast<int32_t>(source.number)};
        operands.tensors.push_back({id, computation.inputs[source.number].dims});
      }
    }
    for (te::Stage& stage : part.computation.stages)
      te::renumber_origins(stage, [&](uint32_t origin) { return origin + origins; });
    results.push_back(append_stages(computation, std::move(part.computation), operands, 0, {}));
    append_rest(group, std::move(part), origins);
    origins += plan.num_origins[k];
    work->name += (k == 0 ? "" : "_") + each.name;
    work->source += (k == 0 ? "" : "\n") + each.source;
  }
  for (const Source& source : plan.results)
    computation.outputs.push_back(results[source.node][source.number]);
  for (const te::TensorInfo& input : computation.inputs) {
    for (Dim dim : input.dims) {
      if (!dim.is_int()) work->num_symbols = std::max(work->num_symbols, number_of(dim) + 1);
    }
  }
  computation.verify();
  return !wanted_ || wanted_(computation) ? work : nullptr;
}

void drop_nodes(Graph& graph, const std::vector<bool>& removed) {
  std::vector<Node> nodes;
  std::vector<bool> gone(graph.tensors.size());
  for (size_t t = 0; t < graph.tensors.size(); ++t)
    gone[t] = graph.tensors[t].kind == Tensor::Kind::kComputed;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (removed[i]) continue;
    for (uint32_t output : graph.nodes[i].outputs) gone[output] = false;
    nodes.push_back(std::move(graph.nodes[i]));
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

}  // namespace relay::graph
