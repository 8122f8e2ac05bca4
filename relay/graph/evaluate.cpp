#include <relay/graph/evaluate.h>

#include <functional>
#include <unordered_map>

#include <relay/support/error.h>
#include <relay/tensor_expr/evaluate.h>

namespace relay::graph {
namespace {

te::SymbolValue values_of(const std::unordered_map<Dim, int64_t>& known) {
  return [&known](const TypeVar* symbol) {
    auto found = known.find(Dim::symbol(symbol));
    RELAY_CHECK(found != known.end(), "a size that no input tells: " + symbol->name().str());
    return found->second;
  };
}

void insist(const Condition& check, const te::SymbolValue& symbols) {
  if (te::evaluate_dim(check.a, {}, symbols) == te::evaluate_dim(check.b, {}, symbols)) return;
  std::string text = check.message.pieces[0];
  for (size_t i = 0; i < check.message.dims.size(); ++i) {
    text += std::to_string(te::evaluate_dim(check.message.dims[i], {}, symbols)) +
            check.message.pieces[i + 1];
  }
  throw RuntimeError(text);
}

std::unordered_map<Dim, int64_t> sizes_of(const Work& work, std::span<const NDArray> inputs) {
  std::unordered_map<Dim, int64_t> known;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::vector<Dim>& dims = work.computation().inputs[i].dims;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (!dims[d].is_int()) known.emplace(dims[d], inputs[i].extent(d));
    }
  }
  for (const Work::Element& element : work.elements)
    known.emplace(element.symbol, inputs[element.input].element_as_int64(element.index));
  return known;
}

}  // namespace

std::vector<NDArray> evaluate(const Work& work, std::span<const NDArray> inputs, Device device) {
  std::unordered_map<Dim, int64_t> known = sizes_of(work, inputs);
  return te::evaluate(work.computation(), inputs, values_of(known), device);
}

std::vector<NDArray> evaluate(const Graph& graph, std::span<const NDArray> inputs) {
  std::vector<NDArray> values(graph.tensors.size());
  for (size_t i = 0; i < graph.inputs.size(); ++i) values[graph.inputs[i]] = inputs[i];
  for (size_t i = 0; i < values.size(); ++i) {
    if (graph.is(static_cast<uint32_t>(i), Tensor::Kind::kConstant))
      values[i] = graph.tensors[i].constant->value().array();
  }
  std::unordered_map<Dim, int64_t> known;
  for (size_t k = 0; k < graph.symbols.size(); ++k) {
    const Symbol& symbol = graph.symbols[k];
    const NDArray& array = values[symbol.tensor];
    known.emplace(graph.symbol(k), symbol.element ? array.element_as_int64(symbol.index)
                                                  : array.extent(symbol.index));
  }
  for (const Condition& check : graph.checks) insist(check, values_of(known));
  for (const Node& node : graph.nodes) {
    std::vector<NDArray> args;
    for (uint32_t input : node.inputs) args.push_back(values[input]);
    std::unordered_map<Dim, int64_t> sizes = sizes_of(*node.work, args);
    for (const Condition& check : node.work->group.checks) insist(check, values_of(sizes));
    Device device = node.outputs.empty() ? kCpu : graph.tensors[node.outputs[0]].device;
    std::vector<NDArray> results = evaluate(*node.work, args, device);
    for (size_t i = 0; i < results.size(); ++i) values[node.outputs[i]] = results[i];
  }
  std::vector<NDArray> results;
  for (uint32_t output : graph.outputs) results.push_back(values[output]);
  return results;
}

}  // namespace relay::graph
