// relay import: a model of another format as a program and its parameters.
#include <charconv>
#include <optional>

#include <fmt/core.h>

#include <relay/import/onnx/import.h>
#include <relay/infer/infer.h>
#include <relay/print/print.h>
#include <relay/runtime/file.h>
#include <relay/runtime/params.h>
#include <relay/support/error.h>

#include <tools/relay/argument.h>
#include <tools/relay/command.h>

namespace relay::tool {

namespace {

struct ImportOptions {
  std::string model;
  std::string output;
  std::string params;
  std::vector<std::string> shapes;
  std::optional<int64_t> opset;
  bool freeze = false;
};

// NAME=2,3,-1
std::pair<std::string, std::vector<int64_t>> read_shape(const std::string& text) {
  size_t equals = text.rfind('=');
  std::string name = equals == std::string::npos ? text : text.substr(0, equals);
  take_quoted_name(text, name, equals);
  std::vector<int64_t> dims;
  bool sound = equals != std::string::npos && equals > 0;
  const char* at = text.data() + equals + 1;
  const char* end = text.data() + text.size();
  while (sound && at != end) {
    int64_t dim = 0;
    auto [after, error] = std::from_chars(at, end, dim);
    sound = error == std::errc() && dim >= -1 && (after == end || *after == ',');
    dims.push_back(dim);
    at = after == end ? end : after + 1;
  }
  if (!sound) throw UsageError("--shape takes NAME=2,3,…, with -1 for what stays; found " + text);
  return {name, dims};
}

void import_model(const ImportOptions& options) {
  refuse_same_file(options.model, options.output);
  refuse_same_file(options.model, options.params);
  refuse_same_file(options.output, options.params);
  if (!options.params.empty()) check_params_path(options.params);
  OnnxOptions onnx;
  for (const std::string& text : options.shapes) onnx.shapes.insert(read_shape(text));
  if (options.opset) {
    if (*options.opset <= 0) {
      throw UsageError("--opset takes a version from 1 on; found " +
                       std::to_string(*options.opset));
    }
    onnx.opset = options.opset;
  }
  onnx.freeze = options.freeze;
  Progress progress("importing " + options.model);
  OnnxModel model = from_onnx(options.model, onnx);
  report(model.warnings);
  infer_types_or_throw(model.module);
  std::string text = print_module(model.module);
  // The program appears when all is there that it needs.
  std::optional<OutputFile> file;
  if (!options.output.empty() && options.output != "-") {
    file.emplace(options.output);
    file->write(text.data(), text.size());
  }
  if (!options.params.empty()) save_params(options.params, model.params);
  if (file) {
    file->commit();
  } else {
    print_out(text);
  }
  if (!options.params.empty()) return;
  if (!model.params.empty()) {
    report({Diagnostic::warning("the values of " + std::to_string(model.params.size()) +
                                " parameters are not stored")
                .help("give --params FILE.npz")});
  }
}

}  // namespace

void add_import(CLI::App& app, Context& context) {
  auto options = std::make_shared<ImportOptions>();
  CLI::App* command =
      app.add_subcommand("import", "Write an ONNX model as program text and its parameters.");
  command->add_option("MODEL", options->model, "The model, an .onnx file.")->required();
  command->add_option("-o,--output", options->output,
                      "File for the program, usually NAME.rly; standard output by default.");
  command->add_option("--params", options->params,
                      "File for the parameters: .npz, .safetensors or .params.");
  command
      ->add_option("--shape", options->shapes,
                   "Extents of an input: NAME=1,3,224,224; -1 keeps the model's extent.")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--opset", options->opset,
                      "Version of the default operator set, in place of the model's.");
  command->add_flag("--freeze", options->freeze,
                    "Put the model's weights into the program instead of --params.");
  context.actions[command] = [options] { import_model(*options); };
}

}  // namespace relay::tool
