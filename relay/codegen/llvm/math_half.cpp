// 16-bit floats. Without F16C by integer arithmetic, so that nothing calls a library.
#include <relay/codegen/llvm/math.h>
#include <relay/codegen/llvm/math_ops.h>

namespace relay::codegen {

namespace {

using math::Ops;
using math::V;

/// double → float such that rounding the result to fewer bits is as good as rounding the double:
/// toward zero, the last bit set if anything was lost.
V round_to_odd(Ops& o, V x) {
  V nearest = o.to_float(x);
  V back = o.to_double(nearest);
  V exact = o.value(o.b.CreateFCmpUEQ(back.v, x.v));  // or not a number
  V grew = o.abs(back) > o.abs(x);
  V bits = o.bits(nearest);
  V truncated = o.select(grew, bits - 1.0, bits) | o.constant_int(bits, 1);
  return o.from_bits(o.select(exact, bits, truncated));
}

V logical_shift(V x, int count) {
  return x.ops->value(x.ops->b.CreateLShr(x.v, x.ops->constant_int(x, count).v));
}

}  // namespace

llvm::Value* emit_half_to_float(llvm::IRBuilderBase& b, llvm::Value* bits, const Target& target) {
  llvm::IRBuilderBase::FastMathFlagGuard guard(b);
  b.clearFastMathFlags();
  Ops o(b, target, nullptr, bits->getType());
  if (target.isa != Target::Isa::kBaseline) {
    return b.CreateFPExt(b.CreateBitCast(bits, o.type(b.getHalfTy())), o.float_type());
  }
  V x = o.value(b.CreateZExt(bits, o.type(b.getInt32Ty())));
  V sign = (x & o.constant_int(x, 0x8000)) << 16;
  V magnitude = x & o.constant_int(x, 0x7fff);
  // Shifted into place the exponent is too small by 112; a multiplication mends that and
  // normalises denormals. Infinities and not-a-numbers get the full exponent by hand.
  V scaled = o.from_bits(magnitude << 13) * 0x1p112;
  V special = magnitude > o.constant_int(x, 0x7bff);
  V all = o.constant_int(x, 0x7f800000) | (magnitude << 13);
  return o.from_bits(o.select(special, all, o.bits(scaled)) | sign).v;
}

llvm::Value* emit_float_to_half(llvm::IRBuilderBase& b, llvm::Value* value, const Target& target) {
  llvm::IRBuilderBase::FastMathFlagGuard guard(b);
  b.clearFastMathFlags();
  Ops o(b, target, nullptr, value->getType());
  V x = o.value(value);
  if (value->getType()->getScalarType()->isDoubleTy()) x = round_to_odd(o, x);
  if (target.isa != Target::Isa::kBaseline) {
    return b.CreateBitCast(b.CreateFPTrunc(x.v, o.type(b.getHalfTy())), o.type(b.getInt16Ty()));
  }
  V bits = o.bits(x);
  V sign = logical_shift(bits, 16) & o.constant_int(bits, 0x8000);
  V magnitude = bits & o.constant_int(bits, 0x7fffffff);
  // Normal: rebias, add half a unit of the last place (less one, unless odd), cut.
  V odd = logical_shift(magnitude, 13) & o.constant_int(bits, 1);
  V normal = logical_shift(magnitude - o.constant_int(bits, 0x38000000 - 0xfff) + odd, 13);
  // Denormal: adding a number whose last place is 2^-24 lets the addition round.
  V shifted = o.bits(o.from_bits(magnitude) + 0.5);
  V denormal = shifted - o.constant_int(bits, 0x3f000000);
  V result = o.select(magnitude < o.constant_int(bits, 0x38800000), denormal, normal);
  result =
      o.select(magnitude > o.constant_int(bits, 0x477fefff), o.constant_int(bits, 0x7c00), result);
  V payload =
      (logical_shift(magnitude, 13) & o.constant_int(bits, 0x3ff)) | o.constant_int(bits, 0x7e00);
  result = o.select(magnitude > o.constant_int(bits, 0x7f800000), payload, result);
  return b.CreateTrunc((result | sign).v, o.type(b.getInt16Ty()));
}

llvm::Value* emit_bfloat16_to_float(llvm::IRBuilderBase& b, llvm::Value* bits) {
  const Target target;
  Ops o(b, target, nullptr, bits->getType());
  V x = o.value(b.CreateZExt(bits, o.type(b.getInt32Ty())));
  return o.from_bits(x << 16).v;
}

llvm::Value* emit_float_to_bfloat16(llvm::IRBuilderBase& b, llvm::Value* value) {
  llvm::IRBuilderBase::FastMathFlagGuard guard(b);
  b.clearFastMathFlags();
  const Target target;
  Ops o(b, target, nullptr, value->getType());
  V x = o.value(value);
  if (value->getType()->getScalarType()->isDoubleTy()) x = round_to_odd(o, x);
  V bits = o.bits(x);
  V odd = logical_shift(bits, 16) & o.constant_int(bits, 1);
  V rounded = logical_shift(bits + o.constant_int(bits, 0x7fff) + odd, 16);
  V quiet = logical_shift(bits, 16) | o.constant_int(bits, 0x40);
  V result = o.select(o.is_nan(x), quiet, rounded);
  return b.CreateTrunc(result.v, o.type(b.getInt16Ty()));
}

}  // namespace relay::codegen
