// Whether a rewrite by operator has anything to do: a walk costs less than a rewriter.
#pragma once

#include <relay/ir/visit.h>
#include <relay/op/op.h>

namespace relay {

/// Whether an operator that the column has an entry for is called anywhere in `root`.
template <class T>
bool calls_any(const Expr* root, const OpColumn<T>& column) {
  bool found = false;
  const Expr* last = nullptr;  // operators repeat, and each is one node
  post_order(root, [&](const Expr* expr) {
    const auto* call = expr->as<Call>();
    if (found || call == nullptr || call->callee().get() == last) return;
    last = call->callee().get();
    const auto* node = last->as<Op>();
    found = node != nullptr && column.find(node->op()) != nullptr;
  });
  return found;
}

}  // namespace relay
