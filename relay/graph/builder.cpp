#include <relay/graph/builder.h>

#include <algorithm>

#include <relay/graph/work.h>
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

/// True if no division by 0 and no pair of extents that do not broadcast can stop the arithmetic.
bool has_always_value(Dim dim) {
  if (!dim.is_term()) return true;
  const DimTerm& term = dim.term();
  switch (term.op) {
    case DimOp::kSymbol:
      return true;
    case DimOp::kValue:
    case DimOp::kBroadcast:
      return false;
    case DimOp::kLinear:
      return std::all_of(term.parts.begin(), term.parts.end(),
                         [](const DimTerm::Part& part) { return has_always_value(part.atom); });
    case DimOp::kFloorDiv:
    case DimOp::kFloorMod:
    case DimOp::kCeilDiv:
      return term.rhs.is_int() && has_always_value(term.lhs);
    case DimOp::kMul:
    case DimOp::kMin:
    case DimOp::kMax:
      return has_always_value(term.lhs) && has_always_value(term.rhs);
  }
  RELAY_UNREACHABLE("unknown operation on dimensions");
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
  return graph_.symbol(graph_.symbols.size() - 1);
}

// A term of the program over the graph's symbols, if inputs before have told all of its names and
// it has a value whatever they are.
std::optional<Dim> Builder::told_by_others(Dim term) const {
  if (term.as_symbol() != nullptr || !has_always_value(term)) return std::nullopt;
  bool known = true;
  Dim result = substitute(term, [&](Dim atom) {
    auto found = extents_.find(atom);
    known &= found != extents_.end();
    return known ? found->second : atom;
  });
  return known ? std::optional<Dim>(result) : std::nullopt;
}

uint32_t Builder::add_input(const te::TensorInfo& info, Device device) {
  auto number = static_cast<uint32_t>(graph_.tensors.size());
  Tensor tensor{Tensor::Kind::kInput, info, device, nullptr};
  for (size_t axis = 0; axis < info.dims.size(); ++axis) {
    Dim& dim = tensor.info.dims[axis];
    if (dim.is_int()) continue;
    const Dim own = new_symbol({false, number, static_cast<uint32_t>(axis)});
    const Dim stated = std::exchange(dim, own);
    if (!stated.is_term()) continue;
    // One name is one extent, and so is one term; the program has checked that, and the graph does
    // so again.
    auto [entry, added] = extents_.try_emplace(stated, own);
    if (added) {
      std::optional<Dim> told = told_by_others(stated);
      if (!told) continue;
      entry->second = *told;
    }
    dim = entry->second;
    DimText text{{"dimension " + stated.str() + " is ", " and ", ""}, {dim, own}};
    graph_.checks.push_back({dim, own, std::move(text), 0});
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
    for (const ResultDim& result : group.results) {
      node.term(result.dim);
      lost_conditions(result, [&](Dim dim) { return node.term(dim); });
    }
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
