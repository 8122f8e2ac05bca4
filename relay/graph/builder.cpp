#include <relay/graph/builder.h>

#include <relay/support/error.h>

namespace relay::graph {
namespace {

/// The input whose memory an output is a view of.
std::optional<uint32_t> viewed_input(const te::Computation& computation, uint32_t output) {
  te::TensorId id = computation.outputs[output].tensor;
  while (!id.is_input()) {
    const auto* view =
        std::get_if<te::View>(&computation.stages[static_cast<size_t>(id.stage)].body);
    if (view == nullptr) return std::nullopt;
    id = view->source;
  }
  return static_cast<uint32_t>(id.index);
}

}  // namespace

Dim WorkSizes::operator()(Dim dim) {
  if (dim.is_int()) return dim;
  auto [entry, added] = symbol_of_.try_emplace(dim);
  if (added) {
    entry->second = work_symbol(terms.size());
    terms.push_back(dim);
  }
  return entry->second;
}

Dim Builder::new_symbol(Symbol symbol) {
  graph_.symbols.push_back(symbol);
  return graph_symbol(graph_.symbols.size() - 1);
}

uint32_t Builder::add_input(const te::TensorInfo& info, Device device) {
  auto number = static_cast<uint32_t>(graph_.tensors.size());
  Tensor tensor{Tensor::Kind::kInput, info, device, nullptr};
  for (size_t axis = 0; axis < info.dims.size(); ++axis) {
    Dim& dim = tensor.info.dims[axis];
    if (dim.is_int()) continue;
    const TypeVar* name = dim.as_symbol();
    dim = new_symbol({false, number, static_cast<uint32_t>(axis)});
    if (name == nullptr) continue;
    // One name is one extent; the program has checked that, and the graph does so again.
    auto [entry, added] = named_.try_emplace(name, dim);
    if (added) continue;
    DimText text{{"dimension " + name->name().str() + " is ", " and ", ""}, {entry->second, dim}};
    graph_.checks.push_back({entry->second, dim, std::move(text), 0});
    dim = entry->second;
  }
  graph_.tensors.push_back(std::move(tensor));
  producer_.emplace_back();
  graph_.inputs.push_back(number);
  return number;
}

uint32_t Builder::add_constant(const te::TensorInfo& info, ConstantRef constant, Device device) {
  graph_.tensors.push_back({Tensor::Kind::kConstant, info, device, std::move(constant)});
  producer_.emplace_back();
  return static_cast<uint32_t>(graph_.tensors.size() - 1);
}

bool Builder::known_before(uint32_t tensor) const {
  return !graph_.is(tensor, Tensor::Kind::kComputed);
}

bool Builder::lies_elsewhere(uint32_t tensor, Device device) const {
  while (graph_.is(tensor, Tensor::Kind::kComputed)) {
    auto [number, output] = producer_[tensor];
    const Node& node = graph_.nodes[number];
    std::optional<uint32_t> input = viewed_input(node.work->computation(), output);
    if (!input) break;
    tensor = node.inputs[*input];
  }
  const Tensor& root = graph_.tensors[tensor];
  return !root.info.dims.empty() && !(root.device == device);
}

std::vector<uint32_t> Builder::add_node(WorkRef work, const WorkSizes& sizes,
                                        std::span<const uint32_t> inputs, Device device,
                                        uint32_t position, std::vector<uint32_t> origins) {
  Node node;
  node.work = std::move(work);
  node.terms = sizes.terms;
  node.inputs.assign(inputs.begin(), inputs.end());
  node.position = position;
  node.origins = std::move(origins);
  size_t symbols = graph_.symbols.size();
  std::vector<Tensor> outputs;
  try {
    for (const Work::Element& element : node.work->elements) {
      uint32_t input = inputs[element.input];
      RELAY_CHECK(known_before(input), "a size read from what the graph computes");
      if (graph_.is(input, Tensor::Kind::kConstant)) {
        const Value& value = graph_.tensors[input].constant->value();
        node.terms.emplace_back(value.array().element_as_int64(element.index));
      } else {
        node.terms.push_back(new_symbol({true, input, element.index}));
      }
    }
    const Group& group = node.work->group;
    for (const te::Output& output : group.computation.outputs) {
      Tensor tensor;
      tensor.device = device;
      tensor.info.dtype = group.computation.info(output.tensor).dtype;
      for (Dim dim : output.dims) tensor.info.dims.push_back(node.term(dim));
      outputs.push_back(std::move(tensor));
    }
    // Refuses sizes that are no terms of the graph now, not when the graph is compiled.
    for (const ResultDim& result : group.results) node.term(result.dim);
    for (const Condition& check : group.checks) {
      node.term(check.a);
      node.term(check.b);
    }
  } catch (...) {
    graph_.symbols.resize(symbols);
    throw;
  }
  for (Tensor& tensor : outputs) {
    node.outputs.push_back(static_cast<uint32_t>(graph_.tensors.size()));
    producer_.emplace_back(graph_.nodes.size(), node.outputs.size() - 1);
    graph_.tensors.push_back(std::move(tensor));
  }
  graph_.nodes.push_back(std::move(node));
  return graph_.nodes.back().outputs;
}

Graph Builder::finish(std::span<const uint32_t> outputs, std::string name) {
  graph_.outputs.assign(outputs.begin(), outputs.end());
  graph_.name = std::move(name);
  return std::move(graph_);
}

}  // namespace relay::graph
