#include <relay/program/operators.h>

#include <relay/ir/visit.h>
#include <relay/op/op.h>

namespace relay {

// Operators repeat, and each is one node: most calls are seen in a small table.
PointerSet<Operator> operators_of(const Function* function) {
  constexpr size_t kSlots = 64;
  const Expr* recent[kSlots] = {};
  PointerSet<Operator> found;
  visit_each(function, [&](const Expr* expr) {
    const auto* call = expr->as<Call>();
    if (call == nullptr) {
      if (expr->is<Op>()) found.insert(static_cast<const Op*>(expr)->op());
      return true;
    }
    const Expr* callee = call->callee().get();
    const Expr*& slot = recent[reinterpret_cast<uintptr_t>(callee) / alignof(Expr) % kSlots];
    if (slot == callee) return true;
    slot = callee;
    if (const auto* op = callee->as<Op>()) found.insert(op->op());
    return true;
  });
  return found;
}

}  // namespace relay
