// Questions that rules ask about calls.
#include <cmath>
#include <vector>

#include <relay/op/op.h>
#include <relay/op/registry/simplify.h>

namespace relay {
std::optional<OpCall> tensor_call(const Expr* expr) {
  auto is_tensor = [](const Type* type) {
    const auto* tensor = type == nullptr ? nullptr : type->as<TensorType>();
    return tensor != nullptr && tensor->has_rank() && tensor->has_dtype();
  };
  const auto* call = expr->as<Call>();
  const auto* node = call == nullptr ? nullptr : call->callee()->as<Op>();
  if (node == nullptr || call->args().size() != node->op()->num_inputs()) return std::nullopt;
  if (!is_tensor(call->type())) return std::nullopt;
  std::vector<TypeRef> inputs;
  for (const ExprRef& arg : call->args()) {
    if (!is_tensor(arg->type())) return std::nullopt;
    inputs.emplace_back(arg->type());
  }
  return OpCall(node->op(), call->attrs(), std::move(inputs), TypeRef(call->type()));
}

std::optional<OpCall> tensor_call(const Expr* expr, std::string_view op) {
  const auto* call = expr->as<Call>();
  const auto* node = call == nullptr ? nullptr : call->callee()->as<Op>();
  if (node == nullptr || node->op()->name().view() != op) return std::nullopt;
  return tensor_call(expr);
}

namespace {

enum class UniformForm : uint8_t { kNot, kConstant, kZeros, kOnes, kFull };

// How the node says that all elements are one number, if it does.
UniformForm uniform_form(const Expr* expr) {
  static const Operator *const zeros = get_op("zeros"), *const zeros_like = get_op("zeros_like"),
                               *const ones = get_op("ones"), *const ones_like = get_op("ones_like"),
                               *const full = get_op("full");
  if (expr->is<Constant>()) return UniformForm::kConstant;
  const auto* call = expr->as<Call>();
  const auto* node = call == nullptr ? nullptr : call->callee()->as<Op>();
  if (node == nullptr) return UniformForm::kNot;
  const Operator* op = node->op();
  if (op == zeros || op == zeros_like) return UniformForm::kZeros;
  if (op == ones || op == ones_like) return UniformForm::kOnes;
  return op == full ? UniformForm::kFull : UniformForm::kNot;
}

}  // namespace

bool may_have_value_of_all(const Expr* expr) { return uniform_form(expr) != UniformForm::kNot; }

std::optional<double> value_of_all(const Expr* expr) {
  const UniformForm kind = uniform_form(expr);
  if (kind == UniformForm::kNot || (kind != UniformForm::kConstant && !tensor_call(expr)))
    return std::nullopt;
  NDArray data;
  if (kind == UniformForm::kConstant) {
    data = static_cast<const Constant*>(expr)->data();
  } else if (kind == UniformForm::kZeros) {
    return 0;
  } else if (kind == UniformForm::kOnes) {
    return 1;
  } else {
    const auto* value = static_cast<const Call*>(expr)->args()[0]->as<Constant>();
    if (value == nullptr || value->type() == nullptr) return std::nullopt;
    // The tensor's dtype may be another.
    if (value->data().dtype() != expr->type()->as<TensorType>()->dtype()) return std::nullopt;
    data = value->data();
  }
  constexpr int64_t kMost = 4096;  // elements that are worth a look
  if (data.size() == 0 || (data.size() > kMost && !data.is_uniform())) return std::nullopt;
  double first = data.element_as_double(0);
  for (int64_t i = 1; i < data.size() && !data.is_uniform(); ++i) {
    double value = data.element_as_double(i);
    if (value != first || std::signbit(value) != std::signbit(first)) return std::nullopt;
  }
  return first;
}

}  // namespace relay
