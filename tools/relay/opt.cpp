// relay opt: passes over a program.
#include <unistd.h>

#include <atomic>
#include <optional>

#include <fmt/core.h>

#include <relay/infer/infer.h>
#include <relay/print/print.h>
#include <relay/reduce/verify_runs.h>
#include <relay/runtime/file.h>
#include <relay/support/error.h>
#include <relay/support/suggest.h>
#include <relay/transform/instruments.h>
#include <relay/transform/pass.h>
#include <relay/transform/program.h>

#include <tools/relay/command.h>
#include <tools/relay/native.h>
#include <tools/relay/program.h>
#include <tools/relay/rewrite.h>

namespace relay::tool {

namespace {

struct OptOptions {
  std::string program;
  std::string passes;
  std::string rewrite;
  bool trace_rules = false;
  int level = 2;
  bool print_changed = false;
  bool print_difference = false;
  bool time_passes = false;
  bool count_ops = false;
  std::string verify_each;  // empty, "true" or "run"
  std::string dump;
  std::string trace;
  bool list = false;
  std::string emit;
  std::string kernel;  // of emit, if one alone
  std::string entry;
  Given given;
  NativeOptions native;
};

std::string graphs_text(std::span<const graph::Graph> graphs) {
  std::string text;
  for (const graph::Graph& graph : graphs) text += (text.empty() ? "" : "\n") + to_string(graph);
  return text;
}

// The graphs that a program is lowered from, perhaps with how they came about.
void emit_graphs(const OptOptions& options) {
  Program program =
      bind_program(read_source(options.program), options.entry, options.given, Arguments::kLater);
  graph::RewriteObserver observer;
  std::string before;
  if (options.print_changed || options.print_difference) {
    observer = [&](std::string_view stage, std::span<const graph::Graph> graphs, bool changed) {
      bool first = before.empty();
      std::string text = graphs_text(graphs);
      print_out(fmt::format("// {}{}\n", stage,
                            first     ? ""
                            : changed ? ": changed"
                                      : ": unchanged"));
      if (first || (changed && options.print_changed)) {
        print_out(text + "\n");
      } else if (changed) {
        print_out(line_difference(before, text, may_colour(STDOUT_FILENO)) + "\n");
      }
      before = std::move(text);
    };
  }
  std::vector<graph::Graph> graphs =
      module_graphs(program.module, program.entry, options.native, observer);
  if (!observer) print_out(graphs_text(graphs));
}

// Leaves the kernels of one name.
void keep_kernel(KernelLoops& kernels, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& kernel : kernels) names.push_back(kernel->name);
  std::erase_if(kernels, [&](const auto& kernel) { return kernel->name != name; });
  if (!kernels.empty()) return;
  Diagnostic diagnostic = Diagnostic::error("the program has no kernel " + name);
  suggest(diagnostic, name, names);
  throw Error(std::move(diagnostic));
}

// Prints what became of a program's kernels, one after the other.
void emit(const OptOptions& options) {
  ProgramSource source = read_source(options.program);
  Progress progress("compiling " + options.program);
  Program program =
      bind_program(std::move(source), options.entry, options.given, Arguments::kLater);
  KernelLoops kernels;
  compile_module(program.module, program.entry, options.native, &kernels);
  codegen::Target target = codegen::Target::parse(options.native.target);
  if (!options.kernel.empty()) keep_kernel(kernels, options.kernel);
  std::string text;
  for (const std::shared_ptr<const lower::Kernel>& kernel : kernels) {
    const char* comment = options.emit == "loops" ? "//" : options.emit == "llvm" ? ";" : "#";
    text += fmt::format("{}{} {}, {}", text.empty() ? "" : "\n", comment, kernel->name,
                        kernel->implementation);
    size_t products = kernel->products_in_loops;
    if (products > 0)
      text += fmt::format(", {} product{} in loops", products, products > 1 ? "s" : "");
    text += "\n";
    if (options.emit == "loops") {
      text += kernel->str();
    } else {
      text += codegen::emit_text(
          *kernel, target,
          options.emit == "llvm" ? codegen::Text::kLlvm : codegen::Text::kAssembly);
    }
  }
  print_out(text);
}

void list_passes() {
  std::string text;
  for (const PassRegistration* pass : all_passes()) {
    text += fmt::format("{:32} level {}  {}\n", pass->info.name.view(), pass->info.opt_level,
                        pass->info.doc);
    for (const auto& option : pass->options)
      text += fmt::format("{:34}{}: {}\n", "", option.name, option.doc);
  }
  print_out(text);
}

// Checks after each pass, as --verify-each asks for.
void verify_each(const OptOptions& options, const Module& module, PassContext& context,
                 const std::atomic<bool>* interrupt) {
  if (options.verify_each.empty()) return;
  context.set_config("relay.verify_passes", true);
  context.set_config("relay.verify_types", true);
  if (options.verify_each != "run") return;
  reduce::Arguments arguments;
  arguments.entry = find_entry(module, options.entry).name;
  arguments.seed = options.given.seed;
  arguments.place = [](std::vector<Value>& values, const Module& placed, Name entry) {
    place_arguments(values, placed, entry);
  };
  reduce::RunChecks checks;
  checks.limits.seconds = 60;
  checks.limits.interrupt = interrupt;
  checks.skipped = [sink = context.diagnostics](const std::string& why) {
    sink->add(Diagnostic::warning("passes were not checked by runs of the program: " + why));
  };
  context.instruments.push_back(reduce::verify_runs(std::move(arguments), std::move(checks)));
}

// The passes that are asked for by name or as rules; none for the standard ones.
std::vector<PassRef> asked_passes(const OptOptions& options,
                                  const std::shared_ptr<RuleTrace>& trace) {
  std::vector<PassRef> passes;
  if (!options.passes.empty()) passes = parse_passes(options.passes);
  if (options.trace_rules && options.rewrite.empty())
    throw UsageError("--trace-rules is about the rules of --rewrite");
  if (!options.rewrite.empty()) {
    if (options.rewrite == "-" && options.program == "-")
      throw UsageError("the rules and the program cannot both be standard input");
    passes.push_back(rules_pass(options.rewrite, trace));
  }
  return passes;
}

bool prints_passes(const OptOptions& options) {
  return options.print_changed || options.print_difference;
}

// Reports of passes beside the program.
struct Reports {
  std::shared_ptr<PassTimes> times = std::make_shared<PassTimes>();
  std::shared_ptr<OpCounts> counts = std::make_shared<OpCounts>();
  std::shared_ptr<RuleTrace> rules;
};

void add_instruments(const OptOptions& options, const Reports& reports, PassContext& context) {
  if (prints_passes(options)) {
    PrintPasses print;
    print.when = options.print_changed ? PrintWhen::kChanged : PrintWhen::kDifference;
    print.colour = may_colour(STDOUT_FILENO);
    context.instruments.push_back(
        print_passes([](const std::string& text) { print_out(text); }, print));
  }
  if (options.time_passes || !options.trace.empty())
    context.instruments.push_back(time_passes(reports.times));
  if (options.count_ops) context.instruments.push_back(count_ops(reports.counts));
  if (!options.dump.empty()) context.instruments.push_back(dump_passes(options.dump));
}

void print_reports(const OptOptions& options, const Reports& reports) {
  if (reports.rules) fmt::print(stderr, "{}", reports.rules->lines());
  if (options.time_passes) fmt::print(stderr, "{}", reports.times->table());
  if (options.count_ops) fmt::print(stderr, "{}", reports.counts->table());
  if (options.trace.empty()) return;
  std::string trace = reports.times->chrome_trace();
  OutputFile file(options.trace);
  file.write(trace.data(), trace.size());
  file.commit();
}

// Suggests `relay reduce` for a failure, with the passes that ran up to it.
void suggest_of_passes(const OptOptions& options, const std::string& ran, Context& context) {
  std::vector<std::string> words{"--pass", ran};
  if (!options.entry.empty()) words.insert(words.end(), {"--entry", options.entry});
  for (const std::string& file : options.given.params)
    words.insert(words.end(), {"--params", file});
  suggest_reduce(context, options.program, words);
}

// Runs the passes, those that are asked for or the standard ones, and prints what they make.
void run_passes(const OptOptions& options, Context& context_of_command) {
  Reports reports;
  if (options.trace_rules) reports.rules = std::make_shared<RuleTrace>();
  const std::vector<PassRef> passes = asked_passes(options, reports.rules);
  ProgramSource source = read_source(options.program);
  Module module =
      options.given.params.empty() && source.weights.empty()
          ? std::move(source.module)
          : bind_program(std::move(source), options.entry, options.given, Arguments::kLater).module;
  PassContext context;
  context.opt_level = options.level;
  DiagnosticSink sink;
  context.diagnostics = &sink;
  // Without runs, Ctrl-C ends the command where it is.
  std::optional<Interruption> interruption;
  if (options.verify_each == "run") interruption.emplace();
  verify_each(options, module, context, interruption ? interruption->flag() : nullptr);
  add_instruments(options, reports, context);
  std::string ran = options.passes;
  if (options.rewrite.empty()) suggest_of_passes(options, ran, context_of_command);
  if (passes.empty()) {
    context.instruments.push_back({"reduce", [&](const Module&, const PassInfo& info) {
                                     ran += (ran.empty() ? "" : ",") + info.name.str();
                                     suggest_of_passes(options, ran, context_of_command);
                                   }});
  }
  PassContext::Scope scope(context);
  // Runs are made in child processes, which is safe without other threads only.
  std::optional<Progress> progress;
  if (options.verify_each != "run") progress.emplace("optimising " + options.program);
  if (passes.empty()) {
    module = (*standard_pipeline(options.level))(module);
  } else {
    // Passes that were asked for by name run whatever their level.
    for (const PassRef& pass : passes) module = (*pass)(module);
  }
  report(sink.take());
  if (!prints_passes(options)) print_out(print_module(module));
  print_reports(options, reports);
}

void opt(const OptOptions& options, Context& context_of_command) {
  if (options.list) {
    list_passes();
    return;
  }
  if (options.program.empty()) throw UsageError("PROGRAM is required");
  if (prints_passes(options) && !options.emit.empty() && options.emit != "graph") {
    throw UsageError(fmt::format("{} shows passes and graphs; --emit {} prints kernels",
                                 options.print_changed ? "--print-changed" : "--print-diff",
                                 options.emit));
  }
  if (options.emit.empty()) {
    run_passes(options, context_of_command);
  } else if (options.emit == "graph") {
    emit_graphs(options);
  } else {
    emit(options);
  }
}

// Instruments that print and check what passes do.
void add_report_options(CLI::App& command, OptOptions& options) {
  command.add_flag("--trace-rules", options.trace_rules,
                   "Print which rule applied where, and why others did not, on standard error.");
  command.add_flag("--print-changed", options.print_changed,
                   "Print the program after each pass that changed it.");
  command
      .add_flag("--print-diff", options.print_difference,
                "Print what each pass changed, line by line.")
      ->excludes("--print-changed");
  command.add_flag("--time-passes", options.time_passes,
                   "Print the time of each pass on standard error.");
  command.add_flag(
      "--count-ops", options.count_ops,
      "Print how many calls of each operator a pass added and removed, on standard error.");
  command.add_option("--dump-passes", options.dump,
                     "Write the program after each pass that changed it to files in this folder.");
  command.add_option("--trace-passes", options.trace,
                     "Write when each pass ran to this file, in Chrome's trace format.");
  command
      .add_flag("--verify-each", options.verify_each,
                "Check after each pass that the program is well formed and well typed; with "
                "--verify-each=run also, on made-up arguments, that it computes what it did.")
      ->check(CLI::Validator(
          [](const std::string& how) {
            return how == "true" || how == "run" ? "" : "takes nothing or run, not " + how;
          },
          "[=run]"));
}

CLI::Option* add_emit_options(CLI::App& command, OptOptions& options) {
  CLI::Option* emitted =
      command
          .add_option(
              "--emit", options.emit,
              "Print the compiled form of the program: the graphs of its computations (with "
              "--print-changed or --print-diff after each rewrite), or its kernels as loops, "
              "llvm or asm.")
          ->check(CLI::IsMember({"graph", "loops", "llvm", "asm"}));
  command
      .add_option("--kernel", options.kernel,
                  "With --emit=loops, llvm or asm: print this kernel alone, as llc and assemblers "
                  "take one module at a time.")
      ->option_text("NAME")
      ->needs(emitted);
  return emitted;
}

}  // namespace

void add_opt(CLI::App& app, Context& context) {
  auto options = std::make_shared<OptOptions>();
  CLI::App* command = app.add_subcommand("opt", "Apply passes to a program and print the result.");
  command->add_option("PROGRAM", options->program,
                      "File with the program, or an ONNX model; - is standard input.");
  auto* passes = command->add_option(
      "--passes", options->passes,
      "Passes, separated by commas, e.g. FoldConstant,DeadCodeElimination(inline_once=True).");
  CLI::Option* level =
      command
          ->add_option("--level", options->level,
                       "Run the standard passes of a level, 0 to 4; with --emit, compile at that "
                       "level (3 unless given).")
          ->check(CLI::Range(0, 4))
          ->excludes(passes);
  CLI::Option* rewrite =
      command
          ->add_option("--rewrite", options->rewrite,
                       "Apply the rules of this file until none applies, behind --passes if there "
                       "are any, else alone.")
          ->option_text("RULES");
  level->excludes(rewrite);
  add_report_options(*command, *options);
  CLI::Option* emitted = add_emit_options(*command, *options);
  emitted->excludes(passes);
  command->add_option(
      "--entry", options->entry,
      "Function to compile with --emit or to run with --verify-each=run, whose parameters --params "
      "names; @main by default, else the only one.");
  add_params_option(*command, options->given);
  add_target_option(*command, options->native);
  add_winograd_option(*command, options->native);
  add_precision_option(*command, options->native);
  for (const char* of_passes : {"--time-passes", "--count-ops", "--dump-passes", "--trace-passes",
                                "--verify-each", "--rewrite", "--trace-rules"})
    emitted->excludes(command->get_option(of_passes));
  for (const char* of_kernels : {"--target", "--no-winograd", "--precision"})
    command->get_option(of_kernels)->needs(emitted);
  command->add_flag("--list", options->list, "List the passes.");
  context.actions[command] = [options, level, &context] {
    if (level->count() > 0) options->native.level = options->level;
    if (!options->entry.empty() && options->entry.front() == '@') options->entry.erase(0, 1);
    opt(*options, context);
  };
}

}  // namespace relay::tool
