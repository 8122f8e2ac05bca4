// Gradients of operators: rules in terms of other operators, and derivations from definitions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <relay/op/op.h>

namespace relay {

/// A call that a rule gives the gradient of. The rule may use the expressions several times: its
/// caller has bound them.
struct GradientCall {
  const OpCall& call;
  std::span<const ExprRef> args;
  const ExprRef& result;  // what the call gave
  /// The gradient of each tensor in the result, left to right; null for tensors that are not
  /// floats. Callers of `gradients_of` may leave out those that nothing flows to; rules get zeros
  /// for them.
  std::span<const ExprRef> gradients;

  template <class T>
  const T& attrs() const {
    return call.attrs<T>();
  }
  /// The gradient of a result that is one tensor.
  const ExprRef& gradient() const { return gradients[0]; }
};

/// The declaration of an operator's gradient: a rule, or the reason why there is none. An operator
/// without an entry has the derivation from its definition.
///
/// A rule returns an expression for each input: of the input's type, a tuple for a tuple. It is
/// null for an input that is not floats, or whose gradient is 0 everywhere.
struct GradientEntry {
  GradientFn rule;
  std::string none;
};
OpColumn<GradientEntry>& gradient_column();

/// `grad.NAME`, the operator that is derived from the definition of operator NAME. It takes the
/// inputs of NAME and then the gradient of the result, and gives the gradients of the inputs: the
/// tensor itself for one, a tuple for several. Tensors that are not floats are left out, tuples
/// among the inputs flattened. The attributes are those of NAME.
inline constexpr std::string_view kGradientPrefix = "grad.";
inline bool is_gradient_name(const Name& name) { return name.view().starts_with(kGradientPrefix); }
/// Derivatives of derivatives: each is several times the expression that it comes from.
inline constexpr size_t kMaxGradientOrder = 3;

/// The type of the gradient of tensors in types, as above; null if none is of floats.
TypeRef gradient_type(std::span<const TypeRef> types);

/// The gradients of a call's inputs, by the rule or else as derived: an expression for each input,
/// null for those that are not floats, and for those that are 0 whatever the arguments are. Throws Error, with the reason, if there is none.
std::vector<ExprRef> gradients_of(const GradientCall& call);
/// The same by the derived operator alone.
std::vector<ExprRef> derived_gradients(const GradientCall& call);

/// The declared reason why an operator has no gradient; empty if it may have one.
std::string no_gradient_reason(const Operator& op);

/// Fills in the derived operator of `op`.
void derive_gradient(const Operator& op, OpBuilder& derived);

}  // namespace relay
