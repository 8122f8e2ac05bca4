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
#include <relay/lower/processor.h>
#include <relay/runtime/kernel.h>

namespace relay::codegen {

/// The processor that code is generated for: an instruction set, perhaps with products of small
/// numbers, and the facts that plans are made by.
struct Target {
  enum class Isa : uint8_t {
    kBaseline /* x86-64 with SSE2 */,
    kAvx2 /* and FMA, F16C, BMI 1 and 2, LZCNT, POPCNT, MOVBE */,
    kAvx512 /* F, VL, BW, DQ too */,
    kNeon /* AArch64 with its vectors of 128 bits, whatever else the processor has */
  };
  Isa isa = Isa::kBaseline;
  /// With AVX-VNNI or AVX-512 VNNI: products of 8 and 16 bits, summed in lanes of 32.
  bool dots = false;
  lower::Processor processor{.vector_bytes = 16, .registers = 16};
  int vector_bytes() const { return static_cast<int>(processor.vector_bytes); }
  /// One of kTargetNames (runtime/target_names.h).
  std::string_view name() const;
  /// The name and the facts that code depends on: equal ones give equal code.
  std::string key() const;
  /// "x86-64" or "aarch64".
  std::string_view architecture() const;
  bool is_x86() const { return isa != Isa::kNeon; }
  /// The instructions that code may use besides those of the architecture and those that these
  /// imply, by LLVM's names.
  std::span<const std::string_view> features() const;
  /// The best target that this machine runs, with the sizes of its caches.
  static Target host();
  /// The target with a name, "host" too, or of a file, whose name ends in ".json" (`load`). Throws
  /// Error that names the known ones.
  static Target parse(std::string_view name);
  /// The target with one of kTargetNames, with the usual sizes of caches. Throws Error for others.
  static Target named(std::string_view name);
  /// The target that a file describes as `relay machine --format json` prints it: a name, and sizes
  /// of caches in bytes for those that are not the usual ones. Throws Error if it is no such file.
  static Target load(const std::string& path);
  /// True if this machine can run it.
  bool runs_here() const;
};

struct CompiledKernel {
  std::shared_ptr<const KernelBlob> blob;
  std::vector<std::string> messages;  // failure code - 1
  std::vector<uint32_t> origins;      // the same: the operator that fails, as in lower::Group
  Dim scratch_bytes;                  // for each worker; a term over the kernel's symbols
  bool parallel = false;              // true if workers other than 0 have work
};

struct CompileOptions {
  int threads = 0;  // 0: one for each core
  /// The folder of compiled kernels, found by content; empty for none. Its size is bounded; damaged
  /// entries and those of another owner are ignored and rewritten; several processes may use it.
  std::filesystem::path cache;
};

/// The user's cache folder: $RELAY_CACHE_DIR, else $XDG_CACHE_HOME/relay, else ~/.cache/relay;
/// empty if none can be used.
std::filesystem::path default_cache();

/// Compiles kernels in parallel, equal ones once. Result i belongs to kernel i. The same threads
/// run the work in `beside`, in its order, among the kernels.
std::vector<CompiledKernel> compile(std::span<const std::shared_ptr<const lower::Kernel>> kernels,
                                    const Target& target, const CompileOptions& options = {},
                                    std::span<const std::function<void()>> beside = {});

enum class Text : uint8_t { kLlvm, kAssembly };
/// All instructions beyond x86-64 that LLVM may use in code for the target, by its names: a machine
/// that runs the code must have them. Those of another architecture begin with its name.
std::vector<std::string> code_features(const Target& target);

/// The kernel as LLVM IR or assembly (`relay opt --emit=llvm|asm`).
std::string emit_text(const lower::Kernel& kernel, const Target& target, Text text);

/// Assembly, with the operator that each line belongs to by its number in the kernel's group; 0: to
/// none alone.
struct Assembly {
  std::string text;
  std::vector<uint32_t> origins;
};
/// The text is that of `emit_text`.
Assembly emit_assembly(const lower::Kernel& kernel, const Target& target);

}  // namespace relay::codegen
