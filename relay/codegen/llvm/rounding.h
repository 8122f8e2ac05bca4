// Floats near 0 that are rounded to integers.
#pragma once

#include <cstdint>
#include <optional>

#include <relay/tensor_expr/scalar.h>

namespace relay::codegen {

/// An int32, or an integer of 16 bits or fewer, that is `data`, float32, rounded to even, plus an
/// offset. If the offset is not 0, `data` is never not-a-number.
struct RoundedToEven {
  te::ScalarRef data;
  int32_t offset = 0;
};
/// What a conversion of the form int((data + 1.5·2²³) - c) rounds, if `data` is known to be near 0.
std::optional<RoundedToEven> rounded_to_even(const te::ScalarNode& cast);

}  // namespace relay::codegen
