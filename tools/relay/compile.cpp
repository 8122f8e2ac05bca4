// relay compile: a program as one file of machine code.
#include <algorithm>
#include <unordered_map>

#include <relay/infer/infer.h>
#include <relay/runtime/params.h>
#include <relay/support/error.h>
#include <relay/transform/bind_params.h>
#include <relay/vm/machine/executable_file.h>

#include <tools/relay/command.h>
#include <tools/relay/native.h>

namespace relay::tool {

namespace {

struct CompileOptions {
  std::string program;
  std::string entry;
  std::vector<std::string> params;
  std::string output;
  NativeOptions native;
};

void compile(const CompileOptions& options) {
  NamedArrays own;
  Module module = read_typed_program(options.program, &own);
  const Module::FunctionEntry& function = find_entry(module, options.entry);
  Name entry = function.name;
  TypeRef signature = function_signature(module, entry);
  Parameters parameters = parameters_of(function, signature.get());
  std::unordered_map<size_t, NDArray> values;
  for (auto& [name, array] : own) {
    auto found = std::find(parameters.names.begin(), parameters.names.end(), name);
    if (found == parameters.names.end()) continue;
    values[static_cast<size_t>(found - parameters.names.begin())] = std::move(array);
  }
  for (const std::string& path : options.params) {
    for (auto& [name, array] : load_params(path)) {
      auto found = std::find(parameters.names.begin(), parameters.names.end(), name);
      if (found == parameters.names.end()) {
        report({Diagnostic::warning(path + ": " + name + " is no parameter of @" + entry.str())});
      } else {
        values[static_cast<size_t>(found - parameters.names.begin())] = std::move(array);
      }
    }
  }
  Progress progress("compiling " + options.program);
  module = specialize(module, entry, parameter_types(parameters, values));
  if (!values.empty()) {
    module = bind_params(module, entry, values);
    infer_types_or_throw(module);
  }
  TypeRef compiled = function_signature(module, entry);
  if (const auto* type = compiled ? compiled->as<FuncType>() : nullptr;
      type == nullptr || (type->result()->has_type_var() && !type->result()->has_symbolic_dim())) {
    throw Error(Diagnostic::error("the type of the result of @" + entry.str() +
                                  " is not known: " + (compiled ? compiled->str() : "_"))
                    .help("annotate the parameters it depends on with all extents"));
  }
  vm::save_executable(*compile_module(module, entry, options.native), options.output);
}

}  // namespace

void add_compile(CLI::App& app, Context& context) {
  auto options = std::make_shared<CompileOptions>();
  CLI::App* command =
      app.add_subcommand("compile", "Compile a program to a file that runs without the compiler.");
  command->add_option("PROGRAM", options->program, "File with the program; - is standard input.")
      ->required();
  command->add_option("-o,--output", options->output, "The file to write, usually NAME.rlx.")
      ->required();
  command->add_option(
      "--entry", options->entry,
      "Function to compile with what it calls; @main by default, else the only one.");
  command
      ->add_option(
          "--params", options->params,
          "Parameters that become constants of the model, by name from a .npz, .safetensors or "
          ".params file.")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_target_option(*command, options->native);
  command->add_flag("--onednn", options->native.onednn,
                    "Products and convolutions of float32 by oneDNN, which the model then needs.");
  context.actions[command] = [options] {
    if (!options->entry.empty() && options->entry.front() == '@') options->entry.erase(0, 1);
    if (options->output == "-") throw UsageError("a model goes to a file, not to standard output");
    compile(*options);
  };
}

}  // namespace relay::tool
