// Functions in A-normal form already.
#include <vector>

#include <relay/support/pointer_map.h>
#include <relay/transform/bind_nodes.h>
#include <relay/transform/fusion.h>

namespace relay {
namespace {

bool is_atom(const Expr* expr) {
  switch (expr->kind()) {
    case ExprKind::kVar:
    case ExprKind::kGlobalVar:
    case ExprKind::kOp:
    case ExprKind::kConstructor:
      return true;
    default:
      return false;
  }
}

// True if operand i is the value of a region, which may be a chain of lets.
bool opens_region(const Expr& expr, size_t i) {
  switch (expr.kind()) {
    case ExprKind::kFunction:
      return true;
    case ExprKind::kIf:
    case ExprKind::kMatch:
      return i > 0;
    default:
      return false;
  }
}

class BoundNodes {
 public:
  bool holds(const Function* function) {
    push(function, 0);
    while (!stack_.empty()) {
      const auto [expr, kernel] = stack_.back();
      stack_.pop_back();
      if (!enter(*expr, kernel)) return false;
    }
    return true;
  }

 private:
  struct Place {
    const Expr* expr;
    uint32_t kernel;  // the kernel around it, 0 for none
  };

  void push(const Expr* expr, uint32_t kernel) {
    if (!is_atom(expr)) stack_.push_back({expr, kernel});
  }

  bool enter(const Expr& expr, uint32_t kernel) {
    if (!expr.has_one_owner()) {
      auto [place, fresh] = places_.insert(&expr);
      // Only inside of one kernel may a node be used twice.
      if (!fresh && (kernel == 0 || *place != kernel)) return false;
      if (!fresh) return true;
      *place = kernel;
    }
    const auto* function = expr.as<Function>();
    if (function != nullptr && kernel == 0 && is_primitive(function)) kernel = ++kernels_;
    if (kernel == 0 && !operands_are_atoms(expr)) return false;
    for (const ExprRef& operand : expr.operands()) push(operand.get(), kernel);
    return !expr.is<Let>() || kernel == 0;  // those of kernels may have to be made a chain
  }

  static bool operands_are_atoms(const Expr& expr) {
    const auto operands = expr.operands();
    if (expr.is<Let>() && operands[0]->is<Let>()) return false;
    for (size_t i = expr.is<Let>() ? 1 : 0; i < operands.size(); ++i) {
      const bool chain = operands[i]->is<Let>() && (expr.is<Let>() || opens_region(expr, i));
      if (!chain && !is_atom(operands[i].get())) return false;
    }
    return true;
  }

  std::vector<Place> stack_;
  PointerMap<Expr, uint32_t> places_;
  uint32_t kernels_ = 0;
};

}  // namespace

bool all_nodes_are_bound(const Function* function) { return BoundNodes().holds(function); }

}  // namespace relay
