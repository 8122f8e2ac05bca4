// Memory for the slots of active calls.
#pragma once

#include <cstddef>
#include <vector>

#include <relay/runtime/value.h>

namespace relay::eval {

/// A stack of slots in segments: a frame's slots are one array that never moves, and growing copies
/// nothing. Large segments ask for huge pages, because fetching fresh memory by the small page
/// takes most of the time of a deep recursion.
class SlotStack {
 public:
  struct Slots {
    Value* begin = nullptr;
    size_t count = 0;
    size_t segment = 0;
  };

  SlotStack() = default;
  ~SlotStack();
  SlotStack(const SlotStack&) = delete;
  SlotStack& operator=(const SlotStack&) = delete;

  /// `count` empty slots above `top`, the latest ones (null: the stack is empty). If the limit
  /// would be passed together with `other` bytes that the caller needs, `begin` is null and nothing
  /// changes.
  Slots push(const Slots* top, size_t count, size_t other);
  /// Empties the slots, which are the latest ones.
  static void pop(const Slots& slots);

 private:
  struct Segment {
    Value* begin;
    size_t count;
  };
  bool grow(size_t count, size_t other);
  static void free(const Segment& segment);

  std::vector<Segment> segments_;  // those above the latest slots are kept for later
  size_t bytes_ = 0;
};

}  // namespace relay::eval
