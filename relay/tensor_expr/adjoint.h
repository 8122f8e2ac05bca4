// Derivatives of computations run backwards.
#pragma once

#include <relay/support/error.h>
#include <relay/tensor_expr/computation.h>

namespace relay::te {

/// Why a computation has no derivative of this kind.
class NoAdjoint : public Error {
 public:
  using Error::Error;
};

/// The vector-Jacobian product of a computation. Its inputs are those of `forward`, then a gradient
/// for each output of floats; its outputs are the gradients of the inputs of floats, in order:
/// Σ gradient of output · ∂ output / ∂ input.
///
/// Where indices are affine in the axes they are inverted, so that every gradient is gathered: what
/// reads windows becomes sums over windows, a sum of products again sums of products. Where they
/// are read from data, gradients are scattered by Update. At kinks a maximum or minimum of a fold
/// gives all to the first element that attains it, of two values to the first only if it is
/// beyond the second; `select` decides by its condition, which has no derivative itself.
///
/// Throws NoAdjoint for what library kernels compute and where extents are counted.
Computation adjoint(const Computation& forward);

}  // namespace relay::te
