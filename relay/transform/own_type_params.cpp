#include <relay/transform/own_type_params.h>

#include <algorithm>
#include <map>
#include <vector>

#include <relay/ir/rewrite.h>

namespace relay {

FunctionRef with_own_type_params(const FunctionRef& function) {
  std::vector<TypeVarRef> outer;
  auto use = [&](const TypeRef& type) {
    if (!type) return;
    for (const TypeVarRef& var : free_type_vars(type)) {
      if (std::find(outer.begin(), outer.end(), var) == outer.end()) outer.push_back(var);
    }
  };
  for (const VarRef& param : function->params()) use(TypeRef(param->annotation()));
  use(TypeRef(function->ret_type()));
  if (outer.empty()) return function;
  std::map<const TypeVar*, TypeVarRef> own;
  std::vector<TypeVarRef> params;
  for (const TypeVarRef& var : outer) {
    params.push_back(TypeVar::make(var->name(), var->var_kind()));
    own[var.get()] = params.back();
  }
  auto renamed = [&](const TypeRef& type) {
    if (!type) return type;
    return substitute(type, [&](const TypeVar* var) -> TypeRef {
      auto found = own.find(var);
      if (found == own.end()) return {};
      if (var->var_kind() == Kind::kShapeVar)
        return DimType::make(Dim::symbol(found->second.get()));
      return found->second;
    });
  };
  FunctionRef copy(copy_with_fresh_vars(function, renamed)->as<Function>());
  return make_function({copy->params().begin(), copy->params().end()}, ExprRef(copy->body()),
                       TypeRef(copy->ret_type()), std::move(params), {}, copy->attrs(),
                       copy->span());
}

}  // namespace relay
