// Calls of `grad` and its kin, and the functions that they are of.
#pragma once

#include <unordered_map>
#include <vector>

#include <relay/op/registry/gradient_call.h>
#include <relay/transform/gradient/gradient.h>

namespace relay {

bool has_gradient_call(const Expr* root);

/// The form of a gradient that a call asks for. The function has `params` parameters, after those
/// that `captured` variables have become.
GradientForm gradient_form(const GradientCallForm& form, size_t params, size_t captured);

/// A function in which the variables that it captures are parameters before its own.
struct ClosedFunction {
  FunctionRef function;
  std::vector<VarRef> captured;

  /// The gradient of `of`, which this is made of, if `name` is that of the closed function.
  ExprRef with_captured(const Name& name, const FunctionRef& of, const GradientCallForm& form,
                        Span span) const;
};
ClosedFunction closed_function(const FunctionRef& function);

/// The name, or the written function, that a gradient `call` is of; `lets` are the functions that
/// variables stand for. Throws `Error` if only a run knows it.
ExprRef gradient_source(const Expr* call, ExprRef function,
                        const std::unordered_map<const Var*, ExprRef>& lets);

}  // namespace relay
