#include <tools/relay/rewrite.h>

#include <fmt/core.h>

#include <relay/print/print.h>
#include <relay/support/error.h>
#include <relay/transform/apply_rules.h>

#include <tools/relay/command.h>

namespace relay::tool {

namespace {

std::string place_of(const Expr* expr) {
  Location location = SourceMap::locate(expr->span());
  if (location.line == 0) return "";
  return fmt::format("{}:{}:{}: ", location.file, location.line, location.column);
}

}  // namespace

void RuleTrace::add(const std::string& line) {
  std::lock_guard lock(mutex_);
  lines_ += line;
}

bool RuleTrace::first_time(const std::string& line) {
  std::lock_guard lock(mutex_);
  return refused_.insert(line).second;
}

PassRef rules_pass(const std::string& path, std::shared_ptr<RuleTrace> trace) {
  Input input = read_input(path);
  Rules rules = parse_rules(input.name, input.text);
  if (rules.rules.empty()) {
    throw Error(Diagnostic::error(input.name + " has no rules")
                    .help("write `rule NAME: PATTERN => WRITTEN where CONDITIONS;`"));
  }
  ApplyRulesOptions options;
  if (trace) {
    options.trace = [trace](const pattern::Firing& firing) {
      trace->add(place_of(firing.before.get()) +
                 fmt::format("{}: {} => {}\n", firing.rule.name.view(),
                             print_short(firing.before.get()), print_short(firing.after.get())));
    };
    options.refused = [trace](const pattern::Refusal& refusal) {
      std::string line = place_of(refusal.before.get()) +
                         fmt::format("{}: {} stays: {}\n", refusal.rule.name.view(),
                                     print_short(refusal.before.get()), refusal.why);
      // A place is looked at again when something near it has changed.
      if (trace->first_time(line)) trace->add(line);
    };
  }
  return make_rules_pass(rules, std::move(options));
}

}  // namespace relay::tool
