#include <relay/infer/specialize/instance_types.h>

#include <algorithm>

#include <relay/infer/specialize/local_instances.h>
#include <relay/infer/type_walk.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/support/error.h>

namespace relay::inference {

namespace {

std::function<TypeRef(const TypeVar*)> replacer(const Substitution& types) {
  return [&types](const TypeVar* var) -> TypeRef {
    for (const auto& [param, type] : types) {
      if (param == var) return type;
    }
    return {};
  };
}

// ---- Names of dimensions -----------------------------------------------------------------------

/// Calls back for the dimensions of tensors, and tuples of them.
void for_each_extent(const TypeRef& type, const std::function<void(Dim)>& visit) {
  if (const auto* tuple = type->as<TupleType>()) {
    for (const TypeRef& field : tuple->fields()) for_each_extent(field, visit);
  } else if (const auto* tensor = type->as<TensorType>()) {
    for_each_extent(tensor->shape(), visit);
  } else {
    for_each_dim(type.get(), visit);
  }
}

bool occurs_in_params(const FuncType* scheme, const TypeVar* var) {
  return std::any_of(scheme->params().begin(), scheme->params().end(), [&](const TypeRef& param) {
    auto vars = free_type_vars(param);
    return std::any_of(vars.begin(), vars.end(),
                       [&](const TypeVarRef& other) { return other.get() == var; });
  });
}

/// The names that arguments of these types tell: alone, or as the only unknown of a linear term.
/// Those in `told` are known before.
TypeVarSet told_names(const Substitution& types, const FuncType* scheme, TypeVarSet told) {
  std::vector<Dim> open;
  for (const auto& [var, type] : types) {
    if (!type->has_symbolic_dim() || !occurs_in_params(scheme, var.get())) continue;
    for_each_extent(type, [&](Dim dim) {
      if (dim.has_symbol()) open.push_back(dim);
    });
  }
  for (bool grown = true; grown;) {
    grown = false;
    for (Dim dim : open) {
      const TypeVar* unknown = dim.as_symbol();
      if (unknown == nullptr && dim.term().op == DimOp::kLinear) {
        size_t count = 0;
        for (const DimTerm::Part& part : dim.term().parts) {
          bool known = true;
          for_each_atom(part.atom, [&](Dim atom) { known &= told.count(atom.as_symbol()) != 0; });
          if (known) continue;
          unknown = part.atom.as_symbol();
          count += unknown == nullptr ? 2 : 1;
        }
        if (count != 1) unknown = nullptr;
      }
      grown |= unknown != nullptr && told.insert(unknown).second;
    }
  }
  return told;
}

TypeRef map_dims(const TypeRef& type, const std::function<Dim(Dim)>& dim) {
  const std::function<TypeRef(const TypeRef&)> leaf = [](const TypeRef& t) { return t; };
  return type->has_symbolic_dim() ? map_type(type, leaf, dim) : type;
}

}  // namespace

TypeVarSet declared_dims(const Expr* root) {
  TypeVarSet found;
  post_order(root, [&](const Expr* expr) {
    const auto* function = expr->as<Function>();
    if (function == nullptr) return;
    for (const TypeVarRef& var : function->type_params()) {
      if (var->kind() == Kind::kShapeVar) found.insert(var.get());
    }
  });
  return found;
}

TypeVarSet captured_dims(const Function* function) {
  const TypeVarSet own = declared_dims(function);
  TypeVarSet found;
  auto add = [&](const TypeRef& type) {
    if (!type || !type->has_symbolic_dim()) return;
    for (const TypeVarRef& var : free_type_vars(type)) {
      if (var->kind() == Kind::kShapeVar && !own.contains(var.get())) found.insert(var.get());
    }
  };
  for (const VarRef& var : free_vars(function)) add(TypeRef(var->type()));
  post_order(function, [&](const Expr* expr) {
    if (const auto* inner = expr->as<Function>()) {
      for (const VarRef& param : inner->params()) add(param->annotation());
      add(inner->ret_type());
    } else if (const auto* let = expr->as<Let>()) {
      add(let->var()->annotation());
    }
  });
  return found;
}

Substitution without_untold_names(Substitution types, const FuncType* scheme,
                                  const TypeVarSet& captured) {
  TypeVarSet told = told_names(types, scheme, captured);
  for (auto& [var, type] : types) {
    type = map_dims(type, [&](Dim dim) {
      bool known = true;
      for_each_atom(dim, [&](Dim atom) {
        known &= atom.as_symbol() != nullptr && told.count(atom.as_symbol()) != 0;
      });
      return known ? dim : Dim::any();
    });
  }
  return types;
}

Substitution InstanceNames::settle(Substitution types, const Function* function,
                                   const FuncType* scheme, const TypeVarSet& declared,
                                   const TypeVarSet& captured) {
  const auto& own = function->type_params();
  std::erase_if(types, [&](const auto& entry) {
    const auto* extent = entry.second->template as<DimType>();
    return extent != nullptr && !extent->dim().is_int() &&
           std::find(own.begin(), own.end(), entry.first) != own.end();
  });
  bool any = std::any_of(types.begin(), types.end(),
                         [](const auto& entry) { return entry.second->has_symbolic_dim(); });
  if (!any) return types;
  for (auto& [var, type] : types) {
    type = map_dims(type, [&](Dim dim) {
      bool known = true;
      for_each_atom(dim, [&](Dim atom) {
        known &= atom.as_symbol() != nullptr && declared.count(atom.as_symbol()) != 0;
      });
      return known ? dim : Dim::any();
    });
  }
  types = without_untold_names(std::move(types), scheme, captured);
  // The caller's names, in the order in which they come.
  std::vector<const TypeVar*> order;
  auto name_of = [&](const TypeVar* symbol) -> TypeVarRef {
    auto at = std::find(order.begin(), order.end(), symbol);
    auto index = static_cast<size_t>(at - order.begin());
    if (at == order.end()) order.push_back(symbol);
    if (index == names_.size()) {
      auto taken = [&](Name name) {
        auto has = [&](const TypeVarRef& var) { return var->name() == name; };
        return std::any_of(names_.begin(), names_.end(), has) ||
               std::any_of(scheme->type_params().begin(), scheme->type_params().end(), has) ||
               std::any_of(own.begin(), own.end(), has);
      };
      Name name = symbol->name();
      for (size_t i = 1; taken(name); ++i) name = Name(symbol->name().str() + std::to_string(i));
      names_.push_back(TypeVar::make(name, Kind::kShapeVar, true));
    }
    return names_[index];
  };
  for (auto& [var, type] : types) {
    type = map_dims(type, [&](Dim dim) {
      return substitute(dim, [&](Dim atom) {
        return captured.contains(atom.as_symbol()) ? atom
                                                   : Dim::symbol(name_of(atom.as_symbol()).get());
      });
    });
  }
  return types;
}

// ---- Instances ----------------------------------------------------------------------------------

ExprRef fresh_copy(const ExprRef& expr, const std::function<TypeRef(const TypeRef&)>& types) {
  return copy_nodes(expr, types);
}

Substitution match_scheme(const FuncType* scheme, const TypeRef& instance,
                          const TypeVarSet& which) {
  Solver solver;
  std::unordered_map<const TypeVar*, TypeRef> fresh;
  for (const TypeVarRef& var : scheme->type_params())
    fresh.emplace(var.get(), solver.fresh(var->kind()));
  TypeRef body =
      FuncType::make({scheme->params().begin(), scheme->params().end()}, scheme->result());
  TypeRef pattern = substitute(body, [&](const TypeVar* var) -> TypeRef {
    auto found = fresh.find(var);
    return found == fresh.end() ? TypeRef() : found->second;
  });
  Substitution types;
  if (!solver.unify(pattern, instance)) return types;
  solver.settle_any();
  for (const TypeVarRef& var : scheme->type_params()) {
    if (which.count(var.get()) == 0) continue;
    TypeRef known = solver.zonk(fresh[var.get()]);
    if (!known->has_incomplete()) types.emplace_back(var, known);
  }
  return types;
}

FunctionRef instantiate_function(const Function* function, const FuncType* scheme,
                                 const Substitution& types, bool annotate_result,
                                 const TypeVarSet& captured) {
  auto replace = replacer(types);
  std::function<TypeRef(const TypeRef&)> map = [&](const TypeRef& type) {
    return substitute(type, replace);
  };
  std::unordered_map<const Var*, ExprRef> renamed;
  std::vector<VarRef> params;
  for (size_t i = 0; i < function->params().size(); ++i) {
    const VarRef& param = function->params()[i];
    VarRef var = make_var(param->name(), map(scheme->params()[i]), param->span());
    renamed.emplace(param.get(), var);
    params.push_back(std::move(var));
  }
  TypeRef result = function->ret_type();
  if (annotate_result) result = scheme->result();
  if (result) result = map(result);
  // Parameters that stay open are declared, so that annotations may mention them.
  std::vector<TypeVarRef> type_params;
  for (const TypeVarRef& var : scheme->type_params()) {
    bool put = std::any_of(types.begin(), types.end(),
                           [&](const auto& entry) { return entry.first == var; });
    if (put) continue;
    auto mentions = [&](const TypeRef& type) {
      auto vars = free_type_vars(type);
      return std::find(vars.begin(), vars.end(), var) != vars.end();
    };
    bool used = result && mentions(result);
    for (const VarRef& param : params) used = used || mentions(param->annotation());
    bool declared = std::find(function->type_params().begin(), function->type_params().end(),
                              var) != function->type_params().end();
    if (used || declared) type_params.push_back(var);
  }
  for (const auto& [var, type] : types) {
    for (const TypeVarRef& name : free_type_vars(type)) {
      if (name->kind() != Kind::kShapeVar || captured.contains(name.get())) continue;
      if (std::find(type_params.begin(), type_params.end(), name) == type_params.end())
        type_params.push_back(name);
    }
  }
  std::vector<RelationTypeRef> constraints;
  for (const RelationTypeRef& relation : function->constraints()) {
    TypeRef mapped = map(TypeRef(relation));
    constraints.emplace_back(mapped->as<RelationType>());
  }
  FunctionRef annotated = make_function(
      std::move(params), relay::substitute(function->body(), renamed), result,
      std::move(type_params), std::move(constraints), function->attrs(), function->span());
  ExprRef copy = fresh_copy(annotated, map);
  return FunctionRef(copy->as<Function>());
}

std::vector<Diagnostic> negative_dims(const Function* function, const std::string& name,
                                      const Substitution& types) {
  std::vector<Diagnostic> errors;
  bool names_dims = std::any_of(
      types.begin(), types.end(),
      [](const Substitution::value_type& entry) { return entry.second->is<DimType>(); });
  if (!names_dims) return errors;
  auto value_of = [&](Dim atom) {
    const TypeVar* symbol = atom.as_symbol();
    auto found = std::find_if(types.begin(), types.end(),
                              [&](const auto& entry) { return entry.first.get() == symbol; });
    if (symbol == nullptr || found == types.end() || !found->second->is<DimType>()) return atom;
    return found->second->as<DimType>()->dim();
  };
  auto check = [&](const TypeRef& type, const std::string& what, Span span) {
    if (!type || !type->has_symbolic_dim()) return;
    for_each_extent(type, [&](Dim dim) {
      if (!dim.is_term() || !errors.empty()) return;
      Dim value;
      try {
        value = substitute(dim, value_of);
      } catch (const Error&) {
        return;  // told where the types meet
      }
      if (!value.is_int() || value.as_int() >= 0) return;
      std::string where;
      for_each_atom(dim, [&](Dim atom) {
        std::string text = atom.str() + " = " + value_of(atom).str();
        if (where.find(text) == std::string::npos) where += (where.empty() ? "" : ", ") + text;
      });
      errors.push_back(
          Diagnostic::error(what + ": expected " + type->str() + " where " + where, span)
              .of_rule("T14")
              .note(dim.str() + " is " + value.str() + ": no dimension is below 0"));
    });
  };
  post_order(function, [&](const Expr* expr) {
    if (const auto* inner = expr->as<Function>()) {
      const Expr* made = inner->body().get();
      while (const auto* let = made->as<Let>()) made = let->body().get();
      std::string of = inner == function ? name : "the function";
      check(inner->ret_type(), "the result of " + of,
            made->span().known() ? made->span() : inner->span());
    } else if (const auto* let = expr->as<Let>()) {
      check(let->var()->annotation(), "the value of %" + let->var()->name().str(), let->span());
    }
  });
  return errors;
}

}  // namespace relay::inference
