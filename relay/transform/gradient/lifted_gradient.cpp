// The gradient of a program that is lifted: the functions that it needs, and the way from values to
// cells and back.
#include <relay/ir/result_names.h>
#include <relay/transform/gradient/lift.h>
#include <relay/transform/gradient/parts.h>

namespace relay::grad {

ExprRef Lifting::global(const GlobalVar& var) {
  auto [entry, fresh] = names_.try_emplace(var.name());
  if (fresh) {
    entry->second = target_.fresh_name(var.name().str() + "_grad");
    target_.add_function(entry->second, make_function({}, make_tuple(std::vector<ExprRef>())));
    work_.push_back(var.name());
  }
  return make_global_var(entry->second, var.span());
}

void Lifting::write_functions() {
  while (!work_.empty()) {
    const Name name = work_.back();
    work_.pop_back();
    FunctionRef lifted = lift(*whole_.function(name));
    target_.update_function(names_.at(name), std::move(lifted));
  }
}

FunctionRef lifted_gradient(const Module& whole, const Name& name, Module& module,
                            const GradientForm& form) {
  using Walk = LiftedTypes::Walk;
  const FunctionRef function(whole.function(name));
  Lifting lifting(whole, module);
  LiftedTypes& types = lifting.types();
  const TypeRef type(function->body()->type());
  Code code;
  const TypeRef unit = TupleType::make({});
  const ExprRef end = make_function({}, make_tuple(std::vector<ExprRef>()), unit);
  VarRef tape = make_var("tape", LiftedTypes::tape());
  code.bind(tape, make_ref_create(end));
  // It stands inside of the gradient, whose type parameters are its own.
  const FunctionRef lifted_function = lifting.lift(*function);
  const FunctionRef forward =
      make_function(lifted_function->params(), lifted_function->body(), lifted_function->ret_type(),
                    {}, {}, lifted_function->attrs(), lifted_function->span());
  lifting.write_functions();
  std::vector<VarRef> params;
  std::vector<ExprRef> args;
  for (const VarRef& param : function->params()) {
    params.push_back(make_var(param->name(), TypeRef(param->type()), param->span()));
    args.push_back(types.walk(Walk::kLift, TypeRef(param->type()), params.back(), {}, code));
  }
  const std::vector<ExprRef> lifted = args;
  args.push_back(tape);
  VarRef result = code.bind(make_call(forward, args, {}, {}, function->body()->span()), "result");
  if (form.from_result) params.push_back(make_var("g", type));
  types.walk(form.from_result ? Walk::kSeedFrom : Walk::kSeed, type, result,
             form.from_result ? ExprRef(params.back()) : ExprRef(), code);
  VarRef back = code.bind(make_ref_read(tape), "back");
  code.bind(make_call(back, std::vector<ExprRef>()));
  const std::vector<bool> chosen = chosen_params(*function, form);
  std::vector<ExprRef> gradients;
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (!chosen[i]) continue;
    gradients.push_back(
        types.walk(Walk::kGradient, TypeRef(function->params()[i]->type()), lifted[i], {}, code));
  }
  ExprRef value;
  if (form.with_value) value = types.walk(Walk::kPrimal, type, result, {}, code);
  return make_function(
      std::move(params), code.finish(result_in_form(form, value, std::move(gradients))), {},
      function->type_params(), {}, without_result_names(function->attrs()), function->span());
}

}  // namespace relay::grad
