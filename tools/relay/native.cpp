#include <tools/relay/native.h>

#include <csignal>

#include <relay/eval/eval.h>
#include <relay/infer/infer.h>
#include <relay/support/error.h>
#include <relay/vm/compiler/compile.h>

#include <tools/relay/command.h>

namespace relay::tool {

namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void on_interrupt(int signal) {
  if (interrupted.exchange(true)) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

}  // namespace

void add_native_options(CLI::App& command, NativeOptions& options) {
  command
      .add_option(
          "--threads", options.threads,
          "Workers for kernels; as many as the machine has cores by default. Results do not "
          "depend on it.")
      ->check(CLI::Range(1, 1024));
  command.add_option("--target", options.target,
                     "Instruction set: host (the default), baseline, avx2 or avx512.");
  command.add_option("--opt-level", options.level, "Level of optimisation, 0 to 4; 3 by default.")
      ->check(CLI::Range(0, 4));
}

std::shared_ptr<const vm::Executable> compile_module(const Module& specialised, Name entry,
                                                     const NativeOptions& options) {
  vm::CompileOptions compile;
  compile.target = codegen::Target::parse(options.target);
  compile.level = options.level;
  if (options.use_cache) compile.cache = codegen::default_cache();
  return vm::compile(specialised, entry, compile);
}

Loaded load_program(const std::string& path, const std::string& entry, const Given& given,
                    const NativeOptions& options) {
  Module module = read_typed_program(path);
  const Module::FunctionEntry& function = find_entry(module, entry);
  TypeRef signature = function_signature(module, function.name);
  Loaded result;
  result.entry = function.name.str();
  result.arguments = bind_arguments(parameters_of(function, signature.get()), given);
  std::vector<TypeRef> types;
  for (const Value& argument : result.arguments) types.push_back(value_type(argument));
  Module special = specialize(module, function.name, types);
  result.executable = compile_module(special, function.name, options);
  return result;
}

Interruption::Interruption() {
  interrupted = false;
  std::signal(SIGINT, on_interrupt);
}
Interruption::~Interruption() { std::signal(SIGINT, SIG_DFL); }
const std::atomic<bool>* Interruption::flag() const { return &interrupted; }

}  // namespace relay::tool
