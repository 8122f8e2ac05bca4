// Computing constants fast: most are others in another order.
#pragma once

#include <span>

#include <relay/runtime/ndarray.h>
#include <relay/tensor_expr/computation.h>

namespace relay::graph {

/// The one output of a computation on fixed extents. Rearranging elements is copying by strides.
NDArray evaluate_constant(const te::Computation& computation, std::span<const NDArray> inputs,
                          Device device);

}  // namespace relay::graph
