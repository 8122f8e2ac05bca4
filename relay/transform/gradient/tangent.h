// Forward mode: the derivative of a value along directions of what it depends on.
#pragma once

#include <relay/op/op.h>
#include <relay/transform/gradient/leaves.h>

namespace relay::grad {

/// A call of an operator with values and tangents.
struct TangentCall {
  const Call& call;  // typed
  std::span<const ExprRef> args;
  const ExprRef& result;             // the call on `args`
  std::span<const Leaves> tangents;  // of the arguments; empty for none
};

/// The tangents of the tensors of floats in a call's result; empty if all are zeros.
///
/// An operator that is linear in what has tangents is called on these, one that is linear in each
/// of several arguments once for each. What is computed element by element has a diagonal matrix of
/// derivatives, which its gradient multiplies by. All else is the transpose of the gradient.
Leaves tangent_of(const TangentCall& call);

}  // namespace relay::grad
