// LazyGradientInit: gradients that are known to be zeros or ones are not made.
#include <relay/infer/devices/devices.h>
#include <relay/pattern/driver.h>
#include <relay/pattern/rule.h>
#include <relay/transform/lazy_effects.h>
#include <relay/transform/literals.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

// -0 + 0 is 0: a gradient that is -0 may become 0.
constexpr const char* kRules = R"(
rule "add zeros": %x + 0 => %x where not bool(%x);
rule "multiply by ones": %x * 1 => %x where not bool(%x);
)";

RELAY_REGISTER_PASS({
    {"LazyGradientInit",
     2,
     {ProgramState::kTyped},
     "Adds no zeros and multiplies by no ones: tensors of them are made only where something else "
     "needs them. Gradients that Gradient makes hold few of them; those of other systems begin "
     "with them."},
    {},
    [](const PassInfo& info, const PassOptions&) {
      auto rules =
          std::make_shared<const pattern::RuleSet>(parse_rules("LazyGradientInit", kRules));
      return make_prepared_function_pass(info, [rules](const Module& module, const PassContext&) {
        return [rules, devices = uses_devices(module),
                effects = LazyEffects(module)](const FunctionRef& function) {
          if (has_open_literals(function.get())) return function;
          pattern::DriverOptions options;
          options.devices = devices;
          options.effects = [&]() -> const Effects& { return effects.get(); };
          return pattern::apply_rules(function, *rules, options);
        };
      });
    },
});

}  // namespace
}  // namespace relay
