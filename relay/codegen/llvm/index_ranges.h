// The numbers that indices may be, from the bounds of the loops around them.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include <relay/lower/loops.h>

namespace relay::codegen {

/// All numbers from `low` to `high`.
struct IndexRange {
  int64_t low = 0, high = 0;
  friend bool operator==(const IndexRange&, const IndexRange&) = default;
};

/// Follows int64 scalars through sums, products, quotients and extrema. Each part of an expression
/// is looked at by itself, so a range may be wider than it need be.
class IndexRanges {
 public:
  /// Adds the axis of a loop; the loops around it come before it. If several loops with different
  /// bounds have the axis, nothing is known of it. Returns true if that says anything new: add all
  /// loops and registers again then.
  bool add(const lower::For& loop);
  /// Adds a register that never changes; those that its value names come before it.
  bool add(const lower::Let& let);
  /// The range of a scalar, if all that it depends on has one.
  std::optional<IndexRange> of(const te::ScalarRef& root) const;
  /// True if a load from the buffer is inside of it whatever any condition says.
  bool is_inside(const te::ScalarNode& load, const lower::Buffer& buffer) const;

 private:
  std::unordered_map<uint32_t, std::optional<IndexRange>> axes_, registers_;
};

}  // namespace relay::codegen
