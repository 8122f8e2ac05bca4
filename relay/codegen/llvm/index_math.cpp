#include <relay/codegen/llvm/index_math.h>

#include <algorithm>

namespace relay::codegen {

std::optional<int64_t> constant_of(const llvm::Value* value) {
  const auto* known = llvm::dyn_cast_or_null<llvm::ConstantInt>(value);
  if (known == nullptr) return std::nullopt;
  return known->getSExtValue();
}

llvm::Value* IndexMath::add(llvm::Value* x, llvm::Value* y) {
  if (is_constant(x, 0)) return y;
  if (is_constant(y, 0)) return x;
  return b.CreateAdd(x, y);
}

llvm::Value* IndexMath::subtract(llvm::Value* x, llvm::Value* y) {
  if (is_constant(y, 0)) return x;
  if (x == y) return b.getInt64(0);
  return b.CreateSub(x, y);
}

llvm::Value* IndexMath::multiply(llvm::Value* x, llvm::Value* y) {
  if (is_constant(x, 1) || is_constant(y, 0)) return y;
  if (is_constant(y, 1) || is_constant(x, 0)) return x;
  return b.CreateMul(x, y);
}

LaneValue IndexMath::linear(llvm::Value* base, llvm::Value* step) {
  return is_constant(step, 0) ? LaneValue::uniform(base) : LaneValue::linear(base, step);
}

LaneValue IndexMath::add(LaneValue x, LaneValue y) {
  llvm::Value* base = add(x.base, y.base);
  if (!x.is_linear() && !y.is_linear()) return LaneValue::uniform(base);
  if (!x.is_linear()) return LaneValue::linear(base, y.step);
  if (!y.is_linear()) return LaneValue::linear(base, x.step);
  return linear(base, add(x.step, y.step));
}

LaneValue IndexMath::subtract(LaneValue x, LaneValue y) {
  llvm::Value* base = subtract(x.base, y.base);
  if (!x.is_linear() && !y.is_linear()) return LaneValue::uniform(base);
  if (!y.is_linear()) return LaneValue::linear(base, x.step);
  llvm::Value* from = x.is_linear() ? x.step : b.getInt64(0);
  return linear(base, subtract(from, y.step));
}

LaneValue IndexMath::scale(LaneValue x, llvm::Value* factor) {
  llvm::Value* base = multiply(x.base, factor);
  if (!x.is_linear()) return LaneValue::uniform(base);
  return linear(base, multiply(x.step, factor));
}

LaneNumbers::LaneNumbers(KernelFrame& frame, unsigned lanes) : b(frame.b), count_(lanes) {
  unsigned room = static_cast<unsigned>(frame.target.vector_bytes()) * 8 / lanes;
  // Lane counts up to 64, and one more, need a byte.
  type_ = b.getIntNTy(std::clamp(room, 8u, 64u));
}

llvm::Value* LaneNumbers::lanes() const {
  std::vector<llvm::Constant*> places;
  for (unsigned k = 0; k < count_; ++k) places.push_back(llvm::ConstantInt::get(type_, k));
  return llvm::ConstantVector::get(places);
}

llvm::Value* LaneNumbers::clamp(llvm::Value* value, int64_t low) const {
  llvm::Value* least = llvm::ConstantInt::getSigned(b.getInt64Ty(), low);
  llvm::Value* raised = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, value, least);
  llvm::Value* inside = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, raised, b.getInt64(count_));
  return b.CreateTrunc(inside, type_);
}

llvm::Value* LaneNumbers::splat(llvm::Value* narrow) const {
  return b.CreateVectorSplat(count_, narrow);
}

llvm::Value* LaneNumbers::below(llvm::Value* end) const {
  if (std::optional<int64_t> known = constant_of(end)) {
    llvm::SmallVector<llvm::Constant*> lanes;
    for (unsigned lane = 0; lane < count_; ++lane) lanes.push_back(b.getInt1(lane < *known));
    return llvm::ConstantVector::get(lanes);
  }
  return b.CreateICmpULT(lanes(), splat(clamp(end, 0)));
}

llvm::Value* LaneNumbers::inside(llvm::Value* base, llvm::Value* extent) const {
  // Farther away makes no difference, and cannot overflow.
  llvm::Value* count = b.getInt64(count_);
  llvm::Value* near = b.CreateBinaryIntrinsic(
      llvm::Intrinsic::smax, b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, base, extent),
      llvm::ConstantInt::getSigned(b.getInt64Ty(), -static_cast<int64_t>(count_)));
  std::optional<int64_t> known = constant_of(extent);
  unsigned bits = type_->getBitWidth();
  if (bits == 64 || (bits == 32 && known && *known < (int64_t{1} << 30))) {
    llvm::Value* places = b.CreateAdd(splat(b.CreateTrunc(near, type_)), lanes());
    return b.CreateICmpULT(places, splat(b.CreateTrunc(extent, type_)));
  }
  llvm::Value* zero = b.getInt64(0);
  llvm::Value* first = b.CreateTrunc(
      b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b.CreateSub(zero, near), zero), type_);
  llvm::Value* past = b.CreateTrunc(
      b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b.CreateSub(extent, near), count), type_);
  return b.CreateICmpULT(b.CreateSub(lanes(), splat(first)), splat(b.CreateSub(past, first)));
}

llvm::Value* integer_pow(KernelFrame& frame, ScalarEmitter& emitter, bool is_signed, llvm::Value* x,
                         llvm::Value* y) {
  llvm::IRBuilder<>& b = frame.b;
  llvm::Type* type = x->getType();
  llvm::Value* zero = llvm::Constant::getNullValue(type);
  llvm::Value* one = llvm::ConstantInt::get(type, 1);
  llvm::Value* negative = is_signed ? b.CreateICmpSLT(y, zero) : nullptr;
  llvm::Value* exponent = is_signed ? b.CreateSelect(negative, zero, y) : y;
  // By squaring, until no lane has bits left.
  llvm::AllocaInst* result = frame.alloca_register(type, "power");
  llvm::AllocaInst* square = frame.alloca_register(type, "square");
  llvm::AllocaInst* left = frame.alloca_register(type, "left");
  b.CreateStore(one, result);
  b.CreateStore(x, square);
  b.CreateStore(exponent, left);
  llvm::BasicBlock* loop = frame.new_block("power");
  llvm::BasicBlock* after = frame.new_block("power_end");
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  llvm::Value* bits = b.CreateLoad(type, left);
  llvm::Value* factor = b.CreateLoad(type, square);
  llvm::Value* odd = b.CreateICmpNE(b.CreateAnd(bits, one), zero);
  llvm::Value* product = b.CreateLoad(type, result);
  b.CreateStore(b.CreateSelect(odd, b.CreateMul(product, factor), product), result);
  b.CreateStore(b.CreateMul(factor, factor), square);
  llvm::Value* rest = b.CreateLShr(bits, one);
  b.CreateStore(rest, left);
  b.CreateCondBr(emitter.any(b.CreateICmpNE(rest, zero)), loop, after);
  b.SetInsertPoint(after);
  llvm::Value* power = b.CreateLoad(type, result);
  if (!is_signed) return power;
  // 1 / base^n: base itself for 1, its sign for -1, else 0.
  llvm::Value* minus_one = llvm::Constant::getAllOnesValue(type);
  llvm::Value* alternating =
      b.CreateSelect(b.CreateICmpNE(b.CreateAnd(y, one), zero), minus_one, one);
  llvm::Value* quotient = b.CreateSelect(
      b.CreateICmpEQ(x, one), one, b.CreateSelect(b.CreateICmpEQ(x, minus_one), alternating, zero));
  return b.CreateSelect(negative, quotient, power);
}

}  // namespace relay::codegen
