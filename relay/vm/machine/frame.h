// Frames of active calls, in segments on the heap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <relay/vm/machine/image.h>

namespace relay::vm {

/// The header of a frame; its registers follow. Memory of the stack outside of frames holds no
/// counted slot, so a fresh frame needs no clearing.
struct Frame {
  Frame* caller;
  const LinkedFunction* function;
  const Code* call;        // the caller's instruction
  uint64_t opens_segment;  // 1 if it is the first of its segment
  Slot closure;            // the running one, if any

  Slot* registers() { return reinterpret_cast<Slot*>(this + 1); }
  char* end() { return reinterpret_cast<char*>(this) + function->frame_bytes; }
};
static_assert(sizeof(Frame) == 48 && sizeof(Frame) % sizeof(Slot) == 0);

/// Releases the values in a frame and leaves its memory clean.
void clear_frame(Frame* frame);

/// A stack of segments.
class FrameStack {
 public:
  explicit FrameStack(size_t most_bytes) : most_bytes_(most_bytes) {}
  ~FrameStack();
  FrameStack(const FrameStack&) = delete;
  FrameStack& operator=(const FrameStack&) = delete;

  /// The end of the memory for frames in the current segment.
  char* limit() const { return limit_; }
  /// The beginning of a fresh segment with room for `bytes`. Throws RuntimeError if the recursion
  /// is too deep; `top` is for its message.
  char* open_segment(size_t bytes, const Frame* top);
  /// Returns to the segment before. Keeps some segments for later.
  void close_segment();

 private:
  struct Segment {
    char* memory;
    size_t bytes;
  };
  void free_segment(const Segment& segment);

  std::vector<Segment> segments_;
  std::vector<Segment> spare_;  // clean ones
  size_t spare_bytes_ = 0;
  char* limit_ = nullptr;
  size_t bytes_ = 0;
  const size_t most_bytes_;
};

}  // namespace relay::vm
