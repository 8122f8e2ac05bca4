#include <relay/codegen/llvm/build.h>

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <relay/codegen/dim_text.h>
#include <relay/codegen/llvm/emit.h>
#include <relay/codegen/llvm/object.h>

namespace relay::codegen {

namespace {

Combine combine_for(const lower::Kernel& kernel) {
  return std::holds_alternative<lower::Contraction>(kernel.body) ? Combine::kNo : Combine::kYes;
}

}  // namespace

CacheEntry build_kernel(const lower::Kernel& kernel, const Target& target) {
  llvm::LLVMContext context;
  context.setDiscardValueNames(true);
  llvm::Module module(kernel.name, context);
  prepare_module(module, target);
  EmittedKernel emitted = emit_kernel(kernel, module, target);
  CacheEntry entry;
  entry.blob = to_blob(module, emitted.function, target, combine_for(kernel));
  entry.messages = std::move(emitted.messages);
  entry.origins = std::move(emitted.origins);
  entry.scratch_bytes = dim_to_text(emitted.scratch_bytes, kernel.dim_args);
  entry.parallel = emitted.parallel;
  return entry;
}

std::string build_text(const lower::Kernel& kernel, const Target& target, Text text) {
  llvm::LLVMContext context;
  llvm::Module module(kernel.name, context);
  prepare_module(module, target);
  const EmittedKernel emitted = emit_kernel(kernel, module, target);
  return to_text(module, emitted.function, target, combine_for(kernel), text);
}

}  // namespace relay::codegen
