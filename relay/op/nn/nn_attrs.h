// Attributes of products, activations, softmax and normalisation.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <relay/ir/attrs.h>

namespace relay {

struct DenseAttrs {
  std::optional<int64_t> units;
  std::optional<DType> out_dtype;
  RELAY_ATTRS(DenseAttrs, (units, "Rows of the weight; by default those of its type."),
              (out_dtype, "Dtype of the products' sum and of the result; the data's by default."))
};
struct MatmulAttrs {
  std::optional<int64_t> units;
  std::optional<DType> out_dtype;
  bool transpose_a = false;
  bool transpose_b = false;
  RELAY_ATTRS(MatmulAttrs,
              (units, "Columns of the result; by default those of the operand's type."),
              (out_dtype, "Dtype of the products' sum and of the result; the data's by default."),
              (transpose_a, "The first operand is stored transposed."),
              (transpose_b, "The second operand is stored transposed."))
};
struct BatchMatmulAttrs {
  std::optional<DType> out_dtype;
  bool transpose_a = false;
  bool transpose_b = false;
  RELAY_ATTRS(BatchMatmulAttrs,
              (out_dtype, "Dtype of the products' sum and of the result; the data's by default."),
              (transpose_a, "The first operand is stored transposed."),
              (transpose_b, "The second operand is stored transposed."))
};
struct BiasAddAttrs {
  attr::Axis axis = 1;
  RELAY_ATTRS(BiasAddAttrs, (axis, "Axis that the bias runs along."))
};
struct LeakyReluAttrs {
  double alpha = 0.25;
  RELAY_ATTRS(LeakyReluAttrs, (alpha, "Slope below 0."))
};
struct PReluAttrs {
  attr::Axis axis = 1;
  RELAY_ATTRS(PReluAttrs, (axis, "Axis that the slopes run along."))
};
RELAY_WORDS(GeluForm, (kErf, "none", "The definition, by erf."),
            (kTanh, "tanh", "The approximation by tanh."))
struct GeluAttrs {
  GeluForm approximate = GeluForm::kErf;
  RELAY_ATTRS(GeluAttrs, (approximate, "Exact, or by tanh."))
};
struct SiluAttrs {
  double alpha = 1;
  RELAY_ATTRS(SiluAttrs, (alpha, "Factor of x inside of the sigmoid; 1.702 approximates gelu."))
};
struct SoftplusAttrs {
  double beta = 1;
  RELAY_ATTRS(SoftplusAttrs, (beta, "Sharpness of the bend at 0."))
};
struct SoftmaxAttrs {
  attr::Axis axis = -1;
  RELAY_ATTRS(SoftmaxAttrs, (axis, "Axis that sums to one."))
};
struct DropoutAttrs {
  double rate = 0.5;
  RELAY_ATTRS(DropoutAttrs, (rate, "Share of elements set to 0 in training."))
};
struct BatchNormAttrs {
  attr::Axis axis = 1;
  double epsilon = 1e-5;
  bool center = true;
  bool scale = true;
  RELAY_ATTRS(BatchNormAttrs, (axis, "Channel axis."), (epsilon, "Added to the variance."),
              (center, "Add beta."), (scale, "Multiply by gamma."))
};
struct LayerNormAttrs {
  attr::Axis axis = -1;
  double epsilon = 1e-5;
  bool center = true;
  bool scale = true;
  RELAY_ATTRS(LayerNormAttrs, (axis, "Axis to normalise over."),
              (epsilon, "Added to the variance."), (center, "Add beta."),
              (scale, "Multiply by gamma."))
};
struct RMSNormAttrs {
  attr::Axis axis = -1;
  double epsilon = 1e-5;
  bool scale = true;
  RELAY_ATTRS(RMSNormAttrs, (axis, "Axis to normalise over."),
              (epsilon, "Added to the mean of squares."), (scale, "Multiply by gamma."))
};
struct InstanceNormAttrs {
  attr::Axis axis = 1;
  double epsilon = 1e-5;
  bool center = true;
  bool scale = true;
  RELAY_ATTRS(InstanceNormAttrs,
              (axis, "Channel axis; axis 0 is the batch, the others are normalised over."),
              (epsilon, "Added to the variance."), (center, "Add beta."),
              (scale, "Multiply by gamma."))
};
struct GroupNormAttrs {
  int64_t num_groups = 0;
  attr::Axis axis = 1;
  double epsilon = 1e-5;
  bool center = true;
  bool scale = true;
  RELAY_ATTRS(GroupNormAttrs, (num_groups, "Number of channel groups, each normalised by itself."),
              (axis, "Channel axis."), (epsilon, "Added to the variance."), (center, "Add beta."),
              (scale, "Multiply by gamma."))
};
struct L2NormalizeAttrs {
  Required<double> eps;
  std::optional<attr::Axes> axis;
  RELAY_ATTRS(L2NormalizeAttrs, (eps, "Least sum of squares to divide by the root of."),
              (axis, "Axes of a vector to normalise; all by default."))
};

}  // namespace relay
