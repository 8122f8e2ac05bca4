// Non-maximum suppression of one list of boxes, the best first.
#pragma once

#include <relay/runtime/kernels/interruption.h>
#include <relay/runtime/kernels/scratch.h>
#include <relay/runtime/kernels/vectors.h>
#include <relay/runtime/library_kernel.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace relay {

/// The meaning of the difference of two coordinates of a box.
enum class Corners : uint8_t {
  kOpposite,   // their distance; either is the lesser
  kInclusive,  // elements, of which the last one counts
};

/// The kept boxes of a list. A box is dropped if it overlaps with a better kept one of the same
/// group by `threshold` or more of their joint area; with inclusive corners, by more than it. T is
/// float or double: areas beyond its range overlap with nothing.
template <class T, Corners corners = Corners::kOpposite>
class Suppression {
 public:
  /// For at most `most` boxes.
  explicit Suppression(int64_t most)
      : numbers_(6 * padded(most)), dead_(padded(most)), ids_(most), quiet_(most) {
    int64_t stride = padded(most);
    for (int c = 0; c < 6; ++c) columns_[c] = numbers_.data() + c * stride;
  }

  void clear() { n_ = 0; }
  /// Adds the next box, by two opposite corners. A quiet one suppresses no others.
  void add(int64_t id, T left, T top, T right, T bottom, T group, bool quiet = false) {
    T edge = 1;
    if constexpr (corners == Corners::kOpposite) {
      edge = 0;
      T x = left, y = top;
      left = std::min(x, right);
      right = std::max(x, right);
      top = std::min(y, bottom);
      bottom = std::max(y, bottom);
    }
    columns_[kLeft][n_] = left;
    columns_[kTop][n_] = top;
    columns_[kRight][n_] = right;
    columns_[kBottom][n_] = bottom;
    columns_[kArea][n_] = (right - left + edge) * (bottom - top + edge);
    columns_[kGroup][n_] = group;
    dead_[n_] = 0;
    quiet_[n_] = quiet ? 1 : 0;
    ids_[n_++] = id;
  }
  int64_t size() const { return n_; }

  /// Writes the ids of the kept boxes, at most `limit`, and returns their number. The boxes are
  /// used up.
  int64_t run(LibraryCall& call, T threshold, int64_t limit, int64_t* kept) {
    int64_t count = 0;
    int64_t block[kBlock];
    for (int64_t begin = 0; begin < n_ && count < limit;) {
      check_interruption(call);
      int64_t end = std::min(n_, begin + kBlock);
      int64_t active = 0;
      for (int64_t i = begin; i < end && count < limit; ++i) {
        if (dead_[i] != 0) continue;
        kept[count++] = ids_[i];
        if (quiet_[i] != 0) continue;
        block[active++] = i;
        suppress(i, i + 1, end, threshold);
      }
      if (count == limit) break;
      // The kept boxes of a block meet the rest piece by piece, while the piece is in the cache.
      int64_t rest = n_ - end;
      int64_t tasks = (rest + kPiece - 1) / kPiece;
      auto meet = [&](int64_t task) {
        int64_t from = end + task * kPiece, to = std::min(n_, from + kPiece);
        for (int64_t k = 0; k < active; ++k) suppress(block[k], from, to, threshold);
      };
      if (active * rest >= kWorthSharing) {
        call.parallel(tasks, meet);
      } else {
        for (int64_t task = 0; task < tasks; ++task) meet(task);
      }
      begin = end;
      int64_t dead = 0;
      for (int64_t i = begin; i < n_; ++i) dead += dead_[i] != 0 ? 1 : 0;
      if (2 * dead > rest) {
        compact(begin);
        begin = 0;
      }
    }
    return count;
  }

 private:
  using Mask = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  enum Column { kLeft, kTop, kRight, kBottom, kArea, kGroup };
  static constexpr int64_t kBlock = 64;
  static constexpr int64_t kPiece = 1024;
  static constexpr int64_t kWorthSharing = 1 << 17;  // pairs
  static int64_t padded(int64_t n) { return (n + 15) / 16 * 16; }

  /// Marks those of the boxes from … to - 1 that box i suppresses.
  void suppress(int64_t i, int64_t from, int64_t to, T threshold) {
    const T *lefts = columns_[kLeft], *tops = columns_[kTop], *rights = columns_[kRight],
            *bottoms = columns_[kBottom], *areas = columns_[kArea], *groups = columns_[kGroup];
    Mask* dead = dead_.data();
    T left = lefts[i], top = tops[i], right = rights[i], bottom = bottoms[i], area = areas[i],
      group = groups[i];
    with_vectors([=]() RELAY_INLINE {
      for (int64_t j = from; j < to; ++j) {
        T width = (right < rights[j] ? right : rights[j]) - (left > lefts[j] ? left : lefts[j]);
        T height = (bottom < bottoms[j] ? bottom : bottoms[j]) - (top > tops[j] ? top : tops[j]);
        if constexpr (corners == Corners::kInclusive) {
          width += 1;
          height += 1;
        }
        T shared = (width > 0 ? width : 0) * (height > 0 ? height : 0);
        T share = shared / (area + areas[j] - shared);
        Mask over = corners == Corners::kInclusive ? share > threshold
                                                   : (shared > 0) & (share >= threshold);
        over &= groups[j] == group;
        dead[j] |= over;
      }
    });
  }

  /// Moves the living boxes from `begin` on to the front.
  void compact(int64_t begin) {
    int64_t to = 0;
    for (int64_t i = begin; i < n_; ++i) {
      if (dead_[i] != 0) continue;
      for (T* column : columns_) column[to] = column[i];
      ids_[to] = ids_[i];
      quiet_[to] = quiet_[i];
      dead_[to++] = 0;
    }
    n_ = to;
  }

  Scratch<T> numbers_;
  T* columns_[6];
  Scratch<Mask> dead_;
  Scratch<int64_t> ids_;
  Scratch<uint8_t> quiet_;
  int64_t n_ = 0;
};

}  // namespace relay
