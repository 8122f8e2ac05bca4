// Rewrites operator calls by a column: finds them, and expands them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include <relay/ir/visit.h>
#include <relay/op/op.h>
#include <relay/transform/lazy_effects.h>

namespace relay {

/// The operator that is called, or null if `expr` is not a call of an operator with all its inputs.
const Operator* called_op(const Expr* expr);

/// The operators that an option of a pass names. Throws `Error`, with the nearest names, for one
/// that is unknown.
std::vector<const Operator*> operators_of(const std::string& option,
                                          const std::vector<std::string>& names);

/// The published type of a node if it is a tensor of known rank and dtype, else null.
const TensorType* tensor_of(const Expr* expr);

/// The attributes of a call of an operator with attributes of this struct, as written or by
/// default; nothing for all else. Structs say what operators mean that have them.
template <class T>
std::optional<T> call_attrs(const Expr* expr) {
  const Operator* op = called_op(expr);
  if (op == nullptr || op->attrs_schema() != &attrs_schema<T>()) return std::nullopt;
  const AttrsRef& attrs = static_cast<const Call*>(expr)->attrs();
  if (attrs) return attrs->as<T>();
  if constexpr (std::is_default_constructible_v<T>) return T();
  return std::nullopt;
}

/// True if `root` contains a call of an operator with an entry in the column: a walk costs less
/// than a rewriter.
template <class T>
bool calls_any(const Expr* root, const OpColumn<T>& column) {
  bool found = false;
  const Expr* last = nullptr;  // operators repeat, and each is one node
  visit_each(root, [&](const Expr* expr) {
    const auto* call = expr->as<Call>();
    if (call == nullptr || call->callee().get() == last) return true;
    last = call->callee().get();
    const auto* node = last->as<Op>();
    found = node != nullptr && column.find(node->op()) != nullptr;
    return !found;
  });
  return found;
}

/// The form that `expand` gives a call of an operator on `args`, the call's own arguments
/// rewritten; new nodes get the call's place. Null if the rank or dtype of a tensor is not known
/// (published types count), or if `expand` leaves the call alone.
ExprRef expand_call(const ExpandFn& expand, const Call& call, std::span<const ExprRef> args);

/// `root` with `span` as the place of all new calls that have none: those above the nodes `given`.
ExprRef place_calls(const ExprRef& root, std::span<const ExprRef> given, Span span);

/// Expands calls in one function whose arguments may have effects. The expansion may use an
/// argument several times, so lets before it bind such arguments, in their order.
class CallExpander {
 public:
  CallExpander(const LazyEffects& effects, const Function* root) : effects_(effects), root_(root) {}
  /// Like `expand_call`.
  ExprRef operator()(const ExpandFn& expand, const Call& call, std::span<const ExprRef> args);

 private:
  bool any_acts(const Call& call);

  const LazyEffects& effects_;
  const Function* root_;
  std::optional<std::unordered_set<const Expr*>> effectful_;
};

/// True if only a run knows if the call of an operator is right, by the extents of its arguments:
/// the operator's definition may accept more.
bool needs_run_to_check(const Call& call);

/// Like `expand_call`, by the column's entry for the operator; null if it has none.
ExprRef expand_call(const OpColumn<ExpandFn>& column, const Call& call,
                    std::span<const ExprRef> args);

}  // namespace relay
