#include <relay/codegen/llvm/index_math.h>
#include <relay/codegen/llvm/math.h>
#include <relay/codegen/llvm/scalar_emitter.h>
#include <relay/support/error.h>

namespace relay::codegen {

using te::BinaryOp;
using te::ScalarNode;
using te::UnaryOp;

namespace {

bool is_narrow(DType dtype) { return dtype.is_float() && dtype.bits == 16; }

llvm::Value* integer_unary(llvm::IRBuilder<>& b, UnaryOp op, DType dtype, llvm::Value* x) {
  llvm::Value* zero = llvm::Constant::getNullValue(x->getType());
  switch (op) {
    case UnaryOp::kNot:
    case UnaryOp::kBitNot:
      return b.CreateNot(x);
    case UnaryOp::kNeg:
      return b.CreateNeg(x);
    case UnaryOp::kAbs:
      if (dtype.is_unsigned()) return x;
      return b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, b.getFalse());
    case UnaryOp::kSign: {
      llvm::Value* positive = b.CreateZExt(
          dtype.is_unsigned() ? b.CreateICmpNE(x, zero) : b.CreateICmpSGT(x, zero), x->getType());
      if (dtype.is_unsigned()) return positive;
      return b.CreateSub(positive, b.CreateZExt(b.CreateICmpSLT(x, zero), x->getType()));
    }
    default:
      RELAY_UNREACHABLE("unary operation on integers");
  }
}

llvm::CmpInst::Predicate predicate(BinaryOp op, DType dtype) {
  using P = llvm::CmpInst::Predicate;
  bool f = dtype.is_float();
  bool s = dtype.is_signed();
  switch (op) {
    case BinaryOp::kEq:
      return f ? P::FCMP_OEQ : P::ICMP_EQ;
    case BinaryOp::kNe:
      return f ? P::FCMP_UNE : P::ICMP_NE;
    case BinaryOp::kLt:
      return f ? P::FCMP_OLT : s ? P::ICMP_SLT : P::ICMP_ULT;
    case BinaryOp::kLe:
      return f ? P::FCMP_OLE : s ? P::ICMP_SLE : P::ICMP_ULE;
    case BinaryOp::kGt:
      return f ? P::FCMP_OGT : s ? P::ICMP_SGT : P::ICMP_UGT;
    default:
      return f ? P::FCMP_OGE : s ? P::ICMP_SGE : P::ICMP_UGE;
  }
}

/// Counts outside of the width give 0, or the sign.
llvm::Value* shift(llvm::IRBuilder<>& b, BinaryOp op, DType dtype, llvm::Value* x,
                   llvm::Value* count) {
  llvm::Type* type = x->getType();
  llvm::Value* inside = b.CreateICmpULT(count, llvm::ConstantInt::get(type, dtype.bits));
  llvm::Value* zero = llvm::Constant::getNullValue(type);
  if (op == BinaryOp::kShr && dtype.is_signed()) {
    return b.CreateAShr(
        x, b.CreateSelect(inside, count, llvm::ConstantInt::get(type, dtype.bits - 1u)));
  }
  llvm::Value* safe = b.CreateSelect(inside, count, zero);
  llvm::Value* shifted = op == BinaryOp::kShl ? b.CreateShl(x, safe) : b.CreateLShr(x, safe);
  return b.CreateSelect(inside, shifted, zero);
}

}  // namespace

llvm::Value* ScalarEmitter::round_narrow(llvm::Value* value, DType dtype) {
  return is_narrow(dtype) ? from_memory(to_memory(value, dtype), dtype) : value;
}

LaneValue ScalarEmitter::write_unary(const ScalarNode* node) {
  LaneValue x = arg(node, 0);
  DType dtype = node->args[0]->dtype;
  if (x.is_linear()) {
    if (node->unary == UnaryOp::kNeg) {
      return LaneValue::linear(b.CreateNeg(x.base), b.CreateNeg(x.step));
    }
    x = LaneValue::vector(widen(x));
  }
  if (!dtype.is_float()) {
    x.base = integer_unary(b, node->unary, dtype, x.base);
    return x;
  }
  x.base = emit_unary_math(b, node->unary, x.base, frame_.target, frame_.functions());
  if (scalar_op(node->unary).cost != ScalarCost::kStep) x.base = round_narrow(x.base, dtype);
  return x;
}

llvm::Value* ScalarEmitter::binary_op(BinaryOp op, DType dtype, llvm::Value* x, llvm::Value* y) {
  if (compares(op)) return b.CreateCmp(predicate(op, dtype), x, y);
  if (dtype.is_float()) {
    llvm::Value* value = nullptr;
    switch (op) {
      case BinaryOp::kAdd:
        value = b.CreateFAdd(x, y);
        break;
      case BinaryOp::kSub:
        value = b.CreateFSub(x, y);
        break;
      case BinaryOp::kMul:
        value = b.CreateFMul(x, y);
        break;
      case BinaryOp::kDiv:
        value = b.CreateFDiv(x, y);
        break;
      case BinaryOp::kMin:
      case BinaryOp::kMax: {
        // Not-a-number if either is; which of two zeros does not matter: three
        // instructions, of which accumulating waits for one (the check is on the new value).
        llvm::Value* result = b.CreateBinaryIntrinsic(
            op == BinaryOp::kMin ? llvm::Intrinsic::minimum : llvm::Intrinsic::maximum, y, x);
        if (auto* call = llvm::dyn_cast<llvm::Instruction>(result)) {
          call->setHasNoSignedZeros(true);
        }
        return result;
      }
      default:
        value = emit_binary_math(b, op, x, y, frame_.target, frame_.functions());
    }
    if (is_narrow(dtype)) return round_narrow(value, dtype);
    if (auto* made = llvm::dyn_cast<llvm::Instruction>(value);
        made != nullptr && op <= BinaryOp::kMul && frame_.contracts) {
      made->setHasAllowContract(true);
    }
    return value;
  }
  bool is_signed = dtype.is_signed();
  switch (op) {
    case BinaryOp::kAdd:
      return b.CreateAdd(x, y);
    case BinaryOp::kSub:
      return b.CreateSub(x, y);
    case BinaryOp::kMul:
      return b.CreateMul(x, y);
    case BinaryOp::kMin:
      return b.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, x,
                                     y);
    case BinaryOp::kMax:
      return b.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, x,
                                     y);
    case BinaryOp::kAnd:
      return b.CreateAnd(x, y);
    case BinaryOp::kOr:
      return b.CreateOr(x, y);
    case BinaryOp::kXor:
      return b.CreateXor(x, y);
    case BinaryOp::kShl:
    case BinaryOp::kShr:
      return shift(b, op, dtype, x, y);
    case BinaryOp::kPow:
      return integer_pow(frame_, *this, is_signed, x, y);
    default:
      RELAY_UNREACHABLE("binary operation on integers");
  }
}

/// (base + lane · step) compared with the same for all lanes, by the lane from which on it holds.
LaneValue ScalarEmitter::linear_compare(BinaryOp op, LaneValue x, LaneValue y) {
  if (!x.is_linear()) {
    std::swap(x, y);
    switch (op) {
      case BinaryOp::kLt:
        op = BinaryOp::kGt;
        break;
      case BinaryOp::kLe:
        op = BinaryOp::kGe;
        break;
      case BinaryOp::kGt:
        op = BinaryOp::kLt;
        break;
      case BinaryOp::kGe:
        op = BinaryOp::kLe;
        break;
      default:
        break;
    }
  }
  if (!is_constant(x.step, 1) || !y.is_uniform()) {
    return LaneValue::vector(b.CreateCmp(predicate(op, kInt64), widen(x), widen(y)));
  }
  // lane ⋚ y - base, which saturates to what no lane reaches.
  llvm::Value* bound = b.CreateBinaryIntrinsic(llvm::Intrinsic::ssub_sat, y.base, x.base);
  LaneNumbers numbers(frame_, lanes());
  return LaneValue::vector(
      b.CreateCmp(predicate(op, kInt64), numbers.lanes(), numbers.splat(numbers.clamp(bound, -1))));
}

LaneValue ScalarEmitter::write_binary(const ScalarNode* node) {
  BinaryOp op = node->binary;
  DType dtype = node->args[0]->dtype;
  if (dtype.is_integer() && divides(op)) return write_divide(node);
  LaneValue x = arg(node, 0);
  LaneValue y = arg(node, 1);
  if (x.is_uniform() && y.is_uniform()) {
    return LaneValue::uniform(binary_op(op, dtype, x.base, y.base));
  }
  if (x.is_linear() || y.is_linear()) {
    if (!x.is_vector() && !y.is_vector()) {
      IndexMath index(frame_);
      if (op == BinaryOp::kAdd) return index.add(x, y);
      if (op == BinaryOp::kSub) return index.subtract(x, y);
      if (op == BinaryOp::kMul && x.is_uniform()) return index.scale(y, x.base);
      if (op == BinaryOp::kMul && y.is_uniform()) return index.scale(x, y.base);
      if (compares(op)) return linear_compare(op, x, y);
    }
  }
  LaneValue result = LaneValue::vector(binary_op(op, dtype, widen(x), widen(y)));
  if (op == BinaryOp::kAdd && dtype == kInt64) {
    if (!x.is_vector()) std::swap(x, y);
    if (x.spread != nullptr && y.is_uniform()) {
      result.origin = IndexMath(frame_).add(x.origin, y.base);
      result.spread = x.spread;
    }
  }
  return result;
}

}  // namespace relay::codegen
