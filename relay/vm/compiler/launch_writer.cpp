#include <relay/vm/compiler/launch_writer.h>

#include <algorithm>

#include <relay/graph/work.h>
#include <relay/ir/dim_error.h>
#include <relay/lower/in_place.h>
#include <relay/support/error.h>

namespace relay::vm {

LaunchWriter::LaunchWriter(const graph::Graph& graph, KernelTable& kernels, ConstantNumber constant)
    : graph_(graph),
      kernels_(kernels),
      constant_(std::move(constant)),
      program_([this](Dim atom) { return source(atom); }),
      text_program_([this](Dim atom) { return source(atom); }) {
  for (size_t k = 0; k < graph.symbols.size(); ++k) symbol_number_[graph.symbol(k)] = k;
}

DimInstruction LaunchWriter::source(Dim atom) const {
  auto found = symbol_number_.find(atom);
  RELAY_CHECK(found != symbol_number_.end(), "a size that the graph does not know: " + atom.str());
  const graph::Symbol& symbol = graph_.symbols[found->second];
  return {symbol.element ? DimCode::kElement : DimCode::kExtent, place_of_[symbol.tensor],
          symbol.index, 0};
}

SizeText LaunchWriter::size_text(const DimText& text, const graph::Node* node) {
  SizeText result;
  result.pieces = text.pieces;
  for (Dim dim : text.dims) {
    result.slots.push_back(
        text_program_.slot(node == nullptr ? dim : node->term(dim), written_.text_dims));
  }
  return result;
}

// A term of a kernel's work; `?` if it is too complex over the graph's sizes. Results do not depend
// on it.
Dim LaunchWriter::estimate(const graph::Node& node, Dim dim) {
  try {
    return node.term(dim);
  } catch (const DimSizeError&) {
    return Dim::any();
  }
}

Graph LaunchWriter::write() {
  written_.name = graph_.name;
  written_.num_inputs = static_cast<uint32_t>(graph_.inputs.size());
  place_of_.assign(graph_.tensors.size(), kNone);
  for (uint32_t input : graph_.inputs)
    place_of_[input] = add_place(graph_.tensors[input].info, graph_.tensors[input].device);
  for (const graph::Condition& check : graph_.checks)
    checks_.push_back({check.a, check.b, size_text(check.message, nullptr), 0});
  for (const graph::Node& node : graph_.nodes) add_node(node);
  for (uint32_t tensor : graph_.outputs) written_.outputs.push_back(place(tensor));
  for (size_t i = 0; i < written_.places.size(); ++i) {
    for (Dim dim : extents_[i])
      written_.places[i].extents.push_back(dim.is_any() ? kNone : slot(dim));
  }
  for (const auto& [place, offset] : offsets_) written_.places[place].offset = slot(offset);
  for (size_t i = 0; i < written_.launches.size(); ++i) {
    Launch& launch = written_.launches[i];
    const LaunchSizes& sizes = launch_sizes_[i];
    for (Dim dim : sizes.dims) launch.dims.push_back(slot(dim));
    if (sizes.node == nullptr) continue;  // a library kernel
    auto known = [&](Dim dim) { return dim.is_any() ? kNone : slot(dim); };
    launch.flops = known(sizes.flops);
    launch.bytes = known(sizes.bytes);
    launch.products = known(sizes.work.products);
    launch.steps = known(sizes.work.steps);
    launch.functions = known(sizes.work.functions);
  }
  for (const Check& check : checks_) {
    uint32_t a = slot(check.a);
    written_.checks.push_back({a, slot(check.b), check.message, check.position});
  }
  return std::move(written_);
}

// A new place for a tensor like one of the graph's.
uint32_t LaunchWriter::add_place(const te::TensorInfo& info, Device device) {
  Place place;
  place.dtype = info.dtype;
  place.device = device;
  written_.places.push_back(std::move(place));
  extents_.push_back(info.dims);
  return static_cast<uint32_t>(written_.places.size() - 1);
}

// The place of a computed tensor, an input, or a constant, which gets its place when it is wanted.
uint32_t LaunchWriter::place(uint32_t number) {
  const graph::Tensor& tensor = graph_.tensors[number];
  uint32_t& place = place_of_[number];
  if (place == kNone && tensor.constant != nullptr) {
    place = add_place(tensor.info, tensor.device);
    written_.places[place].constant = constant_(tensor.constant);
  }
  RELAY_CHECK(place != kNone, "a tensor of a graph that has no place");
  return place;
}

// The place of a tensor to be computed, in the tensor that it lies in if it does.
uint32_t LaunchWriter::place_to_write(uint32_t number, uint32_t position) {
  const graph::Tensor& tensor = graph_.tensors[number];
  uint32_t& place = place_of_[number];
  if (place != kNone) return place;
  place = add_place(tensor.info, tensor.device);
  written_.places[place].position = position;
  lay_into(number, place, position);
  return place_of_[number];
}

// Nests no deeper than tensors lie in each other, which `place_of` shortens to one step.
void LaunchWriter::lay_into(uint32_t number, uint32_t place, uint32_t position) {
  if (!graph_.tensors[number].place) return;
  RELAY_CHECK(written_.places[place].alias == kNone, "a tensor in two others");
  const graph::Tensor::Place at = graph::place_of(graph_, number);
  written_.places[place].alias = place_to_write(at.whole, position);
  if (!at.offset.is_int(0)) offsets_.emplace_back(place, at.offset);
}

void LaunchWriter::add_node(const graph::Node& node) {
  add_results(node);
  if (node.done_by_places) {
    const uint32_t place = place_to_write(node.outputs[0], node.position);
    written_.places[place].position = node.position;
    add_checks(node);
    return;
  }
  const LoweredWork& lowered = kernels_.of(node.work);
  std::string refusal = lowered.refusal;
  try {
    if (refusal.empty()) {
      std::vector<uint32_t> place_of = add_places(node, lowered.lowered);
      add_checks(node);
      add_launches(node, lowered, place_of);
      return;
    }
  } catch (const DimRangeError& error) {
    refusal = error.diagnostics()[0].message;
  }
  // The graph fails when it is to run.
  for (uint32_t output : node.outputs)
    place_of_[output] = add_place(graph_.tensors[output].info, graph_.tensors[output].device);
  checks_.push_back({Dim(0), Dim(1), SizeText(refusal), node.position});
}

// Code for the extents of a node's results, operator by operator, so that each piece of it has the
// position of the operator that wants it first.
void LaunchWriter::add_results(const graph::Node& node) {
  for (const graph::ResultDim& made : node.work->group.results) {
    Dim dim = node.term(made.dim);
    auto first = static_cast<uint32_t>(written_.dims.size());
    uint32_t last = slot(dim);
    uint32_t position = node.position_of(made.origin);
    written_.dim_positions.resize(written_.dims.size(), position);
    if (!made.message || !dim.is_term()) continue;
    // A broadcast operand may have failed for a reason of its own.
    if (first > last || dim.term().op == DimOp::kBroadcast) first = last;
    written_.failures.push_back(
        {first, last, made.division, size_text(*made.message, &node), position});
  }
}

void LaunchWriter::add_checks(const graph::Node& node) {
  auto term = [&](Dim dim) { return node.term(dim); };
  auto add = [&](const graph::Condition& made, Dim a, Dim b) {
    if (dims_equal(a, b) == Truth::kYes) return;
    // Before anything else that large sizes may make impossible.
    slot(a);
    slot(b);
    uint32_t position = node.position_of(made.origin);
    written_.dim_positions.resize(written_.dims.size(), position);
    checks_.push_back({a, b, size_text(made.message, &node), position});
  };
  for (const graph::ResultDim& made : node.work->group.results) {
    for (const graph::Condition& lost : graph::lost_conditions(made, term))
      add(lost, lost.a, lost.b);
  }
  for (const graph::Condition& made : node.work->group.checks)
    add(made, term(made.a), term(made.b));
}

// The places in a lowered work: tensors of the graph, and temporaries.
std::vector<uint32_t> LaunchWriter::add_places(const graph::Node& node,
                                               const lower::Lowered& lowered) {
  Device device = node.outputs.empty() ? kCpu : graph_.tensors[node.outputs[0]].device;
  std::vector<uint32_t> place_of;
  for (uint32_t input : node.inputs) place_of.push_back(place(input));
  for (size_t i = lowered.num_inputs; i < lowered.places.size(); ++i) {
    const te::TensorInfo& info = lowered.places[i].info;
    te::TensorInfo here{{}, info.dtype};
    for (Dim dim : info.dims) here.dims.push_back(node.term(dim));
    place_of.push_back(add_place(here, device));
    Place& place = written_.places.back();
    place.position = node.position;
    for (const auto& [shape, origin] : node.work->group.shapes) {
      if (shape != info.dims) continue;
      place.position = node.position_of(origin);
      break;
    }
  }
  for (size_t i = lowered.num_inputs; i < lowered.places.size(); ++i) {
    int32_t alias = lowered.places[i].alias;
    if (alias >= 0) written_.places[place_of[i]].alias = place_of[static_cast<size_t>(alias)];
  }
  for (size_t k = 0; k < lowered.outputs.size(); ++k) {
    uint32_t place = place_of[static_cast<size_t>(lowered.outputs[k])];
    place_of_[node.outputs[k]] = place;
    lay_into(node.outputs[k], place, node.position);
  }
  return place_of;
}

void LaunchWriter::add_launches(const graph::Node& node, const LoweredWork& lowered,
                                const std::vector<uint32_t>& place_of) {
  for (const auto& made : lowered.lowered.launches) {
    Launch launch;
    launch.position = node.position;
    launch.origins = node.origins;
    LaunchSizes sizes{};
    if (const auto* native = std::get_if<lower::Launch>(&made)) {
      const lower::Kernel& kernel = *lowered.lowered.kernels[native->kernel];
      launch.kernel = lowered.kernels[native->kernel];
      size_t next = 0;
      std::vector<uint32_t> argument_of;  // of each buffer
      for (const lower::Buffer& buffer : kernel.buffers()) {
        argument_of.push_back(static_cast<uint32_t>(launch.arguments.size()));
        if (!buffer.is_argument()) continue;
        launch.arguments.push_back({place_of[static_cast<size_t>(native->buffers[next++])],
                                    buffer.role == lower::Buffer::Role::kOutput});
      }
      for (const lower::InPlace& pair : lower::in_place_buffers(kernel)) {
        launch.in_place.push_back({argument_of[static_cast<size_t>(pair.written)],
                                   argument_of[static_cast<size_t>(pair.read)], pair.copy});
      }
      for (Dim dim : kernel.dim_args) sizes.dims.push_back(node.term(dim));
      sizes.flops = estimate(node, kernel.flops);
      sizes.bytes = estimate(node, kernel.bytes);
      const lower::KernelWork& work = lowered.work[native->kernel];
      sizes.work = {estimate(node, work.products), estimate(node, work.steps),
                    estimate(node, work.functions)};
      sizes.node = &node;
    } else {
      const auto& library = std::get<lower::LibraryLaunch>(made);
      launch.kernel = kernels_.library(library, node.work->name);
      launch.params = library.params;
      launch.position = node.position_of(library.origin);
      for (int32_t place : library.inputs)
        launch.arguments.push_back({place_of[static_cast<size_t>(place)], false});
      for (int32_t place : library.outputs)
        launch.arguments.push_back({place_of[static_cast<size_t>(place)], true});
    }
    written_.launches.push_back(std::move(launch));
    launch_sizes_.push_back(std::move(sizes));
  }
}

void LaunchWriter::set_scratch(const std::unordered_map<uint32_t, Dim>& bytes, Graph& written) {
  for (size_t i = 0; i < written.launches.size(); ++i) {
    const graph::Node* node = launch_sizes_[i].node;
    if (node == nullptr) continue;
    Dim needed = bytes.at(written.launches[i].kernel);
    if (needed.is_int(0)) continue;
    written.launches[i].scratch = program_.slot(node->term(needed), written.dims);
  }
}

}  // namespace relay::vm
