// Derivatives of computations run backwards.
#pragma once

#include <relay/support/error.h>
#include <relay/tensor_expr/computation.h>

namespace relay::te {

/// The reason why a computation has no derivative of this kind.
class NoAdjoint : public Error {
 public:
  using Error::Error;
};

/// The vector-Jacobian product of a computation. Its inputs are those of `forward`, then a gradient
/// for each output of floats; its outputs are the gradients of the inputs of floats, in order: Σ
/// gradient of output · ∂ output / ∂ input.
///
/// Indices that are affine in the axes are inverted, so that every gradient is gathered: loads of
/// windows become sums over windows, and a sum of products becomes sums of products again. If
/// indices are read from data, an Update scatters the gradients. At kinks, a maximum or minimum of
/// a fold gives all to the first element that attains it, and one of two values gives it to the
/// first only if that is beyond the second; `select` decides by its condition, which has no
/// derivative itself.
///
/// Throws NoAdjoint for results of library kernels and for counted extents.
Computation adjoint(const Computation& forward);

}  // namespace relay::te
