#include <relay/transform/declared_params.h>

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include <relay/infer/infer.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/type_fields.h>

namespace relay {
namespace {

// A program that always fails may have negative extents, which cannot be written.
bool has_negative(const Type* type) {
  bool negative = false;
  for_each_dim(type, [&](Dim dim) { negative = negative || (dim.is_int() && dim.as_int() < 0); });
  for_each_part(*type, [&](const Type* part) { negative = negative || has_negative(part); });
  return negative;
}

}  // namespace

bool is_declarable(const Type* type, const Function& function) {
  if (type == nullptr || type->has_incomplete() || has_negative(type)) return false;
  for (const TypeVarRef& var : free_type_vars(TypeRef(type))) {
    const auto& own = function.type_params();
    if (std::find(own.begin(), own.end(), var) == own.end()) return false;
  }
  return true;
}

FunctionRef with_declared_params(const FunctionRef& function) {
  for (const RelationTypeRef& relation : function->constraints())
    if (relation->args().empty()) return function;  // it is of parameters that are stated
  std::vector<VarRef> params = function->params();
  std::unordered_map<const Var*, ExprRef> declared;
  for (VarRef& param : params) {
    if (param->annotation() || !is_declarable(param->type(), *function)) continue;
    VarRef fresh = make_var(param->name(), TypeRef(param->type()), param->span());
    fresh->set_type(TypeRef(param->type()));
    declared[param.get()] = fresh;
    param = fresh;
  }
  if (declared.empty()) return function;
  return with_body(function, std::move(params), substitute(function->body(), declared));
}

Module with_declared_params(const Module& module) {
  Module result = module;
  bool changed = false;
  for (const auto& entry : module.functions()) {
    FunctionRef function = with_declared_params(entry.function);
    if (function == entry.function) continue;
    result.update_function(entry.name, std::move(function));
    changed = true;
  }
  if (changed) infer_types_or_throw(result);
  return result;
}

}  // namespace relay
