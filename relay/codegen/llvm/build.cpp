#include <relay/codegen/llvm/build.h>

#include <algorithm>
#include <cstdio>

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

// True for what an assembly has for readers of places alone: files by number, where frames are, and
// labels between instructions.
bool is_of_places(std::string_view line) {
  return line.starts_with("\t.file\t1") || line.starts_with("\t.cfi_") ||
         line.starts_with(".Ltmp") || line.starts_with(".Lfunc_begin");
}

// Takes the directives about places out of an assembly.
Assembly without_places(std::string_view text) {
  Assembly result;
  uint32_t origin = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
    text.remove_prefix(line.size());
    unsigned file = 0, place = 0;
    if (line.starts_with("\t.loc\t")) {
      if (std::sscanf(std::string(line).c_str(), "\t.loc\t%u %u", &file, &place) == 2)
        origin = place > 1 ? place - 1 : 0;
    } else if (!is_of_places(line)) {
      result.text += line;
      // Labels and directives stand for no operator.
      const bool is_code = line.starts_with('\t') && !line.starts_with("\t.");
      result.origins.push_back(is_code ? origin : 0);
    }
  }
  return result;
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

Assembly build_assembly(const lower::Kernel& kernel, const Target& target) {
  llvm::LLVMContext context;
  llvm::Module module(kernel.name, context);
  prepare_module(module, target);
  const EmittedKernel emitted = emit_kernel(kernel, module, target, Places::kYes);
  return without_places(
      to_text(module, emitted.function, target, combine_for(kernel), Text::kAssembly));
}

}  // namespace relay::codegen
