// Finds the expressions that have an effect (language.md E3).
#pragma once

#include <unordered_map>
#include <unordered_set>

#include <relay/ir/module.h>

namespace relay {

/// The effects of a program. References are the one effect of the language, and operators may be
/// declared impure: a program without `ref`, `ref_read`, `ref_write` and such operators is pure
/// throughout. Otherwise a call is pure if its callee is a pure operator, a constructor, or a
/// function that is proven pure. Such a function is a global, a function literal, or a variable
/// that a let binds to a function literal, and its body has no effect outside nested functions
/// (recursion alone is none). Keeps raw pointers into the program.
class Effects {
 public:
  /// For a program without effects.
  Effects() = default;
  explicit Effects(const Module& module);
  /// For a program that is this expression alone.
  explicit Effects(const Expr* root);
  /// For a module and an expression beside it.
  Effects(const Module& module, const Expr* root);

  /// True if the program mentions references or impure operators. If not, everything is pure.
  bool any() const { return any_; }
  /// True if a call of the function that `callee` denotes is pure.
  bool pure_callee(const Expr* callee) const;
  /// True if evaluating this node has an effect, apart from its operands (evaluating a function
  /// does not evaluate its body).
  bool acts(const Expr* expr) const;
  /// All nodes reachable from `root`, function bodies included, whose evaluation has an effect.
  /// Empty unless `any()`.
  std::unordered_set<const Expr*> effectful_nodes(const Expr* root) const;

 private:
  void analyse(const Module* module, const Expr* root);
  const Function* find_function(const Expr* callee) const;

  bool any_ = false;
  std::unordered_map<Name, const Function*> globals_;
  std::unordered_map<const Var*, const Function*> lets_;
  std::unordered_set<const Function*> impure_;
};

/// Tells this layer if calls of an operator have an effect; op/ sets it when the process starts.
extern bool (*operator_acts)(const Operator* op);

}  // namespace relay
