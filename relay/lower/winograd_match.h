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

/// A sum over a 3×3 window and channels, and the work that follows it, in stage `stage`.
struct Convolution {
  size_t stage = 0;
  const te::ScalarNode* fold = nullptr;
  const te::ScalarNode* data = nullptr;     // loads
  const te::ScalarNode* weights = nullptr;  // of an input, along axes of the result and the sum
  te::Axis channel;                         // of the sum
  size_t out_channel = 0;                   // dimension of the results
  SlidingDim down, along;                   // the last dimension of data and results
  std::vector<te::Axis> axes;               // of the results

  int64_t extent(size_t dim) const { return axes[dim].extent.as_int(); }
};

/// The first 3×3 convolution (step 1, no groups, float32, known extents) of a computation with
/// weights for which `constant` is true. It points into the computation.
std::optional<Convolution> match_convolution(const te::Computation& computation,
                                             const std::function<bool(size_t input)>& constant);

}  // namespace relay::lower
