// Types of what a rule writes.
#pragma once

#include <utility>
#include <vector>

#include <relay/ir/expr.h>

namespace relay::pattern {

/// Gives new nodes, which are those without a type, their types and a place.
class WrittenTypes {
 public:
  /// `fold`: calls of constants inside are computed, and refused where that cannot be or makes them
  /// larger.
  WrittenTypes(Span span, bool fold) : span_(span), fold_(fold) {}
  /// The expression with types; null if it has none, or is too large. Throws `Error` where
  /// operators refuse their arguments.
  ExprRef typed(const ExprRef& expr);
  /// Calls of operators that are new.
  int calls() const { return calls_; }
  /// The new nodes, operands before users.
  const std::vector<ExprRef>& made() const { return nodes_; }

 private:
  ExprRef make(const ExprRef& expr, bool root);
  ExprRef make_call_of(const Call& call, bool root);
  ExprRef folded(const Call& call, const std::vector<ExprRef>& args) const;

  Span span_;
  bool fold_;
  int calls_ = 0;
  std::vector<std::pair<const Expr*, ExprRef>> known_;  // what became of nodes without a type
  std::vector<ExprRef> nodes_;
};

/// True if a call is where a tensor is that it is computed from; another one would be anywhere.
bool follows_tensor(const Expr* expr);

}  // namespace relay::pattern
