// Operators of the default domain that ONNX took back: converters of Core ML and Windows ML wrote
// them, and ONNX Runtime still has them.
#include <relay/import/onnx/context.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

GraphValue scaled(NodeContext& node, const GraphValue& x, double by) {
  return by == 1 ? x : node.emit("multiply", {x, node.scalar(x.dtype(), by)});
}

Values convert_scale(NodeContext& node) {
  return {scaled(node, node.input(0), node.attr_float("scale", 1))};
}

Values convert_affine(NodeContext& node) {
  GraphValue x = scaled(node, node.input(0), node.attr_float("alpha", 1));
  return {node.emit("add", {x, node.scalar(x.dtype(), node.attr_float("beta", 0))})};
}

Values convert_scaled_tanh(NodeContext& node) {
  GraphValue x = scaled(node, node.input(0), node.attr_float("beta", 0));
  return {scaled(node, node.emit("tanh", {x}), node.attr_float("alpha", 0))};
}

Values convert_parametric_softplus(NodeContext& node) {
  GraphValue x = scaled(node, node.input(0), node.attr_float("beta", 0));
  // log(exp(x) + 1) without an exp that overflows
  GraphValue zero = node.scalar(x.dtype(), 0);
  GraphValue far = node.emit("exp", {node.emit("negative", {node.emit("abs", {x})})});
  GraphValue soft =
      node.emit("add", {node.emit("maximum", {x, zero}),
                        node.emit("log", {node.emit("add", {far, node.scalar(x.dtype(), 1)})})});
  return {scaled(node, soft, node.attr_float("alpha", 0))};
}

// One bias for each channel of images (N, C, H, W).
Values convert_image_scaler(NodeContext& node) {
  GraphValue x = scaled(node, node.input(0), node.attr_float("scale", 1));
  std::vector<double> bias = node.attr_floats("bias", std::vector<double>());
  node.require(x.rank() == 4, "the images have " + std::to_string(x.rank()) + " axes, not 4");
  if (bias.empty()) return {x};
  auto count = static_cast<int64_t>(bias.size());
  node.demand(x.dim(1), Dim(count),
              "bias has " + std::to_string(count) + " entries for " + x.dim(1).str() + " channels");
  NDArray row = NDArray::from<double>(Shape{count}, std::span<const double>(bias)).cast(x.dtype());
  return {node.emit("nn.bias_add", {x, node.constant_value(row)}, {{"axis", 1}})};
}

// A window of images: `scale` is its size, else what the border leaves.
Values convert_crop(NodeContext& node) {
  GraphValue x = node.input(0);
  std::vector<int64_t> border = node.attr_ints("border");  // left, top, right, bottom
  std::vector<int64_t> size = node.attr_ints("scale", std::vector<int64_t>());
  node.require(x.rank() == 4, "the images have " + std::to_string(x.rank()) + " axes, not 4");
  node.require(border.size() == 4,
               "border has " + std::to_string(border.size()) + " entries, not 4");
  node.require(size.empty() || size.size() == 2,
               "scale has " + std::to_string(size.size()) + " entries, not 2");
  std::vector<int64_t> begin{border[1], border[0]}, end, axes{2, 3};
  for (size_t k = 0; k < 2; ++k) {
    Dim extent = x.dim(2 + k);
    int64_t after = border[3 - k];
    node.require(begin[k] >= 0 && after >= 0, "border has a negative entry");
    node.require(extent.is_int(), "the extents of the images are not known");
    int64_t stop = size.empty() ? extent.as_int() - after : begin[k] + size[k];
    node.require(stop >= begin[k] && stop <= extent.as_int(),
                 "the window goes from " + std::to_string(begin[k]) + " to " +
                     std::to_string(stop) + " of " + extent.str());
    end.push_back(stop);
  }
  return {node.emit("strided_slice", {x}, {{"begin", begin}, {"end", end}, {"axes", axes}})};
}

RELAY_ONNX("Scale", 1, convert_scale)
RELAY_ONNX("Affine", 1, convert_affine)
RELAY_ONNX("ScaledTanh", 1, convert_scaled_tanh)
RELAY_ONNX("ParametricSoftplus", 1, convert_parametric_softplus)
RELAY_ONNX("ImageScaler", 1, convert_image_scaler)
RELAY_ONNX("Crop", 1, convert_crop)

}  // namespace
}  // namespace relay::onnx
