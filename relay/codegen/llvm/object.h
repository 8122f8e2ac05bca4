// From an LLVM module to a position-independent blob, or to text.
#pragma once

#include <cstdint>
#include <string>

#include <relay/codegen/codegen.h>
#include <relay/runtime/kernel.h>

namespace llvm {
class Module;
}

namespace relay::codegen {

/// Gives a fresh module the target's triple and data layout. Call before emitting into it.
void prepare_module(llvm::Module& module, const Target& target);

/// Turns combining of instructions on. Loops run up to a third faster with it; contractions are
/// emitted in their final form, and compile faster without.
enum class Combine : uint8_t { kNo, kYes };

/// Optimises the module, generates code for it and links its sections into one piece. The module
/// must define `function`; everything else in it becomes internal. Throws InternalError that names
/// the symbol if the code refers to a function or datum that the module does not define, and for
/// every module that LLVM refuses. Runs LLVM on the caller's stack, which should be large (see
/// `with_stack` in relay/support/threads.h).
KernelBlob to_blob(llvm::Module& module, const std::string& function, const Target& target,
                   Combine combine = Combine::kYes);

/// The module after optimisation, as LLVM IR or as assembly.
std::string to_text(llvm::Module& module, const std::string& function, const Target& target,
                    Combine combine, Text text);

/// Makes a blob from LLVM IR as text, for tests and experiments; on a stack of its own.
KernelBlob blob_of_ir(const std::string& text, const std::string& function, const Target& target);
/// The same on the caller's stack.
KernelBlob blob_of_ir_here(const std::string& text, const std::string& function,
                           const Target& target);

/// The number of times that threads have made their compilers, for tests.
size_t compilers_made();

/// "19.1.7": a part of the identity of generated code.
std::string llvm_version();

}  // namespace relay::codegen
