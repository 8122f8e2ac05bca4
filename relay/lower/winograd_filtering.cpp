#include <relay/lower/winograd_filtering.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <relay/runtime/kernels/vectors.h>

namespace relay::lower {

namespace {

constexpr size_t kBlock = 8;
// Without AVX the compiler would align this less than its own code for AVX2 expects.
using Eight = float __attribute__((vector_size(kBlock * sizeof(float)), aligned(alignof(float))));

}  // namespace

struct WeightRun {
  static constexpr int64_t kSize = 2 * kBlock;
  Eight low, high;

  float* values() { return reinterpret_cast<float*>(this); }
};

namespace {

using te::Scalar;
using Scalars = Filtering::Scalars;

RELAY_INLINE inline WeightRun operator+(const WeightRun& a, const WeightRun& b) {
  return {a.low + b.low, a.high + b.high};
}
RELAY_INLINE inline WeightRun operator-(const WeightRun& a, const WeightRun& b) {
  return {a.low - b.low, a.high - b.high};
}
RELAY_INLINE inline WeightRun operator*(const WeightRun& a, double factor) {
  const auto by = static_cast<float>(factor);
  return {a.low * by, a.high * by};
}

/// Transforms a square along both sides: columns first.
template <class F>
void transform_square(std::span<const WeightRun> taps, std::span<WeightRun> to) {
  constexpr auto kTaps = static_cast<size_t>(F::kTaps);
  constexpr auto kPoints = static_cast<size_t>(F::kTile + F::kTaps - 1);
  with_vectors([&]() RELAY_INLINE {
    std::array<std::array<WeightRun, kPoints>, kTaps> columns;
    for (size_t column = 0; column < kTaps; ++column)
      columns[column] = F::transformed(taps.data() + column * kTaps);
    for (size_t row = 0; row < kPoints; ++row) {
      WeightRun line[kTaps];
      for (size_t column = 0; column < kTaps; ++column) line[column] = columns[column][row];
      const std::array<WeightRun, kPoints> made = F::transformed(line);
      for (size_t column = 0; column < kPoints; ++column) to[row * kPoints + column] = made[column];
    }
  });
}

/// F(2, 3) at 0, ±1, ∞.
class TwoResults : public Filtering {
 public:
  static constexpr int64_t kTile = 2, kTaps = 3;
  TwoResults() : Filtering(kTile, kTaps) {}
  Scalars data(std::span<const Scalar> d) const override {
    return {d[2] - d[0], d[2] + d[1], d[2] - d[1], d[3] - d[1]};
  }
  Scalars weights(std::span<const Scalar> w) const override {
    auto made = transformed(w.data());
    return {made.begin(), made.end()};
  }
  void weights(std::span<const WeightRun> taps, std::span<WeightRun> to) const override {
    transform_square<TwoResults>(taps, to);
  }
  Scalars results(std::span<const Scalar> m) const override {
    return {m[0] + (m[1] + m[2]), (m[1] - m[2]) + m[3]};
  }

  template <class T>
  RELAY_INLINE static inline std::array<T, 4> transformed(const T* w) {
    T even = w[0] + w[2];
    return {w[0] * -1.0, (even + w[1]) * 0.5, (even - w[1]) * 0.5, w[2]};
  }
};

/// At 0, ±a, ±b, ∞. Among points whose squares have few bits these lose least: the error of F(4, 3)
/// is less than half of that at ±1, ±2.
class SixPoints : public Filtering {
 public:
  using Filtering::Filtering;
  Scalars data(std::span<const Scalar> d) const override {
    Scalar even_a = d[4] - d[2] * kB2, odd_a = (d[3] - d[1] * kB2) * kA;
    Scalar even_b = d[4] - d[2] * kA2, odd_b = (d[3] - d[1] * kA2) * kB;
    return {d[0] * (kA2 * kB2) + (d[4] - d[2] * (kA2 + kB2)),
            even_a + odd_a,
            even_a - odd_a,
            even_b + odd_b,
            even_b - odd_b,
            d[1] * (kA2 * kB2) + (d[5] - d[3] * (kA2 + kB2))};
  }

 protected:
  static constexpr double kA = 0.625, kB = 1.5, kA2 = kA * kA, kB2 = kB * kB;
  /// The weights' value at a point is divided by these.
  static constexpr double kScaleA = 2 * kA2 * (kA2 - kB2), kScaleB = 2 * kB2 * (kB2 - kA2);
};

/// F(4, 3).
class FourResults : public SixPoints {
 public:
  static constexpr int64_t kTile = 4, kTaps = 3;
  FourResults() : SixPoints(kTile, kTaps) {}
  Scalars weights(std::span<const Scalar> w) const override {
    auto made = transformed(w.data());
    return {made.begin(), made.end()};
  }
  void weights(std::span<const WeightRun> taps, std::span<WeightRun> to) const override {
    transform_square<FourResults>(taps, to);
  }
  Scalars results(std::span<const Scalar> m) const override {
    Scalar even_a = m[1] + m[2], odd_a = m[1] - m[2];
    Scalar even_b = m[3] + m[4], odd_b = m[3] - m[4];
    return {m[0] + (even_a + even_b), odd_a * kA + odd_b * kB, even_a * kA2 + even_b * kB2,
            m[5] + (odd_a * (kA * kA2) + odd_b * (kB * kB2))};
  }

  template <class T>
  RELAY_INLINE static inline std::array<T, 6> transformed(const T* w) {
    auto at = [&](double point, double scale) RELAY_INLINE {
      T even = w[0] + w[2] * (point * point), odd = w[1] * point;
      return std::pair((even + odd) * (1 / scale), (even - odd) * (1 / scale));
    };
    auto [a, minus_a] = at(kA, kScaleA);
    auto [b, minus_b] = at(kB, kScaleB);
    return {w[0] * (1 / (kA2 * kB2)), a, minus_a, b, minus_b, w[2]};
  }
};

/// F(2, 5).
class TwoOfFive : public SixPoints {
 public:
  static constexpr int64_t kTile = 2, kTaps = 5;
  TwoOfFive() : SixPoints(kTile, kTaps) {}
  Scalars weights(std::span<const Scalar> w) const override {
    auto made = transformed(w.data());
    return {made.begin(), made.end()};
  }
  void weights(std::span<const WeightRun> taps, std::span<WeightRun> to) const override {
    transform_square<TwoOfFive>(taps, to);
  }
  Scalars results(std::span<const Scalar> m) const override {
    Scalar odd_a = m[1] - m[2], odd_b = m[3] - m[4];
    return {m[0] + ((m[1] + m[2]) + (m[3] + m[4])), m[5] + (odd_a * kA + odd_b * kB)};
  }

  template <class T>
  RELAY_INLINE static inline std::array<T, 6> transformed(const T* w) {
    auto at = [&](double point, double scale) RELAY_INLINE {
      const double square = point * point;
      T even = w[0] + (w[2] * square + w[4] * (square * square));
      T odd = w[1] * point + w[3] * (square * point);
      return std::pair((even + odd) * (1 / scale), (even - odd) * (1 / scale));
    };
    auto [a, minus_a] = at(kA, kScaleA);
    auto [b, minus_b] = at(kB, kScaleB);
    return {w[0] * (1 / (kA2 * kB2)), a, minus_a, b, minus_b, w[4]};
  }
};

}  // namespace

std::span<const Filtering* const> all_filterings() {
  static const FourResults four;
  static const TwoResults two;
  static const TwoOfFive of_five;
  static constexpr const Filtering* kAll[] = {&four, &two, &of_five};
  return kAll;
}

std::vector<Scalars> both_ways(const Filtering& filtering, Filtering::Transform transform,
                               size_t size,
                               const std::function<Scalar(size_t row, size_t column)>& value) {
  std::vector<Scalars> columns;  // transformed
  for (size_t column = 0; column < size; ++column) {
    Scalars line;
    for (size_t row = 0; row < size; ++row) line.push_back(value(row, column));
    columns.push_back((filtering.*transform)(line));
  }
  std::vector<Scalars> result;
  for (size_t row = 0; row < columns[0].size(); ++row) {
    Scalars line;
    for (const Scalars& column : columns) line.push_back(column[row]);
    result.push_back((filtering.*transform)(line));
  }
  return result;
}

namespace {

/// One side of the weights: how many channels, how far apart, and where they go.
struct Channels {
  int64_t count, step;
  std::span<const int64_t> places;
};

/// Neighbours from `first` on, `count` of them, that go side by side.
struct Stretch {
  int64_t first, count;
};

/// Neighbours that are transformed together: at most as many as a WeightRun holds.
struct LaneGroup {
  int64_t first = 0, count = 0;
  std::vector<Stretch> stretches;  // from the group's first
};

/// In groups that begin and end with stretches, as far as those are short.
std::vector<LaneGroup> groups_of(std::span<const int64_t> places) {
  std::vector<LaneGroup> groups;
  const auto count = static_cast<int64_t>(places.size());
  for (int64_t begin = 0, end = 0; begin < count; begin = end) {
    const int64_t last = std::min(count, begin + WeightRun::kSize);
    for (end = begin + 1; end < last; ++end) {
      if (places[static_cast<size_t>(end)] != places[static_cast<size_t>(end - 1)] + 1) break;
    }
    const int64_t length = end - begin;
    if (groups.empty() || groups.back().count + length > WeightRun::kSize)
      groups.push_back({begin, 0, {}});
    LaneGroup& group = groups.back();
    group.stretches.push_back({group.count, length});
    group.count += length;
  }
  return groups;
}

/// A few floats: a call of memcpy would take longer.
void copy_few(const float* from, int64_t count, float* to) {
  auto both_ends = [&]<int64_t kAtOnce>(std::integral_constant<int64_t, kAtOnce>) {
    std::memcpy(to, from, sizeof(float) * kAtOnce);
    std::memcpy(to + count - kAtOnce, from + count - kAtOnce, sizeof(float) * kAtOnce);
  };
  if (count >= 8) return both_ends(std::integral_constant<int64_t, 8>());
  if (count >= 4) return both_ends(std::integral_constant<int64_t, 4>());
  for (int64_t i = 0; i < count; ++i) to[i] = from[i];
}

/// Rows that are `kApart` apart exchange elements.
template <size_t kApart, class Low, class High>
RELAY_INLINE inline void mix(Eight (&rows)[kBlock], const Low& low, const High& high) {
#pragma GCC unroll 8
  for (size_t i = 0; i < kBlock; ++i) {
    if ((i & kApart) != 0) continue;
    const Eight first = rows[i], second = rows[i + kApart];
    low(first, second, rows[i]);
    high(first, second, rows[i + kApart]);
  }
}

/// The rows of a square become its columns.
RELAY_INLINE inline void turn_square(Eight (&rows)[kBlock]) {
#define RELAY_MIXED(...)                        \
  [](const Eight& a, const Eight& b, Eight& to) \
      RELAY_INLINE { to = __builtin_shufflevector(a, b, __VA_ARGS__); }
  // Pairs of elements, pairs of these, halves.
  mix<1>(rows, RELAY_MIXED(0, 8, 1, 9, 4, 12, 5, 13), RELAY_MIXED(2, 10, 3, 11, 6, 14, 7, 15));
  mix<2>(rows, RELAY_MIXED(0, 1, 8, 9, 4, 5, 12, 13), RELAY_MIXED(2, 3, 10, 11, 6, 7, 14, 15));
  mix<4>(rows, RELAY_MIXED(0, 1, 2, 3, 8, 9, 10, 11), RELAY_MIXED(4, 5, 6, 7, 12, 13, 14, 15));
#undef RELAY_MIXED
  // Within a half, rows 1 and 2 stand for 2 and 1.
  std::swap(rows[1], rows[2]);
  std::swap(rows[5], rows[6]);
}

/// to[i][lane] = lanes[lane][i] for `count` elements of each lane.
void turn_lanes(const std::array<const float*, WeightRun::kSize>& lanes, int64_t count,
                WeightRun* to) {
  int64_t done = 0;
  with_vectors([&]() RELAY_INLINE {
    for (; done + int64_t{kBlock} <= count; done += kBlock) {
      for (size_t half = 0; half < lanes.size(); half += kBlock) {
        Eight rows[kBlock];
#pragma GCC unroll 8
        for (size_t i = 0; i < kBlock; ++i)
          std::memcpy(&rows[i], lanes[half + i] + done, sizeof(Eight));
        turn_square(rows);
#pragma GCC unroll 8
        for (size_t i = 0; i < kBlock; ++i)
          (half == 0 ? to[done + i].low : to[done + i].high) = rows[i];
      }
    }
  });
  for (; done < count; ++done) {
    for (size_t lane = 0; lane < lanes.size(); ++lane) to[done].values()[lane] = lanes[lane][done];
  }
}

}  // namespace

void transform_weights(const Filtering& filtering, const NDArray& weights, const WeightSteps& steps,
                       int64_t outs, int64_t ins, float* to, const Places& places) {
  constexpr int64_t kLinesAtOnce = 16;
  const int64_t side = filtering.taps(), window = side * side;
  const NDArray dense = weights.cast(kFloat32).contiguous();
  const auto* from = dense.data<float>();
  const auto points = static_cast<size_t>(filtering.points());
  // Groups go along the channels whose results lie side by side.
  Channels lanes{outs, steps.out, places[2]}, lines{ins, steps.in, places[3]};
  if (outs == 1 || places[2][1] != places[2][0] + 1) std::swap(lanes, lines);
  // True if a window's weights lie side by side, and windows of several lines do, too.
  const bool windows =
      std::max(steps.row, steps.column) == side && std::min(steps.row, steps.column) == 1;
  const int64_t at_once = windows && lines.step == window ? kLinesAtOnce : 1;
  std::vector<int64_t> point_places;
  for (size_t row = 0; row < points; ++row) {
    for (size_t column = 0; column < points; ++column)
      point_places.push_back(places[0][row] + places[1][column]);
  }
  std::vector<WeightRun> taps(static_cast<size_t>(window));
  std::vector<WeightRun> turned(static_cast<size_t>(at_once * window)), made(points * points);
  for (const LaneGroup& group : groups_of(lanes.places)) {
    for (int64_t line = 0; line < lines.count; ++line) {
      const float* corner = from + group.first * lanes.step + line * lines.step;
      if (windows && line % at_once == 0) {
        std::array<const float*, WeightRun::kSize> begins;  // past the last: that one again
        for (int64_t i = 0; i < WeightRun::kSize; ++i)
          begins[static_cast<size_t>(i)] = corner + std::min(i, group.count - 1) * lanes.step;
        turn_lanes(begins, std::min(at_once, lines.count - line) * window, turned.data());
      }
      for (int64_t column = 0; column < side; ++column) {
        for (int64_t row = 0; row < side; ++row) {
          WeightRun& run = taps[static_cast<size_t>(column * side + row)];
          const int64_t tap = row * steps.row + column * steps.column;
          if (windows) {
            run = turned[static_cast<size_t>(line % at_once * window + tap)];
          } else {
            for (int64_t i = 0; i < group.count; ++i)
              run.values()[i] = corner[tap + i * lanes.step];
          }
        }
      }
      filtering.weights(taps, made);
      for (const Stretch& stretch : group.stretches) {
        float* place = to + lines.places[static_cast<size_t>(line)] +
                       lanes.places[static_cast<size_t>(group.first + stretch.first)];
        for (size_t p = 0; p < made.size(); ++p)
          copy_few(made[p].values() + stretch.first, stretch.count, place + point_places[p]);
      }
    }
  }
}

}  // namespace relay::lower
