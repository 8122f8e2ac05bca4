#include <relay/import/onnx/narrow.h>

#include <cmath>
#include <limits>
#include <unordered_set>

#include <relay/import/onnx/model.h>
#include <relay/import/onnx/ops/arithmetic.h>

namespace relay::onnx {
namespace {

// The numbers from 17 on came after the schema.
constexpr NarrowType kTypes[] = {
    {17, kFloat16, 8, 3, 7, 448.0, false, true, true},            // float8e4m3fn
    {18, kFloat16, 8, 3, 8, 240.0, false, false, true},           // float8e4m3fnuz
    {19, kFloat16, 8, 2, 15, 57344.0, true, true, true},          // float8e5m2
    {20, kFloat16, 8, 2, 16, 57344.0, false, false, true},        // float8e5m2fnuz
    {21, kUInt8, 4},                                              // uint4
    {22, kInt8, 4},                                               // int4
    {23, kFloat16, 4, 1, 1, 6.0, false, true, false},             // float4e2m1
    {24, kFloat32, 8, 0, 127, 0x1p127, false, true, true, true},  // float8e8m0
    {25, kUInt8, 2},                                              // uint2
    {26, kInt8, 2},                                               // int2
};

double float_of(const NarrowType& type, unsigned code) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (type.powers) return code == 255 ? nan : std::ldexp(1.0, static_cast<int>(code) - type.bias);
  const unsigned sign = code >> (type.bits - 1), rest = code & ((1U << (type.bits - 1)) - 1);
  const int exponent = static_cast<int>(rest >> type.fraction);
  const unsigned fraction = rest & ((1U << type.fraction) - 1);
  const int last = (1 << (type.bits - 1 - type.fraction)) - 1;
  if (!type.signed_zero && sign == 1 && rest == 0) return nan;
  double size = 0;
  if (type.infinite && exponent == last) {
    if (fraction != 0) return nan;
    size = std::numeric_limits<double>::infinity();
  } else {
    const int power = (exponent == 0 ? 1 : exponent) - type.bias - type.fraction;
    size = std::ldexp((exponent == 0 ? 0U : 1U << type.fraction) + fraction, power);
    if (type.not_a_number && size > type.greatest) return nan;
  }
  return sign == 1 ? -size : size;
}

int64_t integer_of(const NarrowType& type, unsigned code) {
  const bool negative = type.dtype.is_signed() && (code >> (type.bits - 1)) == 1;
  return static_cast<int64_t>(code) - (negative ? int64_t{1} << type.bits : 0);
}

// Numbers of float32 rounded to as many bits as the type has; what is too large stays so.
GraphValue with_few_bits(NodeContext& node, const NarrowType& type, const GraphValue& x) {
  Arithmetic with(node, kFloat32);
  constexpr int kFraction = 23, kBias = 127;
  auto whole = [&](int64_t value) { return node.scalar(kInt32, static_cast<double>(value)); };
  GraphValue bits = node.emit("reinterpret", {x}, {{"dtype", kInt32}});
  bits = node.emit("bitwise_and", {bits, whole(0x7fffffff)});
  GraphValue exponent = node.emit("right_shift", {bits, whole(kFraction)});
  exponent = node.emit("maximum", {exponent, whole(kBias + 1 - type.bias)});
  // The distance of numbers here, a power of two: dividing by it and multiplying are exact.
  GraphValue step = node.emit("subtract", {exponent, whole(type.fraction)});
  step = node.emit("left_shift", {step, whole(kFraction)});
  step = node.emit("reinterpret", {step}, {{"dtype", kFloat32}});
  return with.multiply(with.rounded_to_even(with.divide(x, step)), step);
}

// The powers of two next to the sizes of numbers: their exponents, which the bits of float32 have.
GraphValue as_powers(NodeContext& node, const GraphValue& x, const NarrowType& type, bool saturate,
                     const std::string& round_mode) {
  constexpr int kFraction = 23, kMost = 254;
  auto whole = [&](int64_t value) { return node.scalar(kInt32, static_cast<double>(value)); };
  auto in_bits = [&](const GraphValue& bits, int64_t mask) {
    return node.emit("bitwise_and", {bits, whole(mask)});
  };
  auto above = [&](const GraphValue& a, int64_t b) { return node.emit("greater", {a, whole(b)}); };
  GraphValue bits = node.emit("reinterpret", {x}, {{"dtype", kInt32}});
  GraphValue exponent = in_bits(node.emit("right_shift", {bits, whole(kFraction)}), 255);
  GraphValue special = above(exponent, kMost);
  GraphValue up = above(in_bits(bits, (1 << kFraction) - 1), 0);
  if (round_mode == "nearest") {
    GraphValue more = above(in_bits(bits, (1 << (kFraction - 1)) - 1), 0);
    up = node.emit("logical_and", {above(in_bits(bits, 1 << (kFraction - 1)), 0),
                                   node.emit("logical_or", {more, above(exponent, 0)})});
  }
  if (round_mode != "down") {
    exponent = node.emit("add", {exponent, node.cast(up, kInt32)});
    if (saturate) exponent = node.emit("minimum", {exponent, whole(kMost)});
  }
  special = node.emit("logical_or", {special, above(exponent, kMost)});
  // The smallest one is below the normal numbers of float32.
  GraphValue power = node.emit("left_shift", {exponent, whole(kFraction)});
  power = node.emit("where", {above(exponent, 0), power, whole(1 << (kFraction - 1))});
  power = node.emit("reinterpret", {power}, {{"dtype", kFloat32}});
  GraphValue nan = node.scalar(kFloat32, std::numeric_limits<double>::quiet_NaN());
  return node.emit("where", {special, nan, power}).of_narrow_type(type.number);
}

}  // namespace

const NarrowType* narrow_type(int64_t number) {
  for (const NarrowType& type : kTypes) {
    if (type.number == number) return &type;
  }
  return nullptr;
}

std::optional<DType> program_dtype(int64_t number) {
  const NarrowType* narrow = narrow_type(number);
  return narrow != nullptr ? std::optional(narrow->dtype) : dtype_of_number(number);
}

size_t narrow_bytes(const NarrowType& type, int64_t elements) {
  const int64_t each = 8 / type.bits;
  return static_cast<size_t>(elements / each + (elements % each == 0 ? 0 : 1));
}

NDArray unpacked_narrow(const NarrowType& type, std::span<const std::byte> bytes, ShapeView shape) {
  NDArray result = NDArray::empty(shape, type.dtype);
  const int each = 8 / type.bits;
  const unsigned mask = (1U << type.bits) - 1;
  dispatch(type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T table[256];
    for (unsigned code = 0; code <= mask; ++code) {
      table[code] = type.is_float() ? convert_element<T>(float_of(type, code))
                                    : convert_element<T>(integer_of(type, code));
    }
    auto* to = static_cast<T*>(result.raw());
    for (int64_t i = 0; i < result.size(); ++i) {
      auto byte = static_cast<unsigned>(bytes[static_cast<size_t>(i / each)]);
      to[i] = table[(byte >> (static_cast<int>(i % each) * type.bits)) & mask];
    }
  });
  return result;
}

GraphValue as_narrow_type(NodeContext& node, const GraphValue& x, const NarrowType& type,
                          bool saturate, const std::string& round_mode) {
  node.require(round_mode == "up" || round_mode == "down" || round_mode == "nearest",
               "round_mode is " + quoted(round_mode));
  if (type.powers) return as_powers(node, node.cast(x, kFloat32), type, saturate, round_mode);
  if (!type.is_float()) {
    // The sign comes with the highest bit that is left.
    GraphValue whole = node.cast(x, kInt32);
    GraphValue places = node.scalar(kInt32, 32 - type.bits);
    GraphValue mask = node.scalar(kInt32, (1 << type.bits) - 1);
    if (type.dtype.is_signed()) {
      whole = node.emit("right_shift", {node.emit("left_shift", {whole, places}), places});
    } else {
      whole = node.emit("bitwise_and", {whole, mask});
    }
    return node.cast(whole, type.dtype).of_narrow_type(type.number);
  }
  Arithmetic with(node, kFloat32);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  GraphValue numbers = node.cast(x, kFloat32);
  GraphValue result = with_few_bits(node, type, numbers);
  GraphValue size = node.emit("abs", {result}), greatest = with.number(type.greatest);
  GraphValue beyond = node.emit("greater", {size, greatest});
  double end = type.greatest;
  if (!saturate && type.not_a_number) {
    end = type.infinite ? kInfinity : std::numeric_limits<double>::quiet_NaN();
  }
  GraphValue negative = node.emit("less", {result, with.number(0)});
  GraphValue edge = node.emit("where", {negative, with.number(-end), with.number(end)});
  result = node.emit("where", {beyond, edge, result});
  if (!type.signed_zero) {
    GraphValue none = node.emit("equal", {result, with.number(0)});
    result = node.emit("where", {none, with.number(0), result});
  }
  if (!type.not_a_number) {
    GraphValue odd = node.emit("not_equal", {numbers, numbers});
    result = node.emit("where", {odd, with.number(-0.0), result});
  }
  return node.cast(result, type.dtype).of_narrow_type(type.number);
}

void keep_narrow_types(const Scope& scope, const Node& node, std::vector<GraphValue>& results) {
  static const std::unordered_set<std::string_view> kMoving = {
      "Concat",       "Expand",       "Flatten",   "Gather",  "GatherElements",
      "GatherND",     "Identity",     "Pad",       "Reshape", "Slice",
      "Split",        "Squeeze",      "Transpose", "Tile",    "Compress",
      "DepthToSpace", "SpaceToDepth", "Unsqueeze", "Where",   "ScatterND"};
  if (!node.domain.empty() || !kMoving.contains(node.op_type)) return;
  for (std::string_view input : node.inputs) {
    if (input.empty()) continue;
    const GraphValue& value = *scope.find(input);
    if (!value.is_tensor() || value.narrow() == 0) continue;
    for (GraphValue& result : results) {
      bool moved = result.is_tensor() && result.dtype() == value.dtype() && result.narrow() == 0;
      if (moved) result = result.of_narrow_type(value.narrow());
    }
    return;
  }
}

}  // namespace relay::onnx
