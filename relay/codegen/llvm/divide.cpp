// Integer division: divisors of 0 are failures, never traps.
#include <bit>

#include <llvm/Analysis/ValueTracking.h>

#include <relay/codegen/llvm/index_math.h>
#include <relay/support/error.h>

namespace relay::codegen {

using te::BinaryOp;
using te::ScalarNode;

namespace {

struct Divider {
  llvm::IRBuilder<>& b;
  bool is_signed;

  llvm::Constant* number(llvm::Value* like, int64_t value) const {
    return llvm::ConstantInt::getSigned(like->getType(), value);
  }

  /// x op d, where d is not 0.
  llvm::Value* divide(BinaryOp op, llvm::Value* x, llvm::Value* d) const {
    bool remainder = op == BinaryOp::kMod || op == BinaryOp::kFloorMod;
    if (!is_signed) return remainder ? b.CreateURem(x, d) : b.CreateUDiv(x, d);
    std::optional<int64_t> known = splat_of(d);
    if (known && *known > 0 && std::has_single_bit(static_cast<uint64_t>(*known))) {
      if (op == BinaryOp::kFloorMod) return b.CreateAnd(x, number(x, *known - 1));
      if (op == BinaryOp::kFloorDiv) {
        return b.CreateAShr(x, number(x, std::countr_zero(static_cast<uint64_t>(*known))));
      }
    }
    // The least number over -1 overflows, where the machine would trap.
    llvm::Value* negates = known && *known != -1 ? nullptr : b.CreateICmpEQ(d, number(d, -1));
    llvm::Value* safe = negates == nullptr ? d : b.CreateSelect(negates, number(d, 1), d);
    llvm::Value* quotient = b.CreateSDiv(x, safe);
    if (op == BinaryOp::kDiv) {
      return negates == nullptr ? quotient : b.CreateSelect(negates, b.CreateNeg(x), quotient);
    }
    llvm::Value* rest = b.CreateSub(x, b.CreateMul(quotient, safe));
    if (op == BinaryOp::kMod) return rest;
    llvm::Value* zero = number(x, 0);
    llvm::Value* lower = known && *known > 0
                             ? b.CreateICmpSLT(rest, zero)
                             : b.CreateAnd(b.CreateICmpNE(rest, zero),
                                           b.CreateICmpSLT(b.CreateXor(rest, safe), zero));
    if (op == BinaryOp::kFloorMod) return b.CreateSelect(lower, b.CreateAdd(rest, safe), rest);
    llvm::Value* floored = b.CreateSelect(lower, b.CreateSub(quotient, number(x, 1)), quotient);
    return negates == nullptr ? floored : b.CreateSelect(negates, b.CreateNeg(x), floored);
  }

  static std::optional<int64_t> splat_of(llvm::Value* value) {
    if (auto* constant = llvm::dyn_cast<llvm::Constant>(value);
        constant != nullptr && constant->getType()->isVectorTy()) {
      return constant_of(constant->getSplatValue());
    }
    return constant_of(value);
  }
};

}  // namespace

/// The divisor, with a failure recorded where it is 0 and 1 in its place; checked as far out as
/// possible.
LaneValue ScalarEmitter::checked_divisor(const ScalarNode* divisor, uint32_t origin) {
  if (divisor->kind == te::ScalarKind::kConst && divisor->value.i != 0) return leaf(divisor);
  for (size_t r = regions_.size(); r-- > 0;) {
    auto found = regions_[r].divisors.find(divisor);
    if (found != regions_[r].divisors.end()) return found->second;
  }
  size_t home = home_of(facts(divisor).depends, /*unsafe=*/true, regions_.size() - 1);
  LaneValue result = write_at(home, [&] {
    LaneValue d = emit(divisor);
    if (d.is_linear()) d = LaneValue::vector(widen(d));
    llvm::Type* type = d.base->getType();
    llvm::Value* zero = b.CreateICmpEQ(d.base, llvm::Constant::getNullValue(type));
    llvm::Value* bad = d.is_vector() ? any(and_mask(mask(), zero)) : zero;
    frame_.emit_if(
        bad, [&] { frame_.record_failure("integer division by zero", origin); },
        /*unlikely=*/true);
    d.base = b.CreateSelect(zero, llvm::ConstantInt::get(type, 1), d.base);
    return d;
  });
  regions_[home].divisors[divisor] = result;
  return result;
}

/// Lanes side by side, divided by a power of two that divides the first one and the lanes: they are
/// at distances from the first one's quotient that are known.
std::optional<LaneValue> ScalarEmitter::aligned_quotients(const ScalarNode& node,
                                                          const LaneValue& x, int64_t divisor) {
  const auto d = static_cast<uint64_t>(divisor);
  if (node.binary != BinaryOp::kFloorDiv || divisor < 2 || !std::has_single_bit(d) || d > lanes() ||
      !is_constant(x.step, 1)) {
    return std::nullopt;
  }
  const auto bits = static_cast<unsigned>(std::countr_zero(d));
  const llvm::DataLayout& layout = frame_.module.getDataLayout();
  if (llvm::computeKnownBits(x.base, layout).countMinTrailingZeros() < bits) return std::nullopt;
  std::vector<llvm::Constant*> places;
  for (unsigned lane = 0; lane < lanes(); ++lane) places.push_back(b.getInt64(lane >> bits));
  llvm::Constant* spread = llvm::ConstantVector::get(places);
  llvm::Value* origin = b.CreateAShr(x.base, bits);
  llvm::Value* quotients = b.CreateAdd(b.CreateVectorSplat(lanes(), origin), spread);
  return LaneValue::spread_from(quotients, origin, spread);
}

LaneValue ScalarEmitter::write_divide(const ScalarNode* node) {
  LaneValue x = arg(node, 0);
  LaneValue d = checked_divisor(node->args[1].get(), node->origin);
  Divider divider{b, node->dtype.is_signed()};
  if (x.is_uniform() && d.is_uniform()) {
    return LaneValue::uniform(divider.divide(node->binary, x.base, d.base));
  }
  std::optional<int64_t> step = x.is_linear() ? constant_of(x.step) : std::nullopt;
  bool floors = node->binary == BinaryOp::kFloorDiv || node->binary == BinaryOp::kFloorMod;
  if (!floors || !d.is_uniform() || !step || *step <= 0 || *step > 4096) {
    return LaneValue::vector(divider.divide(node->binary, widen(x), widen(d)));
  }
  // Lanes start at a uniform quotient and remainder; what they add is small, and less than twice
  // the divisor if that is not smaller than the vector's span.
  bool remainder = node->binary == BinaryOp::kFloorMod;
  int64_t span = *step * lanes();
  std::optional<int64_t> known = constant_of(d.base);
  auto begin = [&] { return divider.divide(BinaryOp::kFloorDiv, x.base, d.base); };
  auto near = [&]() -> llvm::Value* {
    llvm::Value* quotient = begin();
    llvm::Value* rest = b.CreateSub(x.base, b.CreateMul(quotient, d.base));
    llvm::Value* place = widen(LaneValue::linear(rest, x.step));
    llvm::Value* wide_d = b.CreateVectorSplat(lanes(), d.base);
    llvm::Value* next = b.CreateICmpSGE(place, wide_d);
    if (remainder) return b.CreateSelect(next, b.CreateSub(place, wide_d), place);
    return b.CreateAdd(b.CreateVectorSplat(lanes(), quotient),
                       b.CreateZExt(next, place->getType()));
  };
  auto far = [&] { return divider.divide(node->binary, widen(x), widen(d)); };
  if (known) {
    if (std::optional<LaneValue> quotients = aligned_quotients(*node, x, *known)) return *quotients;
    if (*known >= span) return LaneValue::vector(near());
    if (*known < 0 || span > 1 << 20) return LaneValue::vector(far());
    llvm::Value* quotient = begin();
    llvm::Value* rest = b.CreateSub(x.base, b.CreateMul(quotient, d.base));
    llvm::Type* narrow = widen_type(b.getInt32Ty(), lanes());
    llvm::Value* place = b.CreateTrunc(widen(LaneValue::linear(rest, x.step)), narrow);
    llvm::Value* small = llvm::ConstantInt::get(narrow, static_cast<uint64_t>(*known));
    llvm::Type* wide = widen_type(b.getInt64Ty(), lanes());
    if (remainder) return LaneValue::vector(b.CreateZExt(b.CreateURem(place, small), wide));
    return LaneValue::vector(b.CreateAdd(b.CreateVectorSplat(lanes(), quotient),
                                         b.CreateZExt(b.CreateUDiv(place, small), wide)));
  }
  llvm::BasicBlock* fast = frame_.new_block("divide_near");
  llvm::BasicBlock* slow = frame_.new_block("divide_far");
  b.CreateCondBr(b.CreateICmpSGE(d.base, b.getInt64(static_cast<uint64_t>(span))), fast, slow);
  b.SetInsertPoint(fast);
  LaneValue a = LaneValue::vector(near());
  fast = b.GetInsertBlock();
  b.SetInsertPoint(slow);
  LaneValue c = LaneValue::vector(far());
  return merge(a, fast, c, b.GetInsertBlock());
}

}  // namespace relay::codegen
