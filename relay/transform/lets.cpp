#include <relay/transform/lets.h>

#include <relay/ir/rewrite.h>

namespace relay {

PointerSet<Let> dead_lets(const View& view, const NodeEffects* effects) {
  PointerSet<Let> result;
  auto runs_anyway = [&](uint32_t id) {
    const bool acts = effects != nullptr && effects->effectful(view.operands(id)[0]);
    return acts || may_refuse(static_cast<const Let*>(view.expr(id)));
  };
  for (uint32_t id : unneeded_lets(view, runs_anyway))
    result.insert(static_cast<const Let*>(view.expr(id)));
  return result;
}

FunctionRef without_dead_lets(const FunctionRef& function) {
  return without_lets(function, dead_lets(View(function), nullptr));
}

namespace {

bool has_scheme(const Type* type) {
  if (type == nullptr) return false;
  if (const auto* function = type->as<FuncType>()) return function->is_scheme();
  if (const auto* tuple = type->as<TupleType>()) {
    for (const TypeRef& field : tuple->fields()) {
      if (has_scheme(field.get())) return true;
    }
  }
  return false;
}

}  // namespace

bool is_polymorphic(const Var* var) { return has_scheme(var->type()); }

namespace {

// True if values of a type may not be of another one that inference found consistent: an extent is
// stated that the type leaves open.
bool may_differ(const Type* stated, const Type* found) {
  if (stated == found || stated->is<IncompleteType>()) return false;
  if (stated->tag() != found->tag()) return true;
  auto any = [](std::span<const TypeRef> a, std::span<const TypeRef> b) {
    for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
      if (may_differ(a[i].get(), b[i].get())) return true;
    }
    return a.size() != b.size();
  };
  switch (stated->tag()) {
    case TypeTag::kTensor:
      return may_differ(stated->as<TensorType>()->shape().get(),
                        found->as<TensorType>()->shape().get());
    case TypeTag::kShape: {
      auto a = stated->as<ShapeType>()->dims();
      auto b = found->as<ShapeType>()->dims();
      for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
        if (!a[i].is_any() && !(a[i] == b[i])) return true;
      }
      return a.size() != b.size();
    }
    case TypeTag::kTuple:
      return any(stated->as<TupleType>()->fields(), found->as<TupleType>()->fields());
    case TypeTag::kCall:
      return any(stated->as<TypeCall>()->args(), found->as<TypeCall>()->args());
    default:
      return true;
  }
}

}  // namespace

bool may_refuse(const Let* let) {
  const Var* var = let->var().get();
  const Type* found = let->value()->type();
  return var->annotation() && var->type() != nullptr && found != nullptr && !is_polymorphic(var) &&
         may_differ(var->type(), found);
}

bool keeps_type(const Let* let) {
  return !let->var()->annotation() || let->var()->type() == let->value()->type();
}

namespace {

class LetRemover final : public Rewriter {
 public:
  LetRemover(const PointerSet<Let>& removed) : removed_(removed) {}

 private:
  ExprRef enter(const Expr* expr) override {
    const auto* var = expr->as<Var>();
    if (var == nullptr) return {};
    const ExprRef* value = values_.find(var);
    return value == nullptr ? ExprRef() : *value;
  }
  void before(const Expr* expr, uint32_t operand, std::span<const ExprRef> done) override {
    const auto* let = expr->as<Let>();
    if (let != nullptr && operand == 1 && removed_.contains(let))
      values_[let->var().get()] = done[0];
  }
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    const auto* let = expr->as<Let>();
    return let != nullptr && removed_.contains(let) ? operands[1] : rebuild(expr, operands);
  }
  const PointerSet<Let>& removed_;
  PointerMap<Var, ExprRef> values_;
};

}  // namespace

FunctionRef without_lets(const FunctionRef& function, const PointerSet<Let>& removed) {
  if (removed.empty()) return function;
  return FunctionRef(LetRemover(removed).run(function)->as<Function>());
}

}  // namespace relay
