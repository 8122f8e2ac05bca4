// The parts that the sub-commands of `relay` share.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <relay/ir/module.h>
#include <relay/runtime/npz.h>
#include <relay/support/diagnostic.h>

namespace relay::tool {

enum ExitCode : int {
  kOk = 0,
  kWrong = 1,          // the program or its data is wrong
  kUsage = 2,          // the command line is wrong
  kRunTimeError = 3,   // the program failed while it ran
  kInterrupted = 130,  // by Ctrl-C, as shells count it
  kInternal = 70       // a defect of relay
};

/// A wrong command line, found after parsing it.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The action of a chosen sub-command, and what it leaves: the exit code of an action that does not
/// throw.
struct Context {
  std::map<const CLI::App*, std::function<void()>> actions;
  int exit_code = kOk;
  /// The command that makes a small program out of one for which this one has a defect; may be
  /// empty. Set before what may fail is done.
  std::string reduce_command;
  std::vector<std::string> plugins;  // --plugin
};
/// Sets `reduce_command` to `relay reduce PROGRAM` with further words, which become shell words.
void suggest_reduce(Context& context, const std::string& program,
                    const std::vector<std::string>& words);
// Each adds one sub-command.
void add_run(CLI::App& app, Context& context);
void add_bench(CLI::App& app, Context& context);
void add_compile(CLI::App& app, Context& context);
void add_show(CLI::App& app, Context& context);
void add_check(CLI::App& app, Context& context);
void add_import(CLI::App& app, Context& context);
void add_fmt(CLI::App& app, Context& context);
void add_print(CLI::App& app, Context& context);
void add_match(CLI::App& app, Context& context);
void add_opt(CLI::App& app, Context& context);
void add_explain(CLI::App& app, Context& context);
void add_explain_program(CLI::App& app, Context& context);
void add_explore(CLI::App& app, Context& context);
void add_machine(CLI::App& app, Context& context);
void add_new_pass(CLI::App& app, Context& context);
void add_tune(CLI::App& app, Context& context);
void add_serve(CLI::App& app, Context& context);
/// Replaces this process by the server; comes back with an exit code if that fails.
int run_serve(int argc, const char* const* argv);
void add_reduce(CLI::App& app, Context& context);
void add_lsp(CLI::App& app, Context& context);
void add_repl(CLI::App& app, Context& context);
void add_ops(CLI::App& app, Context& context);
void add_completion(CLI::App& app, Context& context);
void add_doc(CLI::App& app, Context& context);

/// Program text from a path, or from standard input for "-". Throws `Error` for what cannot be
/// read.
struct Input {
  std::string name;
  std::string text;
};
Input read_input(const std::string& path);
/// Throws `Error` if both paths name one file: what is written there would replace what is read, or
/// what is written first. "" and "-" are no files.
void refuse_same_file(const std::string& one, const std::string& other);
/// All of standard input, which is read once.
const std::string& standard_input();
/// Parses a program, or imports an ONNX model; prints warnings to standard error. Throws `Error` if
/// it is wrong; `typed`: with its type errors where those of its text leave that open. `params`
/// gets what a model brings along for parameters of its entry.
Module read_program(const std::string& path, bool typed = false, NamedArrays* params = nullptr);
/// The same of a text that is no model.
Module parse_program(Input input, bool typed);
/// Makes the safe changes that diagnostics of a file propose, as long as there are any (`relay
/// check
/// --fix`); returns how many. Throws `Error` for a file that cannot be written.
size_t fix_program(const std::string& path);
/// Types a program and checks what it says; `path` is what it is called while that lasts. Prints
/// warnings. Throws `Error`.
void check_program(Module& module, const std::string& path);
/// Reads and types.
Module read_typed_program(const std::string& path);
/// From now on, `report` writes JSON, a line for each diagnostic (docs/command.md).
void write_diagnostics_as_json(bool json);
bool diagnostics_are_json();
/// Warnings and the like, on standard error.
void report(const std::vector<Diagnostic>& diagnostics);
/// True if text for this stream may have colours: it is a terminal that knows them, and NO_COLOR is
/// not set in the environment.
bool may_colour(int descriptor);
/// A time with three digits or more, in a unit that suits: "12.3 µs".
std::string time_text(double ms);
/// Writes to standard output; a closed pipe ends the command quietly.
void print_out(std::string_view text);

/// On a terminal, says on standard error what is going on when it takes over two seconds.
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace relay::tool
