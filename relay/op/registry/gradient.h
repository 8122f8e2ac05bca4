// Gradients of operators: rules in terms of other operators, and what is derived from definitions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <relay/op/op.h>

namespace relay {

/// A call that a rule gives the gradient of. The expressions may be used as often as wanted:
/// whoever asks has bound them.
struct GradientCall {
  const OpCall& call;
  std::span<const ExprRef> args;
  const ExprRef& result;  // what the call gave
  /// The gradient of each tensor in the result, left to right; null for those that are no floats.
  std::span<const ExprRef> gradients;

  template <class T>
  const T& attrs() const {
    return call.attrs<T>();
  }
  /// Of a result that is one tensor.
  const ExprRef& gradient() const { return gradients[0]; }
};

/// How an operator's gradient is declared: by a rule, or by why there is none. An operator without
/// an entry has what is derived from its definition.
///
/// A rule returns an expression for each input: of the input's type, a tuple for a tuple. It is
/// null for an input that is not of floats.
struct GradientEntry {
  GradientFn rule;
  std::string none;
};
OpColumn<GradientEntry>& gradient_column();

/// `grad.NAME`, the operator that is derived from the definition of operator NAME. It takes the
/// inputs of NAME and then the gradient of the result, and gives the gradients of the inputs. Of
/// several tensors there is a tuple, of one the tensor itself; tensors that are no floats are left
/// out, tuples among the inputs flattened. The attributes are those of NAME.
inline constexpr std::string_view kGradientPrefix = "grad.";
inline bool is_gradient_name(const Name& name) { return name.view().starts_with(kGradientPrefix); }
/// Derivatives of derivatives: each is several times the expression that it comes from.
inline constexpr size_t kMaxGradientOrder = 2;

/// The type of the gradient of tensors in types, as above; null if none is of floats.
TypeRef gradient_type(std::span<const TypeRef> types);

/// The gradients of a call's inputs, by the rule or else as derived: an expression for each input,
/// null for those that are not of floats. Throws Error, with the reason, where there is none.
std::vector<ExprRef> gradients_of(const GradientCall& call);
/// The same by the derived operator alone.
std::vector<ExprRef> derived_gradients(const GradientCall& call);

/// Why an operator has no gradient, as far as its declaration says; empty if it may have one.
std::string no_gradient_reason(const Operator& op);

/// Fills in the derived operator of `op`.
void derive_gradient(const Operator& op, OpBuilder& derived);

}  // namespace relay
