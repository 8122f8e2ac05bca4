// Moves factors through a call: a scale along an axis of its result, or of an input, could stand
// elsewhere. Derived from the tensor expression; floats only.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <relay/op/op.h>

namespace relay {

/// Dimension `dim` of input `input`.
struct InputAxis {
  size_t input;
  size_t dim;
};

/// Inputs that, multiplied by factors along these dimensions, multiply the result by them along one
/// of its axes.
struct Scaling {
  std::vector<InputAxis> inputs;
  bool positive = false;  // only by factors above 0
};

/// The relation of a call to factors.
class CallScaling {
 public:
  /// Throws `Error` if the call does not fit.
  explicit CallScaling(const OpCall& call);

  /// True if it is lhs · rhs, element by element, and lhs has the shape of the result.
  bool multiplies(size_t lhs) const;
  /// True if it sums products of its inputs and `input` is the same all along the first axis of the
  /// result, as the weight of a convolution is for all samples.
  bool is_weight(size_t input) const;
  /// The smallest sets of inputs for factors along an axis of the result.
  std::vector<Scaling> along(size_t axis) const;
  /// The dimension of another input of a sum of products to which factors along `from` may move:
  /// the same number indexes both. A weight's, if there is one.
  std::optional<InputAxis> exchange(InputAxis from) const;

 private:
  std::optional<Scaling> scaling(uint32_t inputs, size_t axis) const;

  te::Computation computation_;
  const te::Map* map_ = nullptr;  // the one stage; null if there are several, and nothing is known
};

/// Factors of shape `dims`, at most one extent of which is not 1, as a vector; one factor for all
/// is repeated `repeats` times.
ExprRef factor_vector(ExprRef factors, std::span<const Dim> dims, std::optional<int64_t> repeats);
/// A tensor multiplied or divided by a vector of factors along the dimension that has `behind`
/// dimensions after it.
ExprRef with_factors(const ExprRef& data, const ExprRef& factors, size_t behind, bool divide,
                     Span span);

}  // namespace relay
