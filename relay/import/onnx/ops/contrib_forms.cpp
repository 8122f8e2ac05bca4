// Operators of the domain com.microsoft that the default domain has, too, and small ones of their
// own.
#include <limits>

#include <relay/import/onnx/ops/run_time.h>
#include <relay/op/registry/relation.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

#define RELAY_ONNX_MICROSOFT(op_type, convert) \
  RELAY_ONNX_DOMAIN("com.microsoft", op_type, 1, convert)

Values convert_contrib_trilu(NodeContext& node) { return node.as_default("Trilu", 14); }
Values convert_contrib_gather_nd(NodeContext& node) { return node.as_default("GatherND", 13); }
Values convert_contrib_grid_sample(NodeContext& node) { return node.as_default("GridSample", 16); }
Values convert_contrib_pad(NodeContext& node) { return node.as_default("Pad", 13); }
RELAY_ONNX_MICROSOFT("Trilu", convert_contrib_trilu)
RELAY_ONNX_MICROSOFT("GatherND", convert_contrib_gather_nd)
RELAY_ONNX_MICROSOFT("GridSample", convert_contrib_grid_sample)
RELAY_ONNX_MICROSOFT("Pad", convert_contrib_pad)

Values convert_contrib_range(NodeContext& node) {
  if (node.has(2)) return node.as_default("Range", 11);
  Values bounds = {node.input(0), node.input(1)};
  DType dtype = bounds[0].dtype();
  for (GraphValue& bound : bounds) bound = node.reshape(bound, std::initializer_list<Dim>{});
  return {node.emit("arange", {bounds[0], bounds[1], node.scalar(dtype, 1)}, {{"dtype", dtype}})};
}
RELAY_ONNX_MICROSOFT("Range", convert_contrib_range)

// In the order in which they come first.
Values convert_contrib_unique(NodeContext& node) {
  GraphValue x = node.input(0);
  node.require(x.rank() == 1, "the data have " + std::to_string(x.rank()) + " axes, not 1");
  AttrList attrs{{"sorted", false}, {"return_counts", true}, {"dtype", kInt64}};
  Values found = node.fields(node.emit("unique", {x}, attrs));
  return {found[0], found[2], found[4]};
}
RELAY_ONNX_MICROSOFT("Unique", convert_contrib_unique)

Values convert_contrib_expand_dims(NodeContext& node) {
  GraphValue x = node.input(0);
  std::vector<int64_t> axes = node.ints(1, "axis");
  node.require(axes.size() == 1, "axis has " + std::to_string(axes.size()) + " entries");
  return {node.unsqueeze(x, {node.axis(axes[0], x.rank() + 1)})};
}
RELAY_ONNX_MICROSOFT("ExpandDims", convert_contrib_expand_dims)

Values convert_contrib_crop_and_resize(NodeContext& node) {
  std::string mode = node.attr_string("mode", "bilinear");
  node.require(mode == "bilinear" || mode == "nearest", "mode is " + quoted(mode));
  std::vector<int64_t> size = node.ints(3, "crop_size");
  node.require(size.size() == 2 && size[0] > 0 && size[1] > 0,
               "crop_size is no height and width above 0");
  const char* method = mode == "nearest" ? "nearest_neighbor" : "bilinear";
  return {node.emit("image.crop_and_resize", {node.input(0), node.input(1), node.input(2)},
                    {{"crop_size", size},
                     {"method", method},
                     {"extrapolation_value", node.attr_float("extrapolation_value", 0)}})};
}
RELAY_ONNX_MICROSOFT("CropAndResize", convert_contrib_crop_and_resize)

// Distances of all rows of one matrix to all of another.
Values convert_contrib_cdist(NodeContext& node) {
  GraphValue a = node.input(0), b = node.input(1);
  std::string metric = node.attr_string("metric", "sqeuclidean");
  node.require(metric == "euclidean" || metric == "sqeuclidean", "metric is " + quoted(metric));
  node.require(a.rank() == 2 && b.rank() == 2, "the operands must be matrices");
  GraphValue apart = node.emit("subtract", {node.unsqueeze(a, {1}), node.unsqueeze(b, {0})});
  GraphValue result = node.emit("sum", {node.emit("multiply", {apart, apart})},
                                {{"axis", std::vector<int64_t>{2}}});
  return {metric == "euclidean" ? node.emit("sqrt", {result}) : result};
}
RELAY_ONNX_MICROSOFT("CDist", convert_contrib_cdist)

// Nothing is dropped where a network does not learn.
Values convert_contrib_bias_dropout(NodeContext& node) {
  node.ignore({"seed"});
  bool learns = node.has(4) && !(node.known(4) && (*node.known(4))[0].is_int(0));
  node.require(!learns, "training_mode is not supported");
  node.require(!node.wants(1), "the output of the mask is not supported");
  GraphValue sum = node.emit("add", {node.input(0), node.input(1)});
  if (node.has(2)) sum = node.emit("add", {sum, node.input(2)});
  return {sum};
}
RELAY_ONNX_MICROSOFT("BiasDropout", convert_contrib_bias_dropout)

// The inverse of matrices by elimination with the greatest pivot of each column, one column a
// round, on the matrix with the identity beside it.
Values convert_contrib_inverse(NodeContext& node) {
  constexpr int64_t kMost = 256;
  GraphValue x = node.input(0);
  node.require(x.rank() >= 2, "the data have " + std::to_string(x.rank()) + " axes");
  Dim rows = x.dim(x.rank() - 2), columns = x.last_dim();
  node.require(rows.is_int() && columns == rows,
               "the matrices have the shape " + shape_str(x.dims().last(2)));
  int64_t n = rows.as_int();
  node.require(n <= kMost, "the matrices have " + std::to_string(n) + " rows, more than " +
                               std::to_string(kMost));
  DType dtype = x.dtype(), wide = dtype.bits < 32 ? DType(kFloat32) : dtype;
  Dim batch = product(x.dims().first(x.rank() - 2));
  GraphValue m = node.reshape(node.cast(x, wide), {batch, rows, rows});
  GraphValue places = counted(node, number_value(node, n));
  GraphValue down = node.unsqueeze(places, {1});
  GraphValue identity = node.cast(node.emit("equal", {down, places}), wide);
  Dim whole[] = {batch, rows, rows};
  m = node.concat({m, node.broadcast_to(identity, whole)}, 2);
  for (int64_t k = 0; k < n; ++k) {
    GraphValue own = number_value(node, k);
    // Rows above have their pivots.
    GraphValue size = node.emit("abs", {node.slice(m, 2, k, k + 1)});
    GraphValue left = node.emit("less", {down, own});
    size = node.emit("where", {left, node.scalar(wide, -1), size});
    GraphValue at = node.emit("argmax", {size}, {{"axis", std::vector<int64_t>{1}}});
    GraphValue top = node.emit("take", {m, at}, {{"axis", 1}, {"batch_dims", 1}});
    GraphValue swapped =
        node.emit("equal", {down, node.reshape(node.cast(at, kInt64), {batch, Dim(1), Dim(1)})});
    m = node.emit("where", {swapped, node.slice(m, 1, k, k + 1), m});
    top = node.emit("divide", {top, node.slice(top, 2, k, k + 1)});
    // Its own row becomes the pivot's: what is subtracted from 0 · row is its negative.
    GraphValue is_own = node.emit("equal", {down, own});
    GraphValue rest =
        node.emit("subtract", {m, node.emit("multiply", {node.slice(m, 2, k, k + 1), top})});
    m = node.emit("where", {is_own, top, rest});
  }
  return {node.cast(node.reshape(node.slice(m, 2, n, 2 * n), x.dims()), dtype)};
}
RELAY_ONNX_MICROSOFT("Inverse", convert_contrib_inverse)

// Scores of tokens that would repeat an n-gram of the sequence become -∞.
Values convert_contrib_ngram_repeat_block(NodeContext& node) {
  GraphValue tokens = node.input(0), scores = node.input(1);
  int64_t size = node.attr_int("ngram_size");
  node.require(tokens.rank() == 2 && scores.rank() == 2, "input_ids and scores need 2 axes");
  constexpr int64_t kMost = 64;
  node.require(size > 0 && size <= kMost, "ngram_size is " + std::to_string(size));
  // Shorter sequences have no n-gram: they begin with tokens that equal nothing.
  Dim head[] = {tokens.dim(0), Dim(size)};
  GraphValue all =
      node.concat({node.broadcast_to(node.scalar(kInt64, -1), head), node.cast(tokens, kInt64)}, 1);
  auto behind = [&](int64_t begin, int64_t end) {
    std::vector<int64_t> from{begin}, to{end == 0 ? int64_t{1} << 60 : end}, axes{1};
    return node.emit("strided_slice", {all}, {{"begin", from}, {"end", to}, {"axes", axes}});
  };
  // Element i of a shifted row against the last but n - 1.
  GraphValue next = behind(size - 1, 0);
  GraphValue same =
      node.emit("greater_equal", {behind(0, size == 1 ? 0 : -(size - 1)), node.scalar(kInt64, 0)});
  for (int64_t k = 0; k + 1 < size; ++k) {
    GraphValue now = behind(k, -(size - 1 - k)),
               last = behind(-(size - 1 - k), size - 2 - k == 0 ? 0 : -(size - 2 - k));
    same = node.emit("logical_and", {same, node.emit("equal", {now, last})});
  }
  double infinity = std::numeric_limits<double>::infinity();
  GraphValue found = node.emit("where", {same, node.scalar(scores.dtype(), -infinity),
                                         node.scalar(scores.dtype(), infinity)});
  GraphValue safe = node.emit("where", {same, next, node.scalar(kInt64, 0)});
  return {
      node.emit("scatter_elements", {scores, safe, found}, {{"axis", 1}, {"reduction", "min"}})};
}
RELAY_ONNX_MICROSOFT("NGramRepeatBlock", convert_contrib_ngram_repeat_block)

}  // namespace
}  // namespace relay::onnx
