// Winograd's minimal filtering: a convolution of a line or a plane as a product of transforms.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <relay/runtime/ndarray.h>
#include <relay/runtime/strided.h>
#include <relay/tensor_expr/scalar.h>

namespace relay::lower {

/// Weights along a side of a window.
inline constexpr int64_t kTaps = 3;

/// Neighbouring weights that are transformed together.
struct WeightRun;
/// Those of a window, by columns.
using WeightSquare = std::array<std::array<WeightRun, kTaps>, kTaps>;

/// Transforms between a line of `tile` results, the `points` = tile + 2 elements that they are
/// computed from, and three weights: a product of polynomials, by their values at 0, ±a, (±b,) ∞.
class Filtering {
 public:
  using Scalars = std::vector<te::Scalar>;
  /// One of `data`, `weights`, `results`.
  using Transform = Scalars (Filtering::*)(std::span<const te::Scalar>) const;

  virtual ~Filtering() = default;
  int64_t tile() const { return tile_; }
  int64_t points() const { return tile_ + kTaps - 1; }
  virtual Scalars data(std::span<const te::Scalar> d) const = 0;
  virtual Scalars weights(std::span<const te::Scalar> w) const = 0;
  /// Transforms a window along both sides, columns first, into `to`: `points` rows of `points`
  /// runs.
  virtual void weights(const WeightSquare& taps, std::span<WeightRun> to) const = 0;
  virtual Scalars results(std::span<const te::Scalar> m) const = 0;

 protected:
  explicit Filtering(int64_t tile) : tile_(tile) {}

 private:
  int64_t tile_;
};

/// All filterings, larger tiles first.
std::span<const Filtering* const> all_filterings();

/// A square of `size` values by rows transformed along both sides: by rows again.
std::vector<Filtering::Scalars> both_ways(
    const Filtering& filtering, Filtering::Transform transform, size_t size,
    const std::function<te::Scalar(size_t row, size_t column)>& value);

/// The places of weights in memory: elements from one to the next.
struct WeightSteps {
  int64_t out = 0, in = 0, row = 0, column = 0;
};

/// The weights of `outs` × `ins` channels, transformed[point, point, out, in]: `weights` applied to
/// columns, then to rows, bit for bit. Element (p, q, o, i) goes to `to[places[0][p] + places[1][q]
/// + places[2][o] + places[3][i]]`.
void transform_weights(const Filtering& filtering, const NDArray& weights, const WeightSteps& steps,
                       int64_t outs, int64_t ins, float* to, const Places& places);

}  // namespace relay::lower
