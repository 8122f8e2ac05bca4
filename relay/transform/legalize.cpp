// Legalize: what functions that are attached to operators write in the place of calls.
#include <relay/ir/rewrite.h>
#include <relay/op/qnn/canonical.h>
#include <relay/op/registry/attached.h>
#include <relay/support/error.h>
#include <relay/transform/op_calls.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

// `defined` has what is written for operators to which nothing is attached.
PassRef legalize(const PassInfo& info, const std::string& key,
                 const OpColumn<ExpandFn>* defined = nullptr) {
  return make_prepared_function_pass(
      info, [key, defined](const Module& module, const PassContext&) {
        return [key, defined, effects = LazyEffects(module)](const FunctionRef& function) {
          const bool by_definition = defined != nullptr && calls_any(function.get(), *defined);
          if (!by_definition && !any_attached(key)) return function;
          CallExpander expander(effects, function.get());
          auto rewrite = [&](const Expr* expr, std::span<const ExprRef> operands) -> ExprRef {
            const Operator* op = called_op(expr);
            if (op == nullptr) return {};
            const auto& call = static_cast<const Call&>(*expr);
            ExpandFn attached = attached_rewrite(op, key);
            if (!attached && by_definition && !needs_run_to_check(call)) {
              if (const ExpandFn* form = defined->find(op)) attached = *form;
            }
            return attached ? expander(attached, call, operands.subspan(1)) : ExprRef();
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
    {{"products",
      "Write qnn.dense and qnn.conv2d to which none is attached as products of integers, operands "
      "less their zero points.",
      false}},
    [](const PassInfo& info, const PassOptions& options) {
      return legalize(info, std::string(kQnnLegalizeKey),
                      option<bool>(options, "products") ? &plain_products() : nullptr);
    },
});

}  // namespace
}  // namespace relay
