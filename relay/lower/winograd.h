// Convolutions with fewer multiplications: Winograd's minimal filtering.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include <relay/lower/processor.h>
#include <relay/runtime/ndarray.h>
#include <relay/runtime/strided.h>
#include <relay/tensor_expr/computation.h>

namespace relay::lower {

/// A convolution computed in tiles: the transformation of its weights, and the computation with the
/// result.
struct Winograd {
  size_t input = 0;  // number of the weights among the inputs
  /// One input, the weights; one output, the transformed ones.
  te::Computation weights;
  /// The same, bit for bit, faster than by evaluating it: float32 elements at `places` from `to`.
  std::function<void(const NDArray& weights, void* to, const Places& places)> transform;
  /// The new computation, ready for `lower`. It has one input more, the last: the transformed
  /// weights. The weights stay an input even if nothing reads them any longer.
  te::Computation computation;
};

/// The first 3×3 or 5×5 convolution (step 1, summed in float32, known channels) of a computation
/// with weights for which `constant` is true that costs clearly less in tiles on the processor;
/// nothing if there is none. If a run measures the plane, the run decides between tiles and plain
/// sums (tiled_sums.h): the program keeps both forms of the weights, which are 12 MiB at most.
/// Results round differently from those of the plain sums (docs/numerics.md). `prepared`: the
/// computation itself is ready for `lower`.
std::optional<Winograd> winograd_of(const te::Computation& computation,
                                    const std::function<bool(size_t input)>& constant,
                                    const Processor& processor, bool prepared = false);

}  // namespace relay::lower
