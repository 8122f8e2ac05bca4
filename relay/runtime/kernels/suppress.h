// Non-maximum suppression of one list of boxes, the best first.
#pragma once

#include <relay/runtime/kernels/scratch.h>
#include <relay/runtime/kernels/vectors.h>
#include <relay/runtime/library_kernel.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace relay {

/// The kept boxes of a list: a box goes if it overlaps with a better one that is kept, of the same
/// group, by `threshold` or more of what the two cover together. T is float or double.
template <class T>
class Suppression {
 public:
  /// For at most `most` boxes.
  explicit Suppression(int64_t most)
      : numbers_(6 * padded(most)), dead_(padded(most)), ids_(most), quiet_(most) {
    int64_t stride = padded(most);
    for (int c = 0; c < 6; ++c) columns_[c] = numbers_.data() + c * stride;
  }

  void clear() { n_ = 0; }
  /// The next box, by two corners that lie opposite. A quiet one suppresses no others.
  void add(int64_t id, T x0, T y0, T x1, T y1, T group, bool quiet = false) {
    T left = std::min(x0, x1), top = std::min(y0, y1);
    T right = std::max(x0, x1), bottom = std::max(y0, y1);
    columns_[kLeft][n_] = left;
    columns_[kTop][n_] = top;
    columns_[kRight][n_] = right;
    columns_[kBottom][n_] = bottom;
    columns_[kArea][n_] = (right - left) * (bottom - top);
    columns_[kGroup][n_] = group;
    dead_[n_] = 0;
    quiet_[n_] = quiet ? 1 : 0;
    ids_[n_++] = id;
  }
  int64_t size() const { return n_; }

  /// Writes the ids of the kept boxes, at most `limit`, and returns how many they are. The boxes
  /// are used up.
  int64_t run(LibraryCall& call, T threshold, int64_t limit, int64_t* kept) {
    int64_t count = 0;
    int64_t block[kBlock];
    for (int64_t begin = 0; begin < n_ && count < limit;) {
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
      // What a block keeps meets the rest piece by piece, while the piece is in the cache.
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

  /// Marks the boxes from … to - 1 that box i suppresses.
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
        T shared = (width > 0 ? width : 0) * (height > 0 ? height : 0);
        T all = area + areas[j] - shared;
        Mask over = (shared > 0) & (shared / all >= threshold) & (groups[j] == group);
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
