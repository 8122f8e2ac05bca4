// relay match: where a pattern fits in a program.
#include <algorithm>

#include <fmt/core.h>

#include <relay/ir/rewrite.h>
#include <relay/pattern/automaton.h>
#include <relay/pattern/matcher.h>
#include <relay/pattern/text.h>
#include <relay/print/print.h>
#include <relay/support/error.h>
#include <relay/support/suggest.h>
#include <relay/transform/literals.h>

#include <tools/relay/command.h>

namespace relay::tool {

namespace {

struct MatchOptions {
  std::string pattern;
  std::string program;
  bool count = false;
};

std::string place_text(Span span) {
  Location location = SourceMap::locate(span);
  if (location.line == 0) return "?";
  return fmt::format("{}:{}:{}", location.file, location.line, location.column);
}

// The parts that have names, in the order in which the pattern mentions them.
std::string parts_text(const pattern::CompiledPattern& pattern, const pattern::Matcher& matcher) {
  std::string text;
  for (const DFPattern* part : pattern.parts()) {
    const Expr* expr = part->name().empty() ? nullptr : matcher.bound(part);
    if (expr != nullptr)
      text += fmt::format("  %{} = {}\n", part->name().view(), print_short(expr));
  }
  return text;
}

// Refuses names of constructors and functions that the program does not have.
void check_names(const DFPattern* pattern, const Module& module) {
  std::vector<std::string> constructors, globals;
  for (const TypeDataRef& data : module.types()) {
    for (const ConstructorRef& constructor : data->constructors())
      constructors.push_back(constructor->name().str());
  }
  for (const Module::FunctionEntry& entry : module.functions())
    globals.push_back(entry.name.str());
  for (const DFPattern* part : patterns_in(pattern)) {
    if (part->kind() != DFPatternKind::kName) continue;
    const bool global = part->expr_kind() == ExprKind::kGlobalVar;
    const std::vector<std::string>& known = global ? globals : constructors;
    const std::string name = part->var_name().str();
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    Diagnostic diagnostic = Diagnostic::error(
        global ? "the program has no function @" + name : "the program has no constructor " + name);
    suggest(diagnostic, name, known);
    throw Error(std::move(diagnostic));
  }
}

// A pattern that is the name of an operator or the like finds the places of the name; others are
// about what is computed.
bool is_name(const DFPattern& pattern) {
  return pattern.kind() == DFPatternKind::kName || pattern.as_op() != nullptr;
}
bool names_something(const Expr* expr) { return expr->is<Op>() || expr->is<Constructor>(); }

void match(const MatchOptions& options, Context& context) {
  DFPatternRef pattern = parse_pattern("pattern", options.pattern);
  Module module = resolve_literals(read_typed_program(options.program));
  check_names(pattern.get(), module);
  const bool wants_names = is_name(*pattern);
  pattern::CompiledPattern compiled(pattern);
  pattern::Automaton automaton(std::span<const DFPatternRef>(&pattern, 1));
  std::string text;
  size_t count = 0;
  std::vector<uint32_t> found;
  for (const Module::FunctionEntry& entry : module.functions()) {
    pattern::Surroundings around(entry.function, &module);
    pattern::Matcher matcher(around);
    matcher.remember();
    const View& view = around.view();
    for (uint32_t id = 0; id < view.size(); ++id) {
      if (!wants_names && names_something(view.expr(id)) && view.expr(id)->type() == nullptr) continue;
      automaton.find(view.expr(id), found);
      if (found.empty() || !matcher.match(compiled, view.expr(id))) continue;
      ++count;
      if (options.count) continue;
      text += fmt::format("{}: @{}: {}\n", place_text(view.expr(id)->span()), entry.name.view(),
                          print_short(view.expr(id)));
      text += parts_text(compiled, matcher);
    }
  }
  if (options.count) text = fmt::format("{}\n", count);
  print_out(text);
  if (count == 0) context.exit_code = kWrong;
}

}  // namespace

void add_match(CLI::App& app, Context& context) {
  auto options = std::make_shared<MatchOptions>();
  CLI::App* command = app.add_subcommand(
      "match", "Print where a pattern fits in a program; exit code 1 if it fits nowhere.");
  command->add_option("PATTERN", options->pattern, "The pattern, e.g. 'nn.relu(add(%x, const))'.")
      ->required();
  command
      ->add_option("PROGRAM", options->program,
                   "File with the program, or an ONNX model; - is standard input.")
      ->required();
  command->add_flag("--count", options->count, "Print only how many places there are.");
  context.actions[command] = [options, &context] { match(*options, context); };
}

}  // namespace relay::tool
