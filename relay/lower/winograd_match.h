// Finds convolutions that minimal filtering can compute.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <relay/tensor_expr/computation.h>

namespace relay::lower {

/// A dimension of the data along which the window slides: element result + tap − before.
struct SlidingDim {
  size_t dim = 0;     // of the data
  size_t result = 0;  // of the results
  uint32_t tap = 0;   // axis of the sum
  int64_t before = 0;
};

/// A sum over a window of `taps` × `taps` and channels, and the work that follows it, in stage
/// `stage`.
struct Convolution {
  size_t stage = 0;
  const te::ScalarNode* fold = nullptr;
  const te::ScalarNode* data = nullptr;     // loads
  const te::ScalarNode* weights = nullptr;  // of an input, along axes of the result and the sum
  te::Axis channel;                         // of the sum
  int64_t taps = 0;
  size_t channel_dim = 0;      // of the data
  int64_t outs_of_group = 0;   // so many output channels read the same channels; 0: all do
  size_t out_channel = 0;      // dimension of the results
  SlidingDim down, along;      // the last dimension of data and results
  std::vector<te::Axis> axes;  // of the results
  std::vector<size_t> views;   // stages that are the results in another shape, and outputs alone

  int64_t extent(size_t dim) const { return axes[dim].extent.as_int(); }
  /// True if a run decides how large planes are.
  bool has_open_plane() const {
    return !axes[down.result].extent.is_int() || !axes[along.result].extent.is_int();
  }
  /// True for a dimension of the results that is neither the channels nor of the plane.
  bool is_image(size_t dim) const {
    return dim != out_channel && dim != down.result && dim != along.result;
  }
};

/// The first convolution that some filtering computes (step 1, summed in float32, known channels)
/// in a computation with weights for which `constant` is true. It points into the computation.
std::optional<Convolution> match_convolution(const te::Computation& computation,
                                             const std::function<bool(size_t input)>& constant);

}  // namespace relay::lower
