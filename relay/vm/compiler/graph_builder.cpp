#include <relay/vm/compiler/graph_builder.h>

#include <algorithm>

#include <relay/support/error.h>
#include <relay/vm/compiler/in_place.h>

namespace relay::vm {
namespace {

// Symbols of a group replaced by what they are in a graph.
Dim in_graph(Dim dim, const std::unordered_map<Dim, Dim>& terms) {
  return substitute(dim, [&](Dim atom) {
    auto found = terms.find(atom);
    return found == terms.end() ? atom : found->second;
  });
}

}  // namespace

Dim GraphBuilder::new_symbol(Symbol symbol) {
  Dim dim = graph_symbol(symbols_.size());
  symbol_number_[dim] = symbols_.size();
  symbols_.push_back(symbol);
  return dim;
}

uint32_t GraphBuilder::add_input(const te::TensorInfo& info, Device device) {
  auto number = static_cast<uint32_t>(tensors_.size());
  Tensor tensor;
  tensor.info = info;
  std::vector<std::pair<const TypeVar*, Dim>> again;  // names that have an extent already
  for (size_t axis = 0; axis < info.dims.size(); ++axis) {
    Dim& dim = tensor.info.dims[axis];
    if (dim.is_int()) continue;
    const TypeVar* name = dim.as_symbol();
    dim = new_symbol({false, number, static_cast<uint32_t>(axis)});
    if (name == nullptr) continue;
    // One name is one extent; the program has checked that, and the graph does so again.
    auto [entry, added] = named_.try_emplace(name, dim);
    if (added) continue;
    again.emplace_back(name, dim);
    dim = entry->second;
  }
  tensor.input = static_cast<uint32_t>(inputs_.size());
  tensor.place.dtype = info.dtype;
  tensor.place.device = device;
  tensors_.push_back(std::move(tensor));
  inputs_.push_back(number);
  for (const auto& [name, dim] : again) {
    Dim before = named_.at(name);
    DimText text{{"dimension " + name->name().str() + " is ", " and ", ""}, {before, dim}};
    checks_.push_back({before, dim, size_text(text, {}), 0});
  }
  return number;
}

uint32_t GraphBuilder::add_constant(const te::TensorInfo& info, uint32_t constant, Device device) {
  Tensor tensor;
  tensor.info = info;
  tensor.place.dtype = info.dtype;
  tensor.place.constant = constant;
  tensor.place.device = device;
  tensors_.push_back(std::move(tensor));
  return static_cast<uint32_t>(tensors_.size() - 1);
}

bool GraphBuilder::lies_elsewhere(uint32_t tensor, Device device) const {
  while (tensors_[tensor].place.alias != kNone) tensor = tensors_[tensor].place.alias;
  const Tensor& root = tensors_[tensor];
  return !root.info.dims.empty() && !(root.place.device == device);
}

Dim GraphBuilder::Canonical::operator()(Dim dim) {
  if (dim.is_int()) return dim;
  auto [entry, added] = symbol_of.try_emplace(dim);
  if (added) {
    entry->second = canonical_symbol(actual.size());
    actual.push_back(dim);
  }
  return entry->second;
}

std::vector<uint32_t> GraphBuilder::add_group(CompiledGroup& group, const Canonical& canonical,
                                              std::span<const uint32_t> args, Device device,
                                              uint32_t position, std::vector<uint32_t> origins) {
  groups_.lower(group);
  Terms terms;
  for (size_t k = 0; k < canonical.actual.size(); ++k)
    terms[canonical_symbol(k)] = canonical.actual[k];
  for (const CompiledGroup::Element& element : group.elements) {
    uint32_t arg = args[element.input];
    Dim dim;
    if (is_constant(arg)) {
      const Value& value = executable_.constants[tensors_[arg].place.constant];
      dim = Dim(value.array().element_as_int64(element.index));
    } else {
      RELAY_CHECK(is_input(arg), "a size read from what the graph computes");
      dim = new_symbol({true, arg, element.index});
    }
    terms[element.symbol] = dim;
  }
  auto term = [&](Dim dim) { return in_graph(dim, terms); };
  auto position_of = [&](uint32_t origin) {
    uint32_t own = origin == 0 || origin > origins.size() ? 0 : origins[origin - 1];
    return own == 0 ? position : own;
  };
  add_results(group, terms, position_of);

  const lower::Lowered& lowered = group.lowered;
  std::vector<uint32_t> tensor_of;
  for (size_t i = 0; i < lowered.places.size(); ++i) {
    const lower::Place& place = lowered.places[i];
    if (i < lowered.num_inputs) {
      tensor_of.push_back(args[i]);
      continue;
    }
    Tensor tensor;
    tensor.place.dtype = tensor.info.dtype = place.info.dtype;
    tensor.place.position = position;
    tensor.place.device = device;
    for (Dim dim : place.info.dims) tensor.info.dims.push_back(term(dim));
    for (const auto& [dims, origin] : group.group.shapes) {
      if (dims != place.info.dims) continue;
      tensor.place.position = position_of(origin);
      break;
    }
    tensors_.push_back(std::move(tensor));
    tensor_of.push_back(static_cast<uint32_t>(tensors_.size() - 1));
  }
  for (size_t i = lowered.num_inputs; i < lowered.places.size(); ++i) {
    if (lowered.places[i].alias >= 0)
      tensors_[tensor_of[i]].place.alias = tensor_of[static_cast<size_t>(lowered.places[i].alias)];
  }
  auto check = [&](const lower::Condition& made) {
    Dim a = term(made.a), b = term(made.b);
    if (dims_equal(a, b) == Truth::kYes) return;
    // Before anything else that large sizes may make impossible.
    dim_slot(a, graph_);
    dim_slot(b, graph_);
    graph_.dim_positions.resize(graph_.dims.size(), position_of(made.origin));
    checks_.push_back({a, b, size_text(made.message, terms), position_of(made.origin)});
  };
  for (const auto& made : group.group.checks) check(made);

  for (const auto& made : lowered.launches) {
    Launch launch;
    launch.position = position;
    launch.origins = origins;
    LaunchDims dims;
    if (const auto* native = std::get_if<lower::Launch>(&made)) {
      const lower::Kernel& kernel = *lowered.kernels[native->kernel];
      launch.kernel = group.kernels[native->kernel];
      size_t next = 0;
      std::vector<uint32_t> argument_of;  // of each buffer
      for (const lower::Buffer& buffer : kernel.buffers()) {
        argument_of.push_back(static_cast<uint32_t>(launch.arguments.size()));
        if (buffer.role == lower::Buffer::Role::kScratch) continue;
        launch.arguments.push_back({tensor_of[static_cast<size_t>(native->buffers[next++])],
                                    buffer.role == lower::Buffer::Role::kOutput});
      }
      for (auto [written, read] : in_place_buffers(kernel)) {
        launch.in_place.emplace_back(argument_of[static_cast<size_t>(written)],
                                     argument_of[static_cast<size_t>(read)]);
      }
      for (Dim dim : kernel.dim_args) dims.dims.push_back(term(dim));
      dims.flops = term(kernel.flops);
      dims.bytes = term(kernel.bytes);
      PendingScratch pending;
      pending.launch = static_cast<uint32_t>(graph_.launches.size());
      pending.kernel = launch.kernel;
      pending.terms = terms;
      scratch_.push_back(std::move(pending));
    } else {
      const auto& library = std::get<lower::LibraryLaunch>(made);
      launch.kernel = groups_.library(library, group);
      launch.params = library.params;
      launch.position = position_of(library.origin);
      for (int32_t place : library.inputs)
        launch.arguments.push_back({tensor_of[static_cast<size_t>(place)], false});
      for (int32_t place : library.outputs)
        launch.arguments.push_back({tensor_of[static_cast<size_t>(place)], true});
    }
    graph_.launches.push_back(std::move(launch));
    launch_dims_.push_back(std::move(dims));
  }
  std::vector<uint32_t> results;
  for (int32_t place : lowered.outputs) results.push_back(tensor_of[static_cast<size_t>(place)]);
  return results;
}

SizeText GraphBuilder::size_text(const DimText& text, const Terms& terms) {
  SizeText result;
  result.pieces = text.pieces;
  for (Dim dim : text.dims)
    result.slots.push_back(text_program_.slot(in_graph(dim, terms), graph_.text_dims));
  return result;
}

// Code for the extents of a group's results, operator by operator, so that each piece of it has
// the position of the operator that wants it first.
void GraphBuilder::add_results(const CompiledGroup& group, const Terms& terms,
                               const std::function<uint32_t(uint32_t)>& position_of) {
  for (const lower::ResultDim& made : group.group.results) {
    Dim dim = in_graph(made.dim, terms);
    auto first = static_cast<uint32_t>(graph_.dims.size());
    uint32_t slot = dim_slot(dim, graph_);
    graph_.dim_positions.resize(graph_.dims.size(), position_of(made.origin));
    if (!made.message || !dim.is_term()) continue;
    // What is broadcast may have failed for a reason of its own.
    if (first > slot || dim.term().op == DimOp::kBroadcast) first = slot;
    graph_.failures.push_back(
        {first, slot, made.division, size_text(*made.message, terms), position_of(made.origin)});
  }
}

DimInstruction GraphBuilder::source(Dim atom) {
  auto found = symbol_number_.find(atom);
  RELAY_CHECK(found != symbol_number_.end(), "a size that the graph does not know: " + atom.str());
  const Symbol& symbol = symbols_[found->second];
  return {symbol.element ? DimCode::kElement : DimCode::kExtent, tensors_[symbol.tensor].input,
          symbol.index, 0};
}

Graph GraphBuilder::finish(std::span<const uint32_t> outputs, std::string name) {
  Graph& graph = graph_;
  graph.name = std::move(name);
  graph.num_inputs = static_cast<uint32_t>(inputs_.size());
  // Inputs come first.
  std::vector<uint32_t> place_of(tensors_.size());
  std::vector<uint32_t> order = inputs_;
  for (uint32_t i = 0; i < tensors_.size(); ++i) {
    if (!is_input(i)) order.push_back(i);
  }
  for (uint32_t i = 0; i < order.size(); ++i) place_of[order[i]] = i;
  for (uint32_t tensor : order) {
    Place place = tensors_[tensor].place;
    if (place.alias != kNone) place.alias = place_of[place.alias];
    for (Dim dim : tensors_[tensor].info.dims)
      place.extents.push_back(dim.is_any() ? kNone : dim_slot(dim, graph));
    graph.places.push_back(std::move(place));
  }
  for (size_t i = 0; i < graph.launches.size(); ++i) {
    Launch& launch = graph.launches[i];
    for (Launch::Argument& argument : launch.arguments) argument.place = place_of[argument.place];
    for (Dim dim : launch_dims_[i].dims) launch.dims.push_back(dim_slot(dim, graph));
    if (executable_.kernels[launch.kernel].library.empty()) {
      launch.flops = dim_slot(launch_dims_[i].flops, graph);
      launch.bytes = dim_slot(launch_dims_[i].bytes, graph);
    }
  }
  for (const Check& check : checks_) {
    uint32_t a = dim_slot(check.a, graph);
    graph.checks.push_back({a, dim_slot(check.b, graph), check.message, check.position});
  }
  for (uint32_t tensor : outputs) graph.outputs.push_back(place_of[tensor]);
  return std::move(graph_);
}

uint32_t GraphBuilder::scratch_slot(const PendingScratch& pending, Dim bytes, Graph& graph) {
  return dim_slot(substitute(bytes,
                             [&](Dim atom) {
                               auto found = pending.terms.find(atom);
                               return found == pending.terms.end() ? atom : found->second;
                             }),
                  graph);
}

}  // namespace relay::vm
