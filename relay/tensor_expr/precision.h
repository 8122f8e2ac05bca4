// The precision of a computation, derived from its expressions.
#pragma once

#include <optional>

#include <relay/tensor_expr/computation.h>

namespace relay::te {

/// The dtype in which narrow floats are added up and multiplied: float32; other dtypes in
/// themselves.
inline DType wide_float(DType dtype) {
  return dtype.is_float() && dtype.bits < 32 ? kFloat32 : dtype;
}

/// The widest floating-point dtype that a computation calculates in, if it is wider than those of
/// its inputs and outputs: float32 for a sum of float16 that is added up in float32.
std::optional<DType> wider_float(const Computation& computation);

}  // namespace relay::te
