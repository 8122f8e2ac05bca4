#include <relay/lower/winograd_filtering.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <relay/runtime/kernels/vectors.h>

namespace relay::lower {

struct WeightRun {
  static constexpr int64_t kSize = 16;
  float values[kSize];
};

namespace {

using te::Scalar;
using Scalars = Filtering::Scalars;

template <class F>
RELAY_INLINE inline WeightRun each(const WeightRun& a, const WeightRun& b, const F& of) {
  WeightRun result;
  for (int64_t i = 0; i < WeightRun::kSize; ++i) result.values[i] = of(a.values[i], b.values[i]);
  return result;
}
RELAY_INLINE inline WeightRun operator+(const WeightRun& a, const WeightRun& b) {
  return each(a, b, [](float x, float y) RELAY_INLINE { return x + y; });
}
RELAY_INLINE inline WeightRun operator-(const WeightRun& a, const WeightRun& b) {
  return each(a, b, [](float x, float y) RELAY_INLINE { return x - y; });
}
RELAY_INLINE inline WeightRun operator*(const WeightRun& a, double factor) {
  const auto by = static_cast<float>(factor);
  return each(a, a, [by](float x, float) RELAY_INLINE { return x * by; });
}

/// Transforms a square along both sides: columns first.
template <class F>
void transform_square(const WeightSquare& taps, std::span<WeightRun> to) {
  constexpr auto kPoints = static_cast<size_t>(F::kTile + kTaps - 1);
  with_vectors([&]() RELAY_INLINE {
    std::array<std::array<WeightRun, kPoints>, kTaps> columns;
    for (size_t column = 0; column < kTaps; ++column)
      columns[column] = F::transformed(taps[column].data());
    for (size_t row = 0; row < kPoints; ++row) {
      const WeightRun line[kTaps] = {columns[0][row], columns[1][row], columns[2][row]};
      const std::array<WeightRun, kPoints> made = F::transformed(line);
      for (size_t column = 0; column < kPoints; ++column) to[row * kPoints + column] = made[column];
    }
  });
}

/// F(2, 3) at 0, ±1, ∞.
class TwoResults : public Filtering {
 public:
  static constexpr int64_t kTile = 2;
  TwoResults() : Filtering(kTile) {}
  Scalars data(std::span<const Scalar> d) const override {
    return {d[2] - d[0], d[2] + d[1], d[2] - d[1], d[3] - d[1]};
  }
  Scalars weights(std::span<const Scalar> w) const override {
    auto made = transformed(w.data());
    return {made.begin(), made.end()};
  }
  void weights(const WeightSquare& taps, std::span<WeightRun> to) const override {
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

/// F(4, 3) at 0, ±a, ±b, ∞. Of points whose squares have few bits these lose least: the error is
/// less than half of that at ±1, ±2.
class FourResults : public Filtering {
 public:
  static constexpr int64_t kTile = 4;
  FourResults() : Filtering(kTile) {}
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
  Scalars weights(std::span<const Scalar> w) const override {
    auto made = transformed(w.data());
    return {made.begin(), made.end()};
  }
  void weights(const WeightSquare& taps, std::span<WeightRun> to) const override {
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
    auto [a, minus_a] = at(kA, 2 * kA2 * (kA2 - kB2));
    auto [b, minus_b] = at(kB, 2 * kB2 * (kB2 - kA2));
    return {w[0] * (1 / (kA2 * kB2)), a, minus_a, b, minus_b, w[2]};
  }

 private:
  static constexpr double kA = 0.625, kB = 1.5, kA2 = kA * kA, kB2 = kB * kB;
};

}  // namespace

std::span<const Filtering* const> all_filterings() {
  static const FourResults four;
  static const TwoResults two;
  static constexpr const Filtering* kAll[] = {&four, &two};
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

/// Neighbours from `first` on, `count` of them, that lie one behind the other.
struct Stretch {
  int64_t first, count;
};

/// The places of one dimension, in runs, each cut where a gap follows.
std::vector<std::vector<Stretch>> stretches_of(std::span<const int64_t> places) {
  std::vector<std::vector<Stretch>> runs;
  for (size_t i = 0; i < places.size(); ++i) {
    const auto at = static_cast<int64_t>(i) % WeightRun::kSize;
    if (at == 0) runs.emplace_back();
    std::vector<Stretch>& run = runs.back();
    if (at > 0 && places[i] == places[i - 1] + 1) {
      ++run.back().count;
    } else {
      run.push_back({at, 1});
    }
  }
  return runs;
}

/// A few floats: a call of memcpy would take longer.
void copy_few(const float* from, int64_t count, float* to) {
  constexpr int64_t kAtOnce = 4;
  int64_t i = 0;
  for (; i + kAtOnce <= count; i += kAtOnce) std::memcpy(to + i, from + i, sizeof(float) * kAtOnce);
  if (i == count) return;
  if (i > 0) {  // the last four once more
    i = count - kAtOnce;
    std::memcpy(to + i, from + i, sizeof(float) * kAtOnce);
  } else {
    for (; i < count; ++i) to[i] = from[i];
  }
}

/// One side of the weights: how many, how far apart, and where they go.
struct Channels {
  int64_t count, step;
  std::span<const int64_t> places;
};

}  // namespace

void transform_weights(const Filtering& filtering, const NDArray& weights, const WeightSteps& steps,
                       int64_t outs, int64_t ins, float* to, const Places& places) {
  const NDArray dense = weights.contiguous();
  const auto* from = dense.data<float>();
  const auto points = static_cast<size_t>(filtering.points());
  // Runs go along the channels whose results lie side by side.
  Channels lanes{outs, steps.out, places[2]}, lines{ins, steps.in, places[3]};
  if (outs == 1 || places[2][1] != places[2][0] + 1) std::swap(lanes, lines);
  const std::vector<std::vector<Stretch>> runs = stretches_of(lanes.places);
  WeightSquare taps{};
  std::vector<WeightRun> made(points * points);
  for (size_t run = 0; run < runs.size(); ++run) {
    const int64_t first = static_cast<int64_t>(run) * WeightRun::kSize;
    const int64_t count = std::min(WeightRun::kSize, lanes.count - first);
    for (int64_t line = 0; line < lines.count; ++line) {
      const float* corner = from + first * lanes.step + line * lines.step;
      for (int64_t column = 0; column < kTaps; ++column) {
        for (int64_t row = 0; row < kTaps; ++row) {
          const float* tap = corner + row * steps.row + column * steps.column;
          WeightRun& run_of_taps = taps[static_cast<size_t>(column)][static_cast<size_t>(row)];
          for (int64_t i = 0; i < count; ++i) run_of_taps.values[i] = tap[i * lanes.step];
        }
      }
      filtering.weights(taps, made);
      for (size_t row = 0; row < points; ++row) {
        for (size_t column = 0; column < points; ++column) {
          float* place =
              to + places[0][row] + places[1][column] + lines.places[static_cast<size_t>(line)];
          for (const Stretch& stretch : runs[run])
            copy_few(made[row * points + column].values + stretch.first, stretch.count,
                     place + lanes.places[static_cast<size_t>(first + stretch.first)]);
        }
      }
    }
  }
}

}  // namespace relay::lower
