// Products and convolutions that ONNX Runtime's tools fuse with what follows, of the domain
// com.microsoft.
#include <algorithm>

#include <relay/import/onnx/ops/activation.h>
#include <relay/import/onnx/ops/products.h>
#include <relay/import/onnx/ops/spatial.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

#define RELAY_ONNX_MICROSOFT(op_type, convert) \
  RELAY_ONNX_DOMAIN("com.microsoft", op_type, 1, convert)

// ---- Products of matrices -----------------------------------------------------------------------

GraphValue fused_matmul(NodeContext& node) {
  GraphValue a = node.input(0), b = node.input(1);
  double alpha = node.attr_float("alpha", 1);
  bool trans_a = node.attr_bool("transA", false), trans_b = node.attr_bool("transB", false);
  // Batches that come after the rows: (rows, batch …, inner) becomes (batch …, rows, inner).
  auto batches_first = [&](const GraphValue& x, bool asked) {
    if (!asked || x.rank() < 3) return x;
    std::vector<int64_t> axes;
    for (size_t k = 1; k + 1 < x.rank(); ++k) axes.push_back(static_cast<int64_t>(k));
    axes.push_back(0);
    axes.push_back(static_cast<int64_t>(x.rank()) - 1);
    return node.transpose(x, axes);
  };
  auto transposed = [&](const GraphValue& x, bool asked) {
    if (!asked || x.rank() < 2) return x;
    std::vector<int64_t> axes(x.rank());
    for (size_t k = 0; k < axes.size(); ++k) axes[k] = static_cast<int64_t>(k);
    std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
    return node.transpose(x, axes);
  };
  a = batches_first(a, node.attr_bool("transBatchA", false));
  b = batches_first(b, node.attr_bool("transBatchB", false));
  GraphValue result = !trans_a && trans_b && a.rank() >= 2 && b.rank() == 2
                          ? node.emit("nn.dense", {a, b})
                          : matmul(node, transposed(a, trans_a), transposed(b, trans_b));
  if (alpha != 1) result = node.emit("multiply", {result, node.scalar(result.dtype(), alpha)});
  return result;
}
Values convert_contrib_fused_matmul(NodeContext& node) { return {fused_matmul(node)}; }
RELAY_ONNX_MICROSOFT("FusedMatMul", convert_contrib_fused_matmul)
RELAY_ONNX_MICROSOFT("TransposeMatMul", convert_contrib_fused_matmul)

// Applies what attributes call `activation`, with its parameters in attributes of their own.
GraphValue with_activation(NodeContext& node, const GraphValue& x) {
  std::string name = small_letters(node.attr_string("activation", ""));
  double alpha = node.attr_float("activation_alpha", 0);
  double beta = node.attr_float("activation_beta", 0);
  double gamma = node.attr_float("activation_gamma", 0);
  if (name.empty()) return x;
  return activated(node, {name, alpha, name == "selu" ? gamma : beta}, x);
}

Values convert_contrib_fused_matmul_activation(NodeContext& node) {
  GraphValue product = fused_matmul(node);
  if (small_letters(node.attr_string("activation")) == "softmax") {
    node.ignore({"activation_alpha", "activation_beta", "activation_gamma"});
    int64_t axis = node.axis(node.attr_int("activation_axis", -1), product.rank());
    return {node.emit("nn.softmax", {product}, {{"axis", axis}})};
  }
  node.ignore({"activation_axis"});
  return {with_activation(node, product)};
}
RELAY_ONNX_MICROSOFT("FusedMatMulActivation", convert_contrib_fused_matmul_activation)

Values convert_contrib_fused_gemm(NodeContext& node) {
  return {with_activation(node, node.as_default("Gemm", 13)[0])};
}
RELAY_ONNX_MICROSOFT("FusedGemm", convert_contrib_fused_gemm)

Values convert_contrib_gemm_fast_gelu(NodeContext& node) {
  GraphValue product = matmul(node, node.input(0), node.input(1));
  if (node.has(2)) product = node.emit("add", {product, node.input(2)});
  return {node.emit("nn.gelu", {product}, {{"approximate", "tanh"}})};
}
RELAY_ONNX_MICROSOFT("GemmFastGelu", convert_contrib_gemm_fast_gelu)

Values convert_contrib_matmul_integer16(NodeContext& node) {
  GraphValue a = node.input(0), b = node.input(1);
  bool plain = a.dtype().is_unsigned() && b.dtype().is_unsigned();
  DType sums = plain ? DType(kUInt32) : DType(kInt32);
  return {matmul(node, node.cast(a, sums), node.cast(b, sums))};
}
RELAY_ONNX_MICROSOFT("MatMulInteger16", convert_contrib_matmul_integer16)

// ---- Convolutions -------------------------------------------------------------------------------

// The activation of a convolution, whose parameters are one list.
GraphValue with_listed_activation(NodeContext& node, const GraphValue& x) {
  Activation f{small_letters(node.attr_string("activation", "")), 0, 0};
  std::vector<double> params = node.attr_floats("activation_params", std::vector<double>());
  auto param = [&](size_t k) {
    node.require(k < params.size(), "activation_params has " + std::to_string(params.size()) +
                                        " entries, which is too few for " + f.name);
    return params[k];
  };
  if (f.name.empty()) return x;
  if (f.name == "clip") {
    return node.emit("clip", {x}, {{"a_min", param(0)}, {"a_max", param(1)}});
  }
  if (f.name == "hardswish") {
    // Its parameters are always the usual ones.
    GraphValue gate = activated(node, {"hardsigmoid", 1.0 / 6, 0.5}, x);
    return node.emit("multiply", {x, gate});
  }
  if (f.name == "leakyrelu") f.alpha = param(0);
  if (f.name == "hardsigmoid") {
    f.alpha = param(0);
    f.beta = param(1);
  }
  return activated(node, f, x);
}

Values fused_conv(NodeContext& node, bool last) {
  GraphValue x = last ? channels_first(node, node.input(0)) : node.input(0);
  GraphValue result = convolution(node, x);
  if (last) result = channels_last(node, result);
  if (node.has(3)) result = node.emit("add", {result, node.input(3)});
  return {with_listed_activation(node, result)};
}
Values convert_contrib_fused_conv(NodeContext& node) { return fused_conv(node, false); }
Values convert_contrib_nhwc_fused_conv(NodeContext& node) { return fused_conv(node, true); }
RELAY_ONNX_MICROSOFT("FusedConv", convert_contrib_fused_conv)
RELAY_ONNX_MICROSOFT("NhwcFusedConv", convert_contrib_nhwc_fused_conv)

// Weights have their channels last, too; there are files where they are those of Conv, which counts
// where no other reading fits.
Values convert_contrib_nhwc_conv(NodeContext& node) {
  GraphValue x = channels_first(node, node.input(0)), weight = node.input(1);
  const Dim channels = x.dim(1);
  const int64_t groups = node.attr_int("group", 1);
  const bool last = weight.rank() == x.rank() && channels.is_int() && groups > 0 &&
                    weight.dim(weight.rank() - 1).is_int(channels.as_int() / groups);
  const std::vector<int64_t> kernel = node.attr_ints("kernel_shape", std::vector<int64_t>());
  bool fits = last;
  for (size_t k = 0; fits && k < kernel.size(); ++k)
    fits = k + 2 < weight.rank() && weight.dim(k + 1).is_int(kernel[k]);
  GraphValue sums =
      fits ? convolution(node, x, channels_first(node, weight)) : convolution(node, x);
  return {channels_last(node, sums)};
}
RELAY_ONNX_MICROSOFT("NhwcConv", convert_contrib_nhwc_conv)

}  // namespace
}  // namespace relay::onnx
