#include <relay/vm/machine/frame.h>

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include <relay/runtime/memory.h>
#include <relay/support/error.h>

namespace relay::vm {

namespace {
constexpr size_t kFirstSegment = size_t{64} << 10;
constexpr size_t kGreatestSegment = size_t{16} << 20;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kMostSpare = size_t{32} << 20;

// Zeroed, on huge pages where that pays.
char* clean_memory(size_t size) {
  if (size < kHugePage) return static_cast<char*>(std::calloc(1, size));
  size_t mapped = size + kHugePage;
  void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  char* begin = static_cast<char*>(memory);
  char* aligned = begin + (-reinterpret_cast<uintptr_t>(begin) & (kHugePage - 1));
  if (aligned != begin) munmap(begin, static_cast<size_t>(aligned - begin));
  munmap(aligned + size, static_cast<size_t>(begin + mapped - (aligned + size)));
  madvise(aligned, size, MADV_HUGEPAGE);
  return aligned;
}

void free_clean_memory(char* memory, size_t size) {
  if (size < kHugePage) {
    std::free(memory);
  } else {
    munmap(memory, size);
  }
}

}  // namespace

void clear_frame(Frame* frame) {
  char* registers = reinterpret_cast<char*>(frame->registers());
  for (uint32_t offset : frame->function->owning) {
    clear_slot(slot_at(registers, offset));
  }
  if (frame->closure.counted()) release_slot(frame->closure);
  frame->closure.head = 0;
  frame->caller = nullptr;
  frame->call = nullptr;
}

FrameStack::~FrameStack() {
  for (const Segment& segment : segments_) free_segment(segment);
  for (const Segment& segment : spare_) free_segment(segment);
}

void FrameStack::free_segment(const Segment& segment) {
  free_clean_memory(segment.memory, segment.bytes);
  refund_memory(segment.bytes);
  bytes_ -= segment.bytes;
}

char* FrameStack::open_segment(size_t bytes, const Frame* top) {
  while (!spare_.empty() && spare_.back().bytes < bytes) {
    free_segment(spare_.back());
    spare_bytes_ -= spare_.back().bytes;
    spare_.pop_back();
  }
  if (spare_.empty()) {
    size_t size =
        segments_.empty() ? kFirstSegment : std::min(kGreatestSegment, 2 * segments_.back().bytes);
    if (size < bytes) size = (bytes + kHugePage - 1) & ~(kHugePage - 1);
    char* memory = nullptr;
    if (bytes_ + size <= most_bytes_ && try_charge_memory(size)) {
      memory = clean_memory(size);
      if (memory == nullptr) refund_memory(size);
    }
    if (memory == nullptr) {
      uint64_t calls = 0;
      for (; top != nullptr; top = top->caller) ++calls;
      throw RuntimeError(too_deep_text(calls, most_bytes_));
    }
    spare_.push_back({memory, size});
    spare_bytes_ += size;
    bytes_ += size;
  }
  segments_.push_back(spare_.back());
  spare_bytes_ -= spare_.back().bytes;
  spare_.pop_back();
  limit_ = segments_.back().memory + segments_.back().bytes;
  return segments_.back().memory;
}

void FrameStack::close_segment() {
  Segment closed = segments_.back();
  segments_.pop_back();
  limit_ = segments_.empty() ? nullptr : segments_.back().memory + segments_.back().bytes;
  if (spare_bytes_ + closed.bytes > kMostSpare) {
    free_segment(closed);
  } else {
    spare_.push_back(closed);
    spare_bytes_ += closed.bytes;
  }
}

}  // namespace relay::vm
