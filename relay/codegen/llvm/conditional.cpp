// Values under conditions: selects, failures, masks.
#include <relay/codegen/llvm/scalar_emitter.h>

namespace relay::codegen {

using te::ScalarNode;

llvm::Value* ScalarEmitter::any(llvm::Value* mask) {
  auto* type = llvm::dyn_cast<llvm::FixedVectorType>(mask->getType());
  if (type == nullptr) return mask;
  if (auto* known = llvm::dyn_cast<llvm::Constant>(mask)) {
    if (known->isAllOnesValue()) return b.getTrue();
    if (known->isNullValue()) return b.getFalse();
  }
  llvm::Type* bits = b.getIntNTy(type->getNumElements());
  return b.CreateICmpNE(b.CreateBitCast(mask, bits), llvm::ConstantInt::get(bits, 0));
}

llvm::Value* ScalarEmitter::and_mask(llvm::Value* mask, llvm::Value* condition) {
  if (mask == nullptr) return condition;
  if (condition == nullptr) return mask;
  return b.CreateAnd(mask, condition);
}

LaneValue ScalarEmitter::blend(LaneValue condition, LaneValue a, LaneValue c) {
  if (a.base == c.base && a.form == c.form && a.step == c.step) return a;
  if (condition.is_uniform()) {
    if (a.is_uniform() && c.is_uniform()) {
      return LaneValue::uniform(b.CreateSelect(condition.base, a.base, c.base));
    }
    if (!a.is_vector() && !c.is_vector()) {  // both at most linear
      llvm::Value* zero = b.getInt64(0);
      llvm::Value* a_step = a.is_linear() ? a.step : zero;
      llvm::Value* c_step = c.is_linear() ? c.step : zero;
      return LaneValue::linear(
          b.CreateSelect(condition.base, a.base, c.base),
          a_step == c_step ? a_step : b.CreateSelect(condition.base, a_step, c_step));
    }
    return LaneValue::vector(b.CreateSelect(condition.base, widen(a), widen(c)));
  }
  return LaneValue::vector(b.CreateSelect(widen(condition), widen(a), widen(c)));
}

/// Joins two paths. The builder stands at the end of `from_b`; both blocks are open.
LaneValue ScalarEmitter::merge(LaneValue a, llvm::BasicBlock* from_a, LaneValue c,
                               llvm::BasicBlock* from_b) {
  llvm::BasicBlock* after = frame_.new_block("merge");
  bool wide = a.is_vector() || c.is_vector();
  bool linear = !wide && (a.is_linear() || c.is_linear());
  auto close = [&](LaneValue value, llvm::BasicBlock* block) {
    b.SetInsertPoint(block);
    if (wide) value = LaneValue::vector(widen(value));
    if (linear && value.is_uniform()) value = LaneValue::linear(value.base, b.getInt64(0));
    b.CreateBr(after);
    return value;
  };
  a = close(a, from_a);
  c = close(c, from_b);
  b.SetInsertPoint(after);
  auto join = [&](llvm::Value* x, llvm::Value* y) -> llvm::Value* {
    if (x == y) return x;
    llvm::PHINode* phi = b.CreatePHI(x->getType(), 2);
    phi->addIncoming(x, from_a);
    phi->addIncoming(y, from_b);
    return phi;
  };
  LaneValue result = a;
  result.base = join(a.base, c.base);
  if (linear) result.step = join(a.step, c.step);
  return result;
}

llvm::Value* ScalarEmitter::masked_arm(const ScalarNode* node, llvm::Value* taken) {
  // Leaves, and values computed for other nodes, exist already.
  if (is_leaf(node) || find(node, regions_.size() - 1)) return widen(value_of(node));
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::BasicBlock* arm = frame_.new_block("arm");
  llvm::BasicBlock* after = frame_.new_block("arm_end");
  llvm::Value* wanted = and_mask(mask(), taken);
  b.CreateCondBr(any(wanted), arm, after);
  b.SetInsertPoint(arm);
  llvm::Value* value = nullptr;
  {
    Scope scope(*this, RegionKind::kConditional, {});
    set_lanes(lanes(), wanted);
    value = widen(emit(node));
  }
  arm = b.GetInsertBlock();
  b.CreateBr(after);
  b.SetInsertPoint(after);
  llvm::PHINode* phi = b.CreatePHI(value->getType(), 2);
  phi->addIncoming(value, arm);
  phi->addIncoming(llvm::Constant::getNullValue(value->getType()), before);
  return phi;
}

LaneValue ScalarEmitter::write_select(const ScalarNode* node) {
  LaneValue condition = arg(node, 0);
  if (!is_lazy(node)) return blend(condition, arg(node, 1), arg(node, 2));
  const ScalarNode* then_node = node->args[1].get();
  const ScalarNode* else_node = node->args[2].get();
  if (condition.is_vector()) {
    llvm::Value* taken = condition.base;
    llvm::Value* then_value = masked_arm(then_node, taken);
    llvm::Value* else_value = masked_arm(else_node, b.CreateNot(taken));
    return LaneValue::vector(b.CreateSelect(taken, then_value, else_value));
  }
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition.base)) {
    return emit(known->isOne() ? then_node : else_node);
  }
  llvm::BasicBlock* then_block = frame_.new_block("then");
  llvm::BasicBlock* else_block = frame_.new_block("else");
  b.CreateCondBr(condition.base, then_block, else_block);
  auto arm = [&](const ScalarNode* value, llvm::BasicBlock*& block) {
    b.SetInsertPoint(block);
    Scope scope(*this, RegionKind::kConditional, {});
    LaneValue result = emit(value);
    block = b.GetInsertBlock();
    return result;
  };
  LaneValue then_value = arm(then_node, then_block);
  LaneValue else_value = arm(else_node, else_block);
  return merge(then_value, then_block, else_value, else_block);
}

namespace {
ScalarEmitter::Failure failure_of(const ScalarNode* node) {
  bool explained = node->args.size() == 4;
  return {node->message, node->origin, explained ? node->args[2].get() : nullptr,
          explained ? node->args[3].get() : nullptr};
}
}  // namespace

void ScalarEmitter::record(const Failure& failure, llvm::Value* bad) {
  if (failure.index == nullptr) return frame_.record_failure(failure.message, failure.origin);
  Scope scope(*this, RegionKind::kConditional, {});
  llvm::Value* lane = nullptr;  // the first that fails
  if (bad != nullptr) {
    llvm::Value* bits = b.CreateBitCast(bad, b.getIntNTy(lanes()));
    llvm::Value* first = b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, b.getTrue());
    lane = b.CreateZExtOrTrunc(first, b.getInt64Ty());
    set_lanes(lanes(), bad);
  }
  auto number = [&](const ScalarNode* node) -> llvm::Value* {
    LaneValue value = emit(node);
    if (value.is_uniform()) return value.base;
    llvm::Value* wide = widen(value);
    return b.CreateExtractElement(wide, lane == nullptr ? frame_.int64(0) : lane);
  };
  llvm::Value* index = number(failure.index);
  frame_.record_failure(failure.message, failure.origin, index, number(failure.extent));
}

void ScalarEmitter::check(const LaneValue& condition, const Failure& failure) {
  llvm::Value* lanes_bad = b.CreateNot(condition.base);
  llvm::Value* bad = lanes_bad;
  if (condition.is_vector()) {
    lanes_bad = and_mask(mask(), lanes_bad);
    bad = any(lanes_bad);
  }
  frame_.emit_if(
      bad, [&] { record(failure, condition.is_vector() ? lanes_bad : nullptr); },
      /*unlikely=*/true);
}

LaneValue ScalarEmitter::write_fail(const ScalarNode* node) {
  LaneValue condition = arg(node, 0);
  const ScalarNode* value = node->args[1].get();
  if (!is_lazy(node) || is_leaf(value) || find(value, regions_.size() - 1)) {
    check(condition, failure_of(node));
    return value_of(value);
  }
  if (condition.is_vector()) {
    check(condition, failure_of(node));
    Scope scope(*this, RegionKind::kConditional, {});
    set_lanes(lanes(), and_mask(mask(), condition.base));
    return emit(value);
  }
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition.base); known && known->isOne()) {
    return emit(value);
  }
  llvm::BasicBlock* good = frame_.new_block("good");
  llvm::BasicBlock* bad = frame_.new_block("bad");
  b.CreateCondBr(condition.base, good, bad);
  b.SetInsertPoint(bad);
  record(failure_of(node), nullptr);
  bad = b.GetInsertBlock();
  b.SetInsertPoint(good);
  LaneValue result;
  {
    Scope scope(*this, RegionKind::kConditional, {});
    result = emit(value);
  }
  good = b.GetInsertBlock();
  LaneValue nothing =
      LaneValue::uniform(llvm::Constant::getNullValue(register_type(frame_.context, node->dtype)));
  return merge(nothing, bad, result, good);
}

}  // namespace relay::codegen
