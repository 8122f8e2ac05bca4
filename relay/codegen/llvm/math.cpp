#include <relay/codegen/llvm/math.h>

#include <llvm/IR/Module.h>

#include <limits>
#include <span>
#include <string>
#include <vector>

#include <relay/codegen/llvm/math_functions.h>
#include <relay/support/error.h>

namespace relay::codegen {

namespace {

using math::Ops;
using math::V;
using te::BinaryOp;
using te::UnaryOp;

V unary(UnaryOp op, V x) {
  Ops& o = *x.ops;
  switch (op) {
    case UnaryOp::kNeg:
      return -x;
    case UnaryOp::kAbs:
      return o.abs(x);
    case UnaryOp::kSign:
      return o.select(x > 0.0, number(x, 1), o.select(x < 0.0, number(x, -1), number(x, 0)));
    case UnaryOp::kSqrt:
      return o.sqrt(x);
    case UnaryOp::kRsqrt:
      return 1.0 / o.sqrt(x);
    case UnaryOp::kFloor:
      return o.floor(x);
    case UnaryOp::kCeil:
      return o.ceil(x);
    case UnaryOp::kRound:
      return math::round_half_away(x);
    case UnaryOp::kTrunc:
      return o.trunc(x);
    case UnaryOp::kIsNan:
      return o.is_nan(x);
    case UnaryOp::kIsInf:
      return o.abs(x) == std::numeric_limits<double>::infinity();
    case UnaryOp::kIsFinite:
      return o.abs(x) < std::numeric_limits<double>::infinity();
    case UnaryOp::kExp:
      return math::exp(x);
    case UnaryOp::kLog:
      return math::log(x);
    case UnaryOp::kLog2:
      return math::log2(x);
    case UnaryOp::kLog10:
      return math::log10(x);
    case UnaryOp::kErf:
      return math::erf(x);
    case UnaryOp::kSigmoid:
      return math::sigmoid(x);
    case UnaryOp::kSin:
      return math::sin(x);
    case UnaryOp::kCos:
      return math::cos(x);
    case UnaryOp::kTan:
      return math::tan(x);
    case UnaryOp::kAsin:
      return math::asin(x);
    case UnaryOp::kAcos:
      return math::acos(x);
    case UnaryOp::kAtan:
      return math::atan(x);
    case UnaryOp::kSinh:
      return math::sinh(x);
    case UnaryOp::kCosh:
      return math::cosh(x);
    case UnaryOp::kTanh:
      return math::tanh(x);
    case UnaryOp::kAsinh:
      return math::asinh(x);
    case UnaryOp::kAcosh:
      return math::acosh(x);
    case UnaryOp::kAtanh:
      return math::atanh(x);
    case UnaryOp::kNot:
    case UnaryOp::kBitNot:
      break;
  }
  RELAY_UNREACHABLE("no function of a float");
}

V binary(BinaryOp op, V x, V y) {
  switch (op) {
    case BinaryOp::kMod:
      return math::fmod(x, y);
    case BinaryOp::kFloorDiv:
      return math::floor_div(x, y);
    case BinaryOp::kFloorMod:
      return math::floor_mod(x, y);
    case BinaryOp::kMin:
      return math::min_or_nan(x, y);
    case BinaryOp::kMax:
      return math::max_or_nan(x, y);
    case BinaryOp::kPow:
      return math::pow(x, y);
    case BinaryOp::kAtan2:
      return math::atan2(x, y);
    default:
      RELAY_UNREACHABLE("no function of two floats");
  }
}

}  // namespace

namespace {

/// True if the function takes a branch for rare arguments.
bool branches(UnaryOp op) {
  return op == UnaryOp::kSin || op == UnaryOp::kCos || op == UnaryOp::kTan;
}
bool branches(BinaryOp op) {
  return op == BinaryOp::kMod || op == BinaryOp::kFloorDiv || op == BinaryOp::kFloorMod;
}

/// Emits `body(arguments)`. If it has branches, it goes into a function of its own, which LLVM
/// inlines: the caller's blocks stay as they are.
template <class Op, class Body>
llvm::Value* emit(llvm::IRBuilderBase& b, Op op, std::string_view name,
                  std::initializer_list<llvm::Value*> arguments, const Target& target,
                  llvm::Value* functions, const Body& body) {
  llvm::Type* type = (*arguments.begin())->getType();
  if (!branches(op)) {
    llvm::IRBuilderBase::FastMathFlagGuard guard(b);
    b.clearFastMathFlags();
    Ops ops(b, target, functions, type);
    std::vector<V> values;
    for (llvm::Value* x : arguments) values.push_back(ops.value(x));
    return body(values).v;
  }
  llvm::Module& module = *b.GetInsertBlock()->getModule();
  llvm::LLVMContext& context = module.getContext();
  Ops shape(b, target, functions, type);
  const std::string full = "math." + std::string(name) + '.' + std::to_string(shape.lanes) +
                           (type->getScalarType()->isDoubleTy() ? "d" : "f");
  std::vector<llvm::Value*> passed(arguments);
  passed.push_back(functions);
  llvm::Function* function = module.getFunction(full);
  if (function == nullptr) {
    std::vector<llvm::Type*> parameters;
    for (llvm::Value* x : passed) parameters.push_back(x->getType());
    function = llvm::Function::Create(llvm::FunctionType::get(type, parameters, false),
                                      llvm::GlobalValue::InternalLinkage, full, module);
    function->addFnAttr(llvm::Attribute::AlwaysInline);
    function->addFnAttr(llvm::Attribute::NoUnwind);
    llvm::IRBuilder<> inner(llvm::BasicBlock::Create(context, "entry", function));
    Ops ops(inner, target, function->getArg(static_cast<unsigned>(passed.size() - 1)), type);
    std::vector<V> values;
    for (size_t i = 0; i + 1 < passed.size(); ++i) {
      values.push_back(ops.value(function->getArg(static_cast<unsigned>(i))));
    }
    llvm::Value* result = body(values).v;
    inner.CreateRet(result);
  }
  return b.CreateCall(function, passed);
}

}  // namespace

llvm::Value* emit_unary_math(llvm::IRBuilderBase& b, UnaryOp op, llvm::Value* x,
                             const Target& target, llvm::Value* functions) {
  return emit(b, op, scalar_op(op).text, {x}, target, functions,
              [&](std::span<const V> args) { return unary(op, args[0]); });
}

llvm::Value* emit_binary_math(llvm::IRBuilderBase& b, BinaryOp op, llvm::Value* x, llvm::Value* y,
                              const Target& target, llvm::Value* functions) {
  return emit(b, op, scalar_op(op).text, {x, y}, target, functions,
              [&](std::span<const V> args) { return binary(op, args[0], args[1]); });
}

}  // namespace relay::codegen
