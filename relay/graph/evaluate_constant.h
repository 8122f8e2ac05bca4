// Computes constants fast: most are other constants in another order.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <relay/runtime/ndarray.h>
#include <relay/runtime/strided.h>
#include <relay/tensor_expr/computation.h>

namespace relay::graph {

/// Room for a copy of a tensor in which every element has its one place. All other places are zero.
struct Scattered {
  NDArray result;
  Places places;  // of the tensor's elements in `result`
};
/// The result of a computation of fixed extents that is such a copy of its one input.
std::optional<Scattered> scattered_result(const te::Computation& computation);

/// The one output of a computation on fixed extents. Elements in another order are copied by
/// strides.
NDArray evaluate_constant(const te::Computation& computation, std::span<const NDArray> inputs,
                          Device device);

}  // namespace relay::graph
