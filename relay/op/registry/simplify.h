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

/// The rules of calls of an operator, in the order to try them; empty for most.
std::span<const SimplifyRule> simplify_rules(const Operator* op);

/// The expression as a call of `op`, if its type and those of its arguments are tensors of known
/// dtypes and ranks.
std::optional<OpCall> tensor_call(const Expr* expr, std::string_view op);
/// The same for any operator.
std::optional<OpCall> tensor_call(const Expr* expr);

/// The value of all elements of a tensor (a constant, or a call such as `zeros` or `full`), if it
/// is known and all are the same to the bit. Calls must have types.
std::optional<double> value_of_all(const Expr* expr);

/// The first argument of an expression that is known to be a call.
inline const ExprRef& first_arg(const ExprRef& call) {
  return static_cast<const Call&>(*call).args()[0];
}

/// Rules as text. `from` is an operator's call, in which `x` to `z` are any tensors, `C` to `E`
/// constants, a number any tensor whose elements all equal it (with its sign), and `+` and `*`
/// commute; `to` is written with the same letters. Not for bool, whose sums are other operations.
struct PatternRule {
  std::string_view name, from, to;
  Keeps keeps;
};
/// The function of such a rule, and the operator at its root. For tests, too.
struct CompiledPattern {
  const Operator* root;
  SimplifyFn apply;
};
CompiledPattern compile_pattern(std::string_view from, std::string_view to);

// The tables, one for each subject.
std::span<const PatternRule> arithmetic_rules();
struct OperatorRule {
  std::string_view op;
  SimplifyRule rule;
};
std::span<const OperatorRule> movement_rules();
std::span<const OperatorRule> conversion_rules();
std::span<const OperatorRule> creation_rules();
std::span<const OperatorRule> window_rules();

}  // namespace relay
