// Rewriting: a new graph from an old one, sharing what did not change; no recursion.
#pragma once

#include <functional>
#include <span>
#include <unordered_map>

#include <relay/ir/expr.h>
#include <relay/support/pointer_map.h>

namespace relay {

/// Post-order rewriter. Each node is rewritten once and sharing is kept. Override `rewrite`; the
/// default rebuilds with the new operands, which returns the same node if nothing changed. Results
/// of shared nodes are remembered until the outermost `run` ends; a hook may call `run` itself.
class Rewriter {
 public:
  virtual ~Rewriter() = default;
  ExprRef run(const ExprRef& root);

 protected:
  /// Called before any operand. Return non-null to put that in the node's place and skip its
  /// operands.
  virtual ExprRef enter(const Expr* expr) {
    (void)expr;
    return {};
  }
  /// Called just before operand i of `expr` is rewritten (operands 0..i-1 are done).
  virtual void before(const Expr* expr, uint32_t operand, std::span<const ExprRef> done) {
    (void)expr;
    (void)operand;
    (void)done;
  }
  /// Called after all operands; returns the node's replacement. `operands` are the rewritten ones.
  virtual ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) {
    return rebuild(expr, operands);
  }
  /// Forgets the result remembered for shared nodes (for rewriters whose result depends on scope).
  void forget(const Expr* expr) { memo_.erase(expr); }

 private:
  PointerMap<Expr, ExprRef> memo_;
  int active_ = 0;  // nested runs
};

/// Rewrites with a lambda called after the operands: return null to keep `rebuild(expr, operands)`.
ExprRef rewrite_post_order(
    const ExprRef& root,
    const std::function<ExprRef(const Expr* expr, std::span<const ExprRef> operands)>& rewrite);

/// Replaces free occurrences of variables. Binders inside `root` are not renamed; the caller
/// ensures that no binder of `root` captures a variable (all variables are distinct objects, so
/// none can unless a node is copied: see `copy_with_fresh_vars`).
ExprRef substitute(const ExprRef& root, const std::unordered_map<const Var*, ExprRef>& replacement);

/// A copy in which every bound variable (parameters, lets, patterns) is a new one. Free variables
/// stay. `types`, when given, is applied to every annotation and type argument.
ExprRef copy_with_fresh_vars(const ExprRef& root,
                             const std::function<TypeRef(const TypeRef&)>& types = {});

/// A copy that shares no node with `root` but operators, constructors and constants. Bound
/// variables are new ones, free ones stay. The copy has no types, unless `types` maps annotations,
/// type arguments and types.
ExprRef copy_nodes(const ExprRef& root, const std::function<TypeRef(const TypeRef&)>& types = {});

}  // namespace relay
