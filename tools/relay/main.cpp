// The command `relay` from its words to its exit code.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string_view>

#include <fmt/core.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <relay/import/onnx/import.h>
#include <relay/op/registry/plugin.h>
#include <relay/runtime/file.h>
#include <relay/support/error.h>
#include <relay/support/suggest.h>
#include <relay/vm/machine/machine.h>

#include <tools/relay/command.h>
#include <tools/relay/main.h>

namespace relay::tool {

namespace {

// Groups of hidden options leave empty lines.
void print_help(std::string text) {
  for (size_t at = text.find("\n\n\n"); at != std::string::npos; at = text.find("\n\n\n", at))
    text.erase(at, 1);
  print_out(text);
}

int refuse_usage(const char* message, const std::string& command) {
  fmt::print(stderr, "error: {}\nhelp: relay help{}{}\n", message, command.empty() ? "" : " ",
             command);
  return kUsage;
}

// What names no rule of the language is about the command, or about a run: only programs that read
// the errors want to be told so.
void report_of_rule(const Error& error, const char* rule) {
  std::vector<Diagnostic> diagnostics = with_onnx_nodes(error.diagnostics());
  if (diagnostics_are_json()) of_rule(diagnostics, rule);
  report(diagnostics);
}

int guarded(const std::string& command, const std::function<void()>& action,
            const Context& context = {}) {
  try {
    action();
    return kOk;
  } catch (const UsageError& error) {
    return refuse_usage(error.what(), command);
  } catch (const vm::Interrupted& error) {
    report(error.diagnostics());
    return kInterrupted;
  } catch (const RuntimeError& error) {
    report_of_rule(error, "R1");
    return kRunTimeError;
  } catch (const Error& error) {
    report_of_rule(error, "V1");
    return kWrong;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "error: out of memory\n");
    return kWrong;
  } catch (const std::exception& error) {
    std::string_view what = error.what();
    constexpr std::string_view kPrefix = "internal error: ";  // errors of passes have it already
    if (what.starts_with(kPrefix)) what.remove_prefix(kPrefix.size());
    fmt::print(
        stderr,
        "internal error: {}\nThis is a defect of relay; please report it with the program.\n",
        what);
    if (!context.reduce_command.empty())
      fmt::print(stderr, "help: {} makes it smaller first\n", context.reduce_command);
    return kInternal;
  }
}

// The options that are nearest to one that does not exist, as a further line of a message.
std::string option_guess(const CLI::App& app, const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* owner : {&app, &command}) {
    for (const CLI::Option* option : owner->get_options()) {
      if (option->get_group().empty()) continue;
      for (const std::string& name : option->get_lnames()) names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (const std::string& word : app.remaining(/*recurse=*/true)) {
    if (!word.starts_with("--")) continue;
    const std::string guess = did_you_mean(word.substr(2, word.find('=') - 2), names, "--");
    if (!guess.empty()) return "\nhelp: " + guess;
  }
  return {};
}

void add_commands(CLI::App& app, Context& context) {
  add_run(app, context);
  add_bench(app, context);
  add_compile(app, context);
  add_show(app, context);
  add_check(app, context);
  add_import(app, context);
  add_fmt(app, context);
  add_print(app, context);
  add_opt(app, context);
  add_explain(app, context);
  add_explain_program(app, context);
  add_explore(app, context);
  add_machine(app, context);
  add_tune(app, context);
  add_new_pass(app, context);
  add_serve(app, context);
  add_match(app, context);
  add_reduce(app, context);
  add_lsp(app, context);
  add_repl(app, context);
  add_ops(app, context);
  add_completion(app, context);
  add_doc(app, context);
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  return names;
}

std::string no_command(const CLI::App& app, const std::string& name) {
  const std::vector<std::string> names = command_names(app);
  std::string message = "there is no command " + name + "; there are";
  for (const std::string& other : names) message += " " + other;
  const std::string guess = did_you_mean(name, names);
  return guess.empty() ? message : message + "\nhelp: " + guess;
}

// The words of a command line, the last one first, as the parser takes them.
std::vector<std::string> words_of(int argc, const char* const* argv) {
  std::vector<std::string> words;
  for (int i = argc - 1; i > 0; --i) {
    std::string word = argv[i];
    if (word.starts_with("--profile=")) word.replace(0, 10, "--profile-trace=");
    words.push_back(std::move(word));
  }
  return words;
}

// Help on a command, or on all of them without a topic.
void print_help_on(CLI::App& app, const std::string& topic) {
  const CLI::App* about = &app;
  if (!topic.empty()) {
    const std::vector<std::string> names = command_names(app);
    if (std::find(names.begin(), names.end(), topic) == names.end())
      throw UsageError(no_command(app, topic));
    about = app.get_subcommand(topic);
  }
  // Not App::help(), which would print the help of `help`.
  const std::string name = about == &app ? "relay" : "relay " + about->get_name();
  print_help(app.get_formatter()->make_help(about, name, CLI::AppFormatMode::Normal));
}

/// While a command runs, signals that end the process remove the files that it is writing, and a
/// file that may not grow any more is an error of writing it. Handlers that others have installed
/// stay.
class TidyEnd {
 public:
  TidyEnd() {
    for (size_t i = 0; i < kSignals.size(); ++i) {
      struct sigaction now {};
      if (sigaction(kSignals[i], nullptr, &now) != 0 || now.sa_handler != SIG_DFL) continue;
      struct sigaction ours {};
      ours.sa_handler = kSignals[i] == SIGXFSZ ? go_on : tidy;
      ours.sa_flags = SA_RESTART;
      installed_[i] = sigaction(kSignals[i], &ours, nullptr) == 0;
    }
  }
  ~TidyEnd() {
    for (size_t i = 0; i < kSignals.size(); ++i) {
      if (installed_[i]) std::signal(kSignals[i], SIG_DFL);
    }
  }
  TidyEnd(const TidyEnd&) = delete;
  TidyEnd& operator=(const TidyEnd&) = delete;

 private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGXFSZ};
  static void tidy(int signal) {
    remove_unfinished_files();
    std::signal(signal, SIG_DFL);
    std::raise(signal);  // as if there had been no handler, as soon as this one returns
  }
  static void go_on(int) {}

  std::array<bool, kSignals.size()> installed_{};
};

}  // namespace

int run_command(int argc, const char* const* argv) {
  if (argc > 1 && std::string_view(argv[1]) == "serve") return run_serve(argc, argv);
  TidyEnd tidy_end;
  std::shared_ptr<spdlog::logger> logger = spdlog::get("relay");  // of a call before, in Python
  spdlog::set_default_logger(logger ? logger : spdlog::stderr_logger_mt("relay"));
  spdlog::set_pattern("%l: %v");
  CLI::App app("Relay: a functional tensor language and its compiler.", "relay");
  app.set_version_flag("--version", "relay " RELAY_VERSION);
  app.require_subcommand(0, 1);
  app.set_help_flag("-h,--help", "Print this help and exit.");
  app.footer(
      "Exit codes: 0 success, 1 the program or its data is wrong, 2 wrong usage, 3 the program "
      "failed while running, 70 a defect of relay, 130 interrupted.\n`relay help COMMAND` "
      "describes one command.");
  std::vector<std::string> plugins;
  app.add_option(
         "--plugin", plugins,
         "Load the operators of a shared library (relay/op/registry/plugin.h); may be repeated.")
      ->option_text("FILE")
      ->allow_extra_args(false);
  std::string format = "text";
  app.add_option("--diagnostics", format,
                 "How errors and warnings are written to standard error: text, or json, a line for "
                 "each (default text).")
      ->option_text("text|json")
      ->check(CLI::IsMember({"text", "json"}));
  app.fallthrough();
  Context context;
  add_commands(app, context);
  CLI::App* help = app.add_subcommand("help", "Print help on a command.");
  std::string topic;
  help->add_option("COMMAND", topic, "The command to describe; all of them by default.");

  try {
    app.parse(words_of(argc, argv));
  } catch (const CLI::CallForHelp&) {
    // Help of the innermost command that was named.
    CLI::App* at = &app;
    while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
    return guarded("", [&] { print_help(at == &app ? app.help() : at->help("relay")); });
  } catch (const CLI::CallForVersion&) {
    return guarded("", [] { print_out("relay " RELAY_VERSION "\n"); });
  } catch (const CLI::ParseError& error) {
    if (app.get_subcommands().empty() && argc > 1 && argv[1][0] != '-') {
      fmt::print(stderr, "error: {}\n", no_command(app, argv[1]));
      return kUsage;
    }
    const CLI::App* at = app.get_subcommands().empty() ? &app : app.get_subcommands().front();
    return refuse_usage((error.what() + option_guess(app, *at)).c_str(),
                        at == &app ? std::string() : at->get_name());
  }

  std::string command;
  if (!app.get_subcommands().empty() && !help->parsed())
    command = app.get_subcommands().front()->get_name();
  context.plugins = plugins;
  write_diagnostics_as_json(format == "json");
  int code = guarded(
      command,
      [&] {
        for (const std::string& plugin : plugins) load_plugin(plugin);
        if (help->parsed() || app.get_subcommands().empty()) {
          print_help_on(app, topic);
          if (!help->parsed()) throw UsageError("a command is needed");
          return;
        }
        for (CLI::App* command : app.get_subcommands()) {
          auto action = context.actions.find(command);
          if (action != context.actions.end()) action->second();
        }
      },
      context);
  return code != kOk ? code : context.exit_code;
}

}  // namespace relay::tool
