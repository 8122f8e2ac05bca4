#include <relay/pattern/written.h>

#include <algorithm>
#include <cmath>

#include <relay/eval/eval.h>
#include <relay/ir/tensor_types.h>
#include <relay/op/op.h>

namespace relay::pattern {

namespace {

constexpr int kMostCalls = 64;

const Operator* op_of(const Expr* expr) {
  const auto* call = expr->as<Call>();
  const auto* node = call == nullptr ? nullptr : call->callee()->as<Op>();
  return node == nullptr ? nullptr : node->op();
}

// True if numbers that stood apart may become one: none is lost to the range of floats.
bool keeps_range(const NDArray& result, const std::vector<Value>& arguments) {
  if (!result.dtype().is_float()) return true;
  auto least = [](const NDArray& array) {
    double found = INFINITY;
    int64_t count = array.is_uniform() ? 1 : array.size();
    for (int64_t i = 0; i < count; ++i) {
      double value = std::abs(array.element_as_double(i));
      found = std::isnan(value) || std::isinf(value) ? -1 : std::min(found, value);
      if (found < 0) break;
    }
    return found;
  };
  double smallest = least(result);
  if (smallest < 0) return false;
  bool zero_before = false;
  for (const Value& argument : arguments) zero_before |= least(argument.array()) == 0;
  double normal = result.dtype() == kFloat16 ? 0x1p-14 : 0x1p-126;
  return smallest >= normal || zero_before;
}

}  // namespace

ExprRef WrittenTypes::typed(const ExprRef& expr) { return make(expr, true); }

// Recurses over what a rule writes, which is as deep as its template.
ExprRef WrittenTypes::make(const ExprRef& expr, bool root) {
  if (expr->type() != nullptr) return expr;
  for (const auto& [old, result] : known_) {
    if (old == expr.get()) return result;
  }
  ExprRef result;
  if (const auto* constant = expr->as<Constant>()) {
    result = make_constant(constant->data(), span_);
    result->publish_type(type_of_array(constant->data()));
  } else if (op_of(expr.get()) != nullptr) {
    result = make_call_of(*expr->as<Call>(), root);
  } else if (const auto* tuple = expr->as<Tuple>()) {
    std::vector<ExprRef> fields;
    std::vector<TypeRef> types;
    for (const ExprRef& field : tuple->fields()) {
      fields.push_back(make(field, false));
      if (!fields.back()) return {};
      types.emplace_back(fields.back()->type());
    }
    result = make_tuple(fields, span_);
    result->set_type(TupleType::make(std::move(types)));
  } else if (const auto* item = expr->as<TupleGetItem>()) {
    ExprRef inner = make(item->tuple(), false);
    const auto* type = inner ? inner->type()->as<TupleType>() : nullptr;
    if (type == nullptr || item->index() >= type->fields().size()) return {};
    result = make_projection(inner, item->index(), span_);
    result->set_type(type->fields()[item->index()]);
  }
  if (!result) return result;
  known_.emplace_back(expr.get(), result);
  nodes_.push_back(result);
  return result;
}

ExprRef WrittenTypes::make_call_of(const Call& call, bool root) {
  const Operator* op = op_of(&call);
  if (++calls_ > kMostCalls) return {};
  std::vector<ExprRef> args;
  std::vector<TypeRef> types;
  bool constants = !call.args().empty();
  for (const ExprRef& arg : call.args()) {
    args.push_back(make(arg, false));
    if (!args.back()) return {};
    types.emplace_back(args.back()->type());
    constants &= args.back()->is<Constant>();
  }
  if (fold_ && constants && !root) {
    --calls_;
    return folded(call, args);
  }
  ExprRef result = make_call(call.callee(), args, call.attrs(), call.type_args(), span_);
  TypeRef type = infer_call_type(op, types, OpCall(op, call.attrs(), types, {}).attrs_ref(),
                                 nullptr, [&](size_t i) -> std::optional<NDArray> {
                                   const auto* constant = args[i]->as<Constant>();
                                   if (constant == nullptr) return std::nullopt;
                                   return constant->data();
                                 });
  if (!type) return {};
  result->set_type(std::move(type));
  return result;
}

// Constants as one, if that is no larger than they are.
ExprRef WrittenTypes::folded(const Call& call, const std::vector<ExprRef>& args) const {
  std::vector<Value> values;
  int64_t most = 0;
  for (const ExprRef& arg : args) {
    const NDArray& data = arg->as<Constant>()->data();
    values.emplace_back(data);
    most = std::max(most, data.size());
  }
  Value value = apply_op(op_of(&call), call.attrs(), values, call.span());
  if (!value.is_tensor() || value.array().size() > most) return {};
  if (!keeps_range(value.array(), values)) return {};
  ExprRef constant = make_constant(value.array(), span_);
  constant->set_type(type_of_array(value.array()));
  return constant;
}

bool follows_tensor(const Expr* expr) {
  if (op_of(expr) == nullptr || is_number_type(expr->type())) return true;
  std::span<const ExprRef> args = static_cast<const Call*>(expr)->args();
  return std::any_of(args.begin(), args.end(),
                     [](const ExprRef& arg) { return !is_number_type(arg->type()); });
}

}  // namespace relay::pattern
