// Legalize: what functions that are attached to operators write in the place of calls.
#include <relay/ir/rewrite.h>
#include <relay/op/registry/attached.h>
#include <relay/support/error.h>
#include <relay/transform/op_calls.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

PassRef legalize(const PassInfo& info, const std::string& key) {
  return make_prepared_function_pass(info, [key](const Module& module, const PassContext&) {
    return [key, effects = LazyEffects(module)](const FunctionRef& function) {
      if (!any_attached(key)) return function;
      CallExpander expander(effects, function.get());
      auto rewrite = [&](const Expr* expr, std::span<const ExprRef> operands) -> ExprRef {
        const Operator* op = called_op(expr);
        ExpandFn attached = op == nullptr ? ExpandFn() : attached_rewrite(op, key);
        if (!attached) return {};
        return expander(attached, static_cast<const Call&>(*expr), operands.subspan(1));
      };
      return FunctionRef(rewrite_post_order(function, rewrite)->as<Function>());
    };
  });
}

RELAY_REGISTER_PASS({
    {"Legalize",
     1,
     {ProgramState::kTyped},
     "Puts what functions that are attached to operators make of a call in its place. They get its "
     "attributes, arguments and types, and give None for a call that stays. Nothing is attached by "
     "the library itself: all operators run as they are."},
    {{"legalize_map_attr_name", "The key under which the functions are attached.",
      std::string(kLegalizeKey)}},
    [](const PassInfo& info, const PassOptions& options) {
      return legalize(info, option<std::string>(options, "legalize_map_attr_name"));
    },
});

RELAY_REGISTER_PASS({
    {"QnnLegalize",
     1,
     {ProgramState::kTyped},
     "The same with the functions that are attached to operators of quantised networks as "
     "FTVMQnnLegalize."},
    {},
    [](const PassInfo& info, const PassOptions&) {
      return legalize(info, std::string(kQnnLegalizeKey));
    },
});

}  // namespace
}  // namespace relay
