// Which expressions have an effect (language.md E3).
#pragma once

#include <unordered_map>
#include <unordered_set>

#include <relay/ir/module.h>

namespace relay {

/// What is known of a program's effects. References are the one effect of the language, and
/// operators may be declared impure: a program without `ref`, `ref_read`, `ref_write` and such
/// operators is pure throughout. Otherwise a call is pure if its callee is a pure operator, a
/// constructor, or a function proven pure: a global, a function literal, or a variable that a let
/// binds to a function literal, whose body outside nested functions has no effect itself (recursion
/// alone is none). Keeps raw pointers into the program.
class Effects {
 public:
  /// Nothing has an effect.
  Effects() = default;
  explicit Effects(const Module& module);
  /// A program that is this expression alone.
  explicit Effects(const Expr* root);
  /// A module and an expression beside it.
  Effects(const Module& module, const Expr* root);

  /// Whether the program mentions references or impure operators at all. If not, everything is
  /// pure.
  bool any() const { return any_; }
  /// Whether calling what `callee` denotes is pure.
  bool pure_callee(const Expr* callee) const;
  /// Whether evaluating this node has an effect, its operands apart (a function's body is not
  /// evaluated with the function).
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

/// How this layer asks whether calls of an operator have an effect; op/ sets it when the process
/// starts.
extern bool (*operator_acts)(const Operator* op);

}  // namespace relay
