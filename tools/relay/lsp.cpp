// relay lsp: the language server.
#include <relay/lsp/server.h>

#include <unistd.h>

#include <csignal>

#include <tools/relay/command.h>

namespace relay::tool {

void add_lsp(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand(
      "lsp", "Serve an editor by the Language Server Protocol on standard input and output.");
  auto stdio = std::make_shared<bool>(true);
  command->add_flag("--stdio", *stdio, "The way that is taken anyway; some editors say so.");
  context.actions[command] = [stdio, &context] {
    std::signal(SIGPIPE, SIG_IGN);  // an editor that is gone ends the server quietly
    context.exit_code = lsp::serve(STDIN_FILENO, STDOUT_FILENO);
  };
}

}  // namespace relay::tool
