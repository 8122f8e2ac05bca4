// Rules that write a call shorter or cheaper (SimplifyExpr). They stand with the operators, because
// they are about the operators' computations; the pass knows none of them.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include <relay/ir/expr.h>
#include <relay/op/op.h>

namespace relay {

/// The parts of the result that a rule keeps.
enum class Keeps : uint8_t {
  kBits,      // everything
  kIntegers,  // everything of integers; floats are rounded otherwise, or a zero loses its sign
};

/// The replacement of the call at the root of a pattern, null if the rule does not apply. The call
/// and its arguments are tensors of known dtypes and ranks. The pass types the replacement, and
/// rejects one of another type than the call.
using SimplifyFn = std::function<ExprRef(const OpCall& call, std::span<const ExprRef> args)>;

/// One rule.
struct SimplifyRule {
  std::string_view name;
  Keeps keeps;
  SimplifyFn apply;
};

/// The expression as a call of `op`, if its type and those of its arguments are tensors of known
/// dtypes and ranks.
std::optional<OpCall> tensor_call(const Expr* expr, std::string_view op);
/// The same for any operator.
std::optional<OpCall> tensor_call(const Expr* expr);

/// The value of all elements of a tensor (a constant, or a call such as `zeros` or `full`), if it
/// is known and all are the same to the bit. Calls must have types.
std::optional<double> value_of_all(const Expr* expr);
/// False for most expressions for which it has none: a look at the node alone.
bool may_have_value_of_all(const Expr* expr);

/// The first argument of an expression that is known to be a call.
inline const ExprRef& first_arg(const ExprRef& call) {
  return static_cast<const Call&>(*call).args()[0];
}

// The tables, one for each subject. Those of arithmetic are text (relay/pattern/rule.h); inexact
// ones keep integers alone.
std::string_view arithmetic_rules();
struct OperatorRule {
  std::string_view op;
  SimplifyRule rule;
};
std::span<const OperatorRule> movement_rules();
std::span<const OperatorRule> conversion_rules();
std::span<const OperatorRule> creation_rules();
std::span<const OperatorRule> window_rules();

}  // namespace relay
