#include <relay/analysis/variables.h>

#include <unordered_set>

#include <relay/ir/visit.h>

namespace relay {
namespace {

class VarWalker final : public Walker {
 public:
  std::vector<VarRef> vars;

 private:
  bool enter(const Expr* expr) override {
    if (const Var* var = expr->as<Var>()) add(VarRef(var));
    if (const Let* let = expr->as<Let>()) add(let->var());
    if (const Function* function = expr->as<Function>()) {
      for (const VarRef& param : function->params()) add(param);
    }
    return true;
  }
  void before(const Expr* expr, uint32_t operand) override {
    const Match* match = expr->as<Match>();
    if (match == nullptr || operand == 0) return;
    for (const VarRef& var : pattern_vars(match->patterns()[operand - 1].get())) add(var);
  }
  void add(const VarRef& var) {
    if (seen_.insert(var.get()).second) vars.push_back(var);
  }
  std::unordered_set<const Var*> seen_;
};

class TypeVarWalker final : public Walker {
 public:
  std::vector<TypeVarRef> vars;
  std::unordered_set<const TypeVar*> bound;

 private:
  bool enter(const Expr* expr) override {
    if (const Var* var = expr->as<Var>()) type(var->annotation().get());
    if (const Let* let = expr->as<Let>()) type(let->var()->annotation().get());
    if (const Call* call = expr->as<Call>()) {
      for (const TypeRef& argument : call->type_args()) type(argument.get());
    }
    if (const Function* function = expr->as<Function>()) {
      for (const TypeVarRef& param : function->type_params()) bind(param);
      for (const VarRef& param : function->params()) type(param->annotation().get());
      type(function->ret_type().get());
      for (const RelationTypeRef& relation : function->constraints()) type(relation.get());
    }
    return true;
  }
  void before(const Expr* expr, uint32_t operand) override {
    const Match* match = expr->as<Match>();
    if (match == nullptr || operand == 0) return;
    for (const VarRef& var : pattern_vars(match->patterns()[operand - 1].get())) {
      type(var->annotation().get());
    }
  }
  void bind(const TypeVarRef& var) {
    bound.insert(var.get());
    add(var);
  }
  void add(const TypeVarRef& var) {
    if (seen_.insert(var.get()).second) vars.push_back(var);
  }
  void type(const Type* type) {
    if (type == nullptr || !seen_types_.insert(type).second) return;
    if (type->has_binder()) binders(type);
    for (const TypeVarRef& var : relay::free_type_vars(TypeRef(type))) add(var);
  }
  /// Types nest at most Type::kMaxDepth deep.
  void binders(const Type* type) {
    if (type == nullptr || !type->has_binder()) return;
    if (const FuncType* function = type->as<FuncType>()) {
      for (const TypeVarRef& param : function->type_params()) bind(param);
      for (const TypeRef& param : function->params()) binders(param.get());
      binders(function->result().get());
    } else if (const TupleType* tuple = type->as<TupleType>()) {
      for (const TypeRef& field : tuple->fields()) binders(field.get());
    } else if (const TypeCall* call = type->as<TypeCall>()) {
      for (const TypeRef& argument : call->args()) binders(argument.get());
    } else if (const RefType* ref = type->as<RefType>()) {
      binders(ref->value().get());
    }
  }
  std::unordered_set<const TypeVar*> seen_;
  std::unordered_set<const Type*> seen_types_;
};

void collect_dtypes(const Type* type, std::set<std::string>& names) {
  if (type == nullptr) return;
  if (const TensorType* tensor = type->as<TensorType>()) {
    if (tensor->has_dtype()) names.emplace(tensor->dtype().name());
  } else if (const TupleType* tuple = type->as<TupleType>()) {
    for (const TypeRef& field : tuple->fields()) collect_dtypes(field.get(), names);
  } else if (const FuncType* function = type->as<FuncType>()) {
    for (const TypeRef& param : function->params()) collect_dtypes(param.get(), names);
    collect_dtypes(function->result().get(), names);
  } else if (const TypeCall* call = type->as<TypeCall>()) {
    for (const TypeRef& argument : call->args()) collect_dtypes(argument.get(), names);
  } else if (const RefType* ref = type->as<RefType>()) {
    collect_dtypes(ref->value().get(), names);
  }
}

}  // namespace

std::vector<VarRef> all_vars(const Expr* root) {
  VarWalker walker;
  walker.walk(root);
  return std::move(walker.vars);
}

std::vector<TypeVarRef> all_type_vars(const Expr* root) {
  TypeVarWalker walker;
  walker.walk(root);
  return std::move(walker.vars);
}

std::vector<TypeVarRef> bound_type_vars(const Expr* root) {
  TypeVarWalker walker;
  walker.walk(root);
  std::erase_if(walker.vars,
                [&](const TypeVarRef& var) { return walker.bound.count(var.get()) == 0; });
  return std::move(walker.vars);
}

std::vector<TypeVarRef> free_type_vars(const Expr* root) {
  TypeVarWalker walker;
  walker.walk(root);
  std::erase_if(walker.vars,
                [&](const TypeVarRef& var) { return walker.bound.count(var.get()) > 0; });
  return std::move(walker.vars);
}

std::set<std::string> all_dtypes(const Expr* root) {
  std::set<std::string> names;
  std::unordered_set<const Type*> seen;
  post_order(root, [&](const Expr* expr) {
    if (const Constant* constant = expr->as<Constant>())
      names.emplace(constant->data().dtype().name());
    if (const Type* type = expr->type(); type != nullptr && seen.insert(type).second) {
      collect_dtypes(type, names);
    }
  });
  return names;
}

}  // namespace relay
