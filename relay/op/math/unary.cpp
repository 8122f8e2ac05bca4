// Unary elementwise operators: one line each.
#include <relay/op/math/elementwise.h>

namespace relay {
namespace {

using te::Scalar;
using te::UnaryOp;

std::function<Scalar(Scalar)> apply(UnaryOp op) {
  return [op](Scalar x) { return te::unary(op, std::move(x)); };
}
// Rounding leaves integers as they are.
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
const Relation* floats() { return identity_relation(DTypeClass::kFloat); }
const Relation* numbers() { return identity_relation(DTypeClass::kNumeric); }

// clang-format off
RELAY_UNARY_OP("exp", "e to the power of each element.", floats(), apply(UnaryOp::kExp)).level(1);
RELAY_UNARY_OP("log", "Natural logarithm.", floats(), apply(UnaryOp::kLog)).level(1);
RELAY_UNARY_OP("log2", "Logarithm to base 2.", floats(), apply(UnaryOp::kLog2)).level(1);
RELAY_UNARY_OP("log10", "Logarithm to base 10.", floats(), apply(UnaryOp::kLog10)).level(1);
RELAY_UNARY_OP("sqrt", "Square root.", floats(), apply(UnaryOp::kSqrt)).level(1);
RELAY_UNARY_OP("reciprocal", "1 / x.", floats(), [](Scalar x) { return 1.0 / std::move(x); }).level(1);
RELAY_UNARY_OP("rsqrt", "Reciprocal of the square root.", floats(), apply(UnaryOp::kRsqrt)).level(1);
RELAY_UNARY_OP("sigmoid", "1 / (1 + exp(-x)).", floats(), apply(UnaryOp::kSigmoid)).level(1);
RELAY_UNARY_OP("tanh", "Hyperbolic tangent.", floats(), apply(UnaryOp::kTanh)).level(1);
RELAY_UNARY_OP("erf", "Gauss error function.", floats(), apply(UnaryOp::kErf)).level(1);
RELAY_UNARY_OP("sin", "Sine, of radians.", floats(), apply(UnaryOp::kSin)).level(1);
RELAY_UNARY_OP("cos", "Cosine, of radians.", floats(), apply(UnaryOp::kCos)).level(1);
RELAY_UNARY_OP("tan", "Tangent, of radians.", floats(), apply(UnaryOp::kTan)).level(1);
RELAY_UNARY_OP("asin", "Inverse sine.", floats(), apply(UnaryOp::kAsin)).level(1);
RELAY_UNARY_OP("acos", "Inverse cosine.", floats(), apply(UnaryOp::kAcos)).level(1);
RELAY_UNARY_OP("atan", "Inverse tangent.", floats(), apply(UnaryOp::kAtan)).level(1);
RELAY_UNARY_OP("sinh", "Hyperbolic sine.", floats(), apply(UnaryOp::kSinh)).level(1);
RELAY_UNARY_OP("cosh", "Hyperbolic cosine.", floats(), apply(UnaryOp::kCosh)).level(1);
RELAY_UNARY_OP("asinh", "Inverse hyperbolic sine.", floats(), apply(UnaryOp::kAsinh)).level(1);
RELAY_UNARY_OP("acosh", "Inverse hyperbolic cosine.", floats(), apply(UnaryOp::kAcosh)).level(1);
RELAY_UNARY_OP("atanh", "Inverse hyperbolic tangent.", floats(), apply(UnaryOp::kAtanh)).level(1);
RELAY_UNARY_OP("fast_exp", "exp, where an approximation is good enough.", floats(), apply(UnaryOp::kExp)).level(1);
RELAY_UNARY_OP("fast_tanh", "tanh, where an approximation is good enough.", floats(), apply(UnaryOp::kTanh)).level(1);
RELAY_UNARY_OP("fast_erf", "erf, where an approximation is good enough.", floats(), apply(UnaryOp::kErf)).level(1);
RELAY_UNARY_OP("negative", "Minus each element; integers wrap.", numbers(), apply(UnaryOp::kNeg)).level(3);
RELAY_UNARY_OP("abs", "Absolute value.", numbers(), apply(UnaryOp::kAbs)).level(3);
RELAY_UNARY_OP("sign", "-1, 0 or 1 by the sign; 0 for not-a-number.", numbers(), apply(UnaryOp::kSign)).level(3);
RELAY_UNARY_OP("floor", "Greatest integer not above.", numbers(), rounding(UnaryOp::kFloor)).level(3);
RELAY_UNARY_OP("ceil", "Least integer not below.", numbers(), rounding(UnaryOp::kCeil)).level(3);
RELAY_UNARY_OP("round", "Nearest integer, halves away from zero.", numbers(), rounding(UnaryOp::kRound)).level(3);
RELAY_UNARY_OP("trunc", "Integer part.", numbers(), rounding(UnaryOp::kTrunc)).level(3);
RELAY_UNARY_OP("isnan", "Whether an element is not a number.", predicate_relation(), predicate(UnaryOp::kIsNan, false)).level(3);
RELAY_UNARY_OP("isinf", "Whether an element is infinite.", predicate_relation(), predicate(UnaryOp::kIsInf, false)).level(3);
RELAY_UNARY_OP("isfinite", "Whether an element is neither infinite nor not-a-number.", predicate_relation(), predicate(UnaryOp::kIsFinite, true)).level(3);
RELAY_UNARY_OP("logical_not", "Not, of bool.", identity_relation(DTypeClass::kBool), apply(UnaryOp::kNot)).level(4);
RELAY_UNARY_OP("bitwise_not", "All bits flipped.", identity_relation(DTypeClass::kIntegerOrBool),
               [](Scalar x) { return te::unary(x.dtype().is_bool() ? UnaryOp::kNot : UnaryOp::kBitNot, x); }).level(4);
RELAY_UNARY_OP("copy", "The same tensor.", identity_relation(), [](Scalar x) { return x; }).level(3);
// clang-format on

}  // namespace
}  // namespace relay
