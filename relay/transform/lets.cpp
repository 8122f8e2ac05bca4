#include <relay/transform/lets.h>

#include <relay/ir/regions.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>

namespace relay {

Lets::Lets(const Function* function) {
  size_t time = 0;
  post_order(function, [&](const Expr* expr) {
    ++time;
    if (const auto* let = expr->as<Let>()) lets_.push_back(let);
    if (expr->is<Function>()) function_done_[expr] = time;
    for (const ExprRef& operand : expr->operands()) {
      const auto* var = operand->as<Var>();
      if (var == nullptr) continue;
      Use& use = uses_[var];
      if (use.count++ == 0) use.first = time;
    }
  });
}

bool Lets::recursive(const Let* let) const {
  const Use* use = uses_.find(let->var().get());
  const size_t* value = function_done_.find(let->value().get());
  // Used before the value is complete.
  return use != nullptr && value != nullptr && use->first <= *value;
}

namespace {

// Marks needed nodes, from the root: the value of a let only once its variable is met, unless it
// has an effect.
class LetLiveness {
 public:
  LetLiveness(const Function* root, const std::unordered_set<const Expr*>& effectful) {
    push(root);
    while (!stack_.empty()) {
      const Expr* expr = stack_.back();
      stack_.pop_back();
      if (const auto* var = expr->as<Var>()) {
        const Let** entry = waiting_.find(var);
        if (entry == nullptr) continue;
        const Expr* value = (*entry)->value().get();
        waiting_.erase(var);
        push(value);
        continue;
      }
      literals_ |= expr->is<Literal>();
      const auto* let = expr->as<Let>();
      if (let == nullptr) {
        for (const ExprRef& operand : expr->operands()) push(operand.get());
        continue;
      }
      const bool acts = !effectful.empty() && effectful.count(let->value().get()) != 0;
      if (acts || may_refuse(let)) {
        push(let->value().get());
      } else {
        waiting_[let->var().get()] = let;
        waited_.push_back(let);
      }
      push(let->body().get());
    }
  }

  /// The lets of live code that are not needed. (Those inside of dead values go with them.)
  PointerSet<Let> dead() const {
    PointerSet<Let> result;
    if (waiting_.empty()) return result;
    for (const Let* let : waited_) {
      if (waiting_.contains(let->var().get())) result.insert(let);
    }
    return result;
  }
  /// True if live code has literals of open type; dead code may decide their types.
  bool literals() const { return literals_; }

 private:
  void push(const Expr* expr) {
    if (expr->is<Op>() || expr->is<Constructor>()) return;
    bool again = !expr->is<Var>() && !expr->has_one_owner() && !seen_.insert(expr);
    if (!again) stack_.push_back(expr);
  }

  std::vector<const Expr*> stack_;
  PointerSet<Expr> seen_;
  PointerMap<Var, const Let*> waiting_;
  std::vector<const Let*> waited_;
  bool literals_ = false;
};

}  // namespace

PointerSet<Let> dead_lets(const Function* function,
                          const std::unordered_set<const Expr*>& effectful) {
  LetLiveness liveness(function, effectful);
  return liveness.literals() ? PointerSet<Let>() : liveness.dead();
}

namespace {

// The function body (or the whole expression) that each region belongs to.
std::vector<uint32_t> function_regions(const Regions& regions) {
  std::vector<uint32_t> result(regions.num_regions());
  for (uint32_t id = 0; id < regions.num_regions(); ++id) {
    const Regions::Region& region = regions.region(id);
    bool own = region.owner == Regions::kNone || regions.expr(region.owner)->is<Function>();
    result[id] = own ? id : result[region.parent];
  }
  return result;
}

}  // namespace

PointerSet<Var> used_in_closures_only(const Function* function) {
  Regions regions(function);
  std::vector<uint32_t> function_of = function_regions(regions);
  PointerMap<Var, uint32_t> bound_in;  // let variable → function body
  std::vector<const Var*> bound;
  PointerSet<Var> used_outside;
  for (uint32_t id = 0; id < regions.num_nodes(); ++id) {
    if (const auto* let = regions.expr(id)->as<Let>()) {
      bound.push_back(let->var().get());
      bound_in[bound.back()] = function_of[regions.home(id)];
    }
  }
  for (uint32_t id = 0; id < regions.num_nodes(); ++id) {
    const Expr* expr = regions.expr(id);
    for (size_t i = 0; i < expr->operands().size(); ++i) {
      const auto* var = expr->operands()[i]->as<Var>();
      const uint32_t* body = var == nullptr ? nullptr : bound_in.find(var);
      if (body == nullptr) continue;
      uint32_t inner = regions.region_of(id, i);
      uint32_t place = inner == Regions::kNone ? regions.home(id) : inner;
      if (function_of[place] == *body) used_outside.insert(var);
    }
  }
  PointerSet<Var> result;
  for (const Var* var : bound) {
    if (!used_outside.contains(var)) result.insert(var);
  }
  return result;
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
