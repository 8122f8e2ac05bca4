// How the machine calls native kernels: the one interface between generated code and the runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace relay {

/// What a kernel gets. Generated code reads these fields by offset: plain pointers and integers
/// only, no field moves without a new `kKernelAbiVersion`.
struct KernelArgs {
  /// The tensors in the order of the kernel's buffers: dense, row-major. What the machine allocates
  /// is 64-byte aligned, what comes from outside is aligned to its elements only. A buffer of
  /// extent 0 may be null.
  void* const* buffers;
  /// Values of the kernel's dimension arguments.
  const int64_t* dims;
  /// This worker, 0 … num_threads-1. Work is cut by the shapes and handed out by these two numbers,
  /// so that results do not depend on them.
  int32_t thread;
  int32_t num_threads;
  /// This worker's scratch memory, 64-byte aligned, of the size that the kernel asked for.
  void* scratch;
  /// Functions of the runtime that kernels call, by `KernelFunction`.
  const void* const* functions;
  /// Two numbers that explain a failure (index and extent), written by the kernel that fails.
  int64_t* detail;
};
static_assert(sizeof(KernelArgs) == 48 && offsetof(KernelArgs, thread) == 16 &&
              offsetof(KernelArgs, num_threads) == 20 && offsetof(KernelArgs, scratch) == 24 &&
              offsetof(KernelArgs, functions) == 32 && offsetof(KernelArgs, detail) == 40);

/// 0, or 1 + the position of a message in the kernel's list. Workers that fail go on; the machine
/// reports the smallest code of all workers.
using KernelFn = int32_t (*)(const KernelArgs* args);

/// What an index outside of its tensor is said to be where its number is not known.
inline constexpr std::string_view kOutOfRange = "index out of range";
/// The message with that text replaced by one that names the index and the extent.
std::string with_index(std::string_view message, int64_t index, int64_t extent);
/// A failure of an operator's computation, with its name. A division by zero goes without: it is
/// an infix operator mostly, or an instruction that knows of no operator.
std::string failure_text(std::string_view op, std::string_view message);

inline constexpr uint32_t kKernelAbiVersion = 1;

/// Scalar functions that generated code calls where it has no own version (double precision
/// mostly). Unary `double(double)` and binary `double(double, double)`. Values are part of the
/// interface.
enum class KernelFunction : uint32_t {
  kExp,
  kLog,
  kLog2,
  kLog10,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kTanh,
  kAsinh,
  kAcosh,
  kAtanh,
  kErf,
  kPow,
  kFmod,
  kAtan2,
  kCount
};
/// The table that `KernelArgs::functions` points to.
const void* const* kernel_functions();

/// Machine code of one kernel: text and constants in one piece, position-independent, without
/// external symbols.
struct KernelBlob {
  std::vector<std::byte> bytes;
  uint32_t entry = 0;       // offset of the function
  uint32_t alignment = 64;  // of the piece, at most 4096
};

/// Blobs mapped executable (never writable at the same time).
class CodeMemory {
 public:
  /// Throws Error when the system refuses.
  static std::shared_ptr<const CodeMemory> map(std::span<const KernelBlob* const> blobs);
  ~CodeMemory();
  CodeMemory(const CodeMemory&) = delete;
  CodeMemory& operator=(const CodeMemory&) = delete;
  KernelFn kernel(size_t index) const { return kernels_[index]; }

 private:
  CodeMemory() = default;
  void* memory_ = nullptr;
  size_t size_ = 0;
  std::vector<KernelFn> kernels_;
};

}  // namespace relay
