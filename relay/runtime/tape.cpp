#include <relay/runtime/tape.h>

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include <relay/runtime/memory.h>

namespace relay {
namespace {

constexpr size_t kSlot = 8;
constexpr size_t kFirst = size_t{64} << 10;  // bytes
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kMostAddresses = size_t{1} << 38;

// Addresses are reserved once, for as much as a tape may ever hold: what the machine has, since the
// memory limit may rise later. The system gives memory where they are used.
class Tape {
 public:
  Tape() = default;
  ~Tape() {
    if (base_ == nullptr) return;
    munmap(base_, reserved_);
    refund_memory(used_);
  }
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  void* slots() {
    if (base_ == nullptr) reserve();
    return base_;
  }

  int64_t room(int64_t needed) {
    if (base_ == nullptr) reserve();
    const uint64_t most = reserved_ / kSlot;
    if (needed > 0 && static_cast<uint64_t>(needed) <= most) {
      const size_t bytes = static_cast<size_t>(needed) * kSlot;
      // Doubled, so that few calls ask for more; just enough where memory is short.
      size_t wanted = std::min(std::max({2 * used_, kFirst, bytes}), reserved_);
      if (bytes > used_ && !grow_to(wanted))
        grow_to(std::min((bytes + 4095) & ~size_t{4095}, reserved_));
    }
    return static_cast<int64_t>(used_ / kSlot);
  }

  void trim() noexcept {
    if (used_ <= kTapeKept) return;
    madvise(base_ + kTapeKept, used_ - kTapeKept, MADV_DONTNEED);
    refund_memory(used_ - kTapeKept);
    used_ = kTapeKept;
  }

 private:
  void reserve() {
    const size_t machine =
        static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
    size_t size = std::max(machine, memory_limit()) & ~(kHugePage - 1);
    size = std::max(std::min(kMostAddresses, size), 2 * kTapeKept);
    rlimit limit{};
    // Where addresses are limited, other memory needs them, too.
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
      size = std::min(size, (static_cast<size_t>(limit.rlim_cur) / 4) & ~(kHugePage - 1));
    for (; size >= kTapeKept; size = (size / 2) & ~(kHugePage - 1)) {
      void* made = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (made == MAP_FAILED) continue;
      base_ = static_cast<std::byte*>(made);
      reserved_ = size;
      if (size > 2 * kTapeKept) madvise(base_ + kTapeKept, size - kTapeKept, MADV_HUGEPAGE);
      return;
    }
  }

  bool grow_to(size_t bytes) {
    if (bytes <= used_ || !try_charge_memory(bytes - used_)) return false;
    used_ = bytes;
    return true;
  }

  std::byte* base_ = nullptr;
  size_t reserved_ = 0;
  size_t used_ = 0;  // accounted for
};

// Plain, so that `trim_tape` costs a thread that has no tape one look.
thread_local bool has_tape = false;

Tape& tape() {
  thread_local Tape made;
  has_tape = true;
  return made;
}

}  // namespace

void* tape_slots() { return tape().slots(); }
int64_t tape_room(int64_t needed) { return tape().room(needed); }
void trim_tape() noexcept {
  if (has_tape) tape().trim();
}

}  // namespace relay
