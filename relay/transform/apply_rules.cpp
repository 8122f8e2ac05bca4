// ApplyRules: rules that are written as text.
#include <relay/transform/apply_rules.h>

#include <relay/infer/devices/devices.h>
#include <relay/transform/lazy_effects.h>
#include <relay/transform/literals.h>

namespace relay {
namespace {

PassRef make_with(const PassInfo& facts, const Rules& rules, ApplyRulesOptions given) {
  auto set = std::make_shared<const pattern::RuleSet>(rules);
  return make_prepared_function_pass(facts, [set, given](const Module& module, const PassContext&) {
    return [set, given, devices = uses_devices(module),
            effects = LazyEffects(module)](const FunctionRef& function) {
      if (has_open_literals(function.get())) return function;
      pattern::DriverOptions options;
      options.exact = given.exact;
      options.devices = devices;
      options.trace = given.trace;
      options.effects = [&]() -> const Effects& { return effects.get(); };
      return pattern::apply_rules(function, *set, options);
    };
  });
}

const PassInfo& apply_rules_info() {
  static const PassInfo facts{
      "ApplyRules",
      0,
      {ProgramState::kTyped},
      "Applies rules that are written as text (docs/patterns.md), until none applies. A rule that "
      "writes several calls applies only where all calls go that its pattern fits. Rules that undo "
      "each other are an error that names them."};
  return facts;
}

RELAY_REGISTER_PASS({
    apply_rules_info(),
    {{"rules", "The rules.", std::string()},
     {"exact", "Only rules that are not marked inexact, where floats are concerned.", false}},
    [](const PassInfo& facts, const PassOptions& options) {
      ApplyRulesOptions given;
      given.exact = option<bool>(options, "exact");
      return make_with(facts, parse_rules("rules", option<std::string>(options, "rules")), given);
    },
});

}  // namespace

PassRef make_rules_pass(const Rules& rules, ApplyRulesOptions options) {
  return make_with(apply_rules_info(), rules, std::move(options));
}

}  // namespace relay
