// Elementwise functions of one operand that have parameters, and operators on bits.
#include <cmath>
#include <limits>

#include <relay/import/onnx/context.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

// ---- Short names for what follows ---------------------------------------------------------------

// A converter that computes floats of 16 bits in float32 and rounds once.
using Function = GraphValue (*)(NodeContext& node, const GraphValue& x);
Values rounded_once(NodeContext& node, Function function) {
  GraphValue x = node.input(0);
  bool narrow = x.dtype().is_float() && x.dtype().bits < 32;
  GraphValue result = function(node, narrow ? node.cast(x, kFloat32) : x);
  return {node.cast(result, x.dtype())};
}

// Builds expressions over tensors of one dtype and numbers.
class Calculus {
 public:
  Calculus(NodeContext& node, DType dtype) : node_(node), dtype_(dtype) {}

  GraphValue number(double x) const { return node_.scalar(dtype_, x); }
  GraphValue of(const char* op, const GraphValue& x) const { return node_.emit(op, {x}); }
  GraphValue of(const char* op, const GraphValue& x, const GraphValue& y) const {
    return node_.emit(op, {x, y});
  }
  GraphValue of(const char* op, const GraphValue& x, double y) const {
    return node_.emit(op, {x, number(y)});
  }
  GraphValue where(const GraphValue& test, const GraphValue& x, const GraphValue& y) const {
    return node_.emit("where", {test, x, y});
  }

 private:
  NodeContext& node_;
  DType dtype_;
};

Values convert_round(NodeContext& node) {
  GraphValue x = node.input(0);
  Calculus c(node, x.dtype());
  // Halves go to the even neighbour. What lies above the integer below is exact.
  GraphValue below = c.of("floor", x);
  GraphValue rest = c.of("subtract", x, below);
  GraphValue odd = c.of("not_equal", c.of("floor_mod", below, 2), 0);
  GraphValue half = c.of("equal", rest, 0.5);
  GraphValue up = c.of("logical_or", c.of("greater", rest, 0.5), c.of("logical_and", half, odd));
  return {c.where(up, c.of("add", below, 1), below)};
}
RELAY_ONNX("Round", 11, convert_round)

GraphValue elu(const Calculus& c, const GraphValue& x, double alpha) {
  GraphValue below = c.of("multiply", c.of("subtract", c.of("exp", x), 1), alpha);
  return c.where(c.of("less", x, 0), below, x);
}

GraphValue elu_of(NodeContext& node, const GraphValue& x) {
  return elu(Calculus(node, x.dtype()), x, node.attr_float("alpha", 1));
}
Values convert_elu(NodeContext& node) { return rounded_once(node, elu_of); }
RELAY_ONNX("Elu", 6, convert_elu)

GraphValue selu(NodeContext& node, const GraphValue& x) {
  double alpha = node.attr_float("alpha", 1.67326319217681884765625);
  double gamma = node.attr_float("gamma", 1.05070102214813232421875);
  Calculus c(node, x.dtype());
  return c.of("multiply", elu(c, x, alpha), gamma);
}
Values convert_selu(NodeContext& node) { return rounded_once(node, selu); }
RELAY_ONNX("Selu", 6, convert_selu)

GraphValue celu(NodeContext& node, const GraphValue& x) {
  double alpha = node.attr_float("alpha", 1);
  node.require(alpha != 0, "alpha is 0");
  Calculus c(node, x.dtype());
  GraphValue curve = c.of("subtract", c.of("exp", c.of("divide", x, alpha)), 1);
  GraphValue below = c.of("minimum", c.of("multiply", curve, alpha), 0);
  return c.of("add", c.of("maximum", x, 0), below);
}
Values convert_celu(NodeContext& node) { return rounded_once(node, celu); }
RELAY_ONNX("Celu", 12, convert_celu)

Values convert_prelu(NodeContext& node) {
  GraphValue x = node.input(0), slope = node.input(1);
  if (node.opset() < 7 && slope.rank() == 1 && x.rank() > 1 && !slope.dim(0).is_int(1)) {
    // One for each channel.
    std::vector<Dim> dims(x.rank() - 1, Dim(1));
    dims[0] = slope.dim(0);
    slope = node.reshape(slope, dims);
  }
  node.require(slope.rank() <= x.rank(), "the slope has " + std::to_string(slope.rank()) +
                                             " axes, the data " + std::to_string(x.rank()));
  Calculus c(node, x.dtype());
  return {c.where(c.of("less", x, 0), c.of("multiply", x, slope), x)};
}
RELAY_ONNX("PRelu", 6, convert_prelu)

Values convert_softplus(NodeContext& node) { return {node.emit("nn.softplus", {node.input(0)})}; }
RELAY_ONNX("Softplus", 1, convert_softplus)

GraphValue softsign(NodeContext& node, const GraphValue& x) {
  Calculus c(node, x.dtype());
  return c.of("divide", x, c.of("add", c.of("abs", x), 1));
}
Values convert_softsign(NodeContext& node) { return rounded_once(node, softsign); }
RELAY_ONNX("Softsign", 1, convert_softsign)

GraphValue hard_sigmoid(NodeContext& node, const GraphValue& x) {
  double alpha = node.attr_float("alpha", 0.2), beta = node.attr_float("beta", 0.5);
  Calculus c(node, x.dtype());
  GraphValue line = c.of("add", c.of("multiply", x, alpha), beta);
  return node.emit("clip", {line}, {{"a_min", 0.0}, {"a_max", 1.0}});
}
Values convert_hard_sigmoid(NodeContext& node) { return rounded_once(node, hard_sigmoid); }
RELAY_ONNX("HardSigmoid", 6, convert_hard_sigmoid)

Values convert_hard_swish(NodeContext& node) { return {node.emit("hardswish", {node.input(0)})}; }
RELAY_ONNX("HardSwish", 14, convert_hard_swish)

GraphValue mish(NodeContext& node, const GraphValue& x) {
  Calculus c(node, x.dtype());
  return c.of("multiply", x, c.of("tanh", c.of("nn.softplus", x)));
}
Values convert_mish(NodeContext& node) { return rounded_once(node, mish); }
RELAY_ONNX("Mish", 18, convert_mish)

Values convert_swish(NodeContext& node) {
  double alpha = node.attr_float("alpha", 1);
  return {node.emit("nn.silu", {node.input(0)}, {{"alpha", alpha}})};
}
RELAY_ONNX("Swish", 24, convert_swish)

Values convert_swiglu(NodeContext& node) {
  return {node.emit("multiply", {convert_swish(node)[0], node.input(1)})};
}
RELAY_ONNX("SwiGLU", 28, convert_swiglu)

Values convert_shrink(NodeContext& node) {
  GraphValue x = node.input(0);
  double bias = node.attr_float("bias", 0), lambda = node.attr_float("lambd", 0.5);
  // The limit and the bias of integers need not be integers.
  DType dtype = x.dtype().is_float() ? x.dtype() : kFloat64;
  Calculus c(node, dtype);
  GraphValue wide = node.cast(x, dtype);
  GraphValue above = c.where(c.of("greater", wide, lambda), c.of("subtract", wide, bias),
                             node.emit("zeros_like", {wide}));
  GraphValue result = c.where(c.of("less", wide, -lambda), c.of("add", wide, bias), above);
  return {node.cast(result, x.dtype())};
}
RELAY_ONNX("Shrink", 9, convert_shrink)

Values convert_thresholded_relu(NodeContext& node) {
  GraphValue x = node.input(0);
  Calculus c(node, x.dtype());
  GraphValue above = c.of("greater", x, node.attr_float("alpha", 1));
  return {c.where(above, x, c.number(0))};
}
RELAY_ONNX("ThresholdedRelu", 10, convert_thresholded_relu)

Values convert_is_inf(NodeContext& node) {
  GraphValue x = node.input(0);
  bool negative = node.attr_bool("detect_negative", true);
  bool positive = node.attr_bool("detect_positive", true);
  if (negative && positive) return {node.emit("isinf", {x})};
  if (!negative && !positive) return {node.broadcast_to(node.scalar(kBool, 0), x.dims())};
  double which = std::numeric_limits<double>::infinity() * (positive ? 1 : -1);
  return {Calculus(node, x.dtype()).of("equal", x, which)};
}
RELAY_ONNX("IsInf", 10, convert_is_inf)

// ---- Bits ---------------------------------------------------------------------------------------

Values convert_bit_shift(NodeContext& node) {
  GraphValue x = node.input(0), places = node.input(1);
  std::string direction = node.attr_string("direction");
  node.require(direction == "LEFT" || direction == "RIGHT", "direction is " + quoted(direction));
  node.require(x.dtype() == places.dtype(), "operands of dtypes " + std::string(x.dtype().name()) +
                                                " and " + std::string(places.dtype().name()));
  // By the width and more nothing is left but copies of the sign.
  Calculus c(node, x.dtype());
  int most = x.dtype().bits - 1;
  GraphValue outside = c.of("greater", places, most);
  if (x.dtype().is_signed()) outside = c.of("logical_or", outside, c.of("less", places, 0));
  GraphValue inside = c.where(outside, c.number(most), places);
  if (direction == "RIGHT") {
    GraphValue shifted = c.of("right_shift", x, inside);
    if (x.dtype().is_signed()) return {shifted};
    return {c.where(outside, c.number(0), shifted)};
  }
  return {c.where(outside, c.number(0), c.of("left_shift", x, inside))};
}
RELAY_ONNX("BitShift", 11, convert_bit_shift)

Values convert_bitwise_and(NodeContext& node) { return {node.emit("bitwise_and", node.inputs(2))}; }
Values convert_bitwise_or(NodeContext& node) { return {node.emit("bitwise_or", node.inputs(2))}; }
Values convert_bitwise_xor(NodeContext& node) { return {node.emit("bitwise_xor", node.inputs(2))}; }
Values convert_bitwise_not(NodeContext& node) { return {node.emit("bitwise_not", node.inputs(1))}; }
RELAY_ONNX("BitwiseAnd", 18, convert_bitwise_and)
RELAY_ONNX("BitwiseOr", 18, convert_bitwise_or)
RELAY_ONNX("BitwiseXor", 18, convert_bitwise_xor)
RELAY_ONNX("BitwiseNot", 18, convert_bitwise_not)

Values convert_bit_cast(NodeContext& node) {
  GraphValue x = node.input(0);
  DType to = node.attr_dtype("to");
  node.require(x.narrow() == 0, "bits of " + dtype_number_text(x.narrow()) + " are not supported");
  auto width = [](DType dtype) { return dtype.is_bool() ? 8 : static_cast<int>(dtype.bits); };
  node.require(width(to) == width(x.dtype()), std::string(x.dtype().name()) + " and " +
                                                  std::string(to.name()) + " differ in width");
  if (x.dtype() == to) return {x};
  if (x.dtype().is_bool()) x = node.cast(x, kUInt8);
  DType through = to.is_bool() ? kUInt8 : to;
  if (x.dtype() != through) x = node.emit("reinterpret", {x}, {{"dtype", through}});
  return {node.cast(x, to)};
}
RELAY_ONNX("BitCast", 26, convert_bit_cast)

}  // namespace
}  // namespace relay::onnx
