#include <relay/infer/runtime/flows.h>

#include <algorithm>

#include <relay/infer/solve/solver.h>
#include <relay/infer/type_walk.h>
#include <relay/ir/visit.h>

namespace relay {

using inference::Solver;
using inference::walk_type;

// The facts about the fields of a data type, and about the types in them.
const Flows::Definition& Flows::definition(const GlobalTypeVar* name) {
  auto [entry, added] = definitions_.try_emplace(name);
  if (!added) return entry->second;
  Definition found;
  std::unordered_set<const GlobalTypeVar*> seen{name};
  std::vector<const GlobalTypeVar*> todo{name};
  while (!todo.empty()) {
    const TypeData* data = module_.type_data(todo.back());
    todo.pop_back();
    if (data == nullptr) continue;
    auto visit = [&](const Type* type) {
      if (const auto* tensor = type->as<TensorType>()) {
        found.shapes |=
            tensor->has_rank() && std::any_of(tensor->dims().begin(), tensor->dims().end(),
                                              [](Dim d) { return !d.is_any(); });
      } else if (type->is<FuncType>() || type->is<RefType>()) {
        found.shared = true;
      } else if (const auto* other = type->as<GlobalTypeVar>()) {
        if (seen.insert(other).second) todo.push_back(other);
      } else if (const auto* call = type->as<TypeCall>()) {
        const auto* callee = call->callee()->as<GlobalTypeVar>();
        if (callee != nullptr && seen.insert(callee).second) todo.push_back(callee);
      }
      return true;
    };
    for (const ConstructorRef& constructor : data->constructors()) {
      for (const TypeRef& input : constructor->inputs()) walk_type(input.get(), visit);
    }
  }
  return definitions_[name] = found;
}

bool Flows::has_shapes(const Type* root, bool inside) {
  std::vector<const Type*> stack{root};
  while (!stack.empty()) {
    const Type* type = stack.back();
    stack.pop_back();
    if (type == nullptr) continue;
    if (const auto* tensor = type->as<TensorType>()) {
      if (!tensor->has_rank()) continue;
      for (Dim dim : tensor->dims()) {
        if (!dim.is_any()) return true;
      }
    } else if (const auto* tuple = type->as<TupleType>()) {
      for (const TypeRef& field : tuple->fields()) stack.push_back(field.get());
    } else if (!inside) {
      continue;
    } else if (const auto* call = type->as<TypeCall>()) {
      const auto* name = call->callee()->as<GlobalTypeVar>();
      if (name != nullptr && definition(name).shapes) return true;
      for (const TypeRef& arg : call->args()) stack.push_back(arg.get());
    } else if (const auto* name = type->as<GlobalTypeVar>()) {
      if (definition(name).shapes) return true;
    } else if (const auto* cell = type->as<RefType>()) {
      stack.push_back(cell->value().get());
    } else if (const auto* shape = type->as<ShapeType>()) {
      for (Dim dim : shape->dims()) {
        if (!dim.is_any()) return true;
      }
    }
  }
  return false;
}

void Flows::compare_dims(Dim from, Dim to, bool in_data, bool in_shared, Flow& flow) {
  if (from == to) return;
  if (in_shared) flow.shared = true;
  if (to.is_any()) return;
  (in_data ? flow.inside : flow.tensors) = true;
}

// Types nest no deeper than Type::kMaxDepth, so this may recurse.
void Flows::compare(const Type* from, const Type* to, bool in_data, bool in_shared, Flow& flow) {
  if (from == to || from->tag() != to->tag()) return;
  auto each = [&](std::span<const TypeRef> a, std::span<const TypeRef> b, bool data, bool shared) {
    for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
      compare(a[i].get(), b[i].get(), data, shared, flow);
    }
  };
  switch (from->tag()) {
    case TypeTag::kTensor:
      return compare(from->as<TensorType>()->shape().get(), to->as<TensorType>()->shape().get(),
                     in_data, in_shared, flow);
    case TypeTag::kShape: {
      auto a = from->as<ShapeType>()->dims();
      auto b = to->as<ShapeType>()->dims();
      for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
        compare_dims(a[i], b[i], in_data, in_shared, flow);
      }
      return;
    }
    case TypeTag::kDim:
      return compare_dims(from->as<DimType>()->dim(), to->as<DimType>()->dim(), in_data, in_shared,
                          flow);
    case TypeTag::kTuple:
      return each(from->as<TupleType>()->fields(), to->as<TupleType>()->fields(), in_data,
                  in_shared);
    case TypeTag::kCall: {
      const auto* name = from->as<TypeCall>()->callee()->as<GlobalTypeVar>();
      bool shared = in_shared || (name != nullptr && definition(name).shared);
      return each(from->as<TypeCall>()->args(), to->as<TypeCall>()->args(), true, shared);
    }
    case TypeTag::kRef:
      return compare(from->as<RefType>()->value().get(), to->as<RefType>()->value().get(), true,
                     true, flow);
    case TypeTag::kFunc: {
      const auto* a = from->as<FuncType>();
      const auto* b = to->as<FuncType>();
      if (a->is_scheme() || b->is_scheme()) return;
      // The inside of a function cannot be seen here: only that it is shared.
      Flow beneath;
      for (size_t i = 0; i < a->params().size() && i < b->params().size(); ++i) {
        compare(a->params()[i].get(), b->params()[i].get(), true, true, beneath);
      }
      compare(a->result().get(), b->result().get(), true, true, beneath);
      flow.shared |= beneath.shared;
      return;
    }
    default:
      return;
  }
}

Flow Flows::compare(const Type* from, const Type* to) {
  Flow flow;
  if (from != nullptr && to != nullptr) compare(from, to, false, false, flow);
  return flow;
}

// ---- Calls ------------------------------------------------------------------------------------

namespace {

bool may_say_more(const Type* type) {
  return type != nullptr && (type->has_any_dim() || type->has_symbolic_dim());
}

}  // namespace

bool is_of_tensors(const Type* type) {
  if (const auto* tensor = type->as<TensorType>()) return tensor->has_rank();
  const auto* tuple = type->as<TupleType>();
  return tuple != nullptr && std::all_of(tuple->fields().begin(), tuple->fields().end(),
                                         [](const TypeRef& f) { return is_of_tensors(f.get()); });
}

// The types of the parameters in one call. Empty if no argument can differ from its.
std::vector<TypeRef> Flows::instance(const Call* call) {
  const auto* callee =
      call->callee()->type() == nullptr ? nullptr : call->callee()->type()->as<FuncType>();
  auto args = call->args();
  if (callee == nullptr || callee->params().size() != args.size()) return {};
  bool differ = may_say_more(callee) && !callee->is_scheme();
  for (const ExprRef& arg : args) differ |= may_say_more(arg->type());
  if (!differ) return {};
  std::vector<TypeRef> params(callee->params().begin(), callee->params().end());
  if (!callee->is_scheme()) return params;
  // As inference made it: from the arguments in their order.
  Solver solver;
  std::unordered_map<const TypeVar*, TypeRef> fresh;
  for (const TypeVarRef& var : callee->type_params()) {
    fresh.emplace(var.get(), solver.fresh(var->kind()));
  }
  auto replace = [&](const TypeVar* var) -> TypeRef {
    auto found = fresh.find(var);
    return found == fresh.end() ? TypeRef() : found->second;
  };
  for (size_t i = 0; i < params.size(); ++i) {
    params[i] = substitute(params[i], replace);
    const Type* arg = args[i]->type();
    if (arg != nullptr && arg->has_symbolic_dim()) {
      for (const TypeVarRef& name : free_type_vars(TypeRef(arg))) {
        solver.declare_existential(name.get());  // fits anything for now
      }
    }
    // A parameter that does not fit here was decided by code that calls do not show.
    if (arg != nullptr && !arg->has_binder() && !solver.unify(params[i], TypeRef(arg))) return {};
  }
  for (const TypeVarRef& var : callee->type_params()) {
    if (var->kind() != Kind::kShapeVar) continue;
    Dim dim = fresh[var.get()]->as<DimType>()->dim();
    if (!dim.is_variable() || solver.dim_slot(dim.variable_id()).solved) continue;
    TypeVarRef name = TypeVar::make(var->name(), Kind::kShapeVar, true);
    solver.bind_dim(dim.variable_id(), Dim::symbol(name.get()));
  }
  for (TypeRef& param : params) param = solver.zonk(param);
  return params;
}

std::vector<Flows::Argument> Flows::arguments(const Call* call) {
  std::vector<TypeRef> types = instance(call);
  std::vector<Argument> result;
  if (types.empty()) return result;
  const Function* function = nullptr;
  bool checks_names = false;  // the function compares all that its dimension names stand for
  if (const auto* global = call->callee()->as<GlobalVar>()) {
    function = module_.function(global->name());
    if (function != nullptr && function->params().size() != types.size()) function = nullptr;
    checks_names =
        function != nullptr &&
        std::all_of(function->params().begin(), function->params().end(), [](const VarRef& param) {
          const Type* declared = param->annotation().get();
          return declared == nullptr || !declared->has_symbolic_dim() || is_of_tensors(declared);
        });
  }
  std::vector<bool> differs(types.size());
  bool any = false;
  for (size_t i = 0; i < types.size(); ++i) {
    Flow flow = compare(call->args()[i]->type(), types[i].get());
    const Type* declared =
        function == nullptr ? nullptr : function->params()[i]->annotation().get();
    bool checked = checks_names && declared != nullptr && is_of_tensors(declared);
    differs[i] = flow.inside || (flow.tensors && !checked);
    any = any || differs[i];
  }
  for (size_t i = 0; any && i < types.size(); ++i) {
    // The others tell what names stand for.
    bool names = types[i]->has_symbolic_dim() && is_of_tensors(types[i].get());
    if (differs[i] || names) result.push_back({i + 1, types[i]});
  }
  return result;
}

std::vector<const Var*> Flows::naming(const Function* function, const TypeRef& type) {
  std::vector<const Var*> result;
  std::vector<TypeVarRef> open = free_type_vars(type);
  for (bool inside : {false, true}) {
    for (const VarRef& param : function->params()) {
      const TypeRef& declared = param->annotation();
      if (!declared || !declared->has_symbolic_dim()) continue;
      if (has_shapes(declared.get(), false) == inside) continue;
      if (inside && !has_shapes(declared.get(), true)) continue;
      bool says = !inside;
      for (const TypeVarRef& name : free_type_vars(declared)) {
        says |= std::erase(open, name) != 0 && name->kind() == Kind::kShapeVar;
      }
      if (says) result.push_back(param.get());
    }
  }
  return result;
}

std::vector<const Var*> Flows::differing(const Pattern* root, const Type* whole) {
  std::vector<const Var*> result;
  std::vector<std::pair<const Pattern*, TypeRef>> stack{{root, TypeRef(whole)}};
  while (!stack.empty()) {
    auto [pattern, type] = std::move(stack.back());
    stack.pop_back();
    if (!type) continue;
    if (pattern->kind() == PatternKind::kVar) {
      const Var* var = pattern->var().get();
      if (differ(type.get(), var->annotation().get())) result.push_back(var);
      continue;
    }
    std::vector<TypeRef> fields;
    if (const auto* tuple = type->as<TupleType>()) {
      fields.assign(tuple->fields().begin(), tuple->fields().end());
    } else if (pattern->kind() == PatternKind::kConstructor) {
      const TypeData* data = module_.type_data(pattern->constructor()->type_name().get());
      const auto* call = type->as<TypeCall>();
      for (const TypeRef& input : pattern->constructor()->inputs()) {
        fields.push_back(substitute(input, [&](const TypeVar* var) -> TypeRef {
          for (size_t i = 0; data != nullptr && call != nullptr && i < call->args().size(); ++i) {
            if (data->type_vars()[i].get() == var) return call->args()[i];
          }
          return {};
        }));
      }
    }
    for (size_t i = std::min(fields.size(), pattern->fields().size()); i-- > 0;) {
      stack.emplace_back(pattern->fields()[i].get(), fields[i]);
    }
  }
  return result;
}

// ---- References and functions at two types -----------------------------------------------------

bool Flows::mixes_at(const Expr* expr) {
  auto differ = [&](const Type* from, const Type* to) { return compare(from, to).shared; };
  switch (expr->kind()) {
    case ExprKind::kCall: {
      const auto* call = static_cast<const Call*>(expr);
      if (call->callee()->is<Op>()) return false;
      std::vector<TypeRef> types = instance(call);
      for (size_t i = 0; i < types.size(); ++i) {
        if (differ(call->args()[i]->type(), types[i].get())) return true;
      }
      return false;
    }
    case ExprKind::kLet: {
      const auto* let = static_cast<const Let*>(expr);
      return differ(let->value()->type(), let->var()->type());
    }
    case ExprKind::kFunction: {
      const auto* function = static_cast<const Function*>(expr);
      return function->ret_type() && differ(function->body()->type(), function->ret_type().get());
    }
    case ExprKind::kRefWrite: {
      const auto* write = static_cast<const RefWrite*>(expr);
      const auto* cell =
          write->ref()->type() == nullptr ? nullptr : write->ref()->type()->as<RefType>();
      return cell != nullptr && differ(write->value()->type(), cell->value().get());
    }
    case ExprKind::kIf:
    case ExprKind::kMatch:
      for (const ExprRef& branch : expr->operands().subspan(1)) {
        if (differ(branch->type(), expr->type())) return true;
      }
      return false;
    default:
      return false;
  }
}

bool Flows::mixes() {
  if (mixes_) return *mixes_;
  bool found = false;
  for (const Module::FunctionEntry& entry : module_.functions()) {
    post_order(entry.function.get(), [&](const Expr* expr) {
      found = found || mixes_at(expr);
      auto operands = expr->operands();
      for (size_t i = expr->is<Call>() ? 1 : 0; i < operands.size(); ++i) {
        if (const auto* global = operands[i]->as<GlobalVar>()) values_.insert(global->name());
      }
    });
  }
  mixes_ = found;
  return found;
}

}  // namespace relay
