// Attributes of random numbers.
#pragma once

#include <cstdint>
#include <optional>

#include <relay/ir/attrs.h>

namespace relay {

struct ThreefryGenerateAttrs {
  Required<attr::Shape> out_shape;
  RELAY_ATTRS(ThreefryGenerateAttrs, (out_shape, "Extents of the numbers."))
};
struct UniformAttrs {
  Required<attr::Shape> out_shape;
  std::optional<DType> out_dtype;
  RELAY_ATTRS(UniformAttrs, (out_shape, "Extents of the numbers."),
              (out_dtype, "Their dtype, which the bounds have, too."))
};
struct NormalAttrs {
  Required<attr::Shape> out_shape;
  std::optional<DType> out_dtype;
  RELAY_ATTRS(NormalAttrs, (out_shape, "Extents of the numbers."),
              (out_dtype, "Their dtype, which mean and scale have, too."))
};
struct MultinomialAttrs {
  int64_t num_samples = 1;
  RELAY_ATTRS(MultinomialAttrs, (num_samples, "Number of draws from each distribution."))
};

}  // namespace relay
