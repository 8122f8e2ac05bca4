// Declared shapes that inference could not decide (T15), compared while the program runs: at the
// same places as in relay/eval.
#include <relay/vm/compiler/checks.h>
#include <relay/vm/compiler/function_compiler.h>

namespace relay::vm {

// Compares values; `value_of` has those that are no parameters'.
void FunctionCompiler::write_check(const ShapeComparison& parts,
                                   const std::function<Known(const DeclaredShape&)>& value_of) {
  if (parts.empty()) return;
  CheckBuilder builder(program_.positions(), program_.module(), program_.flows());
  std::vector<Known> values;
  for (const DeclaredShape& part : parts) {
    if (part.param == nullptr) {
      values.push_back(value_of(part));
    } else {
      auto known = unit_->vars.find(part.param);
      if (known == unit_->vars.end()) continue;  // of a function around, and not captured
      values.push_back(known->second);
    }
    builder.add(part);
  }
  std::vector<uint32_t> registers;
  for (const Known& value : values) registers.push_back(to_register(value));
  run_graph();
  code_->set_position(program_.position(parts.back().span));
  auto number = static_cast<uint32_t>(program_.executable().checks.size());
  program_.executable().checks.push_back(builder.finish());
  code_->emit(Op::kCheckShapes, registers).a = number;
}

void FunctionCompiler::check_value(const TypeRef& type, const Known& value, std::string what,
                                   Span span) {
  write_check(compare_value(program_.flows(), unit_->scope, type, std::move(what), span),
              [&](const DeclaredShape&) { return value; });
}

bool FunctionCompiler::may_differ(const Expr* value, const TypeRef& type) {
  return program_.open_shapes() && program_.flows().differ(value->type(), type.get());
}

void FunctionCompiler::check_unknown(const Expr* expr, uint32_t node, const char* what) {
  if (!program_.open_shapes() || !program_.flows().is_open(expr->type())) return;
  check_value(TypeRef(expr->type()), node_value(node), what, expr->span());
}

void FunctionCompiler::check_arguments(uint32_t node, const Call* call) {
  if (!program_.open_shapes()) return;
  write_check(compare_arguments(program_.flows(), unit_->scope, call),
              [&](const DeclaredShape& part) { return operand(node, part.operand); });
}

void FunctionCompiler::check_parameters() {
  if (!program_.open_shapes()) return;
  write_check(compare_parameters(program_.flows(), unit_->scope, global_),
              [](const DeclaredShape&) { return Known(); });
}

bool FunctionCompiler::result_may_differ(const Expr* value) {
  return may_differ(value, unit_->scope.function->ret_type());
}

void FunctionCompiler::check_result(const Expr* value, const Known& known) {
  if (!result_may_differ(value)) return;
  const relay::Function* function = unit_->scope.function;
  check_value(function->ret_type(), known, "the result of " + unit_->scope.name,
              value_span(value, function));
}

}  // namespace relay::vm
