// relay explain: the rule that an error names by its code.
#include <fmt/core.h>

#include <relay/support/diagnostic_rules.h>
#include <relay/support/suggest.h>

#include <tools/relay/command.h>

namespace relay::tool {

namespace {

std::string list_rules() {
  std::string text;
  for (const DiagnosticRule& rule : diagnostic_rules())
    text += fmt::format("{:4} {}\n", rule.code, rule.title);
  return text;
}

// Words in lines of at most 80 characters.
std::string wrapped(std::string_view text) {
  constexpr size_t kWidth = 80;
  std::string out;
  size_t column = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (column > 0 && column + 1 + end > kWidth) {
      out += '\n';
      column = 0;
    }
    if (column > 0) out += ' ';
    out += text.substr(0, end);
    column += end + (column > 0 ? 1 : 0);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out + "\n";
}

std::string indented(std::string_view program) {
  std::string out = "  ";
  for (char c : program) {
    out += c;
    if (c == '\n') out += "  ";
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

std::string explain_rule(const DiagnosticRule& rule) {
  std::string text = fmt::format("{}: {}\n\n{}", rule.code, rule.title, wrapped(rule.text));
  if (!rule.wrong.empty()) text += "\nWrong:\n\n" + indented(rule.wrong);
  if (!rule.right.empty()) text += "\nRight:\n\n" + indented(rule.right);
  return text;
}

struct Options {
  std::string code;
  bool wrong = false;
  bool right = false;
};

void explain(const Options& options) {
  if (options.code.empty()) return print_out(list_rules());
  std::string code = options.code;
  for (char& c : code) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const DiagnosticRule* rule = find_rule(code);
  if (rule == nullptr) {
    std::vector<std::string> codes;
    for (const DiagnosticRule& other : diagnostic_rules()) codes.emplace_back(other.code);
    std::string near = did_you_mean(code, codes);
    throw UsageError("there is no rule " + options.code +
                     (near.empty() ? "; relay explain lists them" : "; " + near));
  }
  if (options.wrong || options.right) {
    print_out(options.wrong ? rule->wrong : rule->right);
  } else {
    print_out(explain_rule(*rule));
  }
}

}  // namespace

void add_explain(CLI::App& app, Context& context) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "explain", "Explain the rule that an error names in brackets, such as T13.");
  command->add_option("CODE", options->code, "The rule; all of them are listed by default.");
  CLI::Option* wrong =
      command->add_flag("--wrong", options->wrong, "Print only the example that is wrong.");
  command->add_flag("--right", options->right, "Print only the example that is right.")
      ->excludes(wrong);
  context.actions[command] = [options] { explain(*options); };
}

}  // namespace relay::tool
