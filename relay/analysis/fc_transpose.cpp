#include <relay/analysis/fc_transpose.h>

#include <algorithm>
#include <set>

#include <relay/op/nn/nn_attrs.h>
#include <relay/op/op.h>
#include <relay/op/shape/shape_attrs.h>
#include <relay/program/view.h>

namespace relay {
namespace {

template <class T>
const T* attrs_of(const Expr* expr) {
  const auto* call = expr->as<Call>();
  const auto* op = call == nullptr ? nullptr : call->callee()->as<Op>();
  if (op == nullptr || op->op()->attrs_schema() != &attrs_schema<T>()) return nullptr;
  static const T defaults{};
  return call->attrs() ? &call->attrs()->as<T>() : &defaults;
}

// True if a node turns a matrix around.
bool turns_matrix(const Expr* expr) {
  const auto* attrs = attrs_of<TransposeAttrs>(expr);
  if (attrs == nullptr) return false;
  if (attrs->axes) {
    std::vector<int64_t> axes(attrs->axes->begin(), attrs->axes->end());
    for (int64_t& axis : axes) axis += axis < 0 ? 2 : 0;
    return axes == std::vector<int64_t>{1, 0};
  }
  const Type* type = expr->type();
  const auto* tensor = type == nullptr ? nullptr : type->as<TensorType>();
  return tensor != nullptr && tensor->has_rank() && tensor->dims().size() == 2;
}

// True if all uses of a node are as the weight of a product whose weight has rows for columns.
bool only_weight(const View& view, uint32_t id) {
  auto users = view.users()[id];
  return !users.empty() && std::all_of(users.begin(), users.end(), [&](Users::Use use) {
    return use.operand == 2 && attrs_of<DenseAttrs>(view.expr(use.user)) != nullptr;
  });
}

}  // namespace

std::vector<TransposedWeight> transposed_weights(const FunctionRef& function) {
  View view(function);
  std::vector<TransposedWeight> result;
  for (const VarRef& param : function->params()) {
    const auto* type = param->type() == nullptr ? nullptr : param->type()->as<TensorType>();
    if (type == nullptr || !type->has_rank() || type->dims().size() != 2 || !type->has_dtype())
      continue;
    TransposedWeight weight{param.get(), {}};
    for (Users::Use use : view.users()[view.id(param.get())]) {
      const Expr* user = view.expr(use.user);
      if (!turns_matrix(user) || !only_weight(view, use.user)) {
        weight.transposes.clear();
        break;
      }
      weight.transposes.push_back(user);
    }
    if (!weight.transposes.empty()) result.push_back(std::move(weight));
  }
  return result;
}

std::vector<std::string> search_fc_transpose(const Expr* root) {
  View view{ExprRef(root)};
  std::set<std::string> names;
  for (uint32_t id = 0; id < view.size(); ++id) {
    if (!turns_matrix(view.expr(id))) continue;
    const auto* var = view.expr(view.operands(id)[1])->as<Var>();
    if (var == nullptr) continue;
    for (Users::Use use : view.users()[id]) {
      if (use.operand == 2 && attrs_of<DenseAttrs>(view.expr(use.user)) != nullptr)
        names.insert(var->name().str());
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace relay
