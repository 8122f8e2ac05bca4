#include <relay/infer/specialize/matters.h>

#include <algorithm>
#include <deque>
#include <vector>

#include <relay/ir/visit.h>

namespace relay::inference {

const FuncType* scheme_type(const Expr* expr) {
  if (expr->type() == nullptr || !expr->type()->has_binder()) return nullptr;
  const auto* func = expr->type()->as<FuncType>();
  return func != nullptr && func->is_scheme() ? func : nullptr;
}

Matters::Matters(const Module& module) {
  std::vector<const Module::FunctionEntry*> polymorphic;
  for (const auto& entry : module.functions()) {
    if (scheme_type(entry.function.get()) == nullptr) continue;
    polymorphic.push_back(&entry);
    globals_.emplace(entry.name, TypeVarSet());
  }
  // Upwards from nothing: the dependences of a function only grow with those of its callees.
  std::unordered_map<Name, std::vector<const Module::FunctionEntry*>> users;
  for (const auto* entry : polymorphic) {
    post_order(entry->function.get(), [&](const Expr* expr) {
      const auto* global = expr->as<GlobalVar>();
      if (global == nullptr || globals_.count(global->name()) == 0) return;
      auto& list = users[global->name()];
      if (list.empty() || list.back() != entry) list.push_back(entry);
    });
  }
  std::deque<const Module::FunctionEntry*> todo(polymorphic.begin(), polymorphic.end());
  std::unordered_set<Name> waiting;
  for (const auto* entry : polymorphic) waiting.insert(entry->name);
  while (!todo.empty()) {
    const auto* entry = todo.front();
    todo.pop_front();
    waiting.erase(entry->name);
    TypeVarSet found = of(entry->function.get(), scheme_type(entry->function.get()));
    TypeVarSet& known = globals_[entry->name];
    if (found.size() == known.size()) continue;
    known = std::move(found);
    for (const auto* user : users[entry->name]) {
      if (waiting.insert(user->name).second) todo.push_back(user);
    }
  }
}

const TypeVarSet& Matters::of(const Name& function) const {
  static const TypeVarSet none;
  auto found = globals_.find(function);
  return found == globals_.end() ? none : found->second;
}

bool Matters::depends(const Expr* callee) const {
  if (callee->is<Op>()) return true;
  if (const auto* global = callee->as<GlobalVar>()) return !of(global->name()).empty();
  return callee->is<Var>() && callee->type() != nullptr && callee->type()->has_type_var() &&
         scheme_type(callee) != nullptr;
}

TypeVarSet Matters::of(const Expr* function, const FuncType* scheme) const {
  TypeVarSet params;
  for (const TypeVarRef& var : scheme->type_params()) params.insert(var.get());
  TypeVarSet found;
  auto add = [&](const Type* type) {
    if (type == nullptr || (!type->has_type_var() && !type->has_symbolic_dim())) return;
    for (const TypeVarRef& var : free_type_vars(TypeRef(type))) {
      if (params.count(var.get()) != 0) found.insert(var.get());
    }
  };
  post_order(function, [&](const Expr* expr) {
    if (expr->is<Literal>()) return add(expr->type());
    auto operands = expr->operands();
    bool call = expr->is<Call>();
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!depends(operands[i].get())) continue;
      if (call && i == 0) {
        for (const ExprRef& arg : operands.subspan(1)) add(arg->type());
        add(expr->type());
      } else {
        found = params;  // used as a value: at what types is not visible here
      }
    }
  });
  for (const RelationTypeRef& relation : scheme->constraints()) add(relation.get());
  return found;
}

bool Matters::has_polymorphic_uses(const Expr* root) const {
  bool found = false;
  post_order(root, [&](const Expr* expr) {
    if (const auto* global = expr->as<GlobalVar>()) {
      found |= !of(global->name()).empty();
    } else if (const auto* let = expr->as<Let>()) {
      found |= may_have_instances(let);
    }
  });
  return found;
}

bool may_have_instances(const Let* let) {
  const Type* type = let->var()->type();
  if (type == nullptr || (!type->has_type_var() && !type->has_symbolic_dim())) return false;
  const Expr* value = let->value().get();
  if (value->is<Tuple>()) {
    return std::all_of(value->operands().begin(), value->operands().end(),
                       [](const ExprRef& field) {
                         return field->is<Var>() || field->is<GlobalVar>() || field->is<Op>() ||
                                field->is<Constructor>() || field->is<Function>();
                       });
  }
  bool named = value->is<Function>() || value->is<Var>() || value->is<GlobalVar>() ||
               value->is<Op>() || value->is<Constructor>();
  return named && scheme_type(let->var().get()) != nullptr;
}

}  // namespace relay::inference
