#include <relay/codegen/llvm/probe.h>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <relay/codegen/llvm/math.h>
#include <relay/codegen/llvm/object.h>
#include <relay/support/threads.h>

namespace relay::codegen {

namespace {

constexpr const char* kName = "probe";

/// Emits the kernel: one loop of whole vectors.
void emit(llvm::Module& module, const Probe& probe, const Target& target) {
  llvm::LLVMContext& context = module.getContext();
  llvm::IRBuilder<> b(context);
  llvm::Type* pointer = b.getPtrTy();
  llvm::Type* word = b.getInt64Ty();
  auto* function = llvm::Function::Create(llvm::FunctionType::get(b.getInt32Ty(), {pointer}, false),
                                          llvm::GlobalValue::ExternalLinkage, kName, module);
  auto* entry = llvm::BasicBlock::Create(context, "entry", function);
  auto* loop = llvm::BasicBlock::Create(context, "loop", function);
  auto* done = llvm::BasicBlock::Create(context, "done", function);
  b.SetInsertPoint(entry);
  auto field = [&](size_t offset) {
    return b.CreateLoad(pointer,
                        b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), function->getArg(0), offset));
  };
  llvm::Value* buffers = field(offsetof(KernelArgs, buffers));
  llvm::Value* dims = field(offsetof(KernelArgs, dims));
  llvm::Value* functions = field(offsetof(KernelArgs, functions));
  const auto* convert = std::get_if<Probe::Convert>(&probe.function);
  const auto* binary = std::get_if<te::BinaryOp>(&probe.function);
  llvm::Type* real = probe.wide ? b.getDoubleTy() : b.getFloatTy();
  llvm::Type* from = real;
  llvm::Type* to = real;
  if (convert != nullptr) {
    const bool narrows =
        *convert == Probe::Convert::kFloatToHalf || *convert == Probe::Convert::kFloatToBFloat16;
    from = narrows ? real : b.getInt16Ty();
    to = narrows ? b.getInt16Ty() : b.getFloatTy();
  }
  auto vector = [&](llvm::Type* element) -> llvm::Type* {
    if (probe.lanes == 0) return element;
    return llvm::FixedVectorType::get(element, probe.lanes);
  };
  auto buffer = [&](uint64_t index) {
    return b.CreateLoad(pointer, b.CreateConstInBoundsGEP1_64(pointer, buffers, index));
  };
  llvm::Value* first = buffer(0);
  llvm::Value* second = binary != nullptr ? buffer(1) : nullptr;
  llvm::Value* out = buffer(binary != nullptr ? 2 : 1);
  llvm::Value* size = b.CreateLoad(word, dims);
  b.CreateCondBr(b.CreateICmpSGT(size, b.getInt64(0)), loop, done);
  b.SetInsertPoint(loop);
  auto* index = b.CreatePHI(word, 2);
  index->addIncoming(b.getInt64(0), entry);
  auto load = [&](llvm::Value* base) {
    return b.CreateAlignedLoad(vector(from), b.CreateInBoundsGEP(from, base, index),
                               llvm::Align(2));
  };
  llvm::Value* x = load(first);
  llvm::Value* result = nullptr;
  if (binary != nullptr) {
    result = emit_binary_math(b, *binary, x, load(second), target, functions);
  } else if (convert == nullptr) {
    result = emit_unary_math(b, std::get<te::UnaryOp>(probe.function), x, target, functions);
    if (result->getType()->isIntOrIntVectorTy()) result = b.CreateUIToFP(result, vector(to));
  } else {
    switch (*convert) {
      case Probe::Convert::kHalfToFloat:
        result = emit_half_to_float(b, x, target);
        break;
      case Probe::Convert::kFloatToHalf:
        result = emit_float_to_half(b, x, target);
        break;
      case Probe::Convert::kBFloat16ToFloat:
        result = emit_bfloat16_to_float(b, x);
        break;
      case Probe::Convert::kFloatToBFloat16:
        result = emit_float_to_bfloat16(b, x);
        break;
    }
  }
  b.CreateAlignedStore(result, b.CreateInBoundsGEP(to, out, index), llvm::Align(2));
  llvm::Value* next = b.CreateAdd(index, b.getInt64(probe.lanes == 0 ? 1 : probe.lanes));
  index->addIncoming(next, b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpSLT(next, size), loop, done);
  b.SetInsertPoint(done);
  b.CreateRet(b.getInt32(0));
}

}  // namespace

KernelBlob probe_kernel(const Probe& probe, const Target& target) {
  KernelBlob blob;
  with_stack(1, 1, [&](size_t) {
    llvm::LLVMContext context;
    llvm::Module module(kName, context);
    prepare_module(module, target);
    emit(module, probe, target);
    blob = to_blob(module, kName, target);
  });
  return blob;
}

}  // namespace relay::codegen
