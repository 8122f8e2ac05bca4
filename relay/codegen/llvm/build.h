// One kernel through LLVM.
#pragma once

#include <string>

#include <relay/codegen/cache.h>
#include <relay/codegen/codegen.h>

namespace relay::codegen {

/// Emits, optimises and links. Needs a large stack.
CacheEntry build_kernel(const lower::Kernel& kernel, const Target& target);
/// The lines of the assembly, and the operator that each belongs to.
Assembly build_assembly(const lower::Kernel& kernel, const Target& target);
std::string build_text(const lower::Kernel& kernel, const Target& target, Text text);

}  // namespace relay::codegen
