#include <relay/eval/stack.h>

#include <sys/mman.h>

#include <algorithm>
#include <memory>

#include <relay/runtime/memory.h>

namespace relay::eval {
namespace {

constexpr size_t kFirst = size_t{64} << 10;
constexpr size_t kLargest = size_t{64} << 20;
constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace

SlotStack::~SlotStack() {
  for (const Segment& segment : segments_) free(segment);
  refund_memory(bytes_);
}

void SlotStack::free(const Segment& segment) {
  ::munmap(segment.begin, segment.count * sizeof(Value));
}

bool SlotStack::grow(size_t count, size_t other) {
  // Each doubles the whole.
  size_t bytes = std::clamp(bytes_, kFirst, kLargest);
  if (count > bytes / sizeof(Value)) bytes = (count * sizeof(Value) + kFirst - 1) / kFirst * kFirst;
  if (bytes_ + bytes + other > stack_limit() || !try_charge_memory(bytes)) return false;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    refund_memory(bytes);
    return false;
  }
  if (bytes >= 2 * kHugePage) ::madvise(memory, bytes, MADV_HUGEPAGE);  // a hint
  segments_.push_back({static_cast<Value*>(memory), bytes / sizeof(Value)});
  bytes_ += bytes;
  return true;
}

SlotStack::Slots SlotStack::push(const Slots* top, size_t count, size_t other) {
  Slots slots{nullptr, count, 0};
  if (top != nullptr) {
    const Segment& segment = segments_[top->segment];
    size_t used = static_cast<size_t>(top->begin - segment.begin) + top->count;
    slots.segment = top->segment;
    if (segment.count - used >= count) {
      slots.begin = segment.begin + used;
    } else {
      ++slots.segment;
    }
  }
  if (slots.begin == nullptr) {
    // Segments above are empty; those too small for this frame are removed.
    while (slots.segment < segments_.size() && segments_[slots.segment].count < count) {
      const Segment& last = segments_.back();
      bytes_ -= last.count * sizeof(Value);
      refund_memory(last.count * sizeof(Value));
      free(last);
      segments_.pop_back();
    }
    if (slots.segment >= segments_.size() && !grow(count, other)) return {};
    slots.begin = segments_[slots.segment].begin;
  }
  std::uninitialized_default_construct_n(slots.begin, count);
  return slots;
}

void SlotStack::pop(const Slots& slots) { std::destroy_n(slots.begin, slots.count); }

}  // namespace relay::eval
