// Taps of a window by the results for which they read data.
#pragma once

#include <cstdint>
#include <vector>

namespace relay::lower {

/// Taps `tap` … `tap + taps - 1` of a window along one axis: each of them reads nothing but padding
/// outside of the results `begin` … `begin + length - 1`.
struct TapRange {
  int64_t tap = 0, taps = 0;
  int64_t begin = 0, length = 0;
};

/// A window that slides along one axis: result y reads element stride · y + step · tap + offset of
/// `extent` ones, or padding.
struct SlidingAxis {
  int64_t results = 0, taps = 0;
  int64_t stride = 1, step = 1, offset = 0, extent = 0;
};

/// Ranges that hold all taps which read data, in order, so that few products of taps and results
/// are left; a range more must save a twentieth of all. Empty if the window has too many taps to
/// look at, or reads nothing but padding.
std::vector<TapRange> tap_ranges(const SlidingAxis& axis);

/// Ranges of equal size: one computation does them all.
struct TapGroup {
  std::vector<TapRange> members;  // one or two
};

/// The ranges in groups. The first is the one that is about all results, if there is one.
std::vector<TapGroup> tap_groups(const std::vector<TapRange>& ranges, int64_t results);

}  // namespace relay::lower
