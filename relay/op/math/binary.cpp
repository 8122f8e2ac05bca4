// Binary elementwise operators with broadcasting: one line each.
#include <relay/op/math/elementwise.h>

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
const Relation* any() { return broadcast_relation(); }
const Relation* numbers() { return broadcast_relation(DTypeClass::kNumeric); }
const Relation* bits() { return broadcast_relation(DTypeClass::kIntegerOrBool); }
const Relation* integers() { return broadcast_relation(DTypeClass::kInteger); }
const Relation* logic() { return broadcast_relation(DTypeClass::kBool); }

// clang-format off
RELAY_BINARY_OP("add", "Sum; integers wrap; or, on bool.", any(), apply(BinaryOp::kAdd, BinaryOp::kOr)).level(1);
RELAY_BINARY_OP("subtract", "Difference; integers wrap.", numbers(), apply(BinaryOp::kSub)).level(1);
RELAY_BINARY_OP("multiply", "Product; integers wrap; and, on bool.", any(), apply(BinaryOp::kMul, BinaryOp::kAnd)).level(1);
RELAY_BINARY_OP("divide", "Quotient; integers truncate toward zero.", numbers(), division(BinaryOp::kDiv)).level(1);
RELAY_BINARY_OP("mod", "Remainder with the sign of the dividend.", numbers(), division(BinaryOp::kMod)).level(1);
RELAY_BINARY_OP("floor_divide", "Quotient rounded down.", numbers(), division(BinaryOp::kFloorDiv)).level(1);
RELAY_BINARY_OP("floor_mod", "Remainder of floor_divide: it has the sign of the divisor.", numbers(), division(BinaryOp::kFloorMod)).level(1);
RELAY_BINARY_OP("trunc_divide", "Quotient truncated toward zero.", numbers(),
                [](Scalar a, Scalar b) {
                  Scalar quotient = te::binary(BinaryOp::kDiv, a, nonzero(b));
                  return a.dtype().is_float() ? te::unary(te::UnaryOp::kTrunc, quotient) : quotient;
                }).level(1);
RELAY_BINARY_OP("trunc_mod", "Remainder of trunc_divide: it has the sign of the dividend.", numbers(), division(BinaryOp::kMod)).level(1);
RELAY_BINARY_OP("power", "lhs to the power of rhs.", numbers(), apply(BinaryOp::kPow)).level(4);
RELAY_BINARY_OP("maximum", "The larger element; not-a-number if either is.", any(), apply(BinaryOp::kMax, BinaryOp::kOr)).level(4);
RELAY_BINARY_OP("minimum", "The smaller element; not-a-number if either is.", any(), apply(BinaryOp::kMin, BinaryOp::kAnd)).level(4);
RELAY_BINARY_OP("left_shift", "Bits of lhs moved up by rhs places.", integers(), apply(BinaryOp::kShl)).level(4);
RELAY_BINARY_OP("right_shift", "Bits of lhs moved down by rhs places; the sign is kept.", integers(), apply(BinaryOp::kShr)).level(4);
RELAY_BINARY_OP("bitwise_and", "And of the bits.", bits(), apply(BinaryOp::kAnd)).level(4);
RELAY_BINARY_OP("bitwise_or", "Or of the bits.", bits(), apply(BinaryOp::kOr)).level(4);
RELAY_BINARY_OP("bitwise_xor", "Exclusive or of the bits.", bits(), apply(BinaryOp::kXor)).level(4);
RELAY_BINARY_OP("logical_and", "And, of bool.", logic(), apply(BinaryOp::kAnd)).level(4);
RELAY_BINARY_OP("logical_or", "Or, of bool.", logic(), apply(BinaryOp::kOr)).level(4);
RELAY_BINARY_OP("logical_xor", "Exclusive or, of bool.", logic(), apply(BinaryOp::kXor)).level(4);
RELAY_BINARY_OP("equal", "Whether lhs = rhs; false for not-a-number.", compare_relation(), apply(BinaryOp::kEq)).level(4);
RELAY_BINARY_OP("not_equal", "Whether lhs differs from rhs; true for not-a-number.", compare_relation(), apply(BinaryOp::kNe)).level(4);
RELAY_BINARY_OP("less", "Whether lhs < rhs.", compare_relation(), apply(BinaryOp::kLt)).level(4);
RELAY_BINARY_OP("less_equal", "Whether lhs <= rhs.", compare_relation(), apply(BinaryOp::kLe)).level(4);
RELAY_BINARY_OP("greater", "Whether lhs > rhs.", compare_relation(), apply(BinaryOp::kGt)).level(4);
RELAY_BINARY_OP("greater_equal", "Whether lhs >= rhs.", compare_relation(), apply(BinaryOp::kGe)).level(4);
// clang-format on

}  // namespace
}  // namespace relay
