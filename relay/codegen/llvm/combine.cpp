// Joining values: combiners of folds, across registers and across lanes.
#include <relay/codegen/llvm/scalar_emitter.h>
#include <relay/support/error.h>

namespace relay::codegen {

using te::BinaryOp;
using te::Combiner;

namespace {

unsigned lanes_of(llvm::Value* value) {
  auto* type = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return type == nullptr ? 1 : type->getNumElements();
}

BinaryOp operation(Combiner::Kind kind, DType dtype) {
  switch (kind) {
    case Combiner::Kind::kSum:
      return dtype.is_bool() ? BinaryOp::kOr : BinaryOp::kAdd;
    case Combiner::Kind::kProd:
      return dtype.is_bool() ? BinaryOp::kAnd : BinaryOp::kMul;
    case Combiner::Kind::kMax:
      return dtype.is_bool() ? BinaryOp::kOr : BinaryOp::kMax;
    case Combiner::Kind::kMin:
      return dtype.is_bool() ? BinaryOp::kAnd : BinaryOp::kMin;
    case Combiner::Kind::kAnd:
      return BinaryOp::kAnd;
    case Combiner::Kind::kOr:
      return BinaryOp::kOr;
    case Combiner::Kind::kCustom:
      break;
  }
  RELAY_UNREACHABLE("operation of a custom combiner");
}

}  // namespace

std::vector<llvm::Value*> ScalarEmitter::combine(const Combiner& combiner,
                                                 std::span<const DType> dtypes,
                                                 std::span<llvm::Value* const> lhs,
                                                 std::span<llvm::Value* const> rhs) {
  if (combiner.kind != Combiner::Kind::kCustom) {
    DType dtype = dtypes[0];
    llvm::Value* x = lhs[0];
    llvm::Value* y = rhs[0];
    if (!dtype.is_bool() &&
        (combiner.kind == Combiner::Kind::kAnd || combiner.kind == Combiner::Kind::kOr)) {
      // Truth of numbers.
      llvm::Value* zero = llvm::Constant::getNullValue(x->getType());
      auto truth = [&](llvm::Value* v) {
        return dtype.is_float() ? b.CreateFCmpUNE(v, zero) : b.CreateICmpNE(v, zero);
      };
      llvm::Value* both = combiner.kind == Combiner::Kind::kAnd ? b.CreateAnd(truth(x), truth(y))
                                                                : b.CreateOr(truth(x), truth(y));
      return {dtype.is_float() ? b.CreateUIToFP(both, x->getType())
                               : b.CreateZExt(both, x->getType())};
    }
    return {binary_op(operation(combiner.kind, dtype), dtype, x, y)};
  }
  Dependences placeholders;
  for (const te::ScalarRef& var : combiner.lhs) placeholders.push_back(var->id | te::kVarFlag);
  for (const te::ScalarRef& var : combiner.rhs) placeholders.push_back(var->id | te::kVarFlag);
  Scope scope(*this, RegionKind::kPlain, std::move(placeholders));
  unsigned n = lanes_of(lhs[0]);
  set_lanes(n);
  auto bind = [&](const std::vector<te::ScalarRef>& vars, std::span<llvm::Value* const> values) {
    for (size_t k = 0; k < vars.size(); ++k) {
      bind_var(vars[k]->id, n == 1 ? LaneValue::uniform(values[k]) : LaneValue::vector(values[k]));
    }
  };
  bind(combiner.lhs, lhs);
  bind(combiner.rhs, rhs);
  std::vector<llvm::Value*> result;
  for (const te::ScalarRef& value : combiner.result) result.push_back(emit_wide(value));
  return result;
}

std::vector<llvm::Value*> ScalarEmitter::identity(const Combiner& combiner,
                                                  std::span<const DType> dtypes) {
  std::vector<llvm::Value*> result;
  if (combiner.kind == Combiner::Kind::kCustom) {
    for (const te::ScalarRef& value : combiner.identity) result.push_back(emit_uniform(value));
    return result;
  }
  for (DType dtype : dtypes) {
    switch (combiner.kind) {
      case Combiner::Kind::kProd:
      case Combiner::Kind::kAnd:
        result.push_back(constant(*te::constant(1, dtype).node()));
        break;
      case Combiner::Kind::kMax:
        result.push_back(constant(*te::lowest(dtype).node()));
        break;
      case Combiner::Kind::kMin:
        result.push_back(constant(*te::highest(dtype).node()));
        break;
      default:
        result.push_back(constant(*te::constant(0, dtype).node()));
    }
  }
  return result;
}

std::vector<llvm::Value*> ScalarEmitter::join_lanes(const Combiner& combiner,
                                                    std::span<const DType> dtypes,
                                                    std::vector<llvm::Value*> values) {
  for (unsigned n = lanes_of(values[0]); n > 1; n /= 2) {
    std::vector<int> lower, upper;
    for (unsigned k = 0; k < n / 2; ++k) {
      lower.push_back(static_cast<int>(k));
      upper.push_back(static_cast<int>(k + n / 2));
    }
    std::vector<llvm::Value*> a, c;
    for (llvm::Value* value : values) {
      if (n == 2) {
        a.push_back(b.CreateExtractElement(value, uint64_t{0}));
        c.push_back(b.CreateExtractElement(value, uint64_t{1}));
      } else {
        a.push_back(b.CreateShuffleVector(value, lower));
        c.push_back(b.CreateShuffleVector(value, upper));
      }
    }
    values = combine(combiner, dtypes, a, c);
  }
  return values;
}

}  // namespace relay::codegen
