// Binary elementwise operators with broadcasting: one line each.
#include <cmath>

#include <relay/op/math/elementwise.h>
#include <relay/op/registry/forms.h>

namespace relay {
namespace {

using te::BinaryOp;
using te::Scalar;

std::function<Scalar(Scalar, Scalar)> apply(BinaryOp op) {
  return [op](Scalar a, Scalar b) { return te::binary(op, std::move(a), std::move(b)); };
}
// Arithmetic with a meaning of its own on bool.
std::function<Scalar(Scalar, Scalar)> apply(BinaryOp op, BinaryOp on_bool) {
  return [op, on_bool](Scalar a, Scalar b) {
    BinaryOp chosen = a.dtype().is_bool() ? on_bool : op;  // before a is moved from
    return te::binary(chosen, std::move(a), std::move(b));
  };
}
Scalar nonzero(Scalar b) {
  if (b.dtype().is_float()) return b;
  return te::fail_unless(b != 0, b, "integer division by zero");
}
std::function<Scalar(Scalar, Scalar)> division(BinaryOp op) {
  return [op](Scalar a, Scalar b) { return te::binary(op, std::move(a), nonzero(std::move(b))); };
}

// x / c as x * (1 / c), where 1 / c is a normal number of the dtype.
ExprRef multiply_by_reciprocal(const OpCall&, std::span<const ExprRef> args) {
  const auto* divisor = args[1]->as<Constant>();
  if (divisor == nullptr || !divisor->data().dtype().is_float()) return {};
  const DType dtype = divisor->data().dtype();
  NDArray reciprocal = divisor->data().cast(kFloat64).copy();
  auto* elements = reciprocal.data<double>();
  for (int64_t i = 0; i < reciprocal.size(); ++i) {
    if (elements[i] == 0) return {};
    elements[i] = 1 / elements[i];
  }
  NDArray factor = reciprocal.cast(dtype);
  const double least = dtype == kFloat16 ? 0x1p-14 : dtype.bits <= 32 ? 0x1p-126 : 0x1p-1022;
  for (int64_t i = 0; i < factor.size(); ++i) {
    const double element = std::abs(factor.element_as_double(i));
    // The factor of an infinite divisor is zero, which is exact.
    if (!std::isfinite(element) || (element < least && elements[i] != 0)) return {};
  }
  const ExprRef factors[] = {args[0], make_constant(std::move(factor), divisor->span())};
  return make_call(make_op(get_op("multiply")), factors);
}

// clang-format off
RELAY_BINARY_OP("add", "Sum; integers wrap; or, on bool.", kAnyDType, apply(BinaryOp::kAdd, BinaryOp::kOr)).level(1);
RELAY_BINARY_OP("subtract", "Difference; integers wrap.", kNumbers, apply(BinaryOp::kSub)).level(1);
RELAY_BINARY_OP("multiply", "Product; integers wrap; and, on bool.", kAnyDType, apply(BinaryOp::kMul, BinaryOp::kAnd)).level(1);
RELAY_BINARY_OP("divide", "Quotient; integers truncate toward zero.", kNumbers, division(BinaryOp::kDiv)).level(1).column(reciprocal_forms(), multiply_by_reciprocal);
RELAY_BINARY_OP("mod", "Remainder with the sign of the dividend.", kNumbers, division(BinaryOp::kMod)).level(1);
RELAY_BINARY_OP("floor_divide", "Quotient rounded down.", kNumbers, division(BinaryOp::kFloorDiv)).level(1);
RELAY_BINARY_OP("floor_mod", "Remainder of floor_divide: it has the sign of the divisor.", kNumbers, division(BinaryOp::kFloorMod)).level(1);
RELAY_BINARY_OP("trunc_divide", "Quotient truncated toward zero.", kNumbers,
                [](Scalar a, Scalar b) {
                  Scalar quotient = te::binary(BinaryOp::kDiv, a, nonzero(b));
                  return a.dtype().is_float() ? te::unary(te::UnaryOp::kTrunc, quotient) : quotient;
                }).level(1);
RELAY_BINARY_OP("trunc_mod", "Remainder of trunc_divide: it has the sign of the dividend.", kNumbers, division(BinaryOp::kMod)).level(1);
RELAY_BINARY_OP("power", "lhs to the power of rhs.", kNumbers, apply(BinaryOp::kPow)).level(4);
RELAY_BINARY_OP("maximum", "The larger element; not-a-number if either is.", kAnyDType, apply(BinaryOp::kMax, BinaryOp::kOr)).level(4);
RELAY_BINARY_OP("minimum", "The smaller element; not-a-number if either is.", kAnyDType, apply(BinaryOp::kMin, BinaryOp::kAnd)).level(4);
RELAY_BINARY_OP("left_shift", "Bits of lhs moved up by rhs places.", kIntegers, apply(BinaryOp::kShl)).level(4);
RELAY_BINARY_OP("right_shift", "Bits of lhs moved down by rhs places; the sign is kept.", kIntegers, apply(BinaryOp::kShr)).level(4);
RELAY_BINARY_OP("bitwise_and", "And of the bits.", kBits, apply(BinaryOp::kAnd)).level(4);
RELAY_BINARY_OP("bitwise_or", "Or of the bits.", kBits, apply(BinaryOp::kOr)).level(4);
RELAY_BINARY_OP("bitwise_xor", "Exclusive or of the bits.", kBits, apply(BinaryOp::kXor)).level(4);
RELAY_BINARY_OP("logical_and", "And, of bool.", kBool, apply(BinaryOp::kAnd)).level(4);
RELAY_BINARY_OP("logical_or", "Or, of bool.", kBool, apply(BinaryOp::kOr)).level(4);
RELAY_BINARY_OP("logical_xor", "Exclusive or, of bool.", kBool, apply(BinaryOp::kXor)).level(4);
RELAY_COMPARE_OP("equal", "True where lhs = rhs; false for not-a-number.", kAnyDType, apply(BinaryOp::kEq)).level(4);
RELAY_COMPARE_OP("not_equal", "True where lhs differs from rhs; true for not-a-number.", kAnyDType, apply(BinaryOp::kNe)).level(4);
RELAY_COMPARE_OP("less", "True where lhs < rhs; false for not-a-number.", kAnyDType, apply(BinaryOp::kLt)).level(4);
RELAY_COMPARE_OP("less_equal", "True where lhs <= rhs; false for not-a-number.", kAnyDType, apply(BinaryOp::kLe)).level(4);
RELAY_COMPARE_OP("greater", "True where lhs > rhs; false for not-a-number.", kAnyDType, apply(BinaryOp::kGt)).level(4);
RELAY_COMPARE_OP("greater_equal", "True where lhs >= rhs; false for not-a-number.", kAnyDType, apply(BinaryOp::kGe)).level(4);
// clang-format on

}  // namespace
}  // namespace relay
