// relay repl: definitions and expressions, one after the other.
#include <algorithm>
#include <cstdlib>

#include <relay/support/error.h>
#include <relay/support/suggest.h>

#include <tools/relay/command.h>
#include <tools/relay/line_editor.h>
#include <tools/relay/session.h>

namespace relay::tool {
namespace {

constexpr const char* kHelp =
    "def @f(%x: float32) { %x + 1f }  defines a function; so do type and import their things\n"
    "let %x = EXPRESSION              keeps the value under a name\n"
    "EXPRESSION                       runs, and prints the value and its type\n"
    ":type EXPRESSION                 prints the type\n"
    ":passes A,B [EXPRESSION]         prints the expression, or all definitions, after passes\n"
    ":time EXPRESSION                 prints the time of each stage as well\n"
    ":load FILE                       adds the definitions of a file\n"
    ":list                            prints the names with their types\n"
    ":quit                            ends; so does the end of the input\n"
    "An input goes on over several lines until its brackets are closed and an operand follows "
    "each\n"
    "operator; on a terminal, an empty line ends it as well.\n";

std::string history_file() {
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') return {};
  return std::string(home) + "/.relay_history";
}

std::string trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == text.npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin));
}

// The first word of a text, which loses it.
std::string first_word(std::string& text) {
  const size_t end = std::min(text.find_first_of(" \t\n"), text.size());
  std::string word = text.substr(0, end);
  text = trimmed(std::string_view(text).substr(end));
  return word;
}

class Repl {
 public:
  explicit Repl(NativeOptions options)
      : session_(std::move(options)), editor_(history_file(), [this](const std::string& word) {
          return session_.complete(word);
        }) {}

  void load(const std::string& path) { print_out(session_.load(path)); }

  // The exit code: on a pipe, a mistake of any input counts.
  int run() {
    if (editor_.interactive())
      print_out("Relay " RELAY_VERSION "; :help lists what can be typed.\n");
    while (std::optional<std::string> input = next()) {
      std::string text = trimmed(*input);
      if (text.empty()) continue;
      editor_.remember(text);
      if (text == ":quit" || text == ":q") break;
      try {
        print_out(answer(text));
      } catch (const Error& error) {
        report(error.diagnostics());
        failed_ = true;
      } catch (const UsageError& error) {
        report({Diagnostic::error(error.what())});
        failed_ = true;
      }
    }
    return failed_ && !editor_.interactive() ? kWrong : kOk;
  }

 private:
  std::optional<std::string> next() {
    std::optional<std::string> line = editor_.read("relay> ");
    if (!line) return std::nullopt;
    std::string text = *line;
    while (!is_whole_input(text)) {
      line = editor_.read("  ...> ");
      // An empty line ends an input that will never be whole.
      if (!line || (editor_.interactive() && trimmed(*line).empty())) break;
      text += "\n" + *line;
    }
    return text;
  }

  std::string answer(std::string text) {
    if (text[0] != ':') return session_.take(text);
    const std::string command = first_word(text);
    if (command == ":help" || command == ":h") return kHelp;
    if (command == ":list") return session_.list();
    if (command == ":type" || command == ":t") return session_.type(needed(text, command));
    if (command == ":time") return session_.take(needed(text, command), /*time=*/true);
    if (command == ":load") return session_.load(needed(text, command));
    if (command == ":passes") {
      const std::string passes = first_word(text);
      return session_.after_passes(needed(passes, command), text);
    }
    Diagnostic diagnostic = Diagnostic::error("there is no command " + command);
    suggest(diagnostic, command, {":help", ":list", ":load", ":passes", ":quit", ":time", ":type"});
    throw Error(std::move(diagnostic));
  }
  static const std::string& needed(const std::string& text, const std::string& command) {
    if (text.empty()) throw Error("something is missing behind " + command + "; see :help");
    return text;
  }

  Session session_;
  LineEditor editor_;
  bool failed_ = false;
};

}  // namespace

void add_repl(CLI::App& app, Context& context) {
  auto options = std::make_shared<NativeOptions>();
  auto files = std::make_shared<std::vector<std::string>>();
  CLI::App* command = app.add_subcommand(
      "repl", "Read definitions and expressions from standard input, and run each at once.");
  command->add_option("PROGRAM", *files, "Files whose definitions are there from the beginning.");
  add_native_options(*command, *options);
  context.actions[command] = [options, files, &context] {
    Repl repl(*options);
    for (const std::string& file : *files) repl.load(file);
    context.exit_code = repl.run();
  };
}

}  // namespace relay::tool
