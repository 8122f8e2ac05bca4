#include <relay/transform/first_order.h>

#include <algorithm>
#include <vector>

#include <relay/ir/type_fields.h>
#include <relay/support/pointer_map.h>
#include <relay/transform/fusion.h>

namespace relay {

bool holds_functions(const Type& type) {
  bool found = type.is<FuncType>();
  for_each_part(type, [&](const Type* part) { found = found || holds_functions(*part); });
  return found;
}

namespace {

bool is_plain(const Type* type) {
  return type != nullptr && type->closed() && !holds_functions(*type);
}

// True if an operand is a function that is not called there.
bool is_function_value(const Expr& user, size_t operand) {
  const Expr* expr = user.operands()[operand].get();
  const bool called = operand == 0 && user.is<Call>();
  switch (expr->kind()) {
    case ExprKind::kOp:
    case ExprKind::kGlobalVar:
      return !called;
    case ExprKind::kConstructor:
      return !called && !static_cast<const Constructor*>(expr)->inputs().empty();
    case ExprKind::kFunction:
      return !called || !is_primitive(static_cast<const Function*>(expr));
    default:
      return called;
  }
}

bool is_first_order(const Function* function) {
  if (!function->type_params().empty() || function->type() == nullptr ||
      !function->type()->closed())
    return false;
  if (!std::all_of(function->params().begin(), function->params().end(),
                   [](const VarRef& param) { return is_plain(param->type()); }))
    return false;
  PointerSet<Expr> seen;
  std::vector<const Expr*> stack{function};
  while (!stack.empty()) {
    const Expr* expr = stack.back();
    stack.pop_back();
    if (!expr->has_one_owner() && !seen.insert(expr)) continue;
    const auto operands = expr->operands();
    for (size_t i = 0; i < operands.size(); ++i) {
      if (is_function_value(*expr, i)) return false;
      const bool leaf = operands[i]->operands().empty() || operands[i]->is<Function>();
      if (!leaf) stack.push_back(operands[i].get());
    }
  }
  return true;
}

}  // namespace

bool is_first_order(const Module& module) {
  for (const TypeDataRef& data : module.types()) {
    for (const ConstructorRef& constructor : data->constructors()) {
      for (const TypeRef& field : constructor->inputs()) {
        if (holds_functions(*field)) return false;
      }
    }
  }
  const auto& functions = module.functions();
  return std::all_of(functions.begin(), functions.end(), [](const Module::FunctionEntry& entry) {
    return is_primitive(entry.function.get()) || is_first_order(entry.function.get());
  });
}

}  // namespace relay
