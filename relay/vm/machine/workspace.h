// The memory in which graphs compute.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <string>

#include <relay/runtime/memory.h>
#include <relay/runtime/ndarray.h>
#include <relay/runtime/pool.h>
#include <relay/support/error.h>

namespace relay::vm {

/// Memory that is kept and only grows.
class Workspace {
 public:
  Workspace() = default;
  ~Workspace() { reset(); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  /// At least `bytes`, with unspecified contents; always on the same device.
  std::byte* get(size_t bytes, const char* what, Device device = kCpu) {
    if (bytes <= size_) return memory_;
    reset();
    if (!(device == kCpu)) {
      elsewhere_ = NDArray::empty({static_cast<int64_t>(bytes)}, kUInt8, device);
      memory_ = static_cast<std::byte*>(elsewhere_.raw());
      size_ = bytes;
      return memory_;
    }
    constexpr size_t kHugePage = size_t{2} << 20;
    constexpr size_t kLine = 64;
    size_t alignment = bytes >= 2 * kHugePage ? kHugePage : kLine;
    size_t size = (bytes + alignment - 1) & ~(alignment - 1);
    charge_memory(size, what);
    pool_keep_less();
    memory_ = static_cast<std::byte*>(std::aligned_alloc(alignment, size));
    if (memory_ == nullptr) {
      refund_memory(size);
      throw Error(std::string(what) + " needs " + std::to_string(bytes) +
                  " bytes, more than the system gives");
    }
    size_ = size;
    if (alignment == kHugePage) madvise(memory_, size, MADV_HUGEPAGE);
    return memory_;
  }

 private:
  void reset() {
    if (elsewhere_) {
      elsewhere_ = NDArray();
    } else {
      std::free(memory_);
      refund_memory(size_);
    }
    memory_ = nullptr;
    size_ = 0;
  }

  std::byte* memory_ = nullptr;
  size_t size_ = 0;
  NDArray elsewhere_;
};

}  // namespace relay::vm
