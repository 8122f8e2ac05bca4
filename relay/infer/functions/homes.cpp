#include <relay/infer/functions/homes.h>

#include <vector>

#include <relay/ir/visit.h>

namespace relay::inference {

bool generalisable(const Expr* value) {
  switch (value->kind()) {
    case ExprKind::kFunction:
    case ExprKind::kVar:
    case ExprKind::kGlobalVar:
    case ExprKind::kOp:
    case ExprKind::kConstructor:
      return true;
    case ExprKind::kTuple:
      // Tuples in it would be looked into without end; they are rare enough to be left out.
      for (const ExprRef& field : value->operands()) {
        if (field->is<Tuple>() || !generalisable(field.get())) return false;
      }
      return !value->operands().empty();
    default:
      return false;
  }
}

Homes::Homes(const Expr* root) {
  std::vector<const Expr*> nodes;
  post_order(root, [&](const Expr* expr) {
    if (!expr->operands().empty() || expr->is<Literal>()) nodes.push_back(expr);
  });
  struct Scope {
    uint32_t parent;
    uint32_t depth;
  };
  std::vector<Scope> scopes{{0, 0}};
  constexpr uint32_t kNone = UINT32_MAX;
  PointerMap<Expr, uint32_t> home;
  auto common = [&](uint32_t a, uint32_t b) {
    while (a != b) {
      if (scopes[a].depth < scopes[b].depth) std::swap(a, b);
      a = scopes[a].parent;
    }
    return a;
  };
  PointerSet<Expr> bound;
  home[root] = 0;
  // Users before their operands.
  for (size_t n = nodes.size(); n-- > 0;) {
    const Expr* expr = nodes[n];
    const uint32_t* known = home.find(expr);
    uint32_t here = known == nullptr ? 0 : *known;
    if (!expr->has_one_owner()) depths_[expr] = scopes[here].depth;
    uint32_t inner = kNone;
    if (const auto* let = expr->as<Let>()) {
      if (let->value()->is<Function>() ||
          (let->value()->is<Tuple>() && generalisable(let->value().get()))) {
        inner = static_cast<uint32_t>(scopes.size());
        scopes.push_back({here, scopes[here].depth + 1});
        bound.insert(let->value().get());
      }
    } else if (const auto* function = expr->as<Function>()) {
      // One that a let binds has entered its scope there.
      if (!function->type_params().empty() && expr != root && !bound.contains(expr)) {
        inner = static_cast<uint32_t>(scopes.size());
        scopes.push_back({here, scopes[here].depth + 1});
      }
    }
    for (size_t i = 0; i < expr->operands().size(); ++i) {
      const Expr* operand = expr->operands()[i].get();
      if (operand->operands().empty() && !operand->is<Literal>()) continue;
      uint32_t scope = i == 0 && inner != kNone ? inner : here;
      auto [place, added] = home.insert(operand);
      *place = added ? scope : common(*place, scope);
    }
  }
}

}  // namespace relay::inference
