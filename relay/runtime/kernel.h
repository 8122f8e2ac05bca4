// The interface between generated code and the runtime, through which the machine calls native
// kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace relay {

/// Gives the tasks of a kernel that workers share: numbers from 0 up, cut by the shapes alone. The
/// result never depends on which worker takes which task. Generated code calls through `take`.
struct TaskSource {
  /// Takes the next tasks [range[0], range[1]), never empty, of `count` in all; the count is the
  /// same at each call. Returns 0 if none are left for this worker; range[0] is then beyond all of
  /// them.
  int32_t (*take)(TaskSource* self, int64_t count, int64_t* range);
};
static_assert(offsetof(TaskSource, take) == 0);

/// All tasks at once; or the share of one worker, if several are run one after the other.
class ShareOfTasks final : public TaskSource {
 public:
  explicit ShareOfTasks(int worker = 0, int workers = 1)
      : TaskSource{&take_share}, worker_(worker), workers_(workers) {}

 private:
  static int32_t take_share(TaskSource* self, int64_t count, int64_t* range);
  int worker_;
  int workers_;
  bool taken_ = false;
};

/// The details of a failure, written by the kernel that fails.
struct FailureDetail {
  static constexpr int64_t kUnset = INT64_MIN;
  int64_t index = kUnset;
  int64_t extent = kUnset;
  /// The first of the tasks in which it happened; unset if it happened in front of all tasks.
  int64_t task = kUnset;
};

/// KernelArgs::stop for a run that nobody stops.
inline constexpr char kNeverStops = 0;

/// The arguments of a kernel. Generated code reads these fields by offset: plain pointers and
/// integers only, and no field moves without a new `kKernelAbiVersion`.
struct KernelArgs {
  /// The tensors in the order of the kernel's buffers: dense, row-major. Written buffers are
  /// 64-byte aligned. Buffers that are only read may come from outside, so they are aligned to
  /// their elements only. A buffer of extent 0 may be null.
  void* const* buffers = nullptr;
  /// Values of the kernel's dimension arguments.
  const int64_t* dims = nullptr;
  /// The source of this worker's tasks, for a shared kernel; other kernels ignore it.
  TaskSource* tasks = nullptr;
  /// This worker's scratch memory, 64-byte aligned, of the size that the kernel asked for.
  void* scratch = nullptr;
  /// Functions of the runtime that kernels call, by `KernelFunction`.
  const void* const* functions = nullptr;
  FailureDetail* detail = nullptr;
  /// 1 for the one worker that does the work outside of the tasks.
  int64_t first = 1;
  /// The target of loads in masked lanes: 64 bytes that can be read.
  int64_t unused = 0;
  /// A byte that is not 0 once the run must end: kernels with loops of unknown length look at it in
  /// each turn.
  const void* stop = &kNeverStops;
};
static_assert(sizeof(KernelArgs) == 72 && offsetof(KernelArgs, stop) == 64 && offsetof(KernelArgs, tasks) == 16 &&
              offsetof(KernelArgs, scratch) == 24 && offsetof(KernelArgs, functions) == 32 &&
              offsetof(KernelArgs, detail) == 40 && offsetof(KernelArgs, first) == 48 &&
              offsetof(FailureDetail, extent) == 8 && offsetof(FailureDetail, task) == 16);

/// Returns 0, or 1 + the position of a message in the kernel's list, or -1 if it was stopped. Workers that fail go on; each
/// keeps the failure of its earliest task, and the machine reports the earliest of these.
using KernelFn = int32_t (*)(const KernelArgs* args);

inline constexpr uint32_t kKernelAbiVersion = 4;

/// Scalar functions that generated code calls if it has no version of its own (double precision
/// mostly), unary `double(double)` and binary `double(double, double)`; and the two functions of the
/// tape (relay/runtime/tape.h). Values are part of the interface.
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
  kTape,      // void*(): the slots of this thread's tape
  kTapeRoom,  // int64_t(int64_t): how many slots may be used, after it asked for so many
  kCount
};
/// The table for `KernelArgs::functions`.
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
  /// Throws Error if the system refuses.
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
