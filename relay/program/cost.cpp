#include <relay/program/cost.h>

#include <algorithm>
#include <vector>

#include <relay/support/error.h>

namespace relay {

bool has_known_tensors(const Type* type) {
  if (type == nullptr) return false;
  if (const auto* tuple = type->as<TupleType>()) {
    return std::all_of(tuple->fields().begin(), tuple->fields().end(),
                       [](const TypeRef& field) { return has_known_tensors(field.get()); });
  }
  const auto* tensor = type->as<TensorType>();
  return tensor != nullptr && tensor->has_rank() && tensor->has_dtype();
}

std::optional<OpCall> typed_call(const Expr* expr) {
  const auto* call = expr->as<Call>();
  const auto* callee = call == nullptr ? nullptr : call->callee()->as<Op>();
  if (callee == nullptr || !has_known_tensors(call->type())) return std::nullopt;
  if (call->args().size() != callee->op()->num_inputs()) return std::nullopt;
  std::vector<TypeRef> types;
  for (const ExprRef& arg : call->args()) {
    if (!has_known_tensors(arg->type())) return std::nullopt;
    types.emplace_back(arg->type());
  }
  return OpCall(callee->op(), call->attrs(), std::move(types), TypeRef(call->type()));
}

std::optional<Cost> call_cost(const Expr* expr) {
  try {
    std::optional<OpCall> call = typed_call(expr);
    return call ? std::optional(cost_of(*call)) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace relay
