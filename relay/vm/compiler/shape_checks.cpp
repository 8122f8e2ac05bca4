// Declared shapes that inference could not decide (T15), compared while the program runs: at the
// same places as in relay/eval.
#include <relay/infer/runtime/type_checks.h>
#include <relay/vm/compiler/function_compiler.h>

namespace relay::vm {

// Compares values; `value_of` gives those that are not parameters.
void FunctionCompiler::write_check(const ShapeComparison& parts,
                                   const std::function<Known(const DeclaredShape&)>& value_of) {
  if (parts.empty()) return;
  CheckBuilder builder(program_.module(), program_.flows());
  std::vector<Known> values;
  for (const DeclaredShape& part : parts.parts) {
    if (part.param == nullptr) {
      values.push_back(value_of(part));
    } else {
      auto known = unit_->vars.find(part.param);
      if (known == unit_->vars.end()) continue;  // of a function around, and not captured
      values.push_back(known->second);
    }
    builder.add(part, program_.positions().add(part.span));
  }
  std::vector<uint32_t> registers;
  for (const Known& value : values) registers.push_back(to_register(value));
  run_graph();
  code_->set_position(program_.position(parts.parts.back().span));
  auto number = static_cast<uint32_t>(program_.executable().checks.size());
  TypeCheck check = builder.finish();
  check.closed = parts.closed;
  program_.executable().checks.push_back(std::move(check));
  code_->emit(Op::kCheckShapes, registers).a = number;
}

void FunctionCompiler::write_check(const ShapeComparison& parts, const Known& value) {
  write_check(parts, [&](const DeclaredShape&) { return value; });
}

// True if `check_let` reads the value.
bool FunctionCompiler::is_checked(const Let* let) {
  return program_.open_shapes() &&
         program_.flows().differ(let->value()->type(), let->var()->annotation().get());
}

void FunctionCompiler::check_let(const Let* let, const Known& value) {
  if (program_.open_shapes()) write_check(compare_let(program_.flows(), unit_->scope, let), value);
}

void FunctionCompiler::check_matched(const Var* var) {
  write_check(compare_value(program_.flows(), unit_->scope, var->annotation(),
                            "%" + var->name().str(), var->span()),
              unit_->vars[var]);
}

void FunctionCompiler::check_written(uint32_t node, const RefWrite* write) {
  if (!program_.open_shapes()) return;
  write_check(compare_written(program_.flows(), unit_->scope, write),
              [&](const DeclaredShape&) { return operand(node, 1); });
}

void FunctionCompiler::check_open(const Expr* expr, uint32_t node, const char* what) {
  if (!program_.open_shapes()) return;
  write_check(compare_open(program_.flows(), unit_->scope, expr, what),
              [&](const DeclaredShape&) { return node_value(node); });
}

void FunctionCompiler::check_arguments(uint32_t node, const Call* call) {
  if (!program_.open_shapes()) return;
  write_check(compare_arguments(program_.flows(), unit_->scope, call),
              [&](const DeclaredShape& part) { return operand(node, part.operand); });
}

void FunctionCompiler::check_parameters() {
  if (!program_.open_shapes()) return;
  write_check(compare_parameters(program_.flows(), unit_->scope, global_), Known());
}

void FunctionCompiler::check_result(const Expr* value, const Known& known) {
  if (!program_.open_shapes()) return;
  write_check(compare_result(program_.flows(), unit_->scope, value), known);
}

bool FunctionCompiler::result_may_differ(const Expr* value) {
  return program_.open_shapes() &&
         program_.flows().differ(value->type(), unit_->scope.function->ret_type().get());
}

}  // namespace relay::vm
