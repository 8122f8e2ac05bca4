// Quantised networks.
#include <relay/import/onnx/ops/quantised.h>

#include <algorithm>
#include <cmath>

#include <relay/import/onnx/narrow.h>
#include <relay/import/onnx/ops/arithmetic.h>
#include <relay/import/onnx/ops/products.h>
#include <relay/import/onnx/ops/scaled_sum.h>
#include <relay/import/onnx/ops/spatial.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

bool is_one(const GraphValue& x) { return x.rank() == 0 || (x.rank() == 1 && x.dim(0).is_int(1)); }

// As the operators want parameters: of a dtype, a number or a vector.
GraphValue parameter(NodeContext& node, const GraphValue& value, DType dtype, const char* what) {
  node.require(value.rank() <= 1,
               "the " + std::string(what) + " has " + std::to_string(value.rank()) + " axes");
  // Known ones are constants, which say what the operators make of them.
  GraphValue wide = value.array() && value.dtype() != dtype
                        ? node.constant_value(value.array().cast(dtype))
                        : node.cast(value, dtype);
  return is_one(wide) ? node.reshape(wide, {}) : wide;
}

GraphValue zero_parameter(NodeContext& node, const GraphValue& zero) {
  return zero ? parameter(node, zero, kInt32, "zero point") : node.scalar(kInt32, 0);
}

}  // namespace

DType quantised_dtype(const GraphValue& zero) { return zero ? zero.dtype() : DType(kUInt8); }

GraphValue dequantized(NodeContext& node, const GraphValue& x, const GraphValue& scale,
                       const GraphValue& zero, int64_t axis, DType dtype) {
  GraphValue step = parameter(node, scale, kFloat32, "scale");
  return node.emit("qnn.dequantize", {x, step, zero_parameter(node, zero)},
                   {{"out_dtype", dtype}, {"axis", axis}});
}

GraphValue quantized(NodeContext& node, const GraphValue& x, const GraphValue& scale,
                     const GraphValue& zero, int64_t axis, DType dtype) {
  GraphValue step = parameter(node, scale, kFloat32, "scale");
  return node.emit("qnn.quantize", {x, step, zero_parameter(node, zero)},
                   {{"out_dtype", dtype}, {"axis", axis}, {"rounding", "TOEVEN"}});
}

DynamicallyQuantised dynamically_quantised(NodeContext& node, const GraphValue& x,
                                           const GraphValue& range) {
  const GraphValue& whole = range ? range : x;
  Arithmetic with(node, kFloat32);
  GraphValue high = node.emit("maximum", {node.emit("max", {whole}), with.number(0)});
  GraphValue low = node.emit("minimum", {node.emit("min", {whole}), with.number(0)});
  GraphValue scale = with.divide(with.subtract(high, low), 255.0);
  // For zeros alone any scale makes zeros.
  GraphValue none = node.emit("equal", {scale, with.number(0)});
  scale = node.emit("where", {none, with.number(1), scale});
  GraphValue zero = with.divide(with.subtract(0.0, low), scale);
  zero = node.cast(with.rounded_to_range(zero, kUInt8), kUInt8);
  return {quantized(node, x, scale, zero, -1, kUInt8), scale, zero};
}

QuantisedMatrix quantised_matrix(NodeContext& node, const GraphValue& integers,
                                 const GraphValue& scale, const GraphValue& zero) {
  node.require(integers.rank() >= 2,
               "the weights have " + std::to_string(integers.rank()) + " axes; 2 are needed");
  // One number, or a row of one for each column; batches may have rows of their own.
  auto of_columns = [&](const GraphValue& each, DType dtype, const char* what) {
    size_t rank = each.rank();
    bool row = rank <= 1 || (rank <= integers.rank() && each.dim(rank - 2).is_int(1));
    bool fits = is_one(each) || (row && each.last_dim() == integers.last_dim());
    node.require(fits, "the " + std::string(what) + " is " + each.type()->str() +
                           ", neither one number nor one for each column of the weights");
    GraphValue result = node.cast(each, dtype);
    return is_one(result) ? node.reshape(result, {}) : result;
  };
  QuantisedMatrix result{integers, of_columns(scale, kFloat32, "scale")};
  if (zero) result.zero = of_columns(zero, zero.dtype(), "zero point");
  return result;
}

GraphValue dynamic_matmul(NodeContext& node, const GraphValue& x, const QuantisedMatrix& matrix,
                          const GraphValue& range) {
  node.require(x.dtype() == kFloat32, "the data are no float32");
  DynamicallyQuantised of_x = dynamically_quantised(node, x, range);
  GraphValue sums = integer_matmul(node, of_x.integers, matrix.integers, of_x.zero, matrix.zero);
  GraphValue scale = node.emit("multiply", {of_x.scale, matrix.scale});
  return node.emit("multiply", {node.cast(sums, kFloat32), scale});
}

namespace {

// ---- One tensor ---------------------------------------------------------------------------------

// Parameters of blocks, one for each element of the data.
GraphValue block_parameters_of(NodeContext& node, const GraphValue& x, const GraphValue& blocks,
                               int64_t axis, int64_t size) {
  auto at = static_cast<size_t>(axis);
  node.require(blocks.rank() == x.rank() && blocks.dim(at).is_int() && x.dim(at).is_int(),
               "blocks need a scale of the data's rank and known extents");
  int64_t extent = x.dim(at).as_int(), count = blocks.dim(at).as_int();
  constexpr int64_t kMost = int64_t{1} << 40;
  node.require(size > 0 && size < kMost && count == (extent + size - 1) / size,
               "block_size is " + std::to_string(size) + " for " + std::to_string(count) +
                   " blocks of " + std::to_string(extent) + " elements");
  GraphValue each = node.emit("repeat", {blocks}, {{"repeats", size}, {"axis", axis}});
  return each.dim(at).is_int(extent) ? each : node.slice(each, axis, 0, extent);
}

struct Parameters {
  GraphValue scale, zero;
  int64_t axis = -1;
  bool blocked = false;
};

Parameters parameters_of(NodeContext& node, const GraphValue& x) {
  Parameters p{node.input(1), node.optional_input(2), -1, false};
  bool newest = !node.node().domain.empty();  // com.microsoft counts otherwise
  int64_t axis = newest || node.opset() >= 13 ? node.attr_int("axis", 1) : 1;
  int64_t block = newest || node.opset() >= 21 ? node.attr_int("block_size", 0) : 0;
  bool numbers = is_one(p.scale) && (!p.zero || is_one(p.zero));
  if (p.zero && !numbers) {
    node.require(p.zero.rank() == p.scale.rank(), "scale and zero point differ in their shapes");
  }
  p.blocked = block != 0 && !numbers;
  if (p.blocked) {
    p.axis = node.axis(axis, x.rank());
    p.scale = block_parameters_of(node, x, p.scale, p.axis, block);
    if (p.zero) p.zero = block_parameters_of(node, x, p.zero, p.axis, block);
    return p;
  }
  if (numbers) return p;
  p.axis = node.axis(axis, x.rank());
  node.require(p.scale.rank() == 1, "the scale has " + std::to_string(p.scale.rank()) + " axes");
  return p;
}

void require_kind(NodeContext& node, DType dtype) {
  bool fits = dtype.is_integer() && dtype.bits <= 16;
  node.require(fits || dtype == kInt32,
               "numbers as " + std::string(dtype.name()) + " are not supported");
}

// A number, or a vector along an axis, as it meets all elements of x.
GraphValue spread(NodeContext& node, const GraphValue& x, const Parameters& p,
                  const GraphValue& each) {
  if (p.blocked) return each;
  if (p.axis < 0 || is_one(each)) return node.reshape(each, {});
  std::vector<Dim> dims(x.rank() - static_cast<size_t>(p.axis), Dim(1));
  dims[0] = each.dim(0);
  return node.reshape(each, dims);
}

Values convert_dequantize(NodeContext& node) {
  GraphValue x = node.input(0);
  Parameters p = parameters_of(node, x);
  const NarrowType* narrow = narrow_type(x.narrow());
  bool floats = narrow != nullptr && narrow->is_float();
  if (!floats) require_kind(node, x.dtype());
  DType dtype = p.scale.dtype();
  if (node.opset() >= 23 && node.attr_int("output_dtype", 0) != 0) {
    dtype = node.attr_dtype("output_dtype");
  }
  node.require(dtype.is_float(), "the result would be of " + std::string(dtype.name()));
  if (!p.blocked && !floats) {
    GraphValue numbers = dequantized(node, x, p.scale, p.zero, p.axis, dtype);
    if (node.importer().fake_quantization()) return {numbers};
    return {numbers.of_integers({x, p.scale, p.zero}, p.axis)};
  }
  Arithmetic with(node, kFloat32);
  DType wide = floats ? kFloat32 : kInt32;
  GraphValue number = node.cast(x, wide);
  if (p.zero) {
    number = node.emit("subtract", {number, node.cast(spread(node, x, p, p.zero), wide)});
  }
  GraphValue scale = node.cast(spread(node, x, p, p.scale), kFloat32);
  return {node.cast(with.multiply(node.cast(number, kFloat32), scale), dtype)};
}
RELAY_ONNX("DequantizeLinear", 10, convert_dequantize)
RELAY_ONNX_DOMAIN("com.microsoft", "DequantizeLinear", 1, convert_dequantize)

/// The type that QuantizeLinear gives: a dtype, or a narrow type.
struct Target {
  DType dtype = kUInt8;
  const NarrowType* narrow = nullptr;
};

Target target_of(NodeContext& node, const GraphValue& zero) {
  int64_t type = 0;
  if (zero) type = zero.narrow() != 0 ? zero.narrow() : number_of_dtype(zero.dtype());
  if (node.opset() >= 21 && node.attr_int("output_dtype", 0) != 0) {
    int64_t stated = node.attr_type("output_dtype");
    node.require(!zero || stated == type, "output_dtype is not that of the zero point");
    type = stated;
  }
  Target target;
  if (type == 0) return target;
  target.narrow = narrow_type(type);
  target.dtype = *program_dtype(type);
  return target;
}

// Quotients as integers of a dtype, or of as few bits as a narrow type has.
GraphValue rounded(NodeContext& node, const GraphValue& steps, const GraphValue& zero,
                   const Target& target) {
  Arithmetic with(node, kFloat32);
  GraphValue sum = with.rounded_to_even(steps);
  if (zero) sum = with.add(sum, node.cast(zero, kFloat32));
  if (target.narrow == nullptr) {
    return node.cast(with.rounded_to_range(sum, target.dtype), target.dtype);
  }
  bool is_signed = target.dtype.is_signed();
  int bits = target.narrow->bits - (is_signed ? 1 : 0);
  GraphValue low = with.number(is_signed ? -std::ldexp(1.0, bits) : 0.0);
  GraphValue high = with.number(std::ldexp(1.0, bits) - 1);
  sum = node.emit("minimum", {node.emit("maximum", {sum, low}), high});
  return node.cast(sum, target.dtype).of_narrow_type(target.narrow->number);
}

/// The integers that a tensor stands for, if they have the scale, zero point and dtype that it is
/// quantised with: quotients are so close to them that they are rounded to them.
std::optional<GraphValue> stood_for(const GraphValue& x, const Parameters& p, DType dtype) {
  if (x.integers() == nullptr || x.dtype() != kFloat32) return std::nullopt;
  const std::vector<GraphValue>& parts = *x.integers();
  auto same = [](const GraphValue& a, const GraphValue& b) {
    const NDArray &left = a.array(), &right = b.array();
    return left && right && left.size() == 1 && right.size() == 1 &&
           left.element_as_double(0) == right.element_as_double(0);
  };
  if (parts[0].dtype() != dtype || parts[0].narrow() != 0 || dtype.bits > 16) return std::nullopt;
  if (!same(parts[1], p.scale)) return std::nullopt;
  const double step = p.scale.array().element_as_double(0);
  if (!(step > 0x1p-100 && step < 0x1p100)) return std::nullopt;
  const bool zeros = !parts[2] && !p.zero;
  if (!zeros && (!parts[2] || !p.zero || !same(parts[2], p.zero))) return std::nullopt;
  return parts[0];
}

/// QuantizeLinear of what stands for integers, or of such tensors one after the other; nothing for
/// other numbers.
std::optional<GraphValue> quantised_integers(NodeContext& node, const GraphValue& x,
                                             const Parameters& p, DType dtype) {
  if (x.parts() == nullptr) {
    if (auto integers = stood_for(x, p, dtype)) return integers;
    if (p.axis >= 0) return std::nullopt;
    return requantised(node, x, p.scale, p.zero, dtype);
  }
  Values parts;
  for (const GraphValue& part : *x.parts()) {
    std::optional<GraphValue> integers = stood_for(part, p, dtype);
    if (!integers && p.axis < 0) integers = requantised(node, part, p.scale, p.zero, dtype);
    if (!integers) return std::nullopt;
    parts.push_back(*integers);
  }
  return node.concat(parts, x.parts_axis());
}

Values convert_quantize(NodeContext& node) {
  GraphValue x = node.input(0);
  Parameters p = parameters_of(node, x);
  bool saturate = node.opset() < 19 || node.attr_bool("saturate", true);
  Target target = target_of(node, node.optional_input(2));
  if (target.narrow == nullptr) require_kind(node, target.dtype);
  bool floats = target.narrow != nullptr && target.narrow->is_float();
  DType precision = kFloat32;  // as ONNX Runtime has it, also of narrower scales
  if (node.opset() >= 23 && node.attr_int("precision", 0) != 0) {
    precision = node.attr_dtype("precision");
  }
  node.require(precision.is_float(), "the precision is no type of floats");
  if (!p.blocked && precision == kFloat32 && target.narrow == nullptr) {
    if (auto integers = quantised_integers(node, x, p, target.dtype)) return {*integers};
    GraphValue data = node.cast(x, kFloat32);
    return {quantized(node, data, p.scale, p.zero, p.axis, target.dtype)};
  }
  // Divided here, in the type of the scale or with one for each element.
  GraphValue scale = node.cast(spread(node, x, p, p.scale), precision);
  GraphValue steps = node.cast(node.emit("divide", {node.cast(x, precision), scale}), kFloat32);
  GraphValue zero = p.zero ? spread(node, x, p, p.zero) : GraphValue();
  if (floats) {
    // The zero point is 0: it says the type.
    return {as_narrow_type(node, steps, *target.narrow, saturate)};
  }
  return {rounded(node, steps, zero, target)};
}
RELAY_ONNX("QuantizeLinear", 10, convert_quantize)
RELAY_ONNX_DOMAIN("com.microsoft", "QuantizeLinear", 1, convert_quantize)

Values convert_dynamic_quantize(NodeContext& node) {
  GraphValue x = node.input(0);
  node.require(x.dtype() == kFloat32, "the data are no float32");
  DynamicallyQuantised result = dynamically_quantised(node, x);
  return {result.integers, result.scale, result.zero};
}
RELAY_ONNX("DynamicQuantizeLinear", 11, convert_dynamic_quantize)

// ---- Products -----------------------------------------------------------------------------------

GraphValue quantised_sums(NodeContext& node, const GraphValue& numbers, const GraphValue& scale,
                          const GraphValue& zero) {
  if (auto integers = requantised(node, numbers, scale, zero, zero.dtype())) return *integers;
  return quantized(node, numbers, scale, zero, -1, zero.dtype());
}

Values convert_qlinear_conv(NodeContext& node) {
  // An attribute of com.microsoft alone; the weights stay as they are.
  bool last = !node.node().domain.empty() && node.attr_bool("channels_last", false);
  GraphValue x = last ? channels_first(node, node.input(0)) : node.input(0);
  GraphValue x_scale = node.input(1), weight = node.input(3);
  GraphValue weight_scale = node.input(4), y_scale = node.input(6), y_zero = node.input(7);
  node.require(weight.rank() == x.rank(), "the weights have " + std::to_string(weight.rank()) +
                                              " axes, the data " + std::to_string(x.rank()));
  GraphValue sums = integer_conv(node, x, weight, node.input(2), node.input(5));
  if (node.has(8)) sums = node.emit("nn.bias_add", {sums, node.input(8)}, {{"axis", 1}});
  node.require(is_one(x_scale) && is_one(y_scale), "a scale of data has several elements");
  GraphValue scale = node.emit(
      "multiply", {node.reshape(x_scale, {}), parameter(node, weight_scale, kFloat32, "scale")});
  if (scale.rank() == 1) {
    std::vector<Dim> dims(x.rank() - 1, Dim(1));
    dims[0] = scale.dim(0);
    scale = node.reshape(scale, dims);
  }
  GraphValue numbers = scaled_sums(node, sums, scale, x_scale.array(), weight_scale.array());
  GraphValue result = quantised_sums(node, numbers, y_scale, y_zero);
  return {last ? channels_last(node, result) : result};
}
RELAY_ONNX("QLinearConv", 10, convert_qlinear_conv)
RELAY_ONNX_DOMAIN("com.microsoft", "QLinearConv", 1, convert_qlinear_conv)

// A scale of the first operand may be for rows, of the second for columns.
Values convert_qlinear_matmul(NodeContext& node) {
  GraphValue a = node.input(0), b = node.input(3);
  GraphValue a_scale = node.cast(node.input(1), kFloat32);
  GraphValue b_scale = node.cast(node.input(4), kFloat32);
  GraphValue y_scale = node.input(6), y_zero = node.input(7);
  node.require(is_one(y_scale), "the scale of the result has several elements");
  GraphValue sums = integer_matmul(node, a, b, node.input(2), node.input(5));
  if (is_one(a_scale)) a_scale = node.reshape(a_scale, {});
  if (is_one(b_scale)) b_scale = node.reshape(b_scale, {});
  if (a_scale.rank() == 1 && a.rank() > 1) a_scale = node.unsqueeze(a_scale, {1});
  GraphValue scale = node.emit("multiply", {a_scale, b_scale});
  GraphValue numbers = scaled_sums(node, sums, scale, node.input(1).array(), node.input(4).array());
  return {quantised_sums(node, numbers, y_scale, y_zero)};
}
RELAY_ONNX("QLinearMatMul", 10, convert_qlinear_matmul)

}  // namespace
}  // namespace relay::onnx
