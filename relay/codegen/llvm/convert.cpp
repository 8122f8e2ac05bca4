// Conversions between element types, and between registers and memory.
#include <llvm/IR/IntrinsicsX86.h>

#include <relay/codegen/llvm/index_math.h>
#include <relay/codegen/llvm/math.h>
#include <relay/codegen/llvm/rounding.h>
#include <relay/codegen/llvm/scalar_emitter.h>

namespace relay::codegen {

using te::ScalarNode;

namespace {

unsigned lanes_of(llvm::Value* value) {
  auto* type = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return type == nullptr ? 1 : type->getNumElements();
}

struct Converter {
  KernelFrame& frame;
  llvm::IRBuilder<>& b;

  llvm::Type* like(llvm::Value* value, DType dtype) const {
    return widen_type(register_type(frame.context, dtype), lanes_of(value));
  }

  /// float32 to int32 in whole vectors, truncated or rounded to even: what x86 does with other
  /// numbers is what `truncate` says.
  llvm::Value* by_processor(llvm::Value* x, DType dtype, bool truncates = true) const {
    if (dtype != kInt32 || !x->getType()->getScalarType()->isFloatTy()) return nullptr;
    const unsigned lanes = lanes_of(x);
    if (!frame.target.is_x86()) return nullptr;
    if (lanes * 4 > static_cast<unsigned>(frame.target.vector_bytes())) return nullptr;
    switch (lanes) {
      case 4:
        return b.CreateIntrinsic(
            truncates ? llvm::Intrinsic::x86_sse2_cvttps2dq : llvm::Intrinsic::x86_sse2_cvtps2dq,
            {}, {x});
      case 8:
        return b.CreateIntrinsic(truncates ? llvm::Intrinsic::x86_avx_cvtt_ps2dq_256
                                           : llvm::Intrinsic::x86_avx_cvt_ps2dq_256,
                                 {}, {x});
      case 16: {
        llvm::Value* nothing = llvm::Constant::getNullValue(like(x, dtype));
        llvm::Value* all = b.getInt16(0xffff);
        constexpr int kCurrentDirection = 4;
        return b.CreateIntrinsic(truncates ? llvm::Intrinsic::x86_avx512_mask_cvttps2dq_512
                                           : llvm::Intrinsic::x86_avx512_mask_cvtps2dq_512,
                                 {}, {x, nothing, all, b.getInt32(kCurrentDirection)});
      }
      default:
        return nullptr;
    }
  }

  /// Truncation; numbers outside of the type's range, and not-a-number, give its least number.
  llvm::Value* truncate(llvm::Value* x, DType dtype) const {
    llvm::Type* type = like(x, dtype);
    if (llvm::Value* done = by_processor(x, dtype)) return done;
    llvm::Value* limit = llvm::ConstantFP::get(x->getType(), dtype.bits == 64 ? 0x1p63 : 0x1p31);
    llvm::Value* inside = b.CreateFCmpOLT(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x), limit);
    llvm::Value* safe = b.CreateSelect(inside, x, llvm::Constant::getNullValue(x->getType()));
    llvm::Constant* least = llvm::ConstantInt::get(type, uint64_t{1} << (dtype.bits - 1));
    return b.CreateSelect(inside, b.CreateFPToSI(safe, type), least);
  }

  llvm::Value* float_to_integer(llvm::Value* x, DType to) const {
    llvm::Type* type = like(x, to);
    if (to == kInt32 || to == kInt64) return truncate(x, to);
    if (to == kUInt32) return b.CreateTrunc(truncate(x, kInt64), type);
    if (to != kUInt64) return b.CreateTrunc(truncate(x, kInt32), type);
    llvm::Value* half = llvm::ConstantFP::get(x->getType(), 0x1p63);
    llvm::Value* upper = b.CreateAnd(
        b.CreateFCmpOGE(x, half), b.CreateFCmpOLT(x, llvm::ConstantFP::get(x->getType(), 0x1p64)));
    llvm::Value* lowered = truncate(b.CreateSelect(upper, b.CreateFSub(x, half), x), kInt64);
    llvm::Constant* top = llvm::ConstantInt::get(type, uint64_t{1} << 63);
    return b.CreateSelect(upper, b.CreateXor(lowered, top), lowered);
  }

  llvm::Value* integer_to_float(llvm::Value* x, DType from, llvm::Type* type) const {
    return from.is_signed() ? b.CreateSIToFP(x, type) : b.CreateUIToFP(x, type);
  }

  /// To a 16-bit float, rounded once: through float where that is exact or does not matter, else
  /// through double, where integers beyond 2^53 keep a sticky bit.
  llvm::Value* integer_to_narrow(llvm::Value* x, DType from) const {
    llvm::Type* single = widen_type(b.getFloatTy(), lanes_of(x));
    if (from.is_bool() || from.bits <= 16) return integer_to_float(x, from, single);
    llvm::Type* real = widen_type(b.getDoubleTy(), lanes_of(x));
    if (from.bits < 64) return integer_to_float(x, from, real);

    llvm::Type* type = x->getType();
    llvm::Value* low = b.CreateAnd(x, llvm::ConstantInt::get(type, 0xfff));
    llvm::Value* sticky = b.CreateOr(
        b.CreateAnd(x, llvm::ConstantInt::getSigned(type, ~int64_t{0xfff})),
        b.CreateSelect(b.CreateICmpNE(low, llvm::Constant::getNullValue(type)),
                       llvm::ConstantInt::get(type, 0x800), llvm::Constant::getNullValue(type)));
    llvm::Constant* exact = llvm::ConstantInt::get(type, uint64_t{1} << 53);
    llvm::Value* magnitude =
        from.is_signed() ? b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, b.getFalse()) : x;
    llvm::Value* large = b.CreateICmpUGT(magnitude, exact);
    return integer_to_float(b.CreateSelect(large, sticky, x), from, real);
  }
};

bool is_narrow(DType dtype) { return dtype.is_float() && dtype.bits == 16; }

}  // namespace

llvm::Value* ScalarEmitter::from_memory(llvm::Value* value, DType dtype) {
  if (dtype.is_bool()) {
    return b.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
  }
  if (dtype == kFloat16) return emit_half_to_float(b, value, frame_.target);
  if (dtype == kBFloat16) return emit_bfloat16_to_float(b, value);
  return value;
}

llvm::Value* ScalarEmitter::to_memory(llvm::Value* value, DType dtype) {
  if (dtype.is_bool()) {
    return b.CreateZExt(value, widen_type(b.getInt8Ty(), lanes_of(value)));
  }
  if (dtype == kFloat16) return emit_float_to_half(b, value, frame_.target);
  if (dtype == kBFloat16) return emit_float_to_bfloat16(b, value);
  return value;
}

LaneValue ScalarEmitter::write_rounded(const ScalarNode* node) {
  std::optional<RoundedToEven> rounded = rounded_to_even(*node);
  if (!rounded) return {};
  LaneValue x = emit(rounded->data);
  Converter convert{frame_, b};
  if (!x.is_vector()) return {};
  llvm::Value* value = convert.by_processor(x.base, kInt32, false);
  if (value == nullptr) return {};
  if (rounded->offset != 0)
    value = b.CreateAdd(value, llvm::ConstantInt::getSigned(value->getType(), rounded->offset));
  return LaneValue::vector(b.CreateTrunc(value, convert.like(value, node->dtype)));
}

LaneValue ScalarEmitter::write_cast(const ScalarNode* node) {
  if (LaneValue rounded = write_rounded(node)) return rounded;
  LaneValue x = arg(node, 0);
  DType from = node->args[0]->dtype;
  DType to = node->dtype;
  Converter convert{frame_, b};
  if (x.is_linear()) {
    if (to.is_integer() && to.bits < 64) {  // wraps: in the narrow type all along
      llvm::Type* narrow = register_type(frame_.context, to);
      std::vector<llvm::Constant*> places;
      for (unsigned k = 0; k < lanes(); ++k) places.push_back(llvm::ConstantInt::get(narrow, k));
      llvm::Value* base = b.CreateVectorSplat(lanes(), b.CreateTrunc(x.base, narrow));
      llvm::Value* step = b.CreateVectorSplat(lanes(), b.CreateTrunc(x.step, narrow));
      return LaneValue::vector(
          b.CreateAdd(base, b.CreateMul(step, llvm::ConstantVector::get(places))));
    }
    x = LaneValue::vector(widen(x));
  }
  llvm::Value* value = x.base;
  llvm::Type* type = convert.like(value, to);
  auto done = [&](llvm::Value* result) {
    x.base = result;
    return x;
  };
  if (to.is_bool()) {
    llvm::Constant* zero = llvm::Constant::getNullValue(value->getType());
    return done(from.is_float() ? b.CreateFCmpUNE(value, zero) : b.CreateICmpNE(value, zero));
  }
  if (is_narrow(to)) {
    if (!from.is_float()) value = convert.integer_to_narrow(value, from);
    return done(from_memory(to_memory(value, to), to));
  }
  if (to.is_float()) {
    if (!from.is_float()) return done(convert.integer_to_float(value, from, type));
    return done(b.CreateFPCast(value, type));
  }
  if (from.is_float()) return done(convert.float_to_integer(value, to));
  return done(from.is_signed() ? b.CreateSExtOrTrunc(value, type)
                               : b.CreateZExtOrTrunc(value, type));
}

LaneValue ScalarEmitter::write_bitcast(const ScalarNode* node) {
  LaneValue x = arg(node, 0);
  DType from = node->args[0]->dtype;
  if (x.is_linear()) x = LaneValue::vector(widen(x));
  llvm::Value* bits = to_memory(x.base, from);
  llvm::Type* type = widen_type(memory_type(frame_.context, node->dtype), lanes_of(bits));
  x.base = from_memory(b.CreateBitCast(bits, type), node->dtype);
  return x;
}

}  // namespace relay::codegen
