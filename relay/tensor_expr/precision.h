// How precisely a computation calculates: read off its expressions, not declared.
#pragma once

#include <optional>

#include <relay/tensor_expr/computation.h>

namespace relay::te {

/// What narrow floats are added up and multiplied in: float32; other dtypes in themselves.
inline DType wide_float(DType dtype) {
  return dtype.is_float() && dtype.bits < 32 ? kFloat32 : dtype;
}

/// The widest floating-point dtype that a computation calculates in, if it is wider than those of
/// its inputs and outputs: of a sum of float16 that is added up in float32, float32.
std::optional<DType> wider_float(const Computation& computation);

}  // namespace relay::te
