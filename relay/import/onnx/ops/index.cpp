// Elements at positions: gathered, replaced, marked.
#include <algorithm>

#include <relay/import/onnx/fold.h>
#include <relay/import/onnx/ops/run_time.h>
#include <relay/op/registry/relation.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

Values convert_gather(NodeContext& node) {
  GraphValue x = node.input(0), indices = node.input(1);
  node.require(indices.dtype().is_integer(),
               "the indices are " + std::string(indices.dtype().name()));
  int64_t axis = node.axis(node.attr_int("axis", 0), x.rank());
  Dim extent = x.dim(static_cast<size_t>(axis));
  std::optional<NDArray> known = node.constant(1);
  const char* mode = "wrap";  // negative indices count from the end
  if (known && extent.is_int()) {
    std::vector<int64_t> places;
    for (int64_t k = 0; k < known->size(); ++k) {
      int64_t i = known->element_as_int64(k);
      node.require(
          i >= -extent.as_int() && i < extent.as_int(),
          "the index " + std::to_string(i) + " is out of range for the extent " + extent.str());
      places.push_back(i < 0 ? i + extent.as_int() : i);
    }
    bool moved = !places.empty() && *std::min_element(places.begin(), places.end()) >= 0;
    if (moved && known->size() <= static_cast<int64_t>(kMostElements)) {
      NDArray plain = NDArray::from<int64_t>(known->shape(), places);
      indices = node.constant_value(plain);
      mode = "clip";
    }
    auto emit = [&] { return node.emit("take", {x, indices}, {{"axis", axis}, {"mode", mode}}); };
    if (x.rank() == 1) {
      if (auto folded = fold_rearranged(node, x, places, indices.dims(), emit)) return {*folded};
    }
    return {emit()};
  }
  indices = inside(node, x, static_cast<size_t>(axis), node.cast(indices, kInt64));
  return {node.emit("take", {x, indices}, {{"axis", axis}, {"mode", mode}})};
}
RELAY_ONNX("Gather", 1, convert_gather)

Values convert_gather_elements(NodeContext& node) {
  GraphValue x = node.input(0);
  int64_t axis = node.axis(node.attr_int("axis", 0), x.rank());
  return {node.emit("gather", {x, node.input(1)}, {{"axis", axis}})};
}
RELAY_ONNX("GatherElements", 11, convert_gather_elements)

// Coordinates stand on the last axis in ONNX, on the first one in Relay.
GraphValue coordinates(NodeContext& node, const GraphValue& indices, const GraphValue& data) {
  node.require(indices.rank() > 0, "the indices have no axes");
  Dim depth = indices.dim(indices.rank() - 1);
  node.require(depth.is_int(), "how many coordinates there are is not known");
  node.require(depth.as_int() <= static_cast<int64_t>(data.rank()),
               depth.str() + " coordinates for rank " + std::to_string(data.rank()));
  std::vector<int64_t> order{static_cast<int64_t>(indices.rank()) - 1};
  for (size_t k = 0; k + 1 < indices.rank(); ++k) order.push_back(static_cast<int64_t>(k));
  return node.transpose(indices, order);
}

Values convert_gather_nd(NodeContext& node) {
  GraphValue x = node.input(0), indices = node.input(1);
  int64_t batch = node.attr_int("batch_dims", 0);
  auto shared = static_cast<int64_t>(std::min(x.rank(), indices.rank()));
  node.require(batch >= 0 && batch < std::max<int64_t>(shared, 1),
               "batch_dims is " + std::to_string(batch));
  return {node.emit("gather_nd", {x, coordinates(node, indices, x)}, {{"batch_dims", batch}})};
}
RELAY_ONNX("GatherND", 11, convert_gather_nd)

// "none" and, by the version, "add", "mul", "max", "min".
std::string reduction_of(NodeContext& node) {
  if (node.opset() < 16) return "update";
  std::string reduction = node.attr_string("reduction", "none");
  bool early = reduction == "none" || reduction == "add" || reduction == "mul";
  bool late = node.opset() >= 18 && (reduction == "min" || reduction == "max");
  node.require(early || late, "reduction is " + quoted(reduction));
  return reduction == "none" ? "update" : reduction;
}

Values convert_scatter_elements(NodeContext& node) {
  Values args = node.inputs(3);
  int64_t axis = node.axis(node.attr_int("axis", 0), args[0].rank());
  return {node.emit("scatter_elements", args, {{"axis", axis}, {"reduction", reduction_of(node)}})};
}
RELAY_ONNX("Scatter", 9, convert_scatter_elements)
RELAY_ONNX("ScatterElements", 11, convert_scatter_elements)

Values convert_scatter_nd(NodeContext& node) {
  Values args = node.inputs(3);
  args[1] = coordinates(node, args[1], args[0]);
  return {node.emit("scatter_nd", args, {{"mode", reduction_of(node)}})};
}
RELAY_ONNX("ScatterND", 11, convert_scatter_nd)

Values convert_tensor_scatter(NodeContext& node) {
  GraphValue cache = node.input(0), update = node.input(1);
  size_t rank = cache.rank();
  node.require(update.rank() == rank, "the update has " + std::to_string(update.rank()) +
                                          " axes, the cache " + std::to_string(rank));
  int64_t axis = node.axis(node.attr_int("axis", -2), rank);
  node.require(axis > 0, "axis 0 counts the batch");
  std::string mode = node.attr_string("mode", "linear");
  node.require(mode == "linear" || mode == "circular", "mode is " + quoted(mode));
  auto at = static_cast<size_t>(axis);
  GraphValue places = counted_along(node, extent_value(node, update, at), at, rank);
  if (node.has(2)) {
    GraphValue first = node.cast(node.input(2), kInt64);
    node.require(first.rank() == 1, "write_indices has " + std::to_string(first.rank()) + " axes");
    auto behind = static_cast<int64_t>(rank) - 1;
    first = node.emit("expand_dims", {first}, {{"axis", 1}, {"num_newaxis", behind}});
    places = node.emit("add", {places, first});
  }
  if (mode == "circular") places = node.emit("floor_mod", {places, extent_value(node, cache, at)});
  places = broadcast_like(node, places, update);
  return {node.emit("scatter_elements", {cache, places, update}, {{"axis", axis}})};
}
RELAY_ONNX("TensorScatter", 24, convert_tensor_scatter)

Values convert_one_hot(NodeContext& node) {
  GraphValue indices = node.input(0), values = node.input(2);
  auto limit = static_cast<int64_t>(indices.rank()) + 1;
  int64_t axis = node.axis(node.attr_int("axis", -1), static_cast<size_t>(limit));
  node.require(values.rank() == 1 && (values.dim(0).is_int(2) || !values.dim(0).is_int()),
               "values has the shape " + shape_str(values.dims()) + ", not (2)");
  if (!indices.dtype().is_integer()) indices = node.cast(indices, kInt64);
  GraphValue off = entry(node, values, 0), on = entry(node, values, 1);
  AttrList attrs{{"axis", axis}, {"dtype", values.dtype()}, {"from_end", true}};
  if (node.constant(1)) {
    double depth = node.number(1, "depth");
    node.require(depth >= 0 && depth < 1e12, "depth is " + std::to_string(depth));
    attrs.push_back({"depth", static_cast<int64_t>(depth)});
    return {node.emit("one_hot", {indices, on, off}, attrs)};
  }
  GraphValue depth = as_number(node, node.input(1), "depth");
  return {node.emit("dyn.one_hot", {indices, on, off, depth}, attrs)};
}
RELAY_ONNX("OneHot", 9, convert_one_hot)

Values convert_trilu(NodeContext& node) {
  GraphValue k = node.has(1) ? as_number(node, node.input(1), "k") : number_value(node, 0);
  GraphValue x = node.input(0);
  node.require(x.rank() >= 2, "the data have " + std::to_string(x.rank()) + " axes");
  return {node.emit("trilu", {x, k}, {{"upper", node.attr_bool("upper", true)}})};
}
RELAY_ONNX("Trilu", 14, convert_trilu)

Values convert_eye_like(NodeContext& node) {
  GraphValue x = node.input(0);
  node.require(x.rank() == 2, "the data have " + std::to_string(x.rank()) + " axes, not 2");
  DType dtype = node.attr_dtype("dtype", x.dtype());
  int64_t k = node.attr_int("k", 0);
  GraphValue rows = counted_along(node, extent_value(node, x, 0), 0, 2);
  GraphValue columns = counted_along(node, extent_value(node, x, 1), 1, 2);
  rows = node.emit("add", {rows, number_value(node, k)});
  return {node.cast(node.emit("equal", {rows, columns}), dtype)};
}
RELAY_ONNX("EyeLike", 9, convert_eye_like)

Values convert_reverse_sequence(NodeContext& node) {
  GraphValue x = node.input(0), lengths = node.input(1);
  int64_t batch = node.attr_int("batch_axis", 1), time = node.attr_int("time_axis", 0);
  batch = node.axis(batch, x.rank(), "batch_axis");
  time = node.axis(time, x.rank(), "time_axis");
  node.require(batch != time && batch < 2 && time < 2,
               "batch_axis and time_axis must be 0 and 1 or 1 and 0");
  return {node.emit("reverse_sequence", {x, lengths}, {{"seq_axis", time}, {"batch_axis", batch}})};
}
RELAY_ONNX("ReverseSequence", 10, convert_reverse_sequence)

}  // namespace
}  // namespace relay::onnx
