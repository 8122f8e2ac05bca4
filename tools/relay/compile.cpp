// relay compile: a program as one file of machine code.
#include <relay/infer/infer.h>
#include <relay/support/error.h>
#include <relay/vm/machine/executable_file.h>

#include <tools/relay/command.h>
#include <tools/relay/native.h>
#include <tools/relay/program.h>

namespace relay::tool {

namespace {

struct CompileOptions {
  std::string program;
  std::string entry;
  Given given;
  std::string output;
  NativeOptions native;
};

void compile(const CompileOptions& options) {
  refuse_same_file(options.program, options.output);
  ProgramSource source = read_source(options.program);
  Progress progress("compiling " + options.program);
  Program program =
      bind_program(std::move(source), options.entry, options.given, Arguments::kLater);
  const std::string entry = program.entry.str();
  TypeRef compiled = function_signature(program.module, program.entry);
  if (const auto* type = compiled ? compiled->as<FuncType>() : nullptr;
      type == nullptr || (type->result()->has_type_var() && !type->result()->has_symbolic_dim())) {
    throw Error(Diagnostic::error("the type of the result of @" + entry +
                                  " is not known: " + (compiled ? compiled->str() : "_"))
                    .help("annotate the parameters it depends on with all extents"));
  }
  std::shared_ptr<const vm::Executable> executable =
      compile_module(program.module, program.entry, options.native);
  program.module = Module();
  vm::save_executable(*executable, options.output);
}

}  // namespace

void add_compile(CLI::App& app, Context& context) {
  auto options = std::make_shared<CompileOptions>();
  CLI::App* command =
      app.add_subcommand("compile", "Compile a program to a file that runs without the compiler.");
  command
      ->add_option("PROGRAM", options->program,
                   "File with the program, or an ONNX model; - is standard input.")
      ->required();
  command->add_option("-o,--output", options->output, "The file to write, usually NAME.rlx.")
      ->required();
  command->add_option(
      "--entry", options->entry,
      "Function to compile, with those that it calls; @main by default, else the only one.");
  add_params_option(*command, options->given);
  add_target_option(*command, options->native);
  add_level_option(*command, options->native);
  add_winograd_option(*command, options->native);
  add_precision_option(*command, options->native);
  options->native.to_be_saved = true;
  command->add_flag(
      "--onednn", options->native.onednn,
      "Compute products and convolutions of float32 by oneDNN, which the model then needs.");
  context.actions[command] = [options] {
    if (!options->entry.empty() && options->entry.front() == '@') options->entry.erase(0, 1);
    if (options->output == "-") throw UsageError("a model goes to a file, not to standard output");
    compile(*options);
  };
}

}  // namespace relay::tool
