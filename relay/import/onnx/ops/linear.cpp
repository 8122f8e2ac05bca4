// Sums of products, determinants, norms of rows.
#include <algorithm>

#include <relay/import/onnx/ops/run_time.h>
#include <relay/op/registry/relation.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

Values convert_einsum(NodeContext& node) {
  std::string equation = node.attr_string("equation");
  std::erase(equation, ' ');
  Values operands = node.inputs();
  node.require(!operands.empty(), "there are no operands");
  return {node.emit("einsum", {node.tuple(operands)}, {{"equation", equation}})};
}
RELAY_ONNX("Einsum", 12, convert_einsum)

// ---- Determinants -------------------------------------------------------------------------------

// By elimination with the greatest pivot of each column, one column a round: the program has as
// many rounds as the matrices have columns, on matrices that shrink.
Values convert_det(NodeContext& node) {
  constexpr int64_t kMost = 256;
  GraphValue x = node.input(0);
  node.require(x.rank() >= 2, "the data have " + std::to_string(x.rank()) + " axes");
  std::span<const Dim> dims = x.dims();
  Dim rows = dims[dims.size() - 2], columns = dims[dims.size() - 1];
  node.require(rows.is_int() && columns.is_int(), "the extents of the matrices are not known");
  node.require(rows == columns, "the matrices have the shape " + shape_str(dims.last(2)));
  int64_t n = rows.as_int();
  node.require(n <= kMost, "the matrices have " + std::to_string(n) + " rows, more than " +
                               std::to_string(kMost));
  std::vector<Dim> outer(dims.begin(), dims.end() - 2);
  Dim batch = product(outer);
  DType dtype = x.dtype(), wide = dtype.bits < 32 ? kFloat32 : dtype;
  GraphValue m = node.reshape(node.cast(x, wide), {batch, rows, columns});
  GraphValue zero = node.scalar(wide, 0), one = node.scalar(wide, 1);
  // A factor of 1 for each matrix, also where the number of matrices is not known.
  GraphValue none =
      node.emit("sum", {node.slice(m, 1, 0, 0)}, {{"axis", std::vector<int64_t>{1, 2}}});
  GraphValue result = node.emit("ones_like", {none});
  for (int64_t left = n; left > 0; --left) {
    GraphValue column =
        node.emit("squeeze", {node.slice(m, 2, 0, 1)}, {{"axis", std::vector<int64_t>{2}}});
    GraphValue at = node.emit("argmax", {node.emit("abs", {column})},
                              {{"axis", std::vector<int64_t>{1}}, {"keepdims", true}});
    GraphValue top = node.emit("take", {m, at}, {{"axis", 1}, {"batch_dims", 1}});
    GraphValue pivot =
        node.emit("squeeze", {node.slice(top, 2, 0, 1)}, {{"axis", std::vector<int64_t>{1, 2}}});
    GraphValue first = node.emit("squeeze", {node.emit("equal", {at, node.scalar(kInt32, 0)})},
                                 {{"axis", std::vector<int64_t>{1}}});
    GraphValue sign = node.emit("where", {first, one, node.scalar(wide, -1)});
    result = node.emit("multiply", {result, node.emit("multiply", {sign, pivot})});
    if (left == 1) break;
    // The first row stands where the pivot's row was; the pivot's row is gone.
    GraphValue places = counted(node, number_value(node, left));
    GraphValue moved = node.emit("equal", {node.cast(at, kInt64), places});
    m = node.emit("where", {node.unsqueeze(moved, {2}), node.slice(m, 1, 0, 1), m});
    m = node.slice(m, 1, 1, left);
    // A column of zeros: the determinant is 0 already.
    GraphValue safe = node.emit("where", {node.emit("equal", {pivot, zero}), one, pivot});
    GraphValue factor = node.emit("divide", {node.slice(m, 2, 0, 1), node.unsqueeze(safe, {1, 2})});
    GraphValue change = node.emit("multiply", {factor, node.slice(top, 2, 1, left)});
    m = node.emit("subtract", {node.slice(m, 2, 1, left), change});
  }
  return {node.cast(node.reshape(result, outer), dtype)};
}
RELAY_ONNX("Det", 11, convert_det)

// ---- Norms --------------------------------------------------------------------------------------

GraphValue widened(NodeContext& node, const GraphValue& x) {
  return x.dtype().bits < 32 ? node.cast(x, kFloat32) : x;
}

Values convert_lp_normalization(NodeContext& node) {
  GraphValue x = node.input(0);
  std::vector<int64_t> axes{node.axis(node.attr_int("axis", -1), x.rank())};
  int64_t p = node.attr_int("p", 2);
  node.require(p == 1 || p == 2, "p is " + std::to_string(p));
  GraphValue wide = widened(node, x);
  GraphValue parts = p == 1 ? node.emit("abs", {wide}) : node.emit("multiply", {wide, wide});
  GraphValue norm = node.emit("sum", {parts}, {{"axis", axes}, {"keepdims", true}});
  if (p == 2) norm = node.emit("sqrt", {norm});
  GraphValue zero = node.scalar(wide.dtype(), 0);
  GraphValue share = node.emit("divide", {wide, norm});
  GraphValue result = node.emit("where", {node.emit("equal", {norm, zero}), zero, share});
  return {node.cast(result, x.dtype())};
}
RELAY_ONNX("LpNormalization", 1, convert_lp_normalization)

Values convert_mean_variance(NodeContext& node) {
  GraphValue x = node.input(0);
  std::vector<int64_t> axes = node.attr_ints("axes", std::vector<int64_t>{0, 2, 3});
  for (int64_t& axis : axes) axis = node.axis(axis, x.rank(), "axes entry");
  AttrList over{{"axis", axes}, {"keepdims", true}};
  GraphValue wide = widened(node, x);
  GraphValue away = node.emit("subtract", {wide, node.emit("mean", {wide}, over)});
  GraphValue variance = node.emit("mean", {node.emit("multiply", {away, away})}, over);
  constexpr double kEpsilon = 1e-9;  // the operator's, which nobody can choose
  GraphValue deviation =
      node.emit("add", {node.emit("sqrt", {variance}), node.scalar(wide.dtype(), kEpsilon)});
  return {node.cast(node.emit("divide", {away, deviation}), x.dtype())};
}
RELAY_ONNX("MeanVarianceNormalization", 9, convert_mean_variance)

GraphValue hardmax(NodeContext& node, const GraphValue& x, int64_t axis) {
  GraphValue place =
      node.emit("argmax", {x}, {{"axis", std::vector<int64_t>{axis}}, {"keepdims", true}});
  auto at = static_cast<size_t>(axis);
  GraphValue count = counted_along(node, extent_value(node, x, at), at, x.rank());
  return node.cast(node.emit("equal", {count, node.cast(place, kInt64)}), x.dtype());
}
Values convert_hardmax(NodeContext& node) {
  GraphValue x = node.input(0);
  return {hardmax(node, x, node.axis(node.attr_int("axis", -1), x.rank()))};
}
// Before opset 13 everything from the axis on is one axis.
Values convert_flat_hardmax(NodeContext& node) {
  GraphValue x = node.input(0);
  auto at = static_cast<size_t>(node.axis(node.attr_int("axis", 1), x.rank()));
  GraphValue flat = node.reshape(x, {product(x.dims().first(at)), product(x.dims().subspan(at))});
  return {node.reshape(hardmax(node, flat, 1), x.dims())};
}
RELAY_ONNX("Hardmax", 1, convert_flat_hardmax)
RELAY_ONNX("Hardmax", 13, convert_hardmax)

}  // namespace
}  // namespace relay::onnx
