// The command `relay`.
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>

#include <fmt/core.h>

#include <relay/support/error.h>

#include <tools/relay/command.h>

#ifndef RELAY_VERSION
#define RELAY_VERSION "0.1.0"
#endif

using namespace relay;
using namespace relay::tool;

namespace {

int guarded(const std::function<void()>& action) {
  try {
    action();
    return kOk;
  } catch (const UsageError& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return kUsage;
  } catch (const RuntimeError& error) {
    report(error.diagnostics());
    return kRunTimeError;
  } catch (const Error& error) {
    report(error.diagnostics());
    return kWrong;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "error: out of memory\n");
    return kWrong;
  } catch (const std::exception& error) {
    fmt::print(stderr, "internal error: {}\nThis is a defect of relay; please report it with the program.\n",
               error.what());
    return kInternal;
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_DFL);
  CLI::App app("Relay: a functional tensor language and its compiler.", "relay");
  app.set_version_flag("--version", "relay " RELAY_VERSION);
  app.require_subcommand(0, 1);
  app.set_help_flag("-h,--help", "Print this help and exit.");
  app.footer("Exit codes: 0 success, 1 the program or its data is wrong, 2 wrong usage, 3 the program failed while "
             "running, 70 a defect of relay.\n`relay help COMMAND` tells more of one command.");
  Context context;
  add_run(app, context);
  add_check(app, context);
  add_fmt(app, context);
  add_opt(app, context);
  add_ops(app, context);
  add_doc(app, context);
  CLI::App* help = app.add_subcommand("help", "Print help on a command.");
  std::string topic;
  help->add_option("COMMAND", topic, "The command; all of them by default.");

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    // Help of the innermost command that was named.
    CLI::App* at = &app;
    while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
    fmt::print("{}", at->help());
    return kOk;
  } catch (const CLI::CallForVersion&) {
    fmt::print("relay {}\n", RELAY_VERSION);
    return kOk;
  } catch (const CLI::ParseError& error) {
    std::string hint = app.get_subcommands().empty() ? "" : " " + app.get_subcommands().front()->get_name();
    fmt::print(stderr, "error: {}\nhelp: relay help{}\n", error.what(), hint);
    return kUsage;
  }

  int code = guarded([&] {
    if (help->parsed() || app.get_subcommands().empty()) {
      CLI::App* about = &app;
      if (!topic.empty()) {
        about = nullptr;
        std::vector<std::string> names;
        for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
          if (command->get_group().empty()) continue;
          names.push_back(command->get_name());
          if (command->get_name() == topic) about = command;
        }
        if (about == nullptr) {
          std::string message = "there is no command " + topic + "; there are";
          for (const std::string& name : names) message += " " + name;
          throw UsageError(message);
        }
      }
      print_out(about->help());
      if (!help->parsed()) throw UsageError("a command is needed");
      return;
    }
    for (CLI::App* command : app.get_subcommands()) {
      auto action = context.actions.find(command);
      if (action != context.actions.end()) action->second();
    }
  });
  return code != kOk ? code : context.exit_code;
}
