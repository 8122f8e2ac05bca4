// Convolutions, products, activations.
#include <algorithm>
#include <cmath>

#include <relay/import/onnx/ops/products.h>
#include <relay/import/onnx/ops/scaled_sum.h>
#include <relay/import/onnx/ops/spatial.h>
#include <relay/op/registry/relation.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

// ---- Convolution --------------------------------------------------------------------------------

}  // namespace

namespace {

void fit_ranks(NodeContext& node, const GraphValue& x, const GraphValue& weight) {
  node.require(weight.rank() == x.rank(), "the weights have " + std::to_string(weight.rank()) +
                                              " axes, the data " + std::to_string(x.rank()));
}

GraphValue biased(NodeContext& node, const GraphValue& sums) {
  return node.has(2) ? with_bias(node, sums, node.input(2), 1) : sums;
}

}  // namespace

GraphValue convolution(NodeContext& node, GraphValue x) {
  GraphValue weight = node.input(1);
  fit_ranks(node, x, weight);
  if (std::optional<GraphValue> sums = conv_of_dequantised(node, x)) return biased(node, *sums);
  return convolution(node, std::move(x), weight);
}

GraphValue convolution(NodeContext& node, GraphValue x, const GraphValue& weight) {
  fit_ranks(node, x, weight);
  Window w = window_of(node, x, kernel_of(node, weight), Padding::kOpen);
  x = with_pads(node, w, x, node.scalar(x.dtype(), 0));
  int64_t groups = node.attr_int("group", 1);
  node.require(weight.dim(0).is_int(), "the number of output channels is not known");
  size_t spatial = x.rank() - 2;
  std::string layout = spatial == 1 ? "NCW" : spatial_layout("NC", spatial);
  GraphValue result = node.emit(spatial_op(node, "nn.conv", spatial), {x, weight},
                                {{"strides", w.strides},
                                 {"padding", w.pads},
                                 {"dilation", w.dilations},
                                 {"groups", groups},
                                 {"channels", weight.dim(0).as_int()},
                                 {"kernel_size", w.kernel}});
  return biased(node, result);
}

namespace {

Values convert_conv(NodeContext& node) { return {convolution(node, node.input(0))}; }
RELAY_ONNX("Conv", 1, convert_conv)

// ---- Products -----------------------------------------------------------------------------------

// Weights of more than this take their transpose with them when the program is compiled.
Values convert_gemm(NodeContext& node) {
  GraphValue a = node.input(0), b = node.input(1);
  double alpha = node.attr_float("alpha", 1), beta = node.attr_float("beta", 1);
  bool trans_a = node.attr_bool("transA", false), trans_b = node.attr_bool("transB", false);
  if (node.opset() < 7) node.ignore({"broadcast"});
  node.require(a.rank() == 2 && b.rank() == 2, "the operands must be matrices");
  GraphValue product;
  std::optional<GraphValue> of_integers;
  if (!trans_a) of_integers = matmul_of_dequantised(node, a, b, trans_b);
  if (of_integers) {
    product = *of_integers;
  } else if (!trans_a && trans_b) {
    product = node.emit("nn.dense", {a, b});
  } else {
    product = node.emit("nn.matmul", {a, b}, {{"transpose_a", trans_a}, {"transpose_b", trans_b}});
  }
  if (alpha != 1) product = node.emit("multiply", {product, node.scalar(product.dtype(), alpha)});
  if (!node.has(2) || beta == 0) return {product};
  GraphValue c = node.input(2);
  if (beta != 1) c = node.emit("multiply", {c, node.scalar(c.dtype(), beta)});
  if (c.rank() == 1 && c.dim(0) == product.dim(1)) {
    return {with_bias(node, product, c, 1)};
  }
  return {node.emit("add", {product, c})};
}
RELAY_ONNX("Gemm", 6, convert_gemm)

}  // namespace

GraphValue matmul(NodeContext& node, GraphValue a, GraphValue b, std::optional<DType> out_dtype) {
  node.require(a.rank() > 0 && b.rank() > 0, "an operand has no axes");
  bool row = a.rank() == 1, column = b.rank() == 1;
  if (row) a = node.unsqueeze(a, {0});
  if (column) b = node.unsqueeze(b, {1});
  auto with_dtype = [&](AttrList attrs) {
    if (out_dtype) attrs.emplace_back("out_dtype", *out_dtype);
    return attrs;
  };
  GraphValue result;
  if (b.rank() == 2) {
    result = node.emit("nn.matmul", {a, b}, with_dtype({}));
  } else {
    // Batches broadcast; both need one axis for them at least.
    size_t rank = std::max(a.rank(), b.rank());
    a = node.left_pad_rank(a, rank);
    b = node.left_pad_rank(b, rank);
    result = node.emit("nn.batch_matmul", {a, b}, with_dtype({{"transpose_b", false}}));
  }
  std::vector<int64_t> dropped;
  auto rank = static_cast<int64_t>(result.rank());
  if (row) dropped.push_back(rank - 2);
  if (column) dropped.push_back(rank - 1);
  return dropped.empty() ? result : node.emit("squeeze", {result}, {{"axis", dropped}});
}

namespace {

Values convert_matmul(NodeContext& node) {
  GraphValue a = node.input(0), b = node.input(1);
  if (std::optional<GraphValue> product = matmul_of_dequantised(node, a, b)) return {*product};
  return {matmul(node, a, b)};
}
RELAY_ONNX("MatMul", 1, convert_matmul)

// ---- Activations --------------------------------------------------------------------------------

Values convert_relu(NodeContext& node) {
  GraphValue x = node.input(0);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return {cut_sum(node, node.emit("nn.relu", {x}), x, 0, kInfinity)};
}
RELAY_ONNX("Relu", 6, convert_relu)

Values convert_leaky_relu(NodeContext& node) {
  double alpha = node.attr_float("alpha", 0.01);
  return {node.emit("nn.leaky_relu", {node.input(0)}, {{"alpha", alpha}})};
}
RELAY_ONNX("LeakyRelu", 6, convert_leaky_relu)

Values convert_gelu(NodeContext& node) {
  std::string form = node.attr_string("approximate", "none");
  node.require(form == "none" || form == "tanh", "approximate is " + quoted(form));
  return {node.emit("nn.gelu", {node.input(0)}, {{"approximate", form}})};
}
RELAY_ONNX("Gelu", 20, convert_gelu)

// Before opset 13 everything from the axis on is one axis.
Values flat_softmax(NodeContext& node, const char* op) {
  GraphValue x = node.input(0);
  auto rank = static_cast<int64_t>(x.rank());
  int64_t axis = node.attr_int("axis", 1);
  axis = axis == rank ? rank : node.axis(axis, x.rank());
  auto at = static_cast<size_t>(axis);
  if (axis == rank - 1) return {node.emit(op, {x}, {{"axis", axis}})};
  GraphValue flat = node.reshape(x, {product(x.dims().first(at)), product(x.dims().subspan(at))});
  return {node.reshape(node.emit(op, {flat}, {{"axis", 1}}), x.dims())};
}
Values softmax(NodeContext& node, const char* op) {
  GraphValue x = node.input(0);
  int64_t axis = node.axis(node.attr_int("axis", -1), x.rank());
  return {node.emit(op, {x}, {{"axis", axis}})};
}
Values convert_flat_softmax(NodeContext& node) { return flat_softmax(node, "nn.softmax"); }
Values convert_softmax(NodeContext& node) { return softmax(node, "nn.softmax"); }
Values convert_flat_log_softmax(NodeContext& node) { return flat_softmax(node, "nn.log_softmax"); }
Values convert_log_softmax(NodeContext& node) { return softmax(node, "nn.log_softmax"); }
RELAY_ONNX("Softmax", 1, convert_flat_softmax)
RELAY_ONNX("Softmax", 13, convert_softmax)
RELAY_ONNX("LogSoftmax", 1, convert_flat_log_softmax)
RELAY_ONNX("LogSoftmax", 13, convert_log_softmax)

}  // namespace
}  // namespace relay::onnx
