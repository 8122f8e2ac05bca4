#include <relay/codegen/llvm/math_ops.h>

#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>

#include <bit>

#include <relay/support/error.h>

namespace relay::codegen::math {

namespace {

bool is_float(V x) { return x.v->getType()->isFPOrFPVectorTy(); }

}  // namespace

bool is_double(V x) { return x.v->getType()->getScalarType()->isDoubleTy(); }

Ops::Ops(llvm::IRBuilderBase& builder, const Target& for_target, llvm::Value* table,
         llvm::Type* shape)
    : b(builder), target(for_target), functions(table), lanes(0) {
  if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(shape)) {
    lanes = vector->getNumElements();
  }
}

llvm::Type* Ops::type(llvm::Type* element) const {
  return lanes == 0 ? element : llvm::FixedVectorType::get(element, lanes);
}

llvm::Type* Ops::int_type(llvm::Type* like) const {
  return type(b.getIntNTy(like->getScalarSizeInBits()));
}

V Ops::constant(V like, double x) {
  if (!is_float(like))
    return value(llvm::ConstantInt::get(like.v->getType(), static_cast<int64_t>(x), true));
  return value(llvm::ConstantFP::get(like.v->getType(), x));
}
V Ops::constant_int(V like, int64_t x) {
  return value(llvm::ConstantInt::get(like.v->getType(), static_cast<uint64_t>(x), true));
}

V Ops::fma(V x, V y, V z) {
  if (!has_fma()) return x * y + z;
  return value(b.CreateIntrinsic(llvm::Intrinsic::fma, {x.v->getType()}, {x.v, y.v, z.v}));
}

V Ops::poly(V x, std::span<const double> c) {
  V result = constant(x, c.back());
  for (size_t i = c.size() - 1; i-- > 0;) result = fma(result, x, c[i]);
  return result;
}

V Ops::select(V condition, V a, V c) { return value(b.CreateSelect(condition.v, a.v, c.v)); }
V Ops::min2(V a, V c) { return select(a < c, a, c); }
V Ops::max2(V a, V c) { return select(a > c, a, c); }
V Ops::abs(V x) { return value(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x.v)); }
V Ops::copysign(V magnitude, V sign) {
  return value(b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, magnitude.v, sign.v));
}
V Ops::sqrt(V x) { return value(b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x.v)); }

V Ops::trunc(V x) {
  if (target.isa != Target::Isa::kBaseline) {
    return value(b.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, x.v));
  }
  // Adding 2^23 (2^52) drops the fraction, to nearest; what went up comes down again.
  const double magic = is_double(x) ? 0x1p52 : 0x1p23;
  V a = abs(x);
  V t = (a + magic) - magic;
  t = select(t > a, t - 1.0, t);
  return select(a < magic, copysign(t, x), x);
}
V Ops::floor(V x) {
  if (target.isa != Target::Isa::kBaseline) {
    return value(b.CreateUnaryIntrinsic(llvm::Intrinsic::floor, x.v));
  }
  V t = trunc(x);
  return select(t > x, t - 1.0, t);
}
V Ops::ceil(V x) {
  if (target.isa != Target::Isa::kBaseline) {
    return value(b.CreateUnaryIntrinsic(llvm::Intrinsic::ceil, x.v));
  }
  V t = trunc(x);
  return select(t < x, copysign(t + 1.0, x), t);  // -0.5 gives -0
}
V Ops::rint_small(V x) {
  if (target.isa != Target::Isa::kBaseline) {
    return value(b.CreateUnaryIntrinsic(llvm::Intrinsic::rint, x.v));
  }
  const double magic = is_double(x) ? 0x1.8p52 : 0x1.8p23;
  return (x + magic) - magic;
}
V Ops::is_nan(V x) {
  return value(b.CreateFCmpUNO(x.v, llvm::Constant::getNullValue(x.v->getType())));
}
V Ops::bits(V x) { return value(b.CreateBitCast(x.v, int_type(x.v->getType()))); }
V Ops::from_bits(V x) {
  const bool wide = x.v->getType()->getScalarSizeInBits() == 64;
  return value(b.CreateBitCast(x.v, wide ? double_type() : float_type()));
}
V Ops::to_double(V x) {
  return value(is_float(x) ? b.CreateFPExt(x.v, double_type())
                           : b.CreateSIToFP(x.v, double_type()));
}
V Ops::to_float(V x) {
  return value(is_float(x) ? b.CreateFPTrunc(x.v, float_type())
                           : b.CreateSIToFP(x.v, float_type()));
}
V Ops::to_int(V x) {
  // Not-a-number has no integer: some number, instead of nothing at all where LLVM knows it.
  return value(b.CreateFreeze(b.CreateFPToSI(x.v, type(b.getInt32Ty()))));
}
V Ops::logical_not(V condition) { return value(b.CreateNot(condition.v)); }
V Ops::any(V condition) { return lanes == 0 ? condition : value(b.CreateOrReduce(condition.v)); }

V Ops::in_pieces(V x, V y, unsigned width,
                 const std::function<llvm::Value*(llvm::Value*, llvm::Value*)>& piece) {
  RELAY_CHECK(lanes % width == 0, "vector cut into uneven pieces");
  if (lanes == width) return value(piece(x.v, y.v));
  std::vector<llvm::Value*> parts;
  for (unsigned first = 0; first < lanes; first += width) {
    llvm::SmallVector<int, 32> indices;
    for (unsigned i = 0; i < width; ++i) indices.push_back(static_cast<int>(first + i));
    llvm::Value* a = b.CreateShuffleVector(x.v, indices);
    parts.push_back(piece(a, y.v == x.v ? a : b.CreateShuffleVector(y.v, indices)));
  }
  // Joined pairwise; `lanes` is a power of two times the width.
  while (parts.size() > 1) {
    std::vector<llvm::Value*> joined;
    for (size_t i = 0; i + 1 < parts.size(); i += 2) {
      const auto size = llvm::cast<llvm::FixedVectorType>(parts[i]->getType())->getNumElements();
      llvm::SmallVector<int, 64> indices;
      for (unsigned k = 0; k < 2 * size; ++k) indices.push_back(static_cast<int>(k));
      joined.push_back(b.CreateShuffleVector(parts[i], parts[i + 1], indices));
    }
    parts = std::move(joined);
  }
  return value(parts[0]);
}

V Ops::in_pieces(V x, unsigned width, const std::function<llvm::Value*(llvm::Value*)>& piece) {
  return in_pieces(x, x, width, [&](llvm::Value* a, llvm::Value*) { return piece(a); });
}

namespace {

/// The widest vector of an AVX-512 instruction that `lanes` is a power-of-two multiple of, or 0.
unsigned native_width(unsigned lanes, bool wide) {
  const unsigned most = wide ? 8 : 16;
  if (lanes < most / 4 || !std::has_single_bit(lanes)) return 0;
  return std::min(lanes, most);
}

}  // namespace

V Ops::scale(V y, V n, bool whole) {
  const bool wide = is_double(y);
  const unsigned width = native_width(lanes, wide);
  if (is_avx512() && width != 0) {
    const unsigned bits = width * (wide ? 64 : 32);
    const auto id = wide          ? bits == 512   ? llvm::Intrinsic::x86_avx512_mask_scalef_pd_512
                                    : bits == 256 ? llvm::Intrinsic::x86_avx512_mask_scalef_pd_256
                                                  : llvm::Intrinsic::x86_avx512_mask_scalef_pd_128
                    : bits == 512 ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_512
                    : bits == 256 ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_256
                                  : llvm::Intrinsic::x86_avx512_mask_scalef_ps_128;
    return in_pieces(y, n, width, [&](llvm::Value* a, llvm::Value* c) {
      llvm::Value* all = width == 16 ? b.getInt16(0xffff) : b.getInt8(0xff);
      llvm::SmallVector<llvm::Value*, 5> arguments{a, c, a, all};
      if (bits == 512) arguments.push_back(b.getInt32(4));  // rounding as the thread's
      return static_cast<llvm::Value*>(b.CreateIntrinsic(id, {}, arguments));
    });
  }
  // Two factors, each a normal number; only the last multiplication can round.
  V k = to_int(whole ? n : floor(n));
  V first = k >> 1;
  V second = k - first;
  auto power = [&](V e) {
    if (!wide) return from_bits((e + 127.0) << 23);
    V e64 = value(b.CreateSExt(e.v, type(b.getInt64Ty())));
    return from_bits((e64 + 1023.0) << 52);
  };
  return y * power(first) * power(second);
}

V Ops::rough_reciprocal(V x) {
  const unsigned width = native_width(lanes, false);
  if (!is_avx512() || width == 0) return 1.0 / x;
  const auto id = width == 16  ? llvm::Intrinsic::x86_avx512_rcp14_ps_512
                  : width == 8 ? llvm::Intrinsic::x86_avx512_rcp14_ps_256
                               : llvm::Intrinsic::x86_avx512_rcp14_ps_128;
  return in_pieces(x, width, [&](llvm::Value* a) {
    llvm::Value* all = width == 16 ? b.getInt16(0xffff) : b.getInt8(0xff);
    return static_cast<llvm::Value*>(
        b.CreateIntrinsic(id, {}, {a, llvm::Constant::getNullValue(a->getType()), all}));
  });
}

unsigned Ops::table_size() const {
  return is_avx512() ? 16 : target.isa == Target::Isa::kAvx2 ? 8 : 0;
}

V Ops::lookup(V index, std::span<const uint32_t> table) {
  const unsigned width = table_size();
  RELAY_CHECK(width != 0 && table.size() == width, "no table of this size on this target");
  llvm::Value* entries = llvm::ConstantDataVector::get(
      b.getContext(), llvm::ArrayRef<uint32_t>(table.data(), table.size()));
  // Vectors of other sizes are filled up to whole registers.
  Ops whole = *this;
  whole.lanes = width * std::bit_ceil((std::max(lanes, 1u) + width - 1) / width);
  llvm::Value* at = index.v;
  if (lanes == 0) {
    at = b.CreateInsertElement(llvm::PoisonValue::get(whole.type(b.getInt32Ty())), at, uint64_t{0});
  } else if (lanes != whole.lanes) {
    llvm::SmallVector<int, 64> indices(whole.lanes, -1);
    for (unsigned i = 0; i < lanes; ++i) indices[i] = static_cast<int>(i);
    at = b.CreateShuffleVector(at, indices);
  }
  V found = whole.in_pieces(whole.value(at), width, [&](llvm::Value* piece) -> llvm::Value* {
    return is_avx512()
               ? b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_si_512, {}, {entries, piece})
               : b.CreateIntrinsic(llvm::Intrinsic::x86_avx2_permd, {}, {entries, piece});
  });
  if (lanes == 0) return value(b.CreateExtractElement(found.v, uint64_t{0}));
  if (lanes == whole.lanes) return value(found.v);
  llvm::SmallVector<int, 64> indices;
  for (unsigned i = 0; i < lanes; ++i) indices.push_back(static_cast<int>(i));
  return value(b.CreateShuffleVector(found.v, indices));
}

V Ops::call_lanes(KernelFunction function, V x) {
  llvm::Value* arguments[] = {x.v};
  return call_out_of_line(function, arguments);
}
V Ops::call_lanes(KernelFunction function, V x, V y) {
  llvm::Value* arguments[] = {x.v, y.v};
  return call_out_of_line(function, arguments);
}

V Ops::call_out_of_line(KernelFunction which, std::span<llvm::Value* const> arguments) {
  RELAY_CHECK(functions != nullptr, "a function of the table without the table");
  llvm::Module& module = *b.GetInsertBlock()->getModule();
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* type = arguments[0]->getType();
  const bool wide = type->getScalarType()->isDoubleTy();
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  const std::string name = "lanes." + std::to_string(static_cast<uint32_t>(which)) + "." +
                           std::to_string(lanes) + (wide ? "d" : "f");
  // Vectors go through memory: how they are passed by value depends on the target.
  llvm::Function* function = module.getFunction(name);
  if (function == nullptr) {
    std::vector<llvm::Type*> parameters(arguments.size() + 2, pointer);
    function = llvm::Function::Create(
        llvm::FunctionType::get(llvm::Type::getVoidTy(context), parameters, false),
        llvm::GlobalValue::InternalLinkage, name, module);
    function->addFnAttr(llvm::Attribute::NoInline);
    function->addFnAttr(llvm::Attribute::Cold);
    function->addFnAttr(llvm::Attribute::NoUnwind);
    llvm::IRBuilder<> inner(context);
    auto* entry = llvm::BasicBlock::Create(context, "entry", function);
    auto* loop = llvm::BasicBlock::Create(context, "lane", function);
    auto* done = llvm::BasicBlock::Create(context, "done", function);
    inner.SetInsertPoint(entry);
    llvm::Type* real = inner.getDoubleTy();
    llvm::Type* element = wide ? real : inner.getFloatTy();
    llvm::Value* slot = inner.CreateConstInBoundsGEP1_64(pointer, function->getArg(0),
                                                         static_cast<uint64_t>(which));
    llvm::Value* callee = inner.CreateLoad(pointer, slot);
    inner.CreateBr(loop);
    inner.SetInsertPoint(loop);
    auto* lane = inner.CreatePHI(inner.getInt64Ty(), 2);
    lane->addIncoming(inner.getInt64(0), entry);
    std::vector<llvm::Type*> types(arguments.size(), real);
    std::vector<llvm::Value*> values;
    for (size_t i = 0; i < arguments.size(); ++i) {
      llvm::Value* x = inner.CreateLoad(
          element,
          inner.CreateInBoundsGEP(element, function->getArg(static_cast<unsigned>(2 + i)), lane));
      values.push_back(wide ? x : inner.CreateFPExt(x, real));
    }
    llvm::Value* result =
        inner.CreateCall(llvm::FunctionType::get(real, types, false), callee, values);
    if (!wide) result = inner.CreateFPTrunc(result, element);
    inner.CreateStore(result, inner.CreateInBoundsGEP(element, function->getArg(1), lane));
    llvm::Value* next = inner.CreateAdd(lane, inner.getInt64(1));
    lane->addIncoming(next, loop);
    inner.CreateCondBr(inner.CreateICmpULT(next, inner.getInt64(std::max(lanes, 1u))), loop, done);
    inner.SetInsertPoint(done);
    inner.CreateRetVoid();
  }
  // Slots on the stack of the caller, in its entry block so that a loop does not grow it.
  llvm::Function* caller = b.GetInsertBlock()->getParent();
  llvm::IRBuilder<> top(&caller->getEntryBlock(), caller->getEntryBlock().begin());
  std::vector<llvm::Value*> passed{functions, top.CreateAlloca(type)};
  for (llvm::Value* argument : arguments) {
    llvm::Value* slot = top.CreateAlloca(type);
    b.CreateStore(argument, slot);
    passed.push_back(slot);
  }
  b.CreateCall(function, passed);
  return value(b.CreateLoad(type, passed[1]));
}

V Ops::unless(V rare, V usual, const std::function<V()>& fallback) {
  llvm::LLVMContext& context = b.getContext();
  llvm::Value* condition = any(rare).v;
  llvm::BasicBlock* from = b.GetInsertBlock();
  RELAY_CHECK(from->getTerminator() == nullptr, "mathematics emitted into a finished block");
  auto* slow = llvm::BasicBlock::Create(context, "rare", from->getParent());
  auto* join = llvm::BasicBlock::Create(context, "usual", from->getParent());
  llvm::MDNode* weights = llvm::MDBuilder(context).createBranchWeights(1, 1 << 20);
  b.CreateCondBr(condition, slow, join, weights);
  b.SetInsertPoint(slow);
  V other = fallback();
  llvm::BasicBlock* slow_end = b.GetInsertBlock();
  b.CreateBr(join);
  b.SetInsertPoint(join);
  auto* phi = b.CreatePHI(usual.v->getType(), 2);
  phi->addIncoming(usual.v, from);
  phi->addIncoming(other.v, slow_end);
  return value(phi);
}

#define RELAY_MATH_BINARY(op, float_name, int_name)                         \
  V operator op(V x, V y) {                                                 \
    return x.ops->value(is_float(x) ? x.ops->b.Create##float_name(x.v, y.v) \
                                    : x.ops->b.Create##int_name(x.v, y.v)); \
  }
RELAY_MATH_BINARY(+, FAdd, Add)
RELAY_MATH_BINARY(-, FSub, Sub)
RELAY_MATH_BINARY(*, FMul, Mul)
RELAY_MATH_BINARY(/, FDiv, SDiv)
RELAY_MATH_BINARY(<, FCmpOLT, ICmpSLT)
RELAY_MATH_BINARY(<=, FCmpOLE, ICmpSLE)
RELAY_MATH_BINARY(>, FCmpOGT, ICmpSGT)
RELAY_MATH_BINARY(>=, FCmpOGE, ICmpSGE)
RELAY_MATH_BINARY(==, FCmpOEQ, ICmpEQ)
RELAY_MATH_BINARY(!=, FCmpUNE, ICmpNE)
#undef RELAY_MATH_BINARY
V operator-(V x) {
  return x.ops->value(is_float(x) ? x.ops->b.CreateFNeg(x.v) : x.ops->b.CreateNeg(x.v));
}
V operator&(V x, V y) { return x.ops->value(x.ops->b.CreateAnd(x.v, y.v)); }
V operator|(V x, V y) { return x.ops->value(x.ops->b.CreateOr(x.v, y.v)); }
V operator^(V x, V y) { return x.ops->value(x.ops->b.CreateXor(x.v, y.v)); }
V operator<<(V x, int count) {
  return x.ops->value(x.ops->b.CreateShl(x.v, x.ops->constant_int(x, count).v));
}
V operator>>(V x, int count) {
  return x.ops->value(x.ops->b.CreateAShr(x.v, x.ops->constant_int(x, count).v));
}

}  // namespace relay::codegen::math
