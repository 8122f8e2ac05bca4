// relay explore: a program on its way to machine code, as a page.
#include <algorithm>
#include <filesystem>
#include <span>
#include <thread>

#include <fmt/core.h>

#include <relay/explore/document.h>
#include <relay/explore/page.h>
#include <relay/runtime/file.h>
#include <relay/support/error.h>
#include <relay/vm/machine/executable_file.h>

#include <tools/relay/command.h>
#include <tools/relay/native.h>
#include <tools/relay/page_server.h>
#include <tools/relay/peak.h>
#include <tools/relay/program.h>

namespace relay::tool {

namespace {

struct ExploreOptions {
  std::string program;
  std::string with;
  std::string entry;
  std::string output;
  std::string format = "page";
  Given given;
  NativeOptions native;
  double run_seconds = 20;
  bool no_run = false;
  int port = 0;
};

// Arguments for a compiled model as `--arg` takes them: floats at random, indices that every table
// has, and 2 for open extents.
std::vector<std::string> made_up(const std::string& path, const std::string& entry) {
  const std::shared_ptr<const vm::Executable> executable =
      path == "-" ? vm::load_executable(std::as_bytes(std::span(standard_input())), "<stdin>")
                  : vm::load_executable(path);
  std::vector<std::string> words;
  for (const vm::Entry& each : executable->entries) {
    if (each.name != (entry.empty() ? "main" : entry) && executable->entries.size() > 1) continue;
    for (const TypeCheck::Part& part : each.params.parts) {
      std::string extents;
      for (const TypeInfo::Dim& dim : part.type.dims) {
        const bool known = dim.kind == TypeInfo::Dim::Kind::kInt;
        extents += (extents.empty() ? "" : ",") + std::to_string(known ? dim.value : 2);
      }
      const bool floats = part.type.dtype.is_float();
      words.push_back(extents.empty()
                          ? part.what + "=0"
                          : part.what + (floats ? "=random(" : "=zeros(") + extents + ")");
    }
    break;
  }
  return words;
}

std::string document_of(const std::string& path, const ExploreOptions& options,
                        explore::Options explored) {
  Progress progress("exploring " + path);
  explored.title = path == "-" ? "<stdin>" : std::filesystem::path(path).filename().string();
  if (is_model_file(path)) {
    Given arguments = options.given;
    if (arguments.args.empty() && arguments.params.empty())
      arguments.args = made_up(path, options.entry);
    Loaded loaded = load_model(path, options.entry, arguments, options.native);
    return explore::executable_document(loaded.executable, loaded.entry,
                                        std::move(loaded.arguments), explored);
  }
  const bool given = !options.given.args.empty();
  Program program = bind_program(read_source(path), options.entry, options.given,
                                 given ? Arguments::kGiven : Arguments::kLater);
  if (!given) program.arguments.clear();  // they have no values
  return explore::program_document(program.module, program.entry, std::move(program.arguments),
                                   explored);
}

void write_file(const std::string& path, const std::string& text) {
  if (path == "-") {
    print_out(text);
    return;
  }
  OutputFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

void explore_program(const ExploreOptions& options) {
  const bool page = options.format == "page";
  if (!page && options.output.empty())
    throw UsageError("--format json goes to --output, - for standard output");
  if (!page && !options.with.empty())
    throw UsageError("--format json is one document; --with shows two");
  if (!options.output.empty()) {
    refuse_same_file(options.program, options.output);
    refuse_same_file(options.with, options.output);
  }
  std::atomic<bool> interrupt{false};
  explore::Options explored;
  explored.target = codegen::Target::parse(options.native.target);
  explored.level = options.native.level;
  explored.threads = options.native.threads;
  explored.winograd = options.native.winograd;
  explored.onednn = options.native.onednn;
  if (options.native.use_cache) explored.cache = codegen::default_cache();
  explored.run_seconds = options.no_run ? 0 : options.run_seconds;
  explored.interrupt = &interrupt;
  if (!options.no_run) {
    const int threads = options.native.threads > 0
                            ? options.native.threads
                            : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    const Peak peak = best_peak(threads);
    explored.peak_gflops = peak.gflops;
    explored.peak_gigabytes = peak.gigabytes;
  }
  std::vector<std::string> documents{document_of(options.program, options, explored)};
  if (!options.with.empty()) documents.push_back(document_of(options.with, options, explored));
  if (!page) {
    write_file(options.output, documents.front() + "\n");
    return;
  }
  const std::string title = std::filesystem::path(options.program).filename().string();
  const std::string text = explore::page_with(title + " · relay", documents);
  if (!options.output.empty()) {
    write_file(options.output, text);
    return;
  }
  serve_page(text, options.port);
}

}  // namespace

void add_explore(CLI::App& app, Context& context) {
  auto options = std::make_shared<ExploreOptions>();
  CLI::App* command = app.add_subcommand(
      "explore",
      "Show a program in the browser: its stages, graph, kernels, memory, values and a profile.");
  command
      ->add_option("PROGRAM", options->program,
                   "File with the program, an ONNX model or a file of `relay compile`; - is "
                   "standard input.")
      ->required();
  command->add_option("--with", options->with, "A second program, to be shown beside the first.")
      ->option_text("PROGRAM");
  command->add_option("-o,--output", options->output,
                      "Write the page to this file, which needs nothing else, instead of serving "
                      "it; - is standard output.");
  command
      ->add_option("--format", options->format,
                   "What --output gets: page (the default), or json, the document that the page "
                   "shows.")
      ->check(CLI::IsMember({"page", "json"}));
  command
      ->add_option("--port", options->port,
                   "Port on this machine's loopback; a free one by default.")
      ->check(CLI::Range(0, 65535));
  command->add_option("--entry", options->entry,
                      "Function to compile, with those that it calls; @main by default, else the "
                      "only one.");
  add_given_options(*command, options->given);
  add_native_options(*command, options->native);
  command
      ->add_option("--run-seconds", options->run_seconds,
                   "The longest that a run for the profile, or for values, takes (default 20).")
      ->check(CLI::Range(0.001, 1e6));
  command->add_flag("--no-run", options->no_run,
                    "Do not run the program: no profile and no values.");
  context.actions[command] = [options] {
    if (!options->entry.empty() && options->entry.front() == '@') options->entry.erase(0, 1);
    explore_program(*options);
  };
}

}  // namespace relay::tool
