#include <relay/infer/runtime/declared_shapes.h>

#include <algorithm>

#include <relay/print/print.h>

namespace relay {
namespace {

// The parameters that determine the dimension names of a type, here and in the functions around.
void add_names(Flows& flows, const FunctionScope* from, const TypeRef& type,
               ShapeComparison& comparison) {
  if (!type->has_symbolic_dim()) return;
  for (const FunctionScope* at = from; at != nullptr; at = at->outer) {
    for (const Var* param : flows.naming(at->function, type)) {
      bool known = std::any_of(comparison.parts.begin(), comparison.parts.end(),
                               [&](const DeclaredShape& shape) { return shape.param == param; });
      if (known) continue;
      const TypeRef& declared = param->annotation();
      comparison.parts.push_back({declared, "%" + param->name().str() + " of " + at->name,
                                  param->span(), !flows.has_shapes(declared.get(), false), param});
    }
  }
}

bool looks_inside(Flows& flows, const TypeRef& type) {
  return !type->is<TensorType>() && flows.has_shapes(type.get(), true);
}

bool names_outer_dims(const TypeRef& type, const Function* function) {
  const auto& own = function->type_params();
  for (const TypeVarRef& name : free_type_vars(type)) {
    if (name->kind() == Kind::kShapeVar && std::find(own.begin(), own.end(), name) == own.end())
      return true;
  }
  return false;
}

// The place to report for a value in its user.
Span value_span(const Expr* value, const Expr* user) {
  while (const auto* let = value->as<Let>()) value = let->body().get();
  return value->is<Var>() || !value->span().known() ? user->span() : value->span();
}

}  // namespace

bool tells_names(const Function* function) {
  return std::all_of(function->params().begin(), function->params().end(), [](const VarRef& param) {
    const Type* type = param->annotation() ? param->annotation().get() : param->type();
    return type == nullptr || !type->has_symbolic_dim() || is_of_tensors(type);
  });
}

ShapeComparison compare_value(Flows& flows, const FunctionScope& scope, const TypeRef& type,
                              std::string what, Span span) {
  ShapeComparison result;
  add_names(flows, &scope, type, result);
  result.parts.push_back({type, std::move(what), span, looks_inside(flows, type)});
  return result;
}

ShapeComparison compare_let(Flows& flows, const FunctionScope& scope, const Let* let) {
  const Expr* value = let->value().get();
  const TypeRef& type = let->var()->annotation();
  if (!flows.differ(value->type(), type.get())) return {};
  return compare_value(flows, scope, type, "the value of %" + let->var()->name().str(),
                       value_span(value, let));
}

ShapeComparison compare_result(Flows& flows, const FunctionScope& scope, const Expr* value) {
  const TypeRef& type = scope.function->ret_type();
  if (!flows.differ(value->type(), type.get())) return {};
  return compare_value(flows, scope, type, "the result of " + scope.name,
                       value_span(value, scope.function));
}

ShapeComparison compare_written(Flows& flows, const FunctionScope& scope, const RefWrite* write) {
  const Expr* value = write->value().get();
  const Type* type = write->ref()->type();
  const auto* cell = type == nullptr ? nullptr : type->as<RefType>();
  if (cell == nullptr || !flows.differ(value->type(), cell->value().get())) return {};
  return compare_value(flows, scope, cell->value(), "the value written into a reference",
                       value_span(value, write));
}

ShapeComparison compare_open(Flows& flows, const FunctionScope& scope, const Expr* expr,
                             std::string what) {
  if (!flows.is_open(expr->type())) return {};
  return compare_value(flows, scope, TypeRef(expr->type()), std::move(what), expr->span());
}

ShapeComparison compare_arguments(Flows& flows, const FunctionScope& scope, const Call* call) {
  ShapeComparison result;
  std::vector<Flows::Argument> arguments = flows.arguments(call);
  if (arguments.empty()) return result;
  const Expr* callee = call->callee().get();
  std::string name = callee->is<GlobalVar>() || callee->is<Constructor>() || callee->is<Var>()
                         ? " of " + print_short(callee)
                         : " of the function";
  for (const auto& [operand, type] : arguments) add_names(flows, &scope, type, result);
  for (const auto& [operand, type] : arguments) {
    result.parts.push_back({type, "argument " + std::to_string(operand) + name,
                            value_span(call->operands()[operand].get(), call),
                            looks_inside(flows, type), nullptr, operand});
  }
  return result;
}

ShapeComparison compare_parameters(Flows& flows, const FunctionScope& scope, Name global) {
  ShapeComparison result;
  std::vector<DeclaredShape> own;
  for (const VarRef& param : scope.function->params()) {
    TypeRef type = param->annotation();
    bool unknown = false;
    if (const Type* known = type ? type.get() : param->type();
        known != nullptr && flows.has_shapes(known, true)) {
      unknown = scope.outer != nullptr ? flows.mixes() : flows.is_value(global);
      type = TypeRef(known);
    }
    if (!type || (!param->annotation() && !unknown)) continue;
    if (!unknown && !flows.has_shapes(type.get(), false)) continue;
    if (scope.outer != nullptr && names_outer_dims(type, scope.function)) {
      add_names(flows, scope.outer, type, result);
    }
    own.push_back({type, "%" + param->name().str() + " of " + scope.name, param->span(),
                   unknown && !type->is<TensorType>(), param.get()});
  }
  result.parts.insert(result.parts.end(), own.begin(), own.end());
  result.closed = scope.outer == nullptr && tells_names(scope.function);
  return result;
}

}  // namespace relay
