// DefuseOps: function literals that are called in their place become their bodies.
#include <relay/ir/rewrite.h>
#include <relay/transform/inline_calls.h>
#include <relay/transform/lazy_effects.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

FunctionRef defuse(const FunctionRef& function, const LazyEffects& effects) {
  auto effectful = effects.get().effectful_nodes(function.get());
  ExprRef result = rewrite_post_order(
      function, [&](const Expr* expr, std::span<const ExprRef> operands) -> ExprRef {
        if (!expr->is<Call>()) return {};
        const auto* callee = operands[0]->as<Function>();
        if (callee == nullptr || !can_inline(*callee, operands.size() - 1)) return {};
        bool pure = true;
        for (const ExprRef& arg : expr->operands().subspan(1))
          pure &= effectful.count(arg.get()) == 0;
        return inline_call(*callee, operands.subspan(1), pure);
      });
  return FunctionRef(result->as<Function>());
}

RELAY_REGISTER_PASS({
    {"DefuseOps",
     3,
     {ProgramState::kTyped},
     "Puts the body of function literals that are called where they stand, as FuseOps makes them, "
     "in the place of the call."},
    {},
    [](const PassInfo& info, const PassOptions&) {
      return make_prepared_function_pass(info, [](const Module& module, const PassContext&) {
        return [effects = LazyEffects(module)](const FunctionRef& function) {
          return defuse(function, effects);
        };
      });
    },
});

}  // namespace
}  // namespace relay
