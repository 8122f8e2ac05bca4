// The quantised operators of the domain com.microsoft: computed of the numbers that the integers
// stand for, whose operators become ones of integers where a pass finds that it pays.
#include <relay/import/onnx/ops/arithmetic.h>
#include <relay/import/onnx/ops/pool.h>
#include <relay/import/onnx/ops/products.h>
#include <relay/import/onnx/ops/quantised.h>
#include <relay/import/onnx/ops/spatial.h>
#include <relay/op/registry/relation.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

#define RELAY_ONNX_MICROSOFT(op_type, convert) \
  RELAY_ONNX_DOMAIN("com.microsoft", op_type, 1, convert)

// The numbers of inputs i (integers), i + 1 (scale) and i + 2 (zero point).
GraphValue numbers(NodeContext& node, size_t i) {
  return dequantized(node, node.input(i), node.input(i + 1), node.optional_input(i + 2), -1,
                     kFloat32);
}
// Integers as input i (scale) and i + 1 (zero point) say; `like` where there is no zero point.
GraphValue integers(NodeContext& node, const GraphValue& x, size_t i, DType like) {
  GraphValue zero = node.optional_input(i + 1);
  return quantized(node, x, node.input(i), zero, -1, zero ? zero.dtype() : like);
}

Values binary(NodeContext& node, const char* op) {
  GraphValue result = node.emit(op, {numbers(node, 0), numbers(node, 3)});
  return {integers(node, result, 6, node.input(0).dtype())};
}
Values convert_contrib_add(NodeContext& node) { return binary(node, "add"); }
Values convert_contrib_mul(NodeContext& node) { return binary(node, "multiply"); }
RELAY_ONNX_MICROSOFT("QLinearAdd", convert_contrib_add)
RELAY_ONNX_MICROSOFT("QLinearMul", convert_contrib_mul)

Values convert_contrib_sigmoid(NodeContext& node) {
  GraphValue result = node.emit("sigmoid", {numbers(node, 0)});
  return {integers(node, result, 3, node.input(0).dtype())};
}
Values convert_contrib_leaky_relu(NodeContext& node) {
  double alpha = node.attr_float("alpha", 0.01);
  GraphValue result = node.emit("nn.leaky_relu", {numbers(node, 0)}, {{"alpha", alpha}});
  return {integers(node, result, 3, node.input(0).dtype())};
}
RELAY_ONNX_MICROSOFT("QLinearSigmoid", convert_contrib_sigmoid)
RELAY_ONNX_MICROSOFT("QLinearLeakyRelu", convert_contrib_leaky_relu)

Values convert_contrib_average_pool(NodeContext& node) {
  GraphValue x = numbers(node, 0);
  bool last = node.attr_bool("channels_last", false);
  node.require(x.rank() >= 3, "the data have " + std::to_string(x.rank()) + " axes");
  if (last) x = channels_first(node, x);
  PoolWindow pool = pool_window_of(node, x);
  GraphValue result = average_pool(node, pool, x, node.attr_bool("count_include_pad", false));
  if (last) result = channels_last(node, result);
  return {integers(node, result, 3, node.input(0).dtype())};
}
RELAY_ONNX_MICROSOFT("QLinearAveragePool", convert_contrib_average_pool)

Values convert_contrib_global_average_pool(NodeContext& node) {
  GraphValue x = numbers(node, 0);
  auto rank = static_cast<int64_t>(x.rank());
  bool last = node.attr_bool("channels_last", false);
  node.require(rank >= 3, "the data have " + std::to_string(rank) + " axes");
  std::vector<int64_t> axes;
  for (int64_t k = last ? 1 : 2; k < (last ? rank - 1 : rank); ++k) axes.push_back(k);
  GraphValue result = node.emit("mean", {x}, {{"axis", axes}, {"keepdims", true}});
  return {integers(node, result, 3, node.input(0).dtype())};
}
RELAY_ONNX_MICROSOFT("QLinearGlobalAveragePool", convert_contrib_global_average_pool)

Values convert_contrib_nhwc_max_pool(NodeContext& node) {
  GraphValue x = channels_first(node, node.input(0));
  return {channels_last(node, max_pool(node, pool_window_of(node, x), x))};
}
RELAY_ONNX_MICROSOFT("NhwcMaxPool", convert_contrib_nhwc_max_pool)

// Before opset 13 everything from the axis on is one axis.
Values convert_contrib_softmax(NodeContext& node) {
  GraphValue x = numbers(node, 0);
  int64_t opset = node.attr_int("opset");
  int64_t axis = node.axis(node.attr_int("axis", -1), x.rank());
  auto at = static_cast<size_t>(axis);
  GraphValue result;
  if (opset >= 13) {
    result = node.emit("nn.softmax", {x}, {{"axis", axis}});
  } else {
    Dim dims[] = {product(x.dims().first(at)), product(x.dims().subspan(at))};
    GraphValue flat = node.emit("nn.softmax", {node.reshape(x, dims)}, {{"axis", 1}});
    result = node.reshape(flat, x.dims());
  }
  // ONNX Runtime multiplies by a whole number: what is left of 1 / scale without its fraction.
  Arithmetic with(node, kFloat32);
  GraphValue steps = node.emit("floor", {with.divide(1.0, node.reshape(node.input(3), {}))});
  GraphValue zero = node.optional_input(4);
  DType dtype = zero ? zero.dtype() : node.input(0).dtype();
  return {quantized(node, with.multiply(result, steps), with.number(1), zero, -1, dtype)};
}
RELAY_ONNX_MICROSOFT("QLinearSoftmax", convert_contrib_softmax)

Values convert_contrib_where(NodeContext& node) {
  GraphValue result = node.emit("where", {node.input(0), numbers(node, 1), numbers(node, 4)});
  return {integers(node, result, 7, node.input(1).dtype())};
}
RELAY_ONNX_MICROSOFT("QLinearWhere", convert_contrib_where)

// First the result's scale and zero point, then three inputs for each part.
Values convert_contrib_qlinear_concat(NodeContext& node) {
  node.require(node.num_inputs() >= 5 && node.num_inputs() % 3 == 2,
               "there are " + std::to_string(node.num_inputs()) + " inputs");
  Values parts;
  for (size_t i = 2; i < node.num_inputs(); i += 3) parts.push_back(numbers(node, i));
  int64_t axis = node.axis(node.attr_int("axis"), parts[0].rank());
  return {integers(node, node.concat(parts, axis), 0, node.input(2).dtype())};
}
RELAY_ONNX_MICROSOFT("QLinearConcat", convert_contrib_qlinear_concat)

// A product of integers as numbers, scaled; the bias may be nothing.
Values convert_contrib_matmul_to_float(NodeContext& node) {
  GraphValue a_scale = node.input(2);
  DType dtype = a_scale.dtype();
  QuantisedMatrix matrix =
      quantised_matrix(node, node.input(1), node.input(3), node.optional_input(5));
  GraphValue sums =
      integer_matmul(node, node.input(0), matrix.integers, node.optional_input(4), matrix.zero);
  if (a_scale.rank() == 1) a_scale = node.unsqueeze(a_scale, {1});
  if (a_scale.rank() == 2 && a_scale.dim(0).is_int(1)) a_scale = node.reshape(a_scale, {});
  GraphValue scale = node.emit("multiply", {node.cast(a_scale, kFloat32), matrix.scale});
  GraphValue result = node.emit("multiply", {node.cast(sums, kFloat32), scale});
  if (node.has(6)) result = node.emit("add", {result, node.cast(node.input(6), kFloat32)});
  return {node.cast(result, dtype)};
}
RELAY_ONNX_MICROSOFT("MatMulIntegerToFloat", convert_contrib_matmul_to_float)

// Numbers where no scale of the result is given, else integers.
Values convert_contrib_gemm(NodeContext& node) {
  GraphValue a = node.input(0), b = node.input(3);
  node.require(a.rank() == 2 && b.rank() == 2, "the operands must be matrices");
  if (node.attr_bool("transA", false)) a = node.transpose(a, {1, 0});
  if (node.attr_bool("transB", false)) b = node.transpose(b, {1, 0});
  QuantisedMatrix matrix = quantised_matrix(node, b, node.input(4), node.optional_input(5));
  GraphValue sums = integer_matmul(node, a, matrix.integers, node.optional_input(2), matrix.zero);
  if (node.has(6)) sums = node.emit("add", {sums, node.input(6)});
  GraphValue scale = node.emit("multiply", {node.reshape(node.input(1), {}), matrix.scale});
  double alpha = node.attr_float("alpha", 1);
  if (alpha != 1) scale = node.emit("multiply", {scale, node.scalar(kFloat32, alpha)});
  GraphValue result = node.emit("multiply", {node.cast(sums, kFloat32), scale});
  if (!node.has(7)) return {result};
  return {integers(node, result, 7, node.input(0).dtype())};
}
RELAY_ONNX_MICROSOFT("QGemm", convert_contrib_gemm)

Values convert_contrib_dynamic_matmul(NodeContext& node) {
  QuantisedMatrix matrix =
      quantised_matrix(node, node.input(1), node.input(2), node.optional_input(3));
  GraphValue result = dynamic_matmul(node, node.input(0), matrix);
  if (node.has(4)) result = node.emit("add", {result, node.input(4)});
  return {result};
}
RELAY_ONNX_MICROSOFT("DynamicQuantizeMatMul", convert_contrib_dynamic_matmul)

}  // namespace
}  // namespace relay::onnx
