// relay run: a program on real input.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include <fmt/core.h>

#include <relay/eval/eval.h>
#include <relay/infer/infer.h>
#include <relay/runtime/format.h>
#include <relay/runtime/params.h>
#include <relay/support/error.h>
#include <relay/vm/compiler/compile.h>
#include <relay/vm/machine/machine.h>

#include <tools/relay/bind.h>
#include <tools/relay/command.h>

namespace relay::tool {

namespace {

struct RunOptions {
  std::string program;
  std::string entry;
  Given given;
  std::string executor = "eval";
  std::string target = "host";
  int threads = 0;
  int level = 3;
  std::string format = "text";
  std::string output;
  bool time = false;
};

class Stopwatch {
 public:
  explicit Stopwatch(bool enabled) : enabled_(enabled) {}
  void lap(const char* what) {
    auto now = std::chrono::steady_clock::now();
    double ms = std::chrono::duration<double, std::milli>(now - start_).count();
    if (enabled_) fmt::print(stderr, "{}: {:.3f} ms\n", what, ms);
    start_ = std::chrono::steady_clock::now();
  }

 private:
  bool enabled_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

void collect_outputs(const Value& value, const std::string& name, NamedArrays& out) {
  if (value.is_tensor()) {
    out.emplace_back(name, value.array());
  } else if (value.is_tuple()) {
    for (size_t i = 0; i < value.fields().size(); ++i) {
      collect_outputs(value.field(i), name + "_" + std::to_string(i), out);
    }
  } else {
    throw Error(std::string("--output stores tensors and tuples of them; the result holds ") +
                kind_name(value.kind()));
  }
}

void run(const RunOptions& options) {
  Stopwatch watch(options.time);
  Module module = read_program(options.program, true);
  watch.lap("parse");
  {
    Progress progress("checking " + options.program);
    std::vector<Diagnostic> warnings;
    infer_types_or_throw(module, &warnings);
    report(warnings);
    if (std::vector<Diagnostic> errors = check_calls(module); !errors.empty()) {
      throw Error(std::move(errors));
    }
  }
  watch.lap("infer");
  const Module::FunctionEntry& entry = find_entry(module, options.entry);
  TypeRef signature = function_signature(module, entry.name);
  std::vector<Value> arguments =
      bind_arguments(parameters_of(entry, signature.get()), options.given);
  std::vector<TypeRef> types;
  for (const Value& argument : arguments) types.push_back(value_type(argument));
  watch.lap("arguments");
  Module special = specialize(module, entry.name, types);
  TypeRef special_signature = function_signature(special, entry.name);
  watch.lap("specialize");
  Value result;
  if (options.executor == "eval") {
    Progress progress("running @" + entry.name.str());
    result = evaluate_function(special, entry.name, arguments);
  } else {
    vm::CompileOptions compile;
    compile.level = options.level;
    compile.target = codegen::Target::parse(options.target);
    compile.cache = codegen::default_cache();
    compile.direct = options.executor == "vm-direct";
    std::shared_ptr<const vm::Executable> executable;
    {
      Progress progress("compiling @" + entry.name.str());
      executable = vm::compile(special, entry.name, compile);
    }
    watch.lap("compile");
    vm::MachineOptions machine;
    machine.threads = options.threads;
    Progress progress("running @" + entry.name.str());
    result = vm::Machine(executable, machine).run(entry.name.str(), arguments);
  }
  watch.lap("run");

  TypeRef type = value_type(result);
  if (const auto* function = special_signature ? special_signature->as<FuncType>() : nullptr) {
    const TypeRef& declared = function->result();
    bool open_shape = declared->has_any_dim() || declared->has_symbolic_dim();
    if (type->has_incomplete() || !open_shape) type = result_type(function);
  }
  if (!options.output.empty()) {
    NamedArrays outputs;
    collect_outputs(result, "output", outputs);
    save_params(options.output, outputs);
  }
  std::string text;
  if (options.format == "json") {
    text = "{\"type\": ";
    append_json_string(text, type->str());
    text += ", \"value\": ";
    append_json(text, result);
    text += "}\n";
  } else {
    text = format_value(result) + "\n: " + type->str() + "\n";
  }
  print_out(text);
}

}  // namespace

void add_run(CLI::App& app, Context& context) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "Run a program.");
  command->add_option("PROGRAM", options->program, "File with the program; - is standard input.")
      ->required();
  command->add_option("--entry", options->entry,
                      "Function to run; @main by default, else the only one.");
  command
      ->add_option(
          "--arg", options->given.args,
          "Argument, in order or as NAME=V. V is a number, True, False or nested lists of them, "
          "with an "
          "optional dtype (3:int64), ones(2,3), zeros(2,3), full(1.5, 2,3), random(2,3), @x.npy or "
          "@x.npz:NAME.")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      ->add_option("--params", options->given.params,
                   "Arguments by name from a .npz, .safetensors or .params file.")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      ->add_option("--executor", options->executor,
                   "vm: native code; eval: the reference evaluator.")
      ->envname("RELAY_EXECUTOR")
      ->check(CLI::IsMember({"vm", "eval", "vm-direct"}));
  command
      ->add_option("--threads", options->threads,
                   "Workers of the native code; as many as there are cores by default.")
      ->check(CLI::Range(0, 1024));
  command->add_option("--target", options->target,
                      "Instruction set: baseline, avx2, avx512 or host (the best there is).");
  command->add_option("--opt-level", options->level, "Level of optimisation, 0 to 4.")
      ->check(CLI::Range(0, 4));
  command->add_option("--format", options->format, "text or json (one line with type and value).")
      ->check(CLI::IsMember({"text", "json"}));
  command->add_option("--output", options->output, "Also store the result in a .npz file.");
  command->add_flag("--time", options->time, "Print the time of each stage on standard error.");
  context.actions[command] = [options] {
    std::string entry = options->entry;
    if (!entry.empty() && entry.front() == '@') options->entry = entry.substr(1);
    run(*options);
  };
}

}  // namespace relay::tool
