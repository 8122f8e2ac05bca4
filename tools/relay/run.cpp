// relay run: a program on real input.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <set>

#include <fmt/core.h>

#include <relay/eval/eval.h>
#include <relay/infer/infer.h>
#include <relay/ir/result_names.h>
#include <relay/runtime/format.h>
#include <relay/runtime/params.h>
#include <relay/support/error.h>
#include <relay/support/quote.h>
#include <relay/vm/compiler/compile.h>

#include <tools/relay/bind.h>
#include <tools/relay/command.h>
#include <tools/relay/native.h>
#include <tools/relay/profile.h>
#include <tools/relay/program.h>

namespace relay::tool {

namespace {

struct RunOptions {
  std::string program;
  std::string entry;
  Given given;
  std::string executor = "vm";
  NativeOptions native;
  ProfileOption profile;
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

Value run_machine(const Loaded& loaded, const RunOptions& options) {
  Interruption interruption;
  vm::Machine machine(loaded.executable,
                      {.threads = options.native.threads, .interrupt = interruption.flag()});
  Profiling profiling(options.profile, options.native.threads);
  profiling.watch(machine);
  Value result = machine.run(loaded.entry, loaded.arguments);
  profiling.report(*loaded.executable);
  return result;
}

size_t result_count(const Value& result) { return result.is_tuple() ? result.fields().size() : 1; }

// `names` are those that the program gives its results, or none.
void save_result(const Value& result, const std::vector<std::string>& names,
                 const std::string& path) {
  NamedArrays outputs;
  if (names.size() == result_count(result)) {
    for (size_t i = 0; i < names.size(); ++i)
      collect_outputs(result.is_tuple() ? result.field(i) : result, names[i], outputs);
  }
  std::set<std::string> distinct;
  for (const auto& [name, array] : outputs) distinct.insert(name);
  // Parts of a result may have the name of another one, and one name belongs to .safetensors.
  if (outputs.empty() || distinct.size() < outputs.size() || distinct.contains("__metadata__")) {
    outputs.clear();
    collect_outputs(result, "output", outputs);
  }
  save_params(path, outputs);
}

void print_result(const Value& result, const std::string& type,
                  const std::vector<std::string>& names, const RunOptions& options) {
  if (!options.output.empty()) save_result(result, names, options.output);
  std::string text;
  if (options.format == "json") {
    text = "{\"type\": ";
    append_json_string(text, type);
    text += ", \"value\": ";
    append_json(text, result);
    text += "}\n";
  } else {
    text = format_value(result) + "\n: " + type + "\n";
  }
  print_out(text);
}

// True if the value shows its type: tensors, and tuples of them.
bool shows_type(const Value& value) {
  if (!value.is_tuple()) return value.is_tensor();
  return std::all_of(value.fields().begin(), value.fields().end(), shows_type);
}

void run_model(const RunOptions& options) {
  Stopwatch watch(options.time);
  Loaded loaded = load_model(options.program, options.entry, options.given, options.native);
  watch.lap("load");
  Value result;
  {
    Progress progress("running @" + loaded.entry);
    result = run_machine(loaded, options);
  }
  watch.lap("run");
  const auto entry =
      std::find_if(loaded.executable->entries.begin(), loaded.executable->entries.end(),
                   [&](const vm::Entry& each) { return each.name == loaded.entry; });
  std::vector<std::string> names;
  for (const vm::Entry::Result& each : entry->results) {
    if (!each.name.empty()) names.push_back(each.name);
  }
  print_result(result, shows_type(result) ? value_type_text(result) : entry->result.text, names,
               options);
}

void run_text(const RunOptions& options) {
  Stopwatch watch(options.time);
  const Lap lap = [&](const char* stage) { watch.lap(stage); };
  Program program = bind_program(read_source(options.program, lap), options.entry, options.given,
                                 Arguments::kGiven, lap);
  Loaded loaded;
  loaded.entry = program.entry.str();
  loaded.arguments = std::move(program.arguments);
  TypeRef signature = function_signature(program.module, program.entry);
  const AttrsRef attrs = program.module.function(program.entry)->attrs();
  Value result;
  if (options.executor == "eval") {
    Progress progress("running @" + loaded.entry);
    program.module = vm::narrowed(program.module, precision_of(options.native));
    result = evaluate_function(program.module, program.entry, loaded.arguments);
  } else {
    {
      Progress progress("compiling @" + loaded.entry);
      loaded.executable = compile_module(program.module, program.entry, options.native);
      program.module = Module();
    }
    watch.lap("compile");
    Progress progress("running @" + loaded.entry);
    result = run_machine(loaded, options);
  }
  watch.lap("run");

  TypeRef type = value_type(result);
  if (const auto* function = signature ? signature->as<FuncType>() : nullptr) {
    const TypeRef& declared = function->result();
    bool open_shape = declared->has_any_dim() || declared->has_symbolic_dim();
    if (type->has_incomplete() || !open_shape) type = result_type(function);
  }
  print_result(result, type->str(), result_names(attrs, result_count(result)), options);
}

void run(const RunOptions& options) {
  if (options.executor == "eval" && options.profile.enabled) {
    throw UsageError("--profile measures kernels: it needs --executor vm");
  }
  if (!is_model_file(options.program)) return run_text(options);
  if (options.executor == "eval") {
    throw UsageError("--executor eval needs the program's text; this is a compiled model");
  }
  run_model(options);
}

}  // namespace

void add_run(CLI::App& app, Context& context) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "Run a program.");
  command
      ->add_option("PROGRAM", options->program,
                   "Program text, a file of `relay compile` or an ONNX model; - is standard input.")
      ->required();
  command->add_option("--entry", options->entry,
                      "Function to run; @main by default, else the only one.");
  add_given_options(*command, options->given);
  command
      ->add_option("--executor", options->executor,
                   "vm: machine code (the default); eval: the reference evaluator.")
      ->envname("RELAY_EXECUTOR")
      ->check(CLI::IsMember({"vm", "eval"}));
  add_native_options(*command, options->native);
  add_profile_option(*command, options->profile);
  command->add_option("--format", options->format, "text or json (one line with type and value).")
      ->check(CLI::IsMember({"text", "json"}));
  command->add_option("--output", options->output, "Also store the result in a .npz file.");
  command->add_flag("--time", options->time, "Print the time of each stage on standard error.");
  context.actions[command] = [options, &context] {
    std::string entry = options->entry;
    if (!entry.empty() && entry.front() == '@') options->entry = entry.substr(1);
    if (options->executor == "vm" && options->program != "-") {
      std::vector<std::string> words{"--executors"};
      if (!options->entry.empty()) words.insert(words.end(), {"--entry", options->entry});
      for (const std::string& arg : options->given.args) words.insert(words.end(), {"--arg", arg});
      for (const std::string& file : options->given.params)
        words.insert(words.end(), {"--params", file});
      suggest_reduce(context, options->program, words);
    }
    run(*options);
  };
}

}  // namespace relay::tool
