#include <relay/program/lets.h>

#include <algorithm>

namespace relay {

uint32_t variable_of_let(const View& view, uint32_t let) {
  const Expr* variable = static_cast<const Let*>(view.expr(let))->var().get();
  // Numbered behind the value, unless the value mentions it or has been met before.
  const uint32_t behind = view.operands(let)[0] + 1;
  return view.expr(behind) == variable ? behind : view.id(variable);
}

const Function* bound_literal(const View& view, const Expr* expr) {
  if (!expr->is<Var>()) return nullptr;
  const uint32_t id = view.id(expr);
  const uint32_t binder = id == View::kNone ? id : view.binder(id);
  if (binder == View::kNone || view.kind(binder) != ExprKind::kLet) return nullptr;
  return static_cast<const Let*>(view.expr(binder))->value()->as<Function>();
}

const Var* name_of_literal(const View& view, const Expr* literal) {
  const auto uses = view.users()[view.id(literal)];
  for (size_t i = uses.size(); i-- > 0;) {
    if (uses[i].operand == 0 && view.kind(uses[i].user) == ExprKind::kLet)
      return static_cast<const Let*>(view.expr(uses[i].user))->var().get();
  }
  return nullptr;
}

Lets::Lets(const View& view) : view_(view), closures_(false) {
  for (uint32_t id = 0; id < view.size(); ++id) {
    if (view.kind(id) == ExprKind::kFunction) closures_ = closures_ || id + 1 < view.size();
    if (view.kind(id) != ExprKind::kLet) continue;
    lets_.push_back(
        {static_cast<const Let*>(view.expr(id)), view.operands(id)[0], variable_of_let(view, id)});
  }
}

bool Lets::used_in_closures_only(const Entry& entry) const {
  if (!closures_) return false;
  const Scopes& scopes = view_.scopes();
  const uint32_t own = scopes.function(scopes.home(entry.variable));
  const auto uses = view_.users()[entry.variable];
  return std::none_of(uses.begin(), uses.end(), [&](Users::Use use) {
    return scopes.function(scopes.place(use.user, use.operand)) == own;
  });
}

std::vector<uint32_t> unneeded_lets(const View& view,
                                    const std::function<bool(uint32_t let)>& runs_anyway) {
  std::vector<uint32_t> let_of(view.size(), View::kNone);  // of variables
  bool any = false;
  for (uint32_t id = 0; id < view.size(); ++id) {
    if (view.kind(id) != ExprKind::kLet) continue;
    any = true;
    if (!runs_anyway(id)) let_of[variable_of_let(view, id)] = id;
  }
  std::vector<uint32_t> unneeded;
  if (!any) return unneeded;
  std::vector<bool> needed(view.size());
  std::vector<uint32_t> stack;
  auto need = [&](uint32_t id) {
    if (!needed[id]) stack.push_back(id);
    needed[id] = true;
  };
  std::vector<uint32_t> waiting;  // lets whose value runs for the variable alone
  need(view.size() - 1);
  while (!stack.empty()) {
    const uint32_t id = stack.back();
    stack.pop_back();
    if (view.kind(id) == ExprKind::kLiteral) return {};
    const auto operands = view.operands(id);
    if (view.kind(id) == ExprKind::kVar) {
      if (let_of[id] != View::kNone) need(view.operands(let_of[id])[0]);
    } else if (view.kind(id) == ExprKind::kLet && let_of[variable_of_let(view, id)] == id) {
      waiting.push_back(id);
      need(operands[1]);
    } else {
      for (uint32_t operand : operands) need(operand);
    }
  }
  for (uint32_t let : waiting) {
    if (!needed[variable_of_let(view, let)]) unneeded.push_back(let);
  }
  return unneeded;
}

}  // namespace relay
