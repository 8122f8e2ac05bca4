// Rows of `Executable.profile`.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <bindings/profiles.h>

namespace relay::python {

namespace {

/// The dtype and the extents of a tensor; -1 for one that only a run knows.
using Tensor = std::pair<std::string, std::vector<int64_t>>;
/// The tensors of the launches of a kernel: one entry for launches that have the same.
using Launches = std::vector<std::vector<Tensor>>;

Tensor tensor_of(const vm::Graph& graph, const vm::Place& place) {
  Tensor result{std::string(place.dtype.name()), {}};
  for (uint32_t slot : place.extents) {
    const bool known = slot < graph.dims.size() && graph.dims[slot].code == DimCode::kConst;
    result.second.push_back(known ? graph.dims[slot].value : -1);
  }
  return result;
}

std::vector<Launches> launches_of(const vm::Executable& executable) {
  std::vector<Launches> result(executable.kernels.size());
  for (const vm::Graph& graph : executable.graphs) {
    for (const vm::Launch& launch : graph.launches) {
      std::vector<Tensor> tensors;
      for (const vm::Launch::Argument& argument : launch.arguments)
        tensors.push_back(tensor_of(graph, graph.places[argument.place]));
      Launches& known = result[launch.kernel];
      if (std::find(known.begin(), known.end(), tensors) == known.end())
        known.push_back(std::move(tensors));
    }
  }
  return result;
}

nb::list as_list(const Launches& launches) {
  nb::list result;
  for (const std::vector<Tensor>& tensors : launches) {
    nb::list arguments;
    for (const auto& [dtype, extents] : tensors) {
      nb::list shape;
      for (int64_t extent : extents) shape.append(extent);
      arguments.append(nb::make_tuple(dtype, nb::tuple(shape)));
    }
    result.append(arguments);
  }
  return result;
}

}  // namespace

nb::list profile_rows(const vm::Executable& executable, const vm::Profile& profile) {
  const std::vector<Launches> launches = launches_of(executable);
  nb::list rows;
  for (size_t i = 0; i < profile.kernels.size(); ++i) {
    const auto& measured = profile.kernels[i];
    if (measured.calls == 0) continue;
    nb::dict row;
    row["name"] = executable.kernels[i].name;
    row["calls"] = measured.calls;
    row["seconds"] = static_cast<double>(measured.nanoseconds) * 1e-9;
    row["flops"] = measured.flops;
    row["bytes"] = measured.bytes;
    row["source"] = executable.kernels[i].source;
    row["arguments"] = as_list(launches[i]);
    rows.append(row);
  }
  return rows;
}

}  // namespace relay::python
