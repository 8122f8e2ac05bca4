// Gradients of functions: docs/gradients.md says what they are and how they are made.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include <relay/ir/module.h>

namespace relay {

enum class GradientMode : uint8_t {
  kFirstOrder,   // functions that are dataflow once calls are inlined; refuses others
  kHigherOrder,  // any function
};

/// The form of a gradient.
struct GradientForm {
  /// The parameters that get gradients, by position; all if nothing.
  std::optional<std::vector<size_t>> params;
  /// One more parameter: the gradient of the result, of the result's type. Otherwise it is ones.
  bool from_result = false;
  /// The result is the gradient itself and not a tuple of one; `params` then has one position.
  bool single = false;
  /// The function's value comes first: `(value, gradients)`.
  bool with_value = true;
  /// Refuses a function whose result is not one number.
  bool of_number = false;
};

/// The gradient of a function of `module`, or of one that calls functions of it:
/// `fn (x…) -> T` becomes `fn (x…) -> (T, (dx…))`.
///
/// The module gets the functions and data types that the gradient needs beside it; none for
/// dataflow. Parameters that do not reach the result, and those that are no floats, get zeros.
/// Throws `Error` where something has no gradient.
FunctionRef gradient(const FunctionRef& function, Module& module, GradientMode mode,
                     const GradientForm& form = {});

/// The derivative of a function along directions of the parameters at `places`, by forward mode:
/// `fn (x…) -> T` becomes `fn (x…, d…) -> (T, T)`, where each direction has its parameter's type.
/// Loops stay loops, and nothing is saved.
///
/// Null for functions with closures, data types, references or effects, and with extents that are
/// not known. Throws `Error` where something has no gradient.
FunctionRef gradient_along(const FunctionRef& function, Module& module,
                           std::span<const size_t> places);

/// A typed module with the functions that calls of `grad` and `value_and_grad` stand for; the same
/// module if there are none. Throws `Error` where the function is not known, or has no gradient.
Module expand_gradients(Module module);

}  // namespace relay
