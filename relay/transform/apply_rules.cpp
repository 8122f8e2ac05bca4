// ApplyRules: rules that are written as text.
#include <relay/transform/apply_rules.h>

#include <optional>

#include <relay/infer/devices/devices.h>
#include <relay/ir/effects.h>
#include <relay/pattern/text.h>
#include <relay/transform/lazy_effects.h>
#include <relay/transform/literals.h>

namespace relay {
namespace {

// The first application after which the program is wrong: fewer applications are right, more are
// wrong, so that a binary search finds it.
class Culprit {
 public:
  Culprit(const Module& before, const pattern::RuleSet& set, bool exact)
      : before_(before), set_(set), exact_(exact) {}

  std::optional<Diagnostic> find(const std::function<bool(const Module&)>& wrong) {
    uint64_t right = 0;
    uint64_t last = count();
    if (last == 0 || !wrong(after(last))) return std::nullopt;
    while (right + 1 < last) {
      const uint64_t middle = right + (last - right) / 2;
      (wrong(after(middle)) ? last : right) = middle;
    }
    after(last);
    return Diagnostic::error("rule `" + name_.str() + "` changes what the program computes", rule_)
        .note("it applies here", place_);
  }

 private:
  uint64_t count() {
    after(UINT64_MAX);
    return done_;
  }
  // The module after so many applications, in the order of its functions.
  Module after(uint64_t most) {
    done_ = 0;
    Module result = before_;
    Effects effects(before_);
    pattern::DriverOptions options;
    options.exact = exact_;
    options.devices = uses_devices(before_);
    options.effects = [&]() -> const Effects& { return effects; };
    options.go_on = [&] { return done_ < most; };
    options.trace = [&](const pattern::Firing& firing) {
      ++done_;
      name_ = firing.rule.name;
      rule_ = firing.rule.span;
      place_ = firing.before->span();
    };
    for (const Module::FunctionEntry& entry : before_.functions()) {
      if (skipped(*entry.function)) continue;
      FunctionRef made = pattern::apply_rules(entry.function, set_, options);
      if (made != entry.function) result.update_function(entry.name, made);
    }
    return result;
  }
  static bool skipped(const Function& function) {
    if (has_open_literals(&function)) return true;
    for (const char* name : {"SkipOptimization", "Compiler", "Extern"}) {
      if (function.attrs() && !dict_attr(function.attrs(), name).is_none()) return true;
    }
    return false;
  }

  const Module& before_;
  const pattern::RuleSet& set_;
  const bool exact_;
  uint64_t done_ = 0;
  Name name_;
  Span rule_, place_;  // of the last application
};

PassRef make_with(PassInfo facts, const Rules& rules, ApplyRulesOptions given) {
  auto set = std::make_shared<const pattern::RuleSet>(rules);
  facts.blame = [set, exact = given.exact](const Module& before,
                                           const std::function<bool(const Module&)>& wrong) {
    return Culprit(before, *set, exact).find(wrong);
  };
  return make_prepared_function_pass(facts, [set, given](const Module& module, const PassContext&) {
    return [set, given, devices = uses_devices(module),
            effects = LazyEffects(module)](const FunctionRef& function) {
      if (has_open_literals(function.get())) return function;
      pattern::DriverOptions options;
      options.exact = given.exact;
      options.devices = devices;
      options.trace = given.trace;
      options.refused = given.refused;
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
     {"file", "A file that has the rules, in the place of `rules`; one of the two is needed.",
      std::string()},
     {"exact", "Only rules that are not marked inexact, where floats are concerned.", false}},
    [](const PassInfo& facts, const PassOptions& options) {
      ApplyRulesOptions given;
      given.exact = option<bool>(options, "exact");
      const auto& rules = option<std::string>(options, "rules");
      const auto& file = option<std::string>(options, "file");
      if (rules.empty() == file.empty())
        throw Error("pass ApplyRules takes rules, or a file that has them" +
                    std::string(rules.empty() ? "" : ", not both"));
      return make_with(
          facts,
          file.empty() ? parse_rules("rules", rules) : parse_rules(file, read_rules_file(file)),
          given);
    },
});

}  // namespace

PassRef make_rules_pass(const Rules& rules, ApplyRulesOptions options) {
  return make_with(apply_rules_info(), rules, std::move(options));
}

}  // namespace relay
