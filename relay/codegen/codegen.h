// From loop nests to machine code.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <relay/lower/loops.h>
#include <relay/runtime/kernel.h>

namespace relay::codegen {

/// What code is generated for. Three instruction sets from one source.
struct Target {
  enum class Isa : uint8_t {
    kBaseline /* x86-64 with SSE2 */,
    kAvx2 /* and FMA, F16C, BMI 1 and 2, LZCNT, POPCNT, MOVBE */,
    kAvx512 /* F, VL, BW, DQ too */
  };
  Isa isa = Isa::kBaseline;
  int vector_bytes() const;
  std::string_view name() const;  // "baseline", "avx2", "avx512"
  /// The instructions that code may use besides those of x86-64 and those that these imply, by
  /// LLVM's names.
  std::span<const std::string_view> features() const;
  /// The best that this machine runs.
  static Target host();
  /// By name; "host" too. Throws Error naming the known ones.
  static Target parse(std::string_view name);
  /// Whether this machine can run it.
  bool runs_here() const;
};

struct CompiledKernel {
  std::shared_ptr<const KernelBlob> blob;
  std::vector<std::string> messages;  // failure code - 1
  std::vector<uint32_t> origins;      // the same: of the operator that fails, as in lower::Group
  Dim scratch_bytes;                  // for each worker; a term over the kernel's symbols
  bool parallel = false;              // whether workers other than 0 have anything to do
};

struct CompileOptions {
  int threads = 0;  // 0: as many as the machine has cores
  /// Compiled kernels by content; empty for none. Bounded in size; entries that are damaged or of
  /// another owner are ignored and rewritten; several processes may use one.
  std::filesystem::path cache;
};

/// The user's cache folder: $RELAY_CACHE_DIR, else $XDG_CACHE_HOME/relay, else ~/.cache/relay;
/// empty if none can be used.
std::filesystem::path default_cache();

/// Compiles kernels in parallel, equal ones once. Result i belongs to kernel i. The same threads
/// do what is `beside`, in that order, among the kernels.
std::vector<CompiledKernel> compile(std::span<const std::shared_ptr<const lower::Kernel>> kernels,
                                    const Target& target, const CompileOptions& options = {},
                                    std::span<const std::function<void()>> beside = {});

enum class Text : uint8_t { kLlvm, kAssembly };
/// All instructions beyond x86-64 that LLVM may use in code for the target, by its names: what a
/// machine has to have that runs it.
std::vector<std::string> code_features(const Target& target);

/// The kernel as LLVM IR or assembly (`relay opt --emit=llvm|asm`).
std::string emit_text(const lower::Kernel& kernel, const Target& target, Text text);

}  // namespace relay::codegen
