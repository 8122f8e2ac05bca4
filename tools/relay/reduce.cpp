// relay reduce: a program that shows a defect, as small as it can be.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include <fmt/core.h>

#include <relay/codegen/codegen.h>
#include <relay/infer/infer.h>
#include <relay/parse/parse.h>
#include <relay/print/print.h>
#include <relay/reduce/predicates.h>
#include <relay/runtime/file.h>
#include <relay/support/error.h>
#include <relay/transform/program.h>

#include <tools/relay/command.h>
#include <tools/relay/native.h>
#include <tools/relay/program.h>

namespace relay::tool {

namespace {

struct ReduceOptions {
  std::string program;
  std::string entry;
  Given given;
  NativeOptions native;
  std::string command;
  std::string passes;
  bool executors = false;
  std::optional<int> exit_code;
  std::string contains;
  std::string output;
  double tolerance = 1e-3;
  size_t max_tries = 10000;
  double time_limit = 0;
  double try_time = 10;
  size_t memory = 4096;
};

// The program to reduce: a typed module, and values for the function that is run.
struct Subject {
  Module module;
  reduce::Arguments arguments;
};

Subject read_subject(const ReduceOptions& options) {
  ProgramSource source = read_source(options.program);
  Subject subject;
  subject.arguments.seed = options.given.seed;
  subject.arguments.place = [](std::vector<Value>& values, const Module& module, Name entry) {
    place_arguments(values, module, entry);
  };
  auto give = [&](const Function& function, const std::vector<Value>& values) {
    for (size_t i = 0; i < values.size() && i < function.params().size(); ++i) {
      if (values[i]) subject.arguments.given[function.params()[i]->name().str()] = values[i];
    }
  };
  if (!options.given.params.empty() || !source.weights.empty()) {
    // Weights are constants, as for `relay run` and `relay opt`.
    Program program =
        bind_program(std::move(source), options.entry, options.given, Arguments::kLater);
    subject.module = std::move(program.module);
    subject.arguments.entry = program.entry;
    give(*subject.module.function(program.entry), program.arguments);
    return subject;
  }
  subject.module = std::move(source.module);
  if (options.entry.empty() && subject.module.entry() == nullptr && options.given.args.empty() &&
      !options.executors) {
    return subject;  // nothing is run
  }
  const Module::FunctionEntry& entry = find_entry(subject.module, options.entry);
  subject.arguments.entry = entry.name;
  const Parameters parameters = parameters_of(subject.module, entry);
  give(*entry.function, bind_arguments(parameters, options.given, {}, Missing::kLeave).values);
  return subject;
}

// A folder of its own for programs, gone with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code error;
    std::filesystem::path where = std::filesystem::temp_directory_path(error);
    std::string pattern = (where / "relay-reduce-XXXXXX").string();
    if (error || mkdtemp(pattern.data()) == nullptr)
      throw Error(Diagnostic::error("there is no folder for temporary files")
                      .help("set TMPDIR in the environment to one"));
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The defect to look for, and its description.
struct Search {
  reduce::Predicate predicate;
  std::string failure;
};

[[noreturn]] void refuse(const std::string& what, const std::string& help) {
  throw Error(Diagnostic::error(what).help(help));
}

Search search_command(const Subject& subject, const ReduceOptions& options,
                      const reduce::Limits& limits, const std::string& folder) {
  reduce::CommandCheck check;
  check.command = options.command;
  check.folder = folder;
  check.exit_code = options.exit_code;
  check.contains = options.contains;
  reduce::CommandResult found = reduce::run_check(subject.module, check, limits);
  std::string ending = found.hangs             ? "does not end in time"
                       : !found.signal.empty() ? "ends by " + found.signal
                                               : "exits with " + std::to_string(found.exit_code);
  if (!options.exit_code && options.contains.empty()) {
    if (found.exit_code == 0)
      refuse("the command exits with 0 for this program: it does not fail",
             "say what to look for with --exit-code or --output-contains");
    if (found.exit_code == 127)
      refuse("the shell cannot find the command: " + options.command,
             "paths that do not begin with / start at this folder");
    check.signal = found.signal;
    check.hangs = found.hangs;
    if (found.exit_code >= 0) check.exit_code = found.exit_code;
  } else if (!reduce::answers(found, check)) {
    refuse("the command " + ending + " for this program, not as required",
           options.contains.empty() ? "--exit-code asks for " + std::to_string(*options.exit_code)
                                    : "--output-contains asks for \"" + options.contains + '"');
  }
  if (!options.contains.empty()) ending += " and prints \"" + options.contains + '"';
  return {reduce::command_answers(check, limits), "the command " + ending};
}

// The check: `what` names it in messages, and `alone` must end by itself if the check does not.
struct Checked {
  std::string what;
  reduce::Check check;
  reduce::Check alone;
};

Search search_check(const Subject& subject, const ReduceOptions& options,
                    const reduce::Limits& limits, const Checked& checked) {
  using Kind = reduce::Outcome::Kind;
  const std::string& what = checked.what;
  reduce::Outcome found =
      reduce::run_isolated([&] { return checked.check(subject.module); }, limits);
  std::string message = found.text.substr(0, found.text.find('\n'));
  if ((found.kind == Kind::kHangs || found.kind == Kind::kCrashes) && checked.alone) {
    reduce::Outcome other =
        reduce::run_isolated([&] { return checked.alone(subject.module); }, limits);
    if (other.kind == found.kind)
      refuse("the reference evaluator alone " + std::string(reduce::outcome_text(other.kind)) +
                 " for this program",
             "a longer --try-time or more --memory may be enough");
  }
  if (found.kind == Kind::kFine) refuse(what + " does not fail", "there is nothing to reduce");
  if (found.kind == Kind::kRefused)
    refuse(what + " does not fail: the program itself does, " + message,
           "give arguments for which it runs: --arg");
  if (found.kind == Kind::kInterrupted) throw vm::Interrupted();
  if (found.text.find(options.contains) == std::string::npos)
    refuse(what + " fails in another way: " + message,
           "--output-contains asks for \"" + options.contains + '"');
  std::string failure =
      what + " " + reduce::outcome_text(found.kind) + (message.empty() ? "" : ": " + message);
  return {reduce::fails_like(checked.check, found, limits, options.contains, checked.alone),
          std::move(failure)};
}

Search make_search(const Subject& subject, const ReduceOptions& options,
                   const reduce::Limits& limits, const std::string& folder) {
  if (!options.command.empty()) return search_command(subject, options, limits, folder);
  const reduce::Arguments& arguments = subject.arguments;
  auto alone = [arguments](const Module& module) {
    return reduce::check_evaluation(module, arguments);
  };
  if (!options.passes.empty()) {
    reduce::PassCheck check;
    check.passes = parse_passes(options.passes);
    check.comparison.tolerance = options.tolerance;
    auto run = [arguments](reduce::PassCheck how) {
      return [how, arguments](const Module& module) {
        return reduce::check_passes(module, how, arguments);
      };
    };
    // The program is run only where the passes by themselves do not fail.
    check.run = false;
    reduce::Check passes_alone = run(check);
    bool fails = reduce::run_isolated([&] { return passes_alone(subject.module); }, limits).kind !=
                 reduce::Outcome::Kind::kFine;
    if (fails) return search_check(subject, options, limits, {options.passes, passes_alone, {}});
    check.run = true;
    return search_check(subject, options, limits, {options.passes, run(check), alone});
  }
  reduce::ExecutorCheck check;
  check.compile.target = codegen::Target::parse(options.native.target);
  check.compile.level = options.native.level;
  check.compile.onednn = options.native.onednn;
  check.compile.winograd = options.native.winograd;
  check.compile.cache = codegen::default_cache();
  check.comparison.tolerance = options.tolerance;
  auto both = [check, arguments](const Module& module) {
    return reduce::check_executors(module, check, arguments);
  };
  return search_check(subject, options, limits, {"the machine", both, alone});
}

// On a terminal, a line that is written over.
class ProgressLine {
 public:
  ProgressLine() : shown_(isatty(STDERR_FILENO) != 0) {}
  ~ProgressLine() {
    if (shown_) fmt::print(stderr, "\r\033[K");
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void show(const reduce::Progress& progress) {
    auto now = std::chrono::steady_clock::now();
    if (!shown_ || now - last_ < std::chrono::milliseconds(100)) return;
    last_ = now;
    fmt::print(stderr, "\r\033[K{} nodes, {} tries, {} steps: {}", progress.nodes, progress.tries,
               progress.steps, progress.rewrite);
    std::fflush(stderr);
  }

 private:
  bool shown_;
  std::chrono::steady_clock::time_point last_;
};

// Comments of one line at the head of the result.
std::string comment(std::string text) {
  constexpr size_t kMost = 300;
  if (text.size() > kMost) text = text.substr(0, kMost) + " …";
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 32) c = ' ';
  }
  return "// " + text + "\n";
}

std::string how_to_see(const ReduceOptions& options, const Module& module,
                       const reduce::Arguments& arguments) {
  std::string args = reduce::arguments_text(module, arguments);
  if (!args.empty()) args = " " + args;
  if (!options.command.empty()) return options.command;
  if (!options.passes.empty())
    return "relay reduce FILE --pass " + reduce::shell_word(options.passes) + args;
  return "relay reduce FILE --executors" + args;
}

const char* ending(reduce::Result::End end) {
  switch (end) {
    case reduce::Result::End::kSmallest:
      return "";
    case reduce::Result::End::kTries:
      return "stopped at --max-tries: it may become smaller still";
    case reduce::Result::End::kTime:
      return "stopped at --time-limit: it may become smaller still";
    case reduce::Result::End::kInterrupted:
      return "interrupted: it may become smaller still";
  }
  return "";
}

void reduce_program(const ReduceOptions& options, Context& context) {
  int ways = (options.command.empty() ? 0 : 1) + (options.passes.empty() ? 0 : 1) +
             (options.executors ? 1 : 0);
  if (ways != 1) throw UsageError("one of --command, --pass and --executors is needed");
  if (!options.command.empty() && options.command.find("{}") == std::string::npos)
    throw UsageError("the command has no {}, where the path of a program goes");
  if (options.exit_code && options.command.empty()) throw UsageError("--exit-code needs --command");
  refuse_same_file(options.program, options.output);
  if (!options.passes.empty()) parse_passes(options.passes);
  Subject subject = read_subject(options);

  Interruption interruption;
  TemporaryFolder folder;
  reduce::Limits limits;
  limits.seconds = options.try_time;
  limits.memory = options.memory << 20;
  limits.interrupt = interruption.flag();
  Search search = make_search(subject, options, limits, folder.path());

  reduce::Options how;
  how.max_tries = options.max_tries;
  how.time_limit = options.time_limit;
  how.interrupt = interruption.flag();
  reduce::Result result;
  {
    ProgressLine line;
    result = reduce::reduce(subject.module, search.predicate, how,
                            [&](const reduce::Progress& progress) { line.show(progress); });
  }
  std::string text = print_module(result.module);
  std::string head =
      comment(search.failure) + comment(how_to_see(options, result.module, subject.arguments));
  // Text is what people have: it must show the same.
  bool same = false;
  try {
    Module again = parse_module("the result", text);
    infer_types_or_throw(again);
    same = result.end == reduce::Result::End::kInterrupted || search.predicate(again);
  } catch (const Error& error) {
    report(error.diagnostics());
  }
  if (!same)
    report({Diagnostic::warning(
        "the result, written as text and read again, does not fail in this way")});
  if (options.output.empty() || options.output == "-") {
    print_out(head + text);
  } else {
    OutputFile file(options.output);
    file.write(head.data(), head.size());
    file.write(text.data(), text.size());
    file.commit();
  }
  fmt::print(stderr, "reduced from {} lines to {} ({} nodes to {}): {} tries, {} of them smaller\n",
             reduce::program_lines(subject.module), reduce::program_lines(result.module),
             reduce::program_size(subject.module), reduce::program_size(result.module),
             result.tries, result.steps);
  if (result.end != reduce::Result::End::kSmallest)
    report({Diagnostic::warning(ending(result.end))});
  if (result.end == reduce::Result::End::kInterrupted) context.exit_code = kInterrupted;
}

}  // namespace

void add_reduce(CLI::App& app, Context& context) {
  auto options = std::make_shared<ReduceOptions>();
  CLI::App* command =
      app.add_subcommand("reduce", "Make a program that shows a defect as small as possible.");
  command
      ->add_option("PROGRAM", options->program,
                   "File with the program, or an ONNX model; - is standard input.")
      ->required();
  command->add_option("--command", options->command,
                      "A shell command that fails; {} in it is the path of a program.");
  command
      ->add_option("--exit-code", options->exit_code,
                   "The exit code that the command must have; that for PROGRAM by default.")
      ->check(CLI::Range(0, 255));
  command->add_option(
      "--output-contains", options->contains,
      "Text that the command must print, or that the failure's message must contain.");
  command->add_option(
      "--pass", options->passes,
      "Look for failing passes, named as for relay opt: they end with an error, crash, hang, or "
      "leave a program that is not well typed or not well formed, or has another result.");
  command->add_flag("--executors", options->executors,
                    "Look for a result of the machine that differs from the reference evaluator's, "
                    "or for a failure of one of the two.");
  command->add_option("--entry", options->entry,
                      "Function to run; @main by default, else the only one.");
  add_given_options(*command, options->given);
  add_target_option(*command, options->native);
  add_level_option(*command, options->native);
  command
      ->add_option("--tolerance", options->tolerance,
                   "Largest difference of floats, relative to the largest of the result; "
                   "0.001 by default.")
      ->check(CLI::NonNegativeNumber);
  command->add_option("-o,--output", options->output,
                      "File for the result; standard output by default.");
  command->add_option("--max-tries", options->max_tries, "Programs to try, 10000 by default.")
      ->check(CLI::Range(1, 1000000000));
  command
      ->add_option(
          "--time-limit", options->time_limit,
          "Seconds after which the search ends with the smallest program so far; none by default.")
      ->check(CLI::Range(0.001, 1e6));
  command
      ->add_option("--try-time", options->try_time,
                   "Seconds that one try may take before it counts as hanging, 10 by default.")
      ->check(CLI::Range(0.01, 1e6));
  command
      ->add_option("--memory", options->memory, "Mebibytes that one try may take, 4096 by default.")
      ->check(CLI::Range(size_t{64}, size_t{1} << 20));
  context.actions[command] = [options, &context] {
    if (!options->entry.empty() && options->entry.front() == '@') options->entry.erase(0, 1);
    reduce_program(*options, context);
  };
}

}  // namespace relay::tool
