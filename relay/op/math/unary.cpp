// Unary elementwise operators: one line each.
#include <relay/ir/expr.h>
#include <relay/op/math/elementwise.h>
#include <relay/op/registry/forms.h>
#include <relay/op/registry/gradient.h>

namespace relay {
namespace {

using te::Scalar;
using te::UnaryOp;

std::function<Scalar(Scalar)> apply(UnaryOp op) {
  return [op](Scalar x) { return te::unary(op, std::move(x)); };
}
// Rounding does not change integers.
std::function<Scalar(Scalar)> rounding(UnaryOp op) {
  return [op](Scalar x) { return x.dtype().is_float() ? te::unary(op, std::move(x)) : x; };
}
// Questions about floats: integers are never special.
std::function<Scalar(Scalar)> predicate(UnaryOp op, bool otherwise) {
  return [op, otherwise](Scalar x) {
    return x.dtype().is_float() ? te::unary(op, std::move(x))
                                : te::constant(static_cast<int64_t>(otherwise), kBool);
  };
}

// The slope follows from the result, which its readers need anyway: nobody has to keep the input,
// or to compute the function again. Narrow types round each step, so theirs is derived, in one
// step.
std::vector<ExprRef> from_result(const GradientCall& call,
                                 const std::function<ExprRef(ExprRef one)>& slope) {
  const DType dtype = call.call.tensor(0).dtype;
  if (dtype != kFloat32 && dtype != kFloat64) return derived_gradients(call);
  const ExprRef one = make_constant(NDArray::scalar(dtype, 1));
  return {call_op("multiply", {call.gradient(), slope(one)})};
}
std::vector<ExprRef> sigmoid_gradient(const GradientCall& call) {
  const ExprRef& y = call.result;
  return from_result(call, [&](const ExprRef& one) {
    return call_op("multiply", {y, call_op("subtract", {one, y})});
  });
}
std::vector<ExprRef> tanh_gradient(const GradientCall& call) {
  const ExprRef& y = call.result;
  return from_result(call, [&](const ExprRef& one) {
    return call_op("subtract", {one, call_op("multiply", {y, y})});
  });
}

// clang-format off
RELAY_UNARY_OP("exp", "e to the power of each element.", kFloats, apply(UnaryOp::kExp)).level(1).column(fast_forms(), "fast_exp");
RELAY_UNARY_OP("log", "Natural logarithm.", kFloats, apply(UnaryOp::kLog)).level(1);
RELAY_UNARY_OP("log2", "Logarithm to base 2.", kFloats, apply(UnaryOp::kLog2)).level(1);
RELAY_UNARY_OP("log10", "Logarithm to base 10.", kFloats, apply(UnaryOp::kLog10)).level(1);
RELAY_UNARY_OP("sqrt", "Square root.", kFloats, apply(UnaryOp::kSqrt)).level(1);
RELAY_UNARY_OP("reciprocal", "1 / x.", kFloats, [](Scalar x) { return 1.0 / std::move(x); }).level(1);
RELAY_UNARY_OP("rsqrt", "Reciprocal of the square root.", kFloats, apply(UnaryOp::kRsqrt)).level(1);
RELAY_UNARY_OP("sigmoid", "1 / (1 + exp(-x)).", kFloats, apply(UnaryOp::kSigmoid)).level(1).gradient(sigmoid_gradient);
RELAY_UNARY_OP("tanh", "Hyperbolic tangent.", kFloats, apply(UnaryOp::kTanh)).level(1).column(fast_forms(), "fast_tanh").gradient(tanh_gradient);
RELAY_UNARY_OP("erf", "Gauss error function.", kFloats, apply(UnaryOp::kErf)).level(1).column(fast_forms(), "fast_erf");
RELAY_UNARY_OP("sin", "Sine, of radians.", kFloats, apply(UnaryOp::kSin)).level(1);
RELAY_UNARY_OP("cos", "Cosine, of radians.", kFloats, apply(UnaryOp::kCos)).level(1);
RELAY_UNARY_OP("tan", "Tangent, of radians.", kFloats, apply(UnaryOp::kTan)).level(1);
RELAY_UNARY_OP("asin", "Inverse sine.", kFloats, apply(UnaryOp::kAsin)).level(1);
RELAY_UNARY_OP("acos", "Inverse cosine.", kFloats, apply(UnaryOp::kAcos)).level(1);
RELAY_UNARY_OP("atan", "Inverse tangent.", kFloats, apply(UnaryOp::kAtan)).level(1);
RELAY_UNARY_OP("sinh", "Hyperbolic sine.", kFloats, apply(UnaryOp::kSinh)).level(1);
RELAY_UNARY_OP("cosh", "Hyperbolic cosine.", kFloats, apply(UnaryOp::kCosh)).level(1);
RELAY_UNARY_OP("asinh", "Inverse hyperbolic sine.", kFloats, apply(UnaryOp::kAsinh)).level(1);
RELAY_UNARY_OP("acosh", "Inverse hyperbolic cosine.", kFloats, apply(UnaryOp::kAcosh)).level(1);
RELAY_UNARY_OP("atanh", "Inverse hyperbolic tangent.", kFloats, apply(UnaryOp::kAtanh)).level(1);
RELAY_UNARY_OP("fast_exp", "exp, where an approximation is good enough.", kFloats, apply(UnaryOp::kExp)).level(1);
RELAY_UNARY_OP("fast_tanh", "tanh, where an approximation is good enough.", kFloats, apply(UnaryOp::kTanh)).level(1);
RELAY_UNARY_OP("fast_erf", "erf, where an approximation is good enough.", kFloats, apply(UnaryOp::kErf)).level(1);
RELAY_UNARY_OP("negative", "Minus each element; integers wrap.", kNumbers, apply(UnaryOp::kNeg)).level(3);
RELAY_UNARY_OP("abs", "Absolute value.", kNumbers, apply(UnaryOp::kAbs)).level(3);
RELAY_UNARY_OP("sign", "-1, 0 or 1 by the sign; 0 for not-a-number.", kNumbers, apply(UnaryOp::kSign)).level(3);
RELAY_UNARY_OP("floor", "Greatest integer not above.", kNumbers, rounding(UnaryOp::kFloor)).level(3);
RELAY_UNARY_OP("ceil", "Least integer not below.", kNumbers, rounding(UnaryOp::kCeil)).level(3);
RELAY_UNARY_OP("round", "Nearest integer, halves away from zero.", kNumbers, rounding(UnaryOp::kRound)).level(3);
RELAY_UNARY_OP("trunc", "Integer part.", kNumbers, rounding(UnaryOp::kTrunc)).level(3);
RELAY_PREDICATE_OP("isnan", "True for an element that is not a number.", kAnyDType, predicate(UnaryOp::kIsNan, false)).level(3);
RELAY_PREDICATE_OP("isinf", "True for an infinite element.", kAnyDType, predicate(UnaryOp::kIsInf, false)).level(3);
RELAY_PREDICATE_OP("isfinite", "True for an element that is neither infinite nor not-a-number.", kAnyDType, predicate(UnaryOp::kIsFinite, true)).level(3);
RELAY_UNARY_OP("logical_not", "Not, of bool.", kBool, apply(UnaryOp::kNot)).level(4);
RELAY_UNARY_OP("bitwise_not", "All bits flipped.", kBits,
               [](Scalar x) { return te::unary(x.dtype().is_bool() ? UnaryOp::kNot : UnaryOp::kBitNot, x); }).level(4);
RELAY_UNARY_OP("copy", "The same tensor.", kAnyDType, [](Scalar x) { return x; }).level(3);
// clang-format on

}  // namespace
}  // namespace relay
