#include <tools/relay/native.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <span>

#include <relay/eval/eval.h>
#include <relay/infer/infer.h>
#include <relay/infer/runtime/type_checks.h>
#include <relay/runtime/file.h>
#include <relay/runtime/target_names.h>
#include <relay/support/error.h>
#include <relay/vm/compiler/compile.h>
#include <relay/vm/machine/executable_file.h>

#include <tools/relay/command.h>
#include <tools/relay/program.h>

namespace relay::tool {

namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void on_interrupt(int signal) {
  if (interrupted.exchange(true)) {
    remove_unfinished_files();
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

// Where the tensors of an argument have to be. Types nest no deeper than the verifier allows.
DeviceTree devices_of(const TypeInfo& info) {
  DeviceTree result;
  result.device = info.device;
  for (const TypeInfo& field : info.fields) result.fields.push_back(devices_of(field));
  return result;
}

const vm::Entry& find_model_entry(const vm::Executable& executable, const std::string& name) {
  if (executable.entries.empty()) throw Error("the model has no function to run");
  if (name.empty()) {
    for (const vm::Entry& entry : executable.entries) {
      if (entry.name == "main") return entry;
    }
    return executable.entries.front();
  }
  std::string names;
  for (const vm::Entry& entry : executable.entries) {
    if (entry.name == name) return entry;
    names += (names.empty() ? "@" : ", @") + entry.name;
  }
  throw Error("the model has no function @" + name + "; it has " + names);
}

}  // namespace

DType precision_of(const NativeOptions& options) {
  if (options.precision.empty()) return {};
  return options.precision == "bf16" ? kBFloat16 : kFloat16;
}

void add_target_option(CLI::App& command, NativeOptions& options) {
  std::vector<std::string> targets{"host"};
  targets.insert(targets.end(), std::begin(kTargetNames), std::end(kTargetNames));
  command
      .add_option(
          "--target", options.target,
          "Instruction set: host (the default), baseline, avx2 or avx512; the last two with "
          "products of small integers are avx2-vnni and avx512-vnni, and those of bfloat16, too, "
          "avx512-bf16; avx512-amx has a unit for tiles of both; aarch64 is of processors by Arm. "
          "A file "
          "of a name that ends in .json describes a processor with the sizes of its caches, as "
          "`relay "
          "machine --format json` prints it.")
      ->check(CLI::IsMember(targets) | CLI::Validator(
                                           [](std::string& name) -> std::string {
                                             return name.ends_with(".json")
                                                        ? ""
                                                        : name + " is no FILE.json";
                                           },
                                           "FILE.json"));
}

void add_level_option(CLI::App& command, NativeOptions& options) {
  command
      .add_option(
          "--opt-level", options.level,
          "Level of optimisation, 0 to 4; 3 by default. From 1 on, work whose result nobody needs "
          "is left "
          "out, and its failures with it; types that a let states are compared at every level.")
      ->check(CLI::Range(0, 4));
}

void add_winograd_option(CLI::App& command, NativeOptions& options) {
  command.add_flag_callback(
      "--no-winograd", [&options] { options.winograd = false; },
      "Compute every convolution as a plain sum, never in tiles, which take fewer operations "
      "and round more.");
}

void add_precision_option(CLI::App& command, NativeOptions& options) {
  command
      .add_option("--precision", options.precision,
                  "Compute products and convolutions of float32 on narrower numbers, bf16 or fp16, "
                  "with sums of float32; parameters and results keep their types.")
      ->check(CLI::IsMember({"bf16", "fp16"}));
}

void add_native_options(CLI::App& command, NativeOptions& options) {
  command
      .add_option("--threads", options.threads,
                  "Workers for kernels; one for each core that the process may use by default. "
                  "Results do not "
                  "depend on it.")
      ->check(CLI::Range(1, 1024));
  add_target_option(command, options);
  add_level_option(command, options);
  add_winograd_option(command, options);
  add_precision_option(command, options);
  command.add_flag("--onednn", options.onednn,
                   "Compute products and convolutions of float32 by oneDNN instead of generated "
                   "kernels.");
}

bool is_model_file(const std::string& path) {
  // Pipes are program text: reading their beginning would take it away.
  std::error_code error;
  if (path == "-") return vm::is_executable_file(std::as_bytes(std::span(standard_input())));
  if (!std::filesystem::is_regular_file(path, error)) return false;
  InputFile file(path);
  std::array<std::byte, 64> beginning{};
  size_t size = std::min<size_t>(beginning.size(), file.size());
  file.read_at(0, beginning.data(), size);
  return vm::is_executable_file(std::span(beginning).first(size));
}

Loaded load_model(const std::string& path, const std::string& entry, const Given& given,
                  const NativeOptions& options, Missing missing) {
  if (options.target != NativeOptions().target || options.level != NativeOptions().level ||
      options.onednn || !options.winograd || !options.precision.empty()) {
    throw UsageError(
        "--target, --opt-level, --no-winograd, --precision and --onednn are chosen when a model is "
        "compiled");
  }
  Loaded result;
  result.executable =
      path == "-" ? vm::load_executable(std::as_bytes(std::span(standard_input())), "<stdin>")
                  : vm::load_executable(path);
  const vm::Entry& function = find_model_entry(*result.executable, entry);
  result.entry = function.name;
  result.arguments = bind_entry(function, given, missing, result.made_up);
  return result;
}

std::vector<Value> bind_entry(const vm::Entry& function, const Given& given, Missing missing,
                              std::vector<std::string>& made_up) {
  const Parameters parameters{function.name, function.params};
  Bound bound = bind_arguments(parameters, given, {}, missing);
  made_up = made_up_texts(parameters, bound);
  std::vector<DeviceTree> devices;
  for (const TypeCheck::Part& part : function.params.parts)
    devices.push_back(devices_of(part.type));
  place_arguments(bound.values, devices);
  return std::move(bound.values);
}

vm::CompileOptions compile_options(const NativeOptions& options) {
  vm::CompileOptions compile;
  compile.target = codegen::Target::parse(options.target);
  compile.level = options.level;
  compile.onednn = options.onednn;
  compile.winograd = options.winograd;
  compile.precision = precision_of(options);
  if (options.use_cache) compile.cache = codegen::default_cache();
  compile.late_constants = options.to_be_saved;
  return compile;
}

std::shared_ptr<const vm::Executable> compile_module(const Module& specialised, Name entry,
                                                     const NativeOptions& options,
                                                     KernelLoops* kernels) {
  vm::CompileOptions compile = compile_options(options);
  compile.kernels = kernels;
  std::vector<Diagnostic> warnings;
  compile.warnings = &warnings;
  auto executable = vm::compile(specialised, entry, compile);
  report(warnings);
  return executable;
}

std::vector<graph::Graph> module_graphs(const Module& specialised, Name entry,
                                        const NativeOptions& options,
                                        const graph::RewriteObserver& observer) {
  vm::CompileOptions compile = compile_options(options);
  compile.on_graphs = observer;
  return vm::compile_graphs(specialised, entry, compile);
}

Loaded load_program(const std::string& path, const std::string& entry, const Given& given,
                    const NativeOptions& options, Missing missing) {
  if (is_model_file(path)) return load_model(path, entry, given, options, missing);
  const Arguments when = missing == Missing::kMakeUp ? Arguments::kMadeUp : Arguments::kGiven;
  Program program = bind_program(read_source(path), entry, given, when);
  Loaded result;
  result.entry = program.entry.str();
  result.arguments = std::move(program.arguments);
  result.made_up = std::move(program.made_up);
  result.decided_extents = std::move(program.decided_extents);
  result.executable = compile_module(program.module, program.entry, options);
  return result;
}

Interruption::Interruption() {
  interrupted = false;
  before_ = std::signal(SIGINT, on_interrupt);
}
Interruption::~Interruption() { std::signal(SIGINT, before_ == SIG_ERR ? SIG_DFL : before_); }
const std::atomic<bool>* Interruption::flag() const { return &interrupted; }

}  // namespace relay::tool
