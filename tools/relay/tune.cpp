// relay tune: measures which sizes of tiles suit this machine, for the kernels of a program.
#include <algorithm>
#include <filesystem>
#include <string>

#include <fmt/core.h>
#include <unistd.h>

#include <relay/infer/infer.h>
#include <relay/runtime/file.h>
#include <relay/support/error.h>
#include <relay/vm/machine/executable_file.h>
#include <relay/vm/tune/tune.h>

#include <tools/relay/command.h>
#include <tools/relay/native.h>
#include <tools/relay/program.h>

namespace relay::tool {

namespace {

struct TuneCommand {
  std::string program;
  std::string entry;
  std::string output;
  Given given;
  NativeOptions native;
  double seconds = 60;
};

/// A line on the terminal that says how far the search is.
class TuneLine {
 public:
  TuneLine() : shown_(isatty(STDERR_FILENO) != 0) {}
  ~TuneLine() { clear(); }
  TuneLine(const TuneLine&) = delete;
  TuneLine& operator=(const TuneLine&) = delete;
  void show(const vm::TuneProgress& progress) const {
    if (!shown_) return;
    fmt::print(stderr, "\r\033[Kmeasuring {} kernels, step {} of {}: {} better; {:.0f} s left",
               progress.kernels, progress.step, progress.steps, progress.better,
               progress.seconds_left);
    std::fflush(stderr);
  }
  void clear() const {
    if (shown_) fmt::print(stderr, "\r\033[K");
  }

 private:
  bool shown_;
};

std::string report_text(const std::string& entry, const vm::TuneResult& result) {
  std::string text;
  size_t better = 0;
  for (const vm::TunedKernel& kernel : result.kernels) {
    if (kernel.choice == lower::TileChoice()) continue;
    ++better;
    text += fmt::format("{:<40} {:>12} -> {:>12}  {}\n", kernel.name,
                        time_text(kernel.before_ns * 1e-6), time_text(kernel.after_ns * 1e-6),
                        kernel.choice.str());
  }
  return fmt::format("@{}: {} -> {}; {} of {} measured kernels have other sizes{}\n", entry,
                     time_text(result.before_ns * 1e-6), time_text(result.after_ns * 1e-6), better,
                     result.kernels.size(),
                     result.complete ? "" : ", the search was not finished") +
         text;
}

std::vector<std::string> keys_of(const vm::TuneResult& result) {
  std::vector<std::string> keys;
  for (const vm::TunedKernel& kernel : result.kernels) keys.push_back(kernel.key);
  return keys;
}

// What cannot be written should not be found out when the search is over.
void check_places(const TuneCommand& options, const std::filesystem::path& cache) {
  if (options.native.use_cache) codegen::TunedKernels().write(cache, {});
  if (!options.output.empty()) OutputFile(options.output);
}

// True if a type leaves extents open.
bool has_open_extent(const TypeInfo& type) {
  std::vector<const TypeInfo*> waiting{&type};
  while (!waiting.empty()) {
    const TypeInfo& at = *waiting.back();
    waiting.pop_back();
    if (std::ranges::any_of(at.dims, [](const TypeInfo::Dim& dim) {
          return dim.kind != TypeInfo::Dim::Kind::kInt;
        }))
      return true;
    for (const TypeInfo& field : at.fields) waiting.push_back(&field);
  }
  return false;
}

// Extents that nobody gives are made up small; what is best for those is no guide for others.
void warn_of_open_extents(const vm::Entry& entry, const Given& given,
                          const std::vector<std::string>& made_up) {
  if (!given.dims.empty()) return;
  const bool open = std::ranges::any_of(entry.params.parts, [&](const TypeCheck::Part& part) {
    const std::string line = "%" + part.what + ":";
    return has_open_extent(part.type) &&
           std::ranges::any_of(made_up, [&](const auto& text) { return text.starts_with(line); });
  });
  if (!open) return;
  report(
      {Diagnostic::warning("extents that the program leaves open are made up small, so the sizes "
                           "that are found suit small ones")
           .help("give them as they will be: --dim NAME=N, or arguments")});
}

void tune(const TuneCommand& options) {
  refuse_same_file(options.program, options.output);
  if (is_model_file(options.program))
    throw UsageError("'" + options.program +
                     "' is compiled already; give the program or the model that it was made of");
  ProgramSource source = read_source(options.program);
  Program program =
      bind_program(std::move(source), options.entry, options.given, Arguments::kLater);
  vm::TuneOptions search;
  search.compile = compile_options(options.native);
  if (!search.compile.target.runs_here())
    throw Error("this machine does not run code for the target '" +
                std::string(search.compile.target.name()) + "', so nothing can be measured");
  const codegen::TunedKernels none;
  search.compile.tuned = &none;
  search.threads = options.native.threads;
  search.seconds = options.seconds;
  const std::string entry = program.entry.str();
  const auto first = vm::compile(program.module, program.entry, search.compile);
  // As `relay compile` makes the program, extents are open; weights are in it.
  Given given = options.given;
  given.params.clear();
  std::vector<std::string> made_up;
  const vm::Entry& function = *std::ranges::find(first->entries, entry, &vm::Entry::name);
  const std::vector<Value> arguments = bind_entry(function, given, Missing::kMakeUp, made_up);
  warn_of_open_extents(function, given, made_up);
  check_places(options, search.compile.cache);
  Interruption interruption;
  search.interrupt = interruption.flag();
  TuneLine line;
  search.on_progress = [&line](const vm::TuneProgress& progress) { line.show(progress); };
  const vm::TuneResult result = vm::tune(program.module, program.entry, arguments, search);
  line.clear();
  for (const std::string& text : made_up) print_out("made up: " + text + "\n");
  print_out(report_text(entry, result));
  if (!options.output.empty()) {
    search.compile.tuned = &result.found;
    search.compile.late_constants = true;
    const auto tuned = vm::compile(program.module, program.entry, search.compile);
    program.module = Module();
    vm::save_executable(*tuned, options.output);
  }
  if (options.native.use_cache) result.found.write(search.compile.cache, keys_of(result));
}

}  // namespace

void add_tune(CLI::App& app, Context& context) {
  auto options = std::make_shared<TuneCommand>();
  CLI::App* command = app.add_subcommand(
      "tune", "Measure which sizes of tiles suit this machine, for the kernels of a program.");
  command
      ->add_option("PROGRAM", options->program,
                   "File with the program, or an ONNX model; - is standard input.")
      ->required();
  command->add_option("-o,--output", options->output,
                      "Also compile to this file, usually NAME.rlx, with what was found.");
  command->add_option("--entry", options->entry,
                      "Function to run; @main by default, else the only one.");
  command
      ->add_option("--seconds", options->seconds,
                   "Search no longer than about so many seconds; 60 by default.")
      ->check(CLI::Range(0.1, 1e6));
  add_given_options(*command, options->given);
  add_native_options(*command, options->native);
  context.actions[command] = [options] {
    if (!options->entry.empty() && options->entry.front() == '@') options->entry.erase(0, 1);
    if (options->output == "-") throw UsageError("a model goes to a file, not to standard output");
    tune(*options);
  };
}

}  // namespace relay::tool
