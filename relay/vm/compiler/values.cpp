// The places of values while code is written.
#include <relay/support/error.h>
#include <relay/transform/literals.h>
#include <relay/vm/compiler/function_compiler.h>

namespace relay::vm {

Known FunctionCompiler::constant(const Expr* expr) {
  std::optional<NDArray> array = constant_array(expr);
  if (!array) {
    // A literal without a dtype from its context has that of T8.
    const LiteralValue& value = static_cast<const Literal*>(expr)->value();
    double number = value.is_float ? value.number : static_cast<double>(value.magnitude);
    array = value.is_float ? NDArray::scalar(kFloat32, value.negative ? -number : number)
                           : NDArray::scalar_int(
                                 kInt32, static_cast<int64_t>(value.negative ? 0 - value.magnitude
                                                                             : value.magnitude));
  }
  return Known::constant(program_.constant(Value(*array)));
}

Known FunctionCompiler::node_value(uint32_t node) {
  const Expr* expr = regions_.expr(node);
  if (expr->is<Constant>() || expr->is<Literal>()) return constant(expr);
  if (expr->is<relay::Function>() && scopes_.captures(node).empty()) {
    auto number = function_numbers_.find(node);
    RELAY_CHECK(number != function_numbers_.end(), "a function is used before its step");
    return Known::in_register(code_->emit_value(Op::kGlobal, number->second));
  }
  auto found = unit_->nodes.find(node);
  RELAY_CHECK(found != unit_->nodes.end(), "a node is used before its step");
  return found->second;
}

Known FunctionCompiler::var_value(const Var* var) {
  auto found = unit_->vars.find(var);
  if (found != unit_->vars.end()) return found->second;
  uint32_t function = scopes_.bound_function_node(var);
  if (function == unit_->node) return Known::in_register(code_->emit_value(Op::kSelf));
  if (function != Regions::kNone && scopes_.captures(function).empty()) {
    auto number = function_numbers_.find(function);
    if (number != function_numbers_.end())
      return Known::in_register(code_->emit_value(Op::kGlobal, number->second));
  }
  throw Error("%" + var->name().str() + " has no value here", var->span());
}

Known FunctionCompiler::value_of(const Expr* expr, uint32_t node) {
  while (const auto* let = expr->as<Let>()) {
    node = regions_.operand(node, 1);
    expr = let->body().get();
  }
  if (node != Regions::kNone) return node_value(node);
  if (const auto* var = expr->as<Var>()) return var_value(var);
  if (const auto* global = expr->as<GlobalVar>()) {
    uint32_t function = program_.global(global->name(), expr->span());
    return Known::in_register(code_->emit_value(Op::kGlobal, function));
  }
  // Operators and constructors as values have become functions before.
  RELAY_UNREACHABLE("an atom of unknown kind");
}

Known FunctionCompiler::operand(uint32_t node, size_t i) {
  return value_of(regions_.expr(node)->operands()[i].get(), regions_.operand(node, i));
}

std::vector<uint32_t> FunctionCompiler::operand_registers(uint32_t node, size_t from) {
  std::vector<uint32_t> registers;
  for (size_t i = from; i < regions_.expr(node)->operands().size(); ++i)
    registers.push_back(operand_register(node, i));
  return registers;
}

// Tuples nest no deeper than types.
uint32_t FunctionCompiler::to_register(const Known& known) {
  switch (known.kind) {
    case Known::Kind::kRegister:
      if (is_postponed(known.index)) run_graph();
      return known.index;
    case Known::Kind::kConstant:
      return code_->emit_value(Op::kConst, known.index);
    case Known::Kind::kTensor: {
      if (unit_->tensors[known.index].reg == kNone) run_graph();
      uint32_t reg = unit_->tensors[known.index].reg;
      RELAY_CHECK(reg != kNone, "a result that its graph does not give");
      return reg;
    }
    case Known::Kind::kTuple: {
      std::vector<uint32_t> fields;
      for (const Known& field : *known.fields) fields.push_back(to_register(field));
      uint32_t dst = code_->fresh();
      code_->emit(Op::kTuple, fields).dst = dst;
      return dst;
    }
    case Known::Kind::kNone:
      break;
  }
  RELAY_UNREACHABLE("a value that is nowhere");
}

}  // namespace relay::vm
