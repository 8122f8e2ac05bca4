// Elementwise arithmetic, comparisons and logic.
#include <cmath>

#include <relay/import/onnx/fold.h>
#include <relay/import/onnx/narrow.h>
#include <relay/import/onnx/ops/scaled_sum.h>
#include <relay/import/onnx/ops/text.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

// ---- Two operands under broadcasting ------------------------------------------------------------

// Before opset 7, the second operand is broadcast on request, aligned at an axis.
Values binary_operands(NodeContext& node) {
  GraphValue a = node.input(0), b = node.input(1);
  if (node.opset() >= 7 || !node.node().domain.empty()) return {a, b};
  bool broadcast = node.attr_bool("broadcast", false);
  int64_t at = node.attr_int("axis", -1);
  if (!broadcast || b.rank() >= a.rank()) return {a, b};
  if (at == -1) return {a, b};
  at = node.axis(at, a.rank());
  std::vector<Dim> dims(b.dims().begin(), b.dims().end());
  node.require(static_cast<size_t>(at) + dims.size() <= a.rank(),
               "axis " + std::to_string(at) + " leaves no room for the second operand");
  dims.resize(a.rank() - static_cast<size_t>(at), Dim(1));
  return {a, node.reshape(b, dims)};
}

using BinaryDim = Dim (*)(Dim a, Dim b);

Dim divided(Dim a, Dim b) {
  if (a.is_int() && b.is_int()) return b.is_int(0) ? Dim::any() : Dim(a.as_int() / b.as_int());
  bool positive = b.is_int() && b.as_int() > 0;
  return positive && a.is_natural() ? floor_div(a, b) : Dim::any();
}
Dim less(Dim a, Dim b) {
  if ((b - a - 1).is_natural()) return 1;
  return (a - b).is_natural() ? Dim(0) : min(1, max(0, b - a));
}
Dim either(Dim a, Dim b) { return max(a, b); }
Dim both(Dim a, Dim b) { return min(a, b); }
Dim inverted(Dim a) { return Dim(1) - a; }

Values binary(NodeContext& node, const char* op, BinaryDim fold, std::optional<DType> result = {}) {
  Values args = binary_operands(node);
  auto emit = [&] { return node.emit(op, args); };
  node.require(args[0].dtype() == args[1].dtype(),
               "operands of dtypes " + std::string(args[0].dtype().name()) + " and " +
                   std::string(args[1].dtype().name()));
  if (fold != nullptr && !args[0].dtype().is_float()) {
    auto element = [&](std::span<const Dim> x) { return fold(x[0], x[1]); };
    if (auto known =
            fold_elementwise(node, args, result.value_or(args[0].dtype()), element, emit)) {
      return {*known};
    }
  }
  return {emit()};
}

Values convert_add(NodeContext& node) {
  Values sum = binary(node, "add", [](Dim a, Dim b) { return a + b; });
  if (node.opset() < 7) return sum;
  return {added_sums(node, sum[0], node.input(0), node.input(1))};
}
Values convert_sub(NodeContext& node) {
  return binary(node, "subtract", [](Dim a, Dim b) { return a - b; });
}
Values convert_mul(NodeContext& node) {
  return binary(node, "multiply", [](Dim a, Dim b) { return a * b; });
}
Values convert_div(NodeContext& node) { return binary(node, "divide", divided); }

Values convert_mod(NodeContext& node) {
  bool c_style = node.attr_bool("fmod", false);
  if (c_style) return binary(node, "trunc_mod", nullptr);
  return binary(node, "floor_mod", [](Dim a, Dim b) {
    return b.is_int() && b.as_int() > 0 ? floor_mod(a, b) : Dim::any();
  });
}

Values convert_pow(NodeContext& node) {
  Values args = binary_operands(node);
  // The exponent may have a dtype of its own; the result has that of the base. In float64 powers of
  // integers that have a place there are exact.
  DType dtype = args[0].dtype(), other = args[1].dtype();
  bool narrower = dtype.is_float() && dtype.bits < other.bits;
  if (other.is_float() && (dtype.is_integer() || narrower)) {
    DType wide = narrower ? other : DType(kFloat64);
    GraphValue power = node.emit("power", {node.cast(args[0], wide), node.cast(args[1], wide)});
    return {node.cast(power, dtype)};
  }
  return {node.emit("power", {args[0], node.cast(args[1], dtype)})};
}

Values convert_equal(NodeContext& node) {
  Values operands = node.inputs(2);
  if (operands[0].is_text() || operands[1].is_text()) {
    return {equal_text(node, operands[0], operands[1])};
  }
  return binary(
      node, "equal", [](Dim a, Dim b) { return equality(a, b); }, kBool);
}
Values convert_greater(NodeContext& node) {
  return binary(
      node, "greater", [](Dim a, Dim b) { return less(b, a); }, kBool);
}
Values convert_less(NodeContext& node) { return binary(node, "less", less, kBool); }
Values convert_greater_equal(NodeContext& node) {
  return binary(
      node, "greater_equal", [](Dim a, Dim b) { return inverted(less(a, b)); }, kBool);
}
Values convert_less_equal(NodeContext& node) {
  return binary(
      node, "less_equal", [](Dim a, Dim b) { return inverted(less(b, a)); }, kBool);
}
Values convert_and(NodeContext& node) { return binary(node, "logical_and", both, kBool); }
Values convert_or(NodeContext& node) { return binary(node, "logical_or", either, kBool); }
Values convert_xor(NodeContext& node) { return binary(node, "logical_xor", nullptr); }

RELAY_ONNX("Add", 6, convert_add)
RELAY_ONNX("Sub", 6, convert_sub)
RELAY_ONNX("Mul", 6, convert_mul)
RELAY_ONNX("Div", 6, convert_div)
RELAY_ONNX("Mod", 10, convert_mod)
RELAY_ONNX("Pow", 6, convert_pow)
RELAY_ONNX("Equal", 6, convert_equal)
RELAY_ONNX("Greater", 6, convert_greater)
RELAY_ONNX("Less", 6, convert_less)
RELAY_ONNX("GreaterOrEqual", 12, convert_greater_equal)
RELAY_ONNX("LessOrEqual", 12, convert_less_equal)
RELAY_ONNX("And", 6, convert_and)
RELAY_ONNX("Or", 6, convert_or)
RELAY_ONNX("Xor", 6, convert_xor)

// ---- Any number of operands ---------------------------------------------------------------------

Values folded_left(NodeContext& node, const char* op, BinaryDim fold) {
  Values args = node.inputs();
  node.require(!args.empty(), "there are no inputs");
  GraphValue result = args[0];
  for (size_t i = 1; i < args.size(); ++i) {
    Values pair{result, args[i]};
    node.require(args[i].dtype() == result.dtype(), "the inputs differ in dtype");
    auto emit = [&] { return node.emit(op, pair); };
    std::optional<GraphValue> known;
    if (!result.dtype().is_float()) {
      known = fold_elementwise(
          node, pair, result.dtype(), [&](std::span<const Dim> x) { return fold(x[0], x[1]); },
          emit);
    }
    result = known ? *known : emit();
  }
  return {result};
}

Values convert_sum(NodeContext& node) {
  return folded_left(node, "add", [](Dim a, Dim b) { return a + b; });
}
Values convert_max(NodeContext& node) {
  return folded_left(node, "maximum", [](Dim a, Dim b) { return max(a, b); });
}
Values convert_min(NodeContext& node) {
  return folded_left(node, "minimum", [](Dim a, Dim b) { return min(a, b); });
}
Values convert_mean(NodeContext& node) {
  GraphValue sum = convert_sum(node)[0];
  auto count = static_cast<double>(node.num_inputs());
  return {node.emit("divide", {sum, node.scalar(sum.dtype(), count)})};
}

RELAY_ONNX("Sum", 6, convert_sum)
RELAY_ONNX("Max", 6, convert_max)
RELAY_ONNX("Min", 6, convert_min)
RELAY_ONNX("Mean", 6, convert_mean)

// ---- One operand --------------------------------------------------------------------------------

#define RELAY_ONNX_UNARY(onnx_name, since, relay_name)  \
  constexpr const char* k##onnx_name = relay_name;      \
  Values convert_unary_##onnx_name(NodeContext& node) { \
    return {node.emit(k##onnx_name, {node.input(0)})};  \
  }                                                     \
  RELAY_ONNX(#onnx_name, since, convert_unary_##onnx_name)

// Not-a-number has no sign.
Values convert_sign(NodeContext& node) {
  GraphValue x = node.input(0), sign = node.emit("sign", {x});
  if (!x.dtype().is_float()) return {sign};
  return {node.emit("where", {node.emit("isnan", {x}), x, sign})};
}
RELAY_ONNX("Sign", 9, convert_sign)

RELAY_ONNX_UNARY(Abs, 6, "abs")
RELAY_ONNX_UNARY(Acos, 7, "acos")
RELAY_ONNX_UNARY(Acosh, 9, "acosh")
RELAY_ONNX_UNARY(Asin, 7, "asin")
RELAY_ONNX_UNARY(Asinh, 9, "asinh")
RELAY_ONNX_UNARY(Atan, 7, "atan")
RELAY_ONNX_UNARY(Atanh, 9, "atanh")
RELAY_ONNX_UNARY(Ceil, 6, "ceil")
RELAY_ONNX_UNARY(Cos, 7, "cos")
RELAY_ONNX_UNARY(Cosh, 9, "cosh")
RELAY_ONNX_UNARY(Erf, 9, "erf")
RELAY_ONNX_UNARY(Exp, 6, "exp")
RELAY_ONNX_UNARY(Floor, 6, "floor")
RELAY_ONNX_UNARY(IsNaN, 9, "isnan")
RELAY_ONNX_UNARY(Log, 6, "log")
RELAY_ONNX_UNARY(Reciprocal, 6, "reciprocal")
RELAY_ONNX_UNARY(Sigmoid, 6, "sigmoid")
RELAY_ONNX_UNARY(Sin, 7, "sin")
RELAY_ONNX_UNARY(Sinh, 9, "sinh")
RELAY_ONNX_UNARY(Sqrt, 6, "sqrt")
RELAY_ONNX_UNARY(Tan, 7, "tan")
RELAY_ONNX_UNARY(Tanh, 6, "tanh")

Values convert_neg(NodeContext& node) {
  GraphValue x = node.input(0);
  auto emit = [&] { return node.emit("negative", {x}); };
  if (!x.dtype().is_float()) {
    auto minus = [](std::span<const Dim> e) { return Dim(0) - e[0]; };
    if (auto known = fold_elementwise(node, {x}, x.dtype(), minus, emit)) return {*known};
  }
  return {emit()};
}
RELAY_ONNX("Neg", 6, convert_neg)

Values convert_not(NodeContext& node) {
  GraphValue x = node.input(0);
  auto emit = [&] { return node.emit("logical_not", {x}); };
  auto element = [](std::span<const Dim> e) { return inverted(e[0]); };
  if (auto known = fold_elementwise(node, {x}, x.dtype(), element, emit)) return {*known};
  return {emit()};
}
RELAY_ONNX("Not", 1, convert_not)

/// Numbers of float16 in float32. The cast is one that the model has, so it rounds.
GraphValue rounded_half(NodeContext& node, const GraphValue& x) {
  if (x.elements() && node.constant(0)) {
    return node.constant_value(node.constant(0)->cast(kFloat16).cast(kFloat32));
  }
  bool exact = x.dtype() == kBool || x.dtype() == kInt8 || x.dtype() == kUInt8;
  return node.cast(exact ? x : node.cast(x, kFloat16), kFloat32);
}

Values convert_cast(NodeContext& node) {
  GraphValue x = node.input(0);
  // For narrow floats alone.
  bool saturate = node.attr_bool("saturate", true);
  std::string round_mode = node.opset() >= 24 ? node.attr_string("round_mode", "up") : "up";
  int64_t type = node.attr_type("to");
  if (const NarrowType* narrow = narrow_type(type)) {
    return {as_narrow_type(node, x, *narrow, saturate, round_mode)};
  }
  DType to = *dtype_of_number(type);
  x = x.of_narrow_type(0);
  if (to == kFloat16 && node.importer().widens_halves()) return {rounded_half(node, x)};
  auto emit = [&] { return node.cast(x, to); };
  if (x.dtype() == to) return {x};
  if (!to.is_float()) {
    auto element = [&](std::span<const Dim> e) {
      return to.is_bool() ? inverted(equality(e[0], 0)) : e[0];
    };
    if (auto known = fold_elementwise(node, {x}, to, element, emit)) return {*known};
  }
  // Shapes become factors: the numbers of known extents stay numbers.
  if (x.elements() && node.constant(0)) return {node.constant_value(node.constant(0)->cast(to))};
  return {emit()};
}
RELAY_ONNX("Cast", 6, convert_cast)

Values convert_cast_like(NodeContext& node) {
  bool saturate = node.attr_bool("saturate", true);
  std::string round_mode = node.attr_string("round_mode", "up");
  GraphValue x = node.input(0), like = node.input(1);
  if (const NarrowType* narrow = narrow_type(like.narrow())) {
    return {as_narrow_type(node, x, *narrow, saturate, round_mode)};
  }
  return {node.cast(x.of_narrow_type(0), like.dtype())};
}
RELAY_ONNX("CastLike", 15, convert_cast_like)

// min and max may be missing, and are attributes before opset 11.
Values convert_clip_attributes(NodeContext& node) {
  constexpr double kMost = std::numeric_limits<float>::max();
  double low = node.attr_float("min", -kMost), high = node.attr_float("max", kMost);
  GraphValue x = node.input(0);
  return {cut_sum(node, node.emit("clip", {x}, {{"a_min", low}, {"a_max", high}}), x, low, high)};
}
Values convert_clip(NodeContext& node) {
  GraphValue x = node.input(0);
  std::optional<NDArray> low, high;
  if (node.has(1)) low = node.constant(1);
  if (node.has(2)) high = node.constant(2);
  bool numbers = (!node.has(1) || low) && (!node.has(2) || high) && x.dtype().is_float();
  // The upper one of crossed bounds holds; `clip` wants them in order.
  bool ordered = !low || !high || low->item_as_double() <= high->item_as_double();
  if (numbers && ordered && x.dtype().bits <= 32) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    double from = low ? low->item_as_double() : -kInfinity;
    double to = high ? high->item_as_double() : kInfinity;
    return {cut_sum(node, node.emit("clip", {x}, {{"a_min", from}, {"a_max", to}}), x, from, to)};
  }
  if (node.has(1)) x = node.emit("maximum", {x, node.input(1)});
  if (node.has(2)) x = node.emit("minimum", {x, node.input(2)});
  return {x};
}
RELAY_ONNX("Clip", 6, convert_clip_attributes)
RELAY_ONNX("Clip", 11, convert_clip)

Values convert_where(NodeContext& node) {
  Values args = node.inputs(3);
  if (args[1].is_text() || args[2].is_text()) {
    return {where_text(node, args[0], args[1], args[2])};
  }
  node.require(args[1].dtype() == args[2].dtype(), "X is " + std::string(args[1].dtype().name()) +
                                                       " and Y is " +
                                                       std::string(args[2].dtype().name()));
  auto emit = [&] { return node.emit("where", args); };
  if (!args[1].dtype().is_float()) {
    auto choose = [](std::span<const Dim> e) {
      if (e[0].is_int()) return e[0].is_int(0) ? e[2] : e[1];
      if (e[1] == e[2]) return e[1];
      return e[0] * e[1] + (Dim(1) - e[0]) * e[2];
    };
    if (auto known = fold_elementwise(node, args, args[1].dtype(), choose, emit)) return {*known};
  }
  return {emit()};
}
RELAY_ONNX("Where", 9, convert_where)

}  // namespace
}  // namespace relay::onnx
