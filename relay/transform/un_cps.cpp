// Back from continuation-passing style.
#include <algorithm>
#include <unordered_map>
#include <vector>

#include <relay/ir/type_fields.h>
#include <relay/support/error.h>
#include <relay/transform/cps.h>

namespace relay {

bool is_cps(const Function& function) {
  if (function.params().empty()) return false;
  const auto* type = function.type() == nullptr ? nullptr : function.type()->as<FuncType>();
  const TypeRef& declared = function.params().back()->annotation();
  const bool typed = type != nullptr && type->params().size() == function.params().size();
  const Type* last = declared ? declared.get() : typed ? type->params().back().get() : nullptr;
  const Type* result = function.ret_type() ? function.ret_type().get()
                       : typed             ? type->result().get()
                                           : nullptr;
  const auto* continuation = last == nullptr ? nullptr : last->as<FuncType>();
  if (continuation == nullptr || continuation->params().size() != 1 || result == nullptr ||
      !result->is<TypeVar>() || continuation->result().get() != result)
    return false;
  auto is_result = [&](const TypeVarRef& param) { return param.get() == result; };
  return std::any_of(function.type_params().begin(), function.type_params().end(), is_result) ||
         (typed && std::any_of(type->type_params().begin(), type->type_params().end(), is_result));
}

bool gives_cps(const Function& function) {
  const auto* type = function.type() == nullptr ? nullptr : function.type()->as<FuncType>();
  const TypeRef& declared = function.params().back()->annotation();
  const Type* last = declared          ? declared.get()
                     : type != nullptr ? type->params().back().get()
                                       : nullptr;
  const auto* continuation = last == nullptr ? nullptr : last->as<FuncType>();
  const auto* answer = continuation == nullptr ? nullptr : continuation->result()->as<TypeVar>();
  if (answer == nullptr) return false;
  for (const TypeVarRef& var : free_type_vars(continuation->params()[0])) {
    if (var.get() == answer) return true;
  }
  return false;
}

FunctionRef un_cps(const Function& function, const ExprRef& callee) {
  if (!is_cps(function)) {
    throw Error(
        Diagnostic::error("the function is not in continuation-passing style", function.span())
            .help("its last parameter must take the result, and both must give a type "
                  "parameter of the function: fn<a>(…, %k: fn (T) -> a) -> a"));
  }
  if (gives_cps(function)) {
    throw Error(
        Diagnostic::error("the function returns functions in continuation-passing style, so it "
                          "cannot leave this style",
                          function.span())
            .help("PartialEvaluate or Defunctionalization before ToCPS leave no functions as "
                  "results"));
  }
  const TypeVar* answer = function.ret_type() ? function.ret_type()->as<TypeVar>() : nullptr;
  const TypeRef& last = function.params().back()->annotation();
  const auto* continuation = last ? last->as<FuncType>() : nullptr;
  std::vector<TypeVarRef> type_params;
  std::unordered_map<const TypeVar*, TypeVarRef> own;
  for (const TypeVarRef& param : function.type_params()) {
    if (param.get() == answer) continue;
    type_params.push_back(TypeVar::make(param->name(), param->kind(), param->implicit()));
    own[param.get()] = type_params.back();
  }
  TypeRef result;
  auto renamed = [&](const TypeRef& type) {
    return type ? substitute(type,
                             [&](const TypeVar* var) -> TypeRef {
                               if (var == answer) return result;
                               auto found = own.find(var);
                               return found == own.end() ? TypeRef() : TypeRef(found->second);
                             })
                : type;
  };
  if (continuation != nullptr && answer != nullptr) result = renamed(continuation->params()[0]);
  std::vector<VarRef> params;
  std::vector<ExprRef> args;
  for (size_t i = 0; i + 1 < function.params().size(); ++i) {
    const Var& param = *function.params()[i];
    params.push_back(make_var(param.name(), renamed(param.annotation()), param.span()));
    args.push_back(params.back());
  }
  VarRef value = make_var("value", result);
  args.push_back(make_function({value}, value, result));
  return make_function(std::move(params), make_call(callee, args), result, std::move(type_params),
                       {}, function.attrs(), function.span());
}

}  // namespace relay
