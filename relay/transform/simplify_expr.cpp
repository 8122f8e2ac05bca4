// SimplifyExpr: the rules of relay/op/simplify until none applies.
#include <relay/infer/devices/devices.h>
#include <relay/pattern/simplify.h>
#include <relay/transform/lazy_effects.h>
#include <relay/transform/literals.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

FunctionRef simplify(const FunctionRef& function, const LazyEffects& effects, bool exact,
                     bool devices) {
  if (has_open_literals(function.get())) return function;
  pattern::DriverOptions options;
  options.exact = exact;
  options.devices = devices;
  options.fold = true;
  options.refuse_endless = false;
  options.effects = [&]() -> const Effects& { return effects.get(); };
  return pattern::apply_rules(function, pattern::simplify_rules(), options);
}

RELAY_REGISTER_PASS({
    {"SimplifyExpr",
     0,
     {ProgramState::kTyped},
     "Writes calls shorter by rules, until none applies: a call that takes its shape or dtype from "
     "another tensor gets it as an attribute; transposes, layouts, reshapes and casts of one "
     "another become one or none; x + 0, x - 0, x * 1, x / 1 become x; constants beside constants "
     "are computed; 1 / sqrt(x) becomes rsqrt(x); x + x becomes x * 2, and x * x + 2 * x * y + y * "
     "y a square; bounds that all integers keep go; the largest of dequantised numbers is that of "
     "the integers. A rule that writes several calls applies only if all calls that it "
     "replaces disappear."},
    {{"exact", "Only rules that change no bit of a result.", false}},
    [](const PassInfo& info, const PassOptions& options) {
      bool exact = option<bool>(options, "exact");
      return make_prepared_function_pass(info, [exact](const Module& module, const PassContext&) {
        return [exact, devices = uses_devices(module),
                effects = LazyEffects(module)](const FunctionRef& function) {
          return simplify(function, effects, exact, devices);
        };
      });
    },
});

}  // namespace
}  // namespace relay
