// Calls of `grad`, `value_and_grad` and `vjp`: gradients of functions as values.
#pragma once

#include <optional>
#include <vector>

#include <relay/ir/attrs.h>
#include <relay/ir/expr.h>

namespace relay {

struct GradientCallAttrs {
  AttrValue argnums = int64_t{0};
  RELAY_ATTRS(GradientCallAttrs,
              (argnums,
               "Parameters that get gradients: a position, or a list of different ones for a tuple "
               "of gradients; negative counts from the end."))

  /// The positions among so many parameters, at least one and each once. Throws `Error`.
  std::vector<size_t> places(size_t params) const;
  /// True if the gradient is no tuple.
  bool single() const;
};

struct GradientCallForm {
  GradientCallAttrs attrs;
  bool with_value;
  bool from_result;  // takes a gradient of the result after the function's parameters
};
/// Nothing for an expression that is no such call.
std::optional<GradientCallForm> gradient_call(const Expr* expr);
/// The call of that form.
ExprRef make_gradient_call(const ExprRef& function, const GradientCallForm& form);

}  // namespace relay
