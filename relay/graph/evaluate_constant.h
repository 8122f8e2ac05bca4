// Computing constants fast: most are others in another order.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <relay/runtime/ndarray.h>
#include <relay/runtime/strided.h>
#include <relay/tensor_expr/computation.h>

namespace relay::graph {

/// Room for a copy of a tensor, every element of which has its one place in it. What is in no place
/// is zero.
struct Scattered {
  NDArray result;
  Places places;  // of the tensor's elements in `result`
};
/// For a computation of fixed extents that is such a copy of its one input.
std::optional<Scattered> scattered_result(const te::Computation& computation);

/// The one output of a computation on fixed extents. Rearranging elements is copying by strides.
NDArray evaluate_constant(const te::Computation& computation, std::span<const NDArray> inputs,
                          Device device);

}  // namespace relay::graph
