// Declared shapes that inference could not decide (T15), compared while the program runs: at the
// same places as in relay/eval.
#include <algorithm>

#include <relay/print/print.h>
#include <relay/vm/compiler/function_compiler.h>

namespace relay::vm {

struct FunctionCompiler::Check {
  struct Part {
    TypeRef type;
    std::string what;
    Span span;
    bool inside = false;  // also of tensors in data values and references
  };
  std::vector<Part> parts;
  std::vector<Known> values;
  std::vector<const Var*> vars;  // whose values those are, or null
  void add(Part part, Known value, const Var* var = nullptr) {
    parts.push_back(std::move(part));
    values.push_back(std::move(value));
    vars.push_back(var);
  }
};

Span FunctionCompiler::span_of(const Expr* value, const Expr* user) {
  while (const auto* let = value->as<Let>()) value = let->body().get();
  return value->is<Var>() || !value->span().known() ? user->span() : value->span();
}

void FunctionCompiler::write_check(const Check& check) {
  if (check.parts.empty()) return;
  CheckBuilder builder(program_.positions(), program_.module(), program_.flows());
  std::vector<uint32_t> registers;
  for (size_t i = 0; i < check.parts.size(); ++i) {
    const Check::Part& part = check.parts[i];
    builder.add(part.type, part.what, part.span, part.inside);
    registers.push_back(to_register(check.values[i]));
  }
  run_graph();
  code_->set_position(program_.position(check.parts.back().span));
  auto number = static_cast<uint32_t>(program_.executable().checks.size());
  program_.executable().checks.push_back(builder.finish());
  code_->emit(Op::kCheckShapes, registers).a = number;
}

// The parameters that say what the dimension names of a type are, here and in the functions around.
void FunctionCompiler::add_names(const TypeRef& type, Unit* from, Check& check) {
  if (!type->has_symbolic_dim()) return;
  for (Unit* at = from; at != nullptr; at = at->parent) {
    for (const Var* param : program_.flows().naming(function_of(at), type)) {
      const TypeRef& declared = param->annotation();
      if (std::find(check.vars.begin(), check.vars.end(), param) != check.vars.end()) continue;
      if (unit_->vars.count(param) == 0) continue;  // of a function around, and not captured
      check.add({declared, "%" + param->name().str() + " of " + at->name, param->span(),
                 !program_.flows().has_shapes(declared.get(), false)},
                unit_->vars[param], param);
    }
  }
}

void FunctionCompiler::check_value(const TypeRef& type, const Known& value, std::string what,
                                   Span span) {
  Check check;
  add_names(type, unit_, check);
  check.add({type, std::move(what), span, looks_inside(type)}, value);
  write_check(check);
}

bool FunctionCompiler::looks_inside(const TypeRef& type) {
  return !type->is<TensorType>() && program_.flows().has_shapes(type.get(), true);
}

bool FunctionCompiler::may_differ(const Expr* value, const TypeRef& type) {
  if (!program_.open_shapes() || !type || value->type() == nullptr) return false;
  Flow flow = program_.flows().compare(value->type(), type.get());
  return flow.tensors || flow.inside;
}

void FunctionCompiler::check_unknown(const Expr* expr, uint32_t node, const char* what) {
  const Type* type = expr->type();
  if (!program_.open_shapes() || type == nullptr || !program_.flows().has_shapes(type, true) ||
      !program_.flows().mixes()) {
    return;
  }
  check_value(TypeRef(type), node_value(node), what, expr->span());
}

void FunctionCompiler::check_arguments(uint32_t node, const Call* call) {
  if (!program_.open_shapes()) return;
  std::vector<Flows::Argument> arguments = program_.flows().arguments(call);
  if (arguments.empty()) return;
  const Expr* callee = call->callee().get();
  std::string name = callee->is<GlobalVar>() || callee->is<Constructor>() || callee->is<Var>()
                         ? " of " + print_short(callee)
                         : " of the function";
  Check check;
  for (const auto& [operand, type] : arguments) add_names(type, unit_, check);
  for (const auto& [index, type] : arguments) {
    check.add({type, "argument " + std::to_string(index) + name,
               span_of(call->operands()[index].get(), call), looks_inside(type)},
              operand(node, index));
  }
  write_check(check);
}

// Parameters have the shapes that they are declared with.
void FunctionCompiler::check_parameters() {
  if (!program_.open_shapes()) return;
  const relay::Function* function = function_of(unit_);
  Check check, own;
  for (const VarRef& param : function->params()) {
    TypeRef type = param->annotation();
    bool unknown = false;
    if (const Type* known = type ? type.get() : param->type();
        known != nullptr && program_.flows().has_shapes(known, true)) {
      unknown =
          unit_->parent != nullptr ? program_.flows().mixes() : program_.flows().is_value(global_);
      type = TypeRef(known);
    }
    if (!type || (!param->annotation() && !unknown)) continue;
    if (!unknown && !program_.flows().has_shapes(type.get(), false)) continue;
    if (unit_->parent != nullptr) {  // names of the functions around it
      const auto& mine = function->type_params();
      for (const TypeVarRef& name : free_type_vars(type)) {
        if (name->kind() != Kind::kShapeVar ||
            std::find(mine.begin(), mine.end(), name) != mine.end()) {
          continue;
        }
        add_names(type, unit_->parent, check);
        break;
      }
    }
    own.add({type, "%" + param->name().str() + " of " + unit_->name, param->span(),
             unknown && !type->is<TensorType>()},
            unit_->vars[param.get()], param.get());
  }
  for (size_t i = 0; i < own.parts.size(); ++i) check.add(own.parts[i], own.values[i], own.vars[i]);
  write_check(check);
}

bool FunctionCompiler::result_may_differ(const Expr* value) {
  return may_differ(value, function_of(unit_)->ret_type());
}

void FunctionCompiler::check_result(const Expr* value, const Known& known) {
  if (!result_may_differ(value)) return;
  check_value(function_of(unit_)->ret_type(), known, "the result of " + unit_->name,
              span_of(value, function_of(unit_)));
}

}  // namespace relay::vm
