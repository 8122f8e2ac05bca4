// DivToMul: quotients by constants become products with reciprocals.
#include <relay/ir/rewrite.h>
#include <relay/op/registry/forms.h>
#include <relay/transform/op_calls.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

FunctionRef multiply_instead(const FunctionRef& function, const Module&, const PassContext&) {
  if (!calls_any(function.get(), reciprocal_forms())) return function;
  auto rewrite = [](const Expr* expr, std::span<const ExprRef> operands) -> ExprRef {
    const auto* call = expr->as<Call>();
    return call == nullptr ? ExprRef()
                           : expand_call(reciprocal_forms(), *call, operands.subspan(1));
  };
  return FunctionRef(rewrite_post_order(function, rewrite)->as<Function>());
}

RELAY_REGISTER_PASS({
    {"DivToMul",
     0,
     {ProgramState::kTyped},
     "Multiplies by the reciprocal in the place of a division of floats by a constant, each "
     "element "
     "by its own. A divisor with a zero stays."},
    {},
    [](const PassInfo& info, const PassOptions&) {
      return make_function_pass(info, multiply_instead);
    },
});

}  // namespace
}  // namespace relay
