// relay check, fmt and print: is a program right, and how is it written.
#include <relay/import/onnx/import.h>
#include <relay/infer/infer.h>
#include <relay/parse/format.h>
#include <relay/parse/format_source.h>
#include <relay/parse/imports.h>
#include <relay/parse/parse.h>
#include <relay/print/print.h>
#include <relay/print/text.h>
#include <relay/runtime/file.h>
#include <relay/support/error.h>
#include <relay/support/quote.h>

#include <tools/relay/command.h>

namespace relay::tool {

namespace {

void check(const std::string& path) {
  Module module = read_typed_program(path);
  std::string text;
  for (const Module::FunctionEntry& entry : module.functions()) {
    if (is_imported(entry.function->span())) continue;
    TypeRef signature = function_signature(module, entry.name);
    printing::append_name(text, '@', entry.name.view());
    text += " : " + (signature ? signature->str() : "_") + "\n";
  }
  print_out(text);
}

void add_value(std::string& text, const char* what, const std::string& name, const Type& type) {
  text += std::string(what) + " ";
  if (is_word(name)) {
    text += name;
  } else {
    append_quoted(text, name);
  }
  text += ": " + type.str() + "\n";
}

// A model's inputs by their names, as --arg takes them, and its outputs.
void check_model(const std::string& path) {
  OnnxModel model = from_onnx(path);
  report(model.warnings);
  check_program(model.module, path);
  const Function& main = *model.module.functions().front().function;
  TypeRef signature = function_signature(model.module, "main");
  std::string text = "@main : " + signature->str() + "\n";
  const auto* type = signature->as<FuncType>();
  for (size_t k = 0; k < model.inputs.size(); ++k) {
    add_value(text, "input", main.params()[k]->name().str(), *type->params()[k]);
  }
  const auto* results = type->result()->as<TupleType>();
  for (size_t k = 0; k < model.outputs.size(); ++k) {
    bool several = model.outputs.size() > 1 && results != nullptr;
    add_value(text, "output", model.outputs[k], several ? *results->fields()[k] : *type->result());
  }
  print_out(text);
}

struct FmtOptions {
  std::vector<std::string> paths;
  bool write = false;
  bool check = false;
  bool canonical = false;
  bool drop_comments = false;
};

void fmt_one(const FmtOptions& options, const std::string& path, Context& context) {
  if (options.write && path == "-") throw UsageError("fmt -w needs a file, not standard input");
  Input input = read_input(path);
  std::shared_ptr<const Source> source = SourceMap::add(input.name, input.text);
  SyntaxMarks marks(source->text().size());
  ParseResult parsed = parse_source(source, {}, false, &marks);
  report(parsed.diagnostics);
  if (!parsed.ok()) {
    context.exit_code = kWrong;
    return;
  }
  std::string text = options.canonical
                         ? format_program(parsed.module, *source, !options.drop_comments)
                         : format_source(source->text(), marks);
  if (options.check) {
    if (text != input.text) {
      print_out(input.name + " is not formatted\n");
      context.exit_code = kWrong;
    }
    return;
  }
  if (!options.write) {
    print_out(text);
    return;
  }
  if (text == input.text) return;
  OutputFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

}  // namespace

void add_check(CLI::App& app, Context& context) {
  auto path = std::make_shared<std::string>();
  auto fix = std::make_shared<bool>(false);
  CLI::App* command =
      app.add_subcommand("check", "Type a program and print the signatures of its functions.");
  command
      ->add_option("PROGRAM", *path,
                   "File with the program, or an ONNX model; - is standard input.")
      ->required();
  command->add_flag("--fix", *fix,
                    "First make the changes in the file that errors and warnings propose and that "
                    "are safe.");
  context.actions[command] = [path, fix] {
    if (*fix) fix_program(*path);
    if (is_onnx_path(*path)) {
      check_model(*path);
    } else {
      check(*path);
    }
  };
}

namespace {
void fmt_all(const FmtOptions& options, Context& context) {
  for (const std::string& path : options.paths) {
    try {
      fmt_one(options, path, context);
    } catch (const Error& error) {  // of one file: the others are formatted nevertheless
      report(error.diagnostics());
      context.exit_code = kWrong;
    }
  }
}
}  // namespace

void add_fmt(CLI::App& app, Context& context) {
  auto options = std::make_shared<FmtOptions>();
  CLI::App* command =
      app.add_subcommand("fmt", "Lay a program out: names, operators, order and comments stay.");
  command->add_option("PROGRAM", options->paths, "Files; - is standard input.")->required();
  auto* write = command->add_flag("-w,--write", options->write, "Rewrite the files in place.");
  command
      ->add_flag("--check", options->check,
                 "Only list the files that differ; exit code 1 if any does.")
      ->excludes(write);
  auto* canonical = command->add_flag("--canonical", options->canonical,
                                      "Write the standard form, as `relay print` does.");
  command->add_flag("--drop-comments", options->drop_comments, "Leave comments out.")
      ->needs(canonical);
  context.actions[command] = [options, &context] { fmt_all(*options, context); };
}

void add_print(CLI::App& app, Context& context) {
  auto options = std::make_shared<FmtOptions>();
  options->canonical = true;
  CLI::App* command = app.add_subcommand(
      "print", "Print a program in its standard form: calls by name, nodes numbered.");
  command->add_option("PROGRAM", options->paths, "Files; - is standard input.")->required();
  command->add_flag("--drop-comments", options->drop_comments, "Leave comments out.");
  context.actions[command] = [options, &context] { fmt_all(*options, context); };
}

}  // namespace relay::tool
