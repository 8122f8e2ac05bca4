#include <relay/eval/plan.h>

namespace relay::eval {

FunctionRef function_around(const Expr* callable) {
  size_t arity = callable->is<Op>() ? static_cast<const Op*>(callable)->op()->num_inputs()
                                    : static_cast<const Constructor*>(callable)->inputs().size();
  std::vector<VarRef> params;
  std::vector<ExprRef> args;
  for (size_t i = 0; i < arity; ++i) {
    params.push_back(make_var("x" + std::to_string(i)));
    args.push_back(params.back());
  }
  return make_function(params, make_call(ExprRef(callable), args));
}

Value literal_value(const Literal& literal) {
  const LiteralValue& value = literal.value();
  DType dtype = value.is_float ? kFloat32 : kInt32;
  if (literal.type() != nullptr) {
    const auto* tensor = literal.type()->as<TensorType>();
    if (tensor != nullptr && tensor->has_dtype()) dtype = tensor->dtype();
  }
  double sign = value.negative ? -1 : 1;
  if (value.is_float) return Value::scalar_of(dtype, sign * value.number);
  if (dtype.is_float()) {
    return Value::scalar_of(dtype, sign * static_cast<double>(value.magnitude));
  }
  auto bits = value.negative ? uint64_t{0} - value.magnitude : value.magnitude;
  return Value::scalar_of(dtype, static_cast<int64_t>(bits));
}

void mark_last_uses(Plan& plan) {
  std::vector<bool> seen(plan.num_slots, false);
  for (size_t i = plan.code.size(); i-- > 0;) {
    Instruction& instruction = plan.code[i];
    if (instruction.code == Code::kClosure) {
      for (uint32_t slot : plan.plans[instruction.a]->captures) seen[slot] = true;
    }
    bool reads_again = instruction.code == Code::kMatch || instruction.code == Code::kNoMatch;
    for (uint32_t k = instruction.num_args; k-- > 0;) {
      Argument& argument = plan.args[instruction.first_arg + k];
      argument.last = !seen[argument.slot] && !reads_again;
      seen[argument.slot] = true;
    }
  }
}

}  // namespace relay::eval
