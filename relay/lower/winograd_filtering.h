// Winograd's minimal filtering: a convolution of a line or a plane as a product of transforms.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <relay/runtime/ndarray.h>
#include <relay/runtime/strided.h>
#include <relay/tensor_expr/scalar.h>

namespace relay::lower {

/// Neighbouring weights that are transformed together.
struct WeightRun;

/// Transforms between a line of `tile` results, the `points` = tile + taps - 1 elements that they
/// are computed from, and `taps` weights: a product of polynomials, by their values at 0, ±a,
/// (±b,) ∞.
class Filtering {
 public:
  using Scalars = std::vector<te::Scalar>;
  /// One of `data`, `weights`, `results`.
  using Transform = Scalars (Filtering::*)(std::span<const te::Scalar>) const;

  virtual ~Filtering() = default;
  int64_t tile() const { return tile_; }
  /// Weights along a side of a window.
  int64_t taps() const { return taps_; }
  int64_t points() const { return tile_ + taps_ - 1; }
  virtual Scalars data(std::span<const te::Scalar> d) const = 0;
  virtual Scalars weights(std::span<const te::Scalar> w) const = 0;
  /// Transforms a window, given by columns, along both sides, columns first, into `to`: `points`
  /// rows of `points` runs.
  virtual void weights(std::span<const WeightRun> taps, std::span<WeightRun> to) const = 0;
  virtual Scalars results(std::span<const te::Scalar> m) const = 0;

 protected:
  Filtering(int64_t tile, int64_t taps) : tile_(tile), taps_(taps) {}

 private:
  int64_t tile_, taps_;
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
