#include <relay/program/cost.h>

#include <vector>

#include <relay/support/error.h>

namespace relay {

std::optional<Cost> call_cost(const Expr* expr) {
  const auto* call = expr->as<Call>();
  const auto* callee = call == nullptr ? nullptr : call->callee()->as<Op>();
  if (callee == nullptr || call->type() == nullptr) return std::nullopt;
  const Operator* op = callee->op();
  std::vector<TypeRef> types;
  for (const ExprRef& arg : call->args()) {
    if (arg->type() == nullptr) return std::nullopt;
    types.emplace_back(arg->type());
  }
  AttrsRef attrs = call->attrs();
  try {
    if (!attrs && op->attrs_schema() != nullptr) attrs = Attrs::make(*op->attrs_schema(), {}, {});
    return cost_of(OpCall(op, attrs, types, TypeRef(call->type())));
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace relay
