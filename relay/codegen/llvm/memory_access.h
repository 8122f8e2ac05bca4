// Moves elements between buffers and registers: picks the instructions for a vector of them.
#pragma once

#include <relay/codegen/llvm/index_math.h>

namespace relay::codegen {

/// Stores the first `count` elements of a vector in parts of whole powers of two: some processors
/// take 20 cycles for a masked store of AVX. Each store is annotated for the buffer.
void store_first(KernelFrame& frame, int32_t buffer, llvm::Value* elements, llvm::Value* to,
                 unsigned count, llvm::Align align);

/// The elements of vectors (of two lanes and more) taken in turn, in as many vectors.
std::vector<llvm::Value*> interleave(llvm::IRBuilder<>& b, std::vector<llvm::Value*> vectors);

/// The number of lanes in a mask, if it is known and they are the first ones.
std::optional<unsigned> known_first_lanes(llvm::Value* mask);

class MemoryAccess {
 public:
  MemoryAccess(ScalarEmitter& emitter, int32_t buffer);

  /// Loads the elements at the offset. Lanes with a false condition (null: none) get `fill` (null:
  /// zero); inactive lanes get any value.
  LaneValue load(const LaneValue& offset, llvm::Value* uniform_valid, llvm::Value* lane_valid,
                 llvm::Value* fill);
  /// Stores in active lanes.
  void store(const LaneValue& offset, const LaneValue& value);
  /// Stores lane l of the k-th of n values to offset + n·l + k; false if active lanes are not
  /// known.
  bool store_interleaved(llvm::Value* offset, std::span<const LaneValue> values);
  /// Loads all lanes, side by side from the offset on, in memory form.
  llvm::Value* load_whole(llvm::Value* offset);
  void store_whole(llvm::Value* offset, llvm::Value* elements);
  /// Asks the second cache for the line behind that of the element, which need not exist.
  void fetch_next_line(llvm::Value* offset);
  /// True if the buffer may be larger than so many bytes.
  bool may_exceed(int64_t bytes) const;

 private:
  llvm::Value* address(llvm::Value* offset, bool always = true);
  llvm::Value* masked(llvm::Value* pointer, llvm::Value* mask, llvm::Value* fill);
  llvm::Value* contiguous(llvm::Value* base, llvm::Value* mask, llvm::Value* fill);
  llvm::Value* strided(llvm::Value* base, unsigned step, llvm::Value* mask);
  std::optional<unsigned> place_in_block(llvm::Value* base, int64_t step) const;
  llvm::Value* taken_apart(llvm::Value* base, unsigned step, unsigned place);
  llvm::Value* one_by_one(const LaneValue& offset, llvm::Value* mask);
  llvm::Value* gather(const LaneValue& offset, llvm::Value* mask, llvm::Value* fill);
  llvm::Value* side_by_side_or_not(const LaneValue& offset, llvm::Value* mask, llvm::Value* fill);
  llvm::Value* one_for_each(const LaneValue& offset, llvm::Value* mask);
  llvm::Value* spread(const LaneValue& offset, llvm::Value* mask);
  bool may_be_near(const LaneValue& offset) const;
  llvm::Value* near_or_far(const LaneValue& offset, llvm::Value* mask);
  llvm::Value* pick(llvm::Value* first, llvm::Value* places);
  void store_masked(llvm::Value* elements, llvm::Value* offset, llvm::Value* mask);
  bool buffer_is_scratch() const;
  bool is_huge() const;
  void bypass_caches(llvm::StoreInst* store);
  llvm::Value* offset_of_lane(const LaneValue& offset, unsigned lane);
  template <class T>
  T* note(T* access) {
    frame_.annotate(access, buffer_);
    return access;
  }

  ScalarEmitter& emitter_;
  KernelFrame& frame_;
  llvm::IRBuilder<>& b;
  int32_t buffer_;
  DType dtype_;
  llvm::Type* element_;
  llvm::Type* vector_;
  llvm::Align align_;
  unsigned lanes_;
};

}  // namespace relay::codegen
