// MergeComposite: what fits a pattern becomes a function that a code generator knows by its name.
#include <relay/transform/merge_composite.h>

#include <relay/infer/infer.h>
#include <relay/pattern/conditions.h>
#include <relay/pattern/rewrite.h>
#include <relay/pattern/text.h>
#include <relay/support/error.h>
#include <relay/transform/literals.h>

namespace relay {
namespace {

/// Holds the conditions that the text of an entry has.
std::function<bool(const ExprRef&)> check_of(const Rule& rule) {
  if (rule.where.empty()) return {};
  auto compiled = std::make_shared<const pattern::CompiledPattern>(rule.from);
  return [rule, compiled](const ExprRef& root) {
    pattern::Surroundings around(root);
    pattern::Matcher matcher(around);
    if (!matcher.match(*compiled, root.get())) return false;
    const std::function<uint32_t(const Expr*)> uses = [&](const Expr* expr) {
      const uint32_t id = around.view().id(expr);
      return id == View::kNone ? 0U : static_cast<uint32_t>(around.view().users()[id].size());
    };
    const pattern::Place place{root, matcher, uses};
    for (const RuleCondition& condition : rule.where) {
      if (!pattern::holds(condition, place)) return false;
    }
    return true;
  };
}

bool is_closed(const Function& function) {
  return !dict_attr(function.attrs(), "Composite").is_none() ||
         !dict_attr(function.attrs(), "Primitive").is_none();
}

FunctionRef merge(const FunctionRef& function, const std::vector<CompositePattern>& table,
                  const Module& module) {
  if (has_open_literals(function.get()) || is_closed(*function)) return function;
  ExprRef now = function;
  bool typed = true;
  for (const CompositePattern& entry : table) {
    if (!typed) infer_expr_type(now, module);
    ExprRef next = pattern::partition(entry.pattern, now, {{"Composite", AttrValue(entry.name)}},
                                      entry.check, &module);
    typed = next == now;
    now = std::move(next);
  }
  return FunctionRef(now->as<Function>());
}

const PassInfo& merge_composite_info() {
  static const PassInfo info{
      "MergeComposite",
      0,
      {ProgramState::kTyped},
      "Makes a call of a function of what fits a pattern of a table, with the entry's name as the "
      "attribute `Composite` and the names of the operators inside as `PartitionedFromPattern`. "
      "What several patterns fit goes to the first entry of the table."};
  return info;
}

RELAY_REGISTER_PASS({
    merge_composite_info(),
    {{"pattern_table",
      "Entries `pattern NAME: PATTERN where CONDITIONS;`, the conditions as rules have them.",
      std::string()},
     {"pattern_file", "A file that has the entries, in the place of `pattern_table`.",
      std::string()}},
    [](const PassInfo&, const PassOptions& options) {
      const auto& text = option<std::string>(options, "pattern_table");
      const auto& file = option<std::string>(options, "pattern_file");
      if (file.empty()) return make_merge_composite(parse_pattern_table("pattern_table", text));
      if (!text.empty())
        throw Error("pass MergeComposite takes a table, or a file that has it, not both");
      std::vector<CompositePattern> table = parse_pattern_table(file, read_rules_file(file));
      if (table.empty()) {
        throw Error(Diagnostic::error(file + " has no patterns")
                        .help("write `pattern NAME: PATTERN where CONDITIONS;`"));
      }
      return make_merge_composite(std::move(table));
    },
});

}  // namespace

PassRef make_merge_composite(std::vector<CompositePattern> table) {
  auto shared = std::make_shared<const std::vector<CompositePattern>>(std::move(table));
  return make_function_pass(
      merge_composite_info(),
      [shared](const FunctionRef& function, const Module& module, const PassContext&) {
        return merge(function, *shared, module);
      });
}

std::vector<CompositePattern> parse_pattern_table(std::string name, std::string text) {
  Rules rules = parse_patterns(std::move(name), std::move(text));
  std::vector<CompositePattern> table;
  for (const Rule& rule : rules.rules) {
    for (const RuleCondition& condition : rule.where) {
      if (condition.test == RuleCondition::Test::kOnce)
        throw Error(Diagnostic::error(
            "once(…) means nothing here: what is inside of a composite function has no other use",
            rule.span));
    }
    table.push_back({rule.name.str(), rule.from, check_of(rule)});
  }
  return table;
}

}  // namespace relay
