#include <tools/relay/rewrite.h>

#include <fmt/core.h>

#include <relay/print/print.h>
#include <relay/transform/apply_rules.h>

#include <tools/relay/command.h>

namespace relay::tool {

PassRef rules_pass(const std::string& path, std::shared_ptr<RuleTrace> trace) {
  Input input = read_input(path);
  ApplyRulesOptions options;
  if (trace) {
    options.trace = [trace](const pattern::Firing& firing) {
      Location location = SourceMap::locate(firing.before->span());
      std::string place = location.line == 0 ? ""
                                             : fmt::format("{}:{}:{}: ", location.file,
                                                           location.line, location.column);
      std::string line =
          fmt::format("{}{}: {} => {}\n", place, firing.rule.name.view(),
                      print_short(firing.before.get()), print_short(firing.after.get()));
      std::lock_guard lock(trace->mutex);
      trace->lines += line;
    };
  }
  return make_rules_pass(parse_rules(input.name, input.text), std::move(options));
}

}  // namespace relay::tool
