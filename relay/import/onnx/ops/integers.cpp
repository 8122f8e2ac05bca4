// Products and convolutions of integers less their zero points, in int32.
#include <algorithm>

#include <relay/import/onnx/ops/products.h>
#include <relay/import/onnx/ops/scaled_sum.h>
#include <relay/import/onnx/ops/spatial.h>

namespace relay::onnx {
namespace {

/// The offset between signed and unsigned numbers of 8 bits: they move by so much.
constexpr int64_t kHalf = 128;

/// Integers of 8 bits and their zero point, int32; nothing if it is known to be 0.
struct SmallFactor {
  GraphValue integers, zero;
};

bool is_byte(const GraphValue& x) { return x.dtype() == kInt8 || x.dtype() == kUInt8; }

bool is_known_zero(const GraphValue& zero) {
  if (!zero) return true;
  const NDArray& elements = zero.array();
  if (!elements) return false;
  for (int64_t i = 0; i < elements.size(); ++i) {
    if (elements.element_as_int64(i) != 0) return false;
  }
  return true;
}

GraphValue product(NodeContext& node, const GraphValue& a, const GraphValue& b) {
  return node.emit("multiply", {a, b});
}

/// The same numbers of the other dtype of 8 bits, and of its zero point.
SmallFactor with_other_sign(NodeContext& node, const SmallFactor& x) {
  const DType dtype = x.integers.dtype() == kInt8 ? kUInt8 : kInt8;
  const int64_t moved = dtype == kUInt8 ? kHalf : -kHalf;
  SmallFactor result;
  GraphValue bits = node.cast(x.integers, kUInt8);
  bits = node.emit("bitwise_xor", {bits, node.scalar(kUInt8, kHalf)});
  result.integers = node.cast(bits, dtype);
  if (x.zero && x.zero.array()) {
    const NDArray& zeros = x.zero.array();
    std::vector<int32_t> elements;
    for (int64_t i = 0; i < zeros.size(); ++i)
      elements.push_back(static_cast<int32_t>(zeros.element_as_int64(i) + moved));
    result.zero = node.constant_value(NDArray::from<int32_t>(zeros.shape(), elements));
    if (is_known_zero(result.zero)) result.zero = {};
    return result;
  }
  result.zero = node.scalar(kInt32, static_cast<double>(moved));
  if (x.zero) result.zero = node.emit("add", {x.zero, result.zero});
  return result;
}

/// Two factors, one with a sign and one without, as processors multiply them. The second one is
/// likely a constant.
void oppose_signs(NodeContext& node, SmallFactor& x, SmallFactor& w) {
  if (x.integers.dtype() != w.integers.dtype()) return;
  if (x.integers.dtype() == kUInt8) {
    w = with_other_sign(node, w);
  } else {
    x = with_other_sign(node, x);
  }
}

GraphValue sums_along(NodeContext& node, const GraphValue& x, const std::vector<int64_t>& axes) {
  return node.emit("sum", {node.cast(x, kInt32)}, {{"axis", axes}, {"keepdims", true}});
}

/// x in a wider dtype, less its zero point.
GraphValue centred(NodeContext& node, const GraphValue& x, const GraphValue& zero) {
  const bool small = is_byte(x) && (!zero || is_byte(zero));
  const DType dtype = small ? kInt16 : kInt32;
  GraphValue wide = node.cast(x, dtype);
  return zero ? node.emit("subtract", {wide, node.cast(zero, dtype)}) : wide;
}

GraphValue zero_in_int32(NodeContext& node, const GraphValue& zero) {
  return is_known_zero(zero) ? GraphValue() : node.cast(zero, kInt32);
}

// ---- Convolutions -------------------------------------------------------------------------------

struct Convolution {
  Window window;
  int64_t groups, channels;

  AttrList attrs(const std::vector<int64_t>& padding) const {
    return {{"strides", window.strides}, {"padding", padding},   {"dilation", window.dilations},
            {"groups", groups},          {"channels", channels}, {"kernel_size", window.kernel},
            {"out_dtype", DType(kInt32)}};
  }
  std::string op(NodeContext& node) const {
    return spatial_op(node, "nn.conv", window.kernel.size());
  }
};

GraphValue padded_with(NodeContext& node, const GraphValue& x, const GraphValue& value,
                       const std::vector<int64_t>& pads) {
  const size_t spatial = pads.size() / 2;
  AttrValue::List widths;
  for (size_t k = 0; k < x.rank(); ++k) {
    const int64_t before = k < 2 ? 0 : pads[k - 2], after = k < 2 ? 0 : pads[k - 2 + spatial];
    widths.push_back(AttrValue(AttrValue::List{AttrValue(before), AttrValue(after)}));
  }
  return node.emit("nn.pad", {x, value}, {{"pad_width", AttrValue(widths)}});
}

/// Σ (x - zx) (w - zw) from Σ x w, sums of the weights and sums of windows. Padding is x's zero
/// point.
GraphValue conv_of_bytes(NodeContext& node, const Convolution& conv, const SmallFactor& x,
                         const SmallFactor& w) {
  const std::vector<int64_t>& pads = conv.window.pads;
  std::vector<int64_t> none(pads.size(), 0);
  const bool pads_any = std::any_of(pads.begin(), pads.end(), [](int64_t p) { return p != 0; });
  const bool moved = x.zero && pads_any;
  GraphValue data = x.integers;
  if (moved) data = padded_with(node, data, node.cast(x.zero, data.dtype()), pads);
  const std::vector<int64_t>& left = moved ? none : pads;
  GraphValue sums = node.emit(conv.op(node), {data, w.integers}, conv.attrs(left));
  std::vector<Dim> per_channel(x.integers.rank() - 1, Dim(1));
  per_channel[0] = conv.channels;
  if (x.zero) {
    std::vector<int64_t> axes;
    for (size_t k = 1; k < w.integers.rank(); ++k) axes.push_back(static_cast<int64_t>(k));
    GraphValue of_weights = node.reshape(sums_along(node, w.integers, axes), per_channel);
    sums = node.emit("subtract", {sums, product(node, x.zero, of_weights)});
  }
  if (!w.zero) return sums;
  // A window's sum is that of its channels' sums.
  Convolution box = conv;
  box.channels = box.groups = 1;
  std::vector<Dim> ones_dims(x.integers.rank(), Dim(1));
  int64_t taps = 1;
  for (size_t k = 0; k < conv.window.kernel.size(); ++k) {
    ones_dims[k + 2] = conv.window.kernel[k];
    taps *= conv.window.kernel[k];
  }
  GraphValue ones = node.broadcast_to(node.scalar(kInt32, 1), ones_dims);
  GraphValue windows =
      node.emit(box.op(node), {sums_along(node, data, {1}), ones}, box.attrs(left));
  if (x.zero) {
    const auto count = static_cast<double>(taps * w.integers.dim(1).as_int());
    GraphValue all = product(node, x.zero, node.scalar(kInt32, count));
    windows = node.emit("subtract", {windows, all});
  }
  GraphValue zero = w.zero;
  if (zero.rank() == 1) zero = node.reshape(zero, per_channel);
  return node.emit("subtract", {sums, product(node, zero, windows)});
}

}  // namespace

GraphValue integer_conv(NodeContext& node, const GraphValue& x, const GraphValue& weight,
                        const GraphValue& x_zero, const GraphValue& weight_zero) {
  Convolution conv{window_of(node, x, kernel_of(node, weight)), node.attr_int("group", 1), 0};
  node.require(weight.dim(0).is_int(), "the number of output channels is not known");
  conv.channels = weight.dim(0).as_int();
  auto zero_point = [&](const GraphValue& zero, bool vector) {
    if (!zero) return GraphValue();
    node.require(zero.rank() <= 1, "a zero point has " + std::to_string(zero.rank()) + " axes");
    const bool one = zero.rank() == 0 || zero.dim(0).is_int(1);
    node.require(one || vector, "a zero point of the data has several elements");
    return one ? node.reshape(zero, {}) : zero;
  };
  const GraphValue of_x = zero_point(x_zero, false), of_weight = zero_point(weight_zero, true);
  const bool mixes = weight.dim(1).is_int() && weight.dim(1).as_int() > 1;
  if (is_byte(x) && is_byte(weight) && mixes) {
    SmallFactor data{x, zero_in_int32(node, of_x)}, w{weight, zero_in_int32(node, of_weight)};
    oppose_signs(node, data, w);
    // Groups have window sums of their own.
    if (conv.groups == 1 || !w.zero) return conv_of_bytes(node, conv, data, w);
  }
  // Channels by themselves stay bytes where nothing has to be subtracted from the weights, and the
  // padding is 0.
  const bool padded = std::any_of(conv.window.pads.begin(), conv.window.pads.end(),
                                  [](int64_t p) { return p != 0; });
  if (is_byte(x) && is_byte(weight) && !mixes && is_known_zero(of_weight) &&
      (!padded || is_known_zero(of_x)))
    return conv_of_bytes(node, conv, {x, zero_in_int32(node, of_x)}, {weight, {}});
  GraphValue offset = of_weight;
  if (offset && offset.rank() == 1) {
    std::vector<Dim> dims(weight.rank(), Dim(1));
    dims[0] = conv.channels;
    offset = node.reshape(offset, dims);
  }
  GraphValue data = centred(node, x, of_x), kernel = centred(node, weight, offset);
  return node.emit(conv.op(node), {data, kernel}, conv.attrs(conv.window.pads));
}

// ---- Matrices -----------------------------------------------------------------------------------

GraphValue integer_matmul(NodeContext& node, const GraphValue& a, const GraphValue& b,
                          const GraphValue& a_zero, const GraphValue& b_zero) {
  // Zero points of the first operand are for rows, of the second for columns.
  GraphValue of_a = a_zero;
  const bool per_row = a_zero && a_zero.rank() == 1 && !a_zero.dim(0).is_int(1) && a.rank() > 1;
  if (per_row) of_a = node.unsqueeze(a_zero, {1});
  const bool matrices = a.rank() >= 2 && b.rank() >= 2;
  const Dim steps = matrices && a.last_dim().is_int() ? a.last_dim()
                    : matrices                        ? b.dim(b.rank() - 2)
                                                      : Dim(0);
  if (!is_byte(a) || !is_byte(b) || !matrices || !steps.is_int()) {
    return matmul(node, centred(node, a, of_a), centred(node, b, b_zero), kInt32);
  }
  SmallFactor left{a, zero_in_int32(node, of_a)}, right{b, zero_in_int32(node, b_zero)};
  oppose_signs(node, left, right);
  GraphValue sums = matmul(node, left.integers, right.integers, kInt32);
  if (left.zero) {
    // As a product, which makes no larger constant on its way.
    const DType other = right.integers.dtype() == kInt8 ? kUInt8 : kInt8;
    GraphValue ones = node.broadcast_to(node.scalar(other, 1), std::vector<Dim>{1, steps});
    GraphValue of_columns = matmul(node, ones, right.integers, kInt32);
    sums = node.emit("subtract", {sums, product(node, left.zero, of_columns)});
  }
  if (!right.zero) return sums;
  GraphValue of_rows = sums_along(node, left.integers, {-1});
  if (left.zero) {
    GraphValue count = node.scalar(kInt32, static_cast<double>(steps.as_int()));
    of_rows = node.emit("subtract", {of_rows, product(node, left.zero, count)});
  }
  return node.emit("subtract", {sums, product(node, right.zero, of_rows)});
}

// ---- Numbers that stand for integers ------------------------------------------------------------

namespace {

/// Integers of 8 bits with their scale and zero point, where there is one of each or one for each
/// place on `axis`.
struct Dequantised {
  GraphValue integers, scale, zero;
  NDArray scales{};  // the elements of the scale, if they are known
};

bool is_number(const GraphValue& x) {
  return x.rank() == 0 || (x.rank() == 1 && x.dim(0).is_int(1));
}

std::optional<Dequantised> dequantised(NodeContext& node, const GraphValue& x,
                                       std::optional<int64_t> axis) {
  if (x.integers() == nullptr || x.dtype() != kFloat32) return std::nullopt;
  const std::vector<GraphValue>& parts = *x.integers();
  Dequantised result{parts[0], parts[1], parts[2], parts[1].array()};
  if (!is_byte(result.integers) || result.integers.narrow() != 0) return std::nullopt;
  const bool one = is_number(result.scale) && (!result.zero || is_number(result.zero));
  if (!one && x.integers_axis() != axis) return std::nullopt;
  if (is_number(result.scale)) result.scale = node.reshape(result.scale, {});
  return result;
}

}  // namespace

std::optional<GraphValue> conv_of_dequantised(NodeContext& node, const GraphValue& x) {
  const GraphValue weight = node.input(1);
  // Extents that pads follow from may be open there.
  const std::string pads = node.attr_string("auto_pad", "NOTSET");
  if (pads != "NOTSET" && pads != "VALID") return std::nullopt;
  const auto data = dequantised(node, x, std::nullopt), kernel = dequantised(node, weight, 0);
  if (!data || !kernel || !weight.dim(0).is_int()) return std::nullopt;
  GraphValue sums = integer_conv(node, data->integers, kernel->integers, data->zero, kernel->zero);
  GraphValue scale = product(node, data->scale, kernel->scale);
  if (scale.rank() == 1) {
    std::vector<Dim> dims(x.rank() - 1, Dim(1));
    dims[0] = weight.dim(0);
    scale = node.reshape(scale, dims);
  }
  return scaled_sums(node, sums, scale, data->scales, kernel->scales);
}

std::optional<GraphValue> matmul_of_dequantised(NodeContext& node, const GraphValue& a,
                                                const GraphValue& b, bool transpose_b) {
  if (a.rank() < 2 || b.rank() < 2) return std::nullopt;
  const auto rank = static_cast<int64_t>(b.rank());
  const auto left = dequantised(node, a, std::nullopt);
  const auto right = dequantised(node, b, transpose_b ? rank - 2 : rank - 1);
  if (!left || !right) return std::nullopt;
  GraphValue columns = right->integers;
  if (transpose_b) columns = node.transpose(columns, {1, 0});
  GraphValue sums = integer_matmul(node, left->integers, columns, left->zero, right->zero);
  return scaled_sums(node, sums, product(node, left->scale, right->scale), left->scales,
                     right->scales);
}

}  // namespace relay::onnx
