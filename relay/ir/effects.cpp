#include <relay/ir/effects.h>

#include <vector>

#include <relay/ir/visit.h>

namespace relay {
namespace {

bool is_reference_node(const Expr* expr) {
  switch (expr->kind()) {
    case ExprKind::kRefCreate:
    case ExprKind::kRefRead:
    case ExprKind::kRefWrite:
      return true;
    default:
      return false;
  }
}

bool is_impure(const Expr* callee) {
  const Op* op = callee->as<Op>();
  return op != nullptr && operator_acts != nullptr && operator_acts(op->op());
}

bool mentions_effects(const Expr* root) {
  bool found = false;
  visit_each(root, [&](const Expr* expr) {
    found = is_reference_node(expr) || is_impure(expr);
    return !found;
  });
  return found;
}

}  // namespace

bool (*operator_acts)(const Operator* op) = nullptr;

Effects::Effects(const Module& module) { analyse(&module, nullptr); }
Effects::Effects(const Expr* root) { analyse(nullptr, root); }
Effects::Effects(const Module& module, const Expr* root) { analyse(&module, root); }

const Function* Effects::find_function(const Expr* callee) const {
  switch (callee->kind()) {
    case ExprKind::kFunction:
      return static_cast<const Function*>(callee);
    case ExprKind::kGlobalVar: {
      auto entry = globals_.find(static_cast<const GlobalVar*>(callee)->name());
      return entry == globals_.end() ? nullptr : entry->second;
    }
    case ExprKind::kVar: {
      auto entry = lets_.find(static_cast<const Var*>(callee));
      return entry == lets_.end() ? nullptr : entry->second;
    }
    default:
      return nullptr;
  }
}

bool Effects::pure_callee(const Expr* callee) const {
  if (!any_ || callee->is<Constructor>()) return true;
  if (callee->is<Op>()) return !is_impure(callee);
  const Function* function = find_function(callee);
  return function != nullptr && impure_.count(function) == 0;
}

bool Effects::acts(const Expr* expr) const {
  if (!any_) return false;
  if (const Call* call = expr->as<Call>()) return !pure_callee(call->callee().get());
  return is_reference_node(expr);
}

void Effects::analyse(const Module* module, const Expr* root) {
  std::vector<const Expr*> roots;
  if (module != nullptr) {
    for (const auto& entry : module->functions()) roots.push_back(entry.function.get());
  }
  if (root != nullptr) roots.push_back(root);
  for (const Expr* start : roots) {
    if (mentions_effects(start)) {
      any_ = true;
      break;
    }
  }
  if (!any_) return;

  if (module != nullptr) {
    for (const auto& entry : module->functions()) globals_[entry.name] = entry.function.get();
  }
  std::vector<const Function*> functions;
  {
    std::unordered_set<const Expr*> seen;
    for (const Expr* start : roots) {
      post_order(start, [&](const Expr* expr) {
        if (const Function* function = expr->as<Function>()) {
          if (seen.insert(function).second) functions.push_back(function);
        } else if (const Let* let = expr->as<Let>()) {
          if (const Function* value = let->value()->as<Function>()) lets_[let->var().get()] = value;
        }
      });
    }
  }

  // Every function is innocent until it acts itself or calls one that does.
  std::unordered_map<const Function*, std::vector<const Function*>> callers;
  std::vector<const Function*> work;
  for (const Function* function : functions) {
    bool acts = false;
    std::vector<const Expr*> stack{function->body().get()};
    std::unordered_set<const Expr*> seen;
    while (!stack.empty()) {
      const Expr* expr = stack.back();
      stack.pop_back();
      if (!expr->has_one_owner() && !seen.insert(expr).second) continue;
      if (is_reference_node(expr)) acts = true;
      if (const Call* call = expr->as<Call>()) {
        const Expr* callee = call->callee().get();
        if (const Function* target = find_function(callee)) {
          callers[target].push_back(function);
        } else if (!callee->is<Constructor>() && (!callee->is<Op>() || is_impure(callee))) {
          acts = true;
        }
      }
      if (expr->is<Function>()) continue;
      for (const ExprRef& operand : expr->operands()) stack.push_back(operand.get());
    }
    if (acts && impure_.insert(function).second) work.push_back(function);
  }
  while (!work.empty()) {
    const Function* function = work.back();
    work.pop_back();
    for (const Function* caller : callers[function]) {
      if (impure_.insert(caller).second) work.push_back(caller);
    }
  }
}

std::unordered_set<const Expr*> Effects::effectful_nodes(const Expr* root) const {
  std::unordered_set<const Expr*> result;
  if (!any_) return result;
  post_order(root, [&](const Expr* expr) {
    bool effectful = acts(expr);
    if (!effectful && !expr->is<Function>()) {
      for (const ExprRef& operand : expr->operands()) {
        if (result.count(operand.get()) > 0) {
          effectful = true;
          break;
        }
      }
    }
    if (effectful) result.insert(expr);
  });
  return result;
}

}  // namespace relay
