#include <relay/vm/machine/frame.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include <relay/runtime/memory.h>
#include <relay/support/error.h>

namespace relay::vm {

namespace {
constexpr size_t kFirstSegment = size_t{64} << 10;
constexpr size_t kGreatestSegment = size_t{16} << 20;
}  // namespace

void clear_frame(Frame* frame) {
  char* registers = reinterpret_cast<char*>(frame->registers());
  for (uint32_t offset : frame->function->owning) {
    clear_slot(*reinterpret_cast<Slot*>(registers + offset));
  }
  if (frame->closure.counted()) release_slot(frame->closure);
  frame->closure.head = 0;
  frame->caller = nullptr;
  frame->call = nullptr;
}

FrameStack::~FrameStack() {
  for (Segment& segment : segments_) free_segment(segment);
  if (spare_.memory != nullptr) free_segment(spare_);
}

void FrameStack::free_segment(Segment& segment) {
  std::free(segment.memory);
  refund_memory(segment.bytes);
  bytes_ -= segment.bytes;
  segment = {nullptr, 0};
}

char* FrameStack::open_segment(size_t bytes, const Frame* top) {
  if (spare_.memory != nullptr && spare_.bytes < bytes) free_segment(spare_);
  if (spare_.memory == nullptr) {
    size_t size =
        segments_.empty() ? kFirstSegment : std::min(kGreatestSegment, 2 * segments_.back().bytes);
    size = std::max(size, bytes);
    void* memory = nullptr;
    if (bytes_ + size <= most_bytes_ && try_charge_memory(size)) {
      memory = std::calloc(1, size);
      if (memory == nullptr) refund_memory(size);
    }
    if (memory == nullptr) {
      uint64_t calls = 0;
      for (; top != nullptr; top = top->caller) ++calls;
      throw RuntimeError("the recursion is too deep: the memory of " + std::to_string(calls) +
                         " active calls would exceed the limit");
    }
    spare_ = {static_cast<char*>(memory), size};
    bytes_ += size;
  }
  segments_.push_back(spare_);
  spare_ = {nullptr, 0};
  limit_ = segments_.back().memory + segments_.back().bytes;
  return segments_.back().memory;
}

void FrameStack::close_segment() {
  if (spare_.memory != nullptr) free_segment(spare_);
  spare_ = segments_.back();
  segments_.pop_back();
  limit_ = segments_.empty() ? nullptr : segments_.back().memory + segments_.back().bytes;
}

}  // namespace relay::vm
