// Attributes of the operators of quantised networks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <relay/ir/attrs.h>

namespace relay {

RELAY_WORDS(RequantizeRounding, (kDefault, "None", "As \"UPWARD\"."),
            (kUpward, "UPWARD", "To the nearest integer, halves up."),
            (kToNearest, "TONEAREST", "To the nearest integer, halves away from zero."))
RELAY_WORDS(QuantizeRounding,
            (kToNearest, "TONEAREST", "To the nearest integer, halves away from zero."),
            (kToEven, "TOEVEN", "To the nearest integer, halves to the even one."))
RELAY_WORDS(RequantizeCompute, (kDefault, "None", "As \"int64\"."),
            (kInt64, "int64",
             "The quotient of the scales is a multiplier of 31 bits and a power of two."),
            (kFloat32, "float32", "It is a float32, as its product with the data."),
            (kFloat64, "float64", "It is a float64, as its product with the data."))

struct QuantizeAttrs {
  Required<DType> out_dtype;
  attr::Axis axis = -1;
  QuantizeRounding rounding = QuantizeRounding::kToNearest;
  RELAY_ATTRS(QuantizeAttrs, (out_dtype, "Dtype of the result: an integer one of at most 32 bits."),
              (axis, "Axis that scales and zero points run along where they are vectors."),
              (rounding, "Rounding of quotients."))
};
struct DequantizeAttrs {
  std::optional<DType> out_dtype = kFloat32;
  attr::Axis axis = -1;
  RELAY_ATTRS(DequantizeAttrs,
              (out_dtype, "Dtype of the result: a floating-point one; None is float32."),
              (axis, "Axis that scales and zero points run along where they are vectors."))
};
struct RequantizeAttrs {
  attr::Axis axis = -1;
  RequantizeRounding rounding = RequantizeRounding::kDefault;
  RequantizeCompute compute_dtype = RequantizeCompute::kDefault;
  std::optional<DType> out_dtype;
  RELAY_ATTRS(
      RequantizeAttrs, (axis, "Axis that scales and zero points run along where they are vectors."),
      (rounding, "Rounding of products."), (compute_dtype, "Dtype in which products are computed."),
      (out_dtype, "Dtype of the result: an integer one of at most 32 bits; int8 by default."))
};
struct SimulatedQuantizeAttrs {
  attr::Axis axis = -1;
  RELAY_ATTRS(SimulatedQuantizeAttrs,
              (axis, "Axis that scales and zero points run along where they are vectors."))
};
/// For elementwise operators on two quantised tensors.
struct BroadcastAttrs {
  int64_t lhs_axis = -1;
  int64_t rhs_axis = -1;
  RELAY_ATTRS(BroadcastAttrs, (lhs_axis, "Axis of lhs that its scales and zero points run along."),
              (rhs_axis, "Axis of rhs that its scales and zero points run along."))
};

}  // namespace relay
