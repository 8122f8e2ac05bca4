// relay check, fmt and print: is a program right, and how is it written.
#include <algorithm>

#include <relay/import/onnx/import.h>
#include <relay/infer/infer.h>
#include <relay/lsp/lint.h>
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
#include <tools/relay/files.h>

namespace relay::tool {

namespace {

// The command ends with it, and the process gives its memory back at once, which is much quicker
// than to free node after node.
const Module& kept(Module module) {
  static const Module* const whole = new Module(std::move(module));
  return *whole;
}

void add_value(std::string& text, const char* what, const std::string& name, const Type& type) {
  text += std::string(what) + " " + word_or_quoted(name) + ": " + type.str() + "\n";
}

// A model's inputs by their names, as --arg takes them, and its outputs.
void check_model(const std::string& path) {
  OnnxModel model = from_onnx(path);
  report(model.warnings);
  check_program(model.module, path);
  const Function& main = *model.module.functions().front().function;
  TypeRef signature = function_signature(model.module, "main");
  const auto* type = signature->as<FuncType>();
  // As the program is once it has its weights, whose types alone fill pages.
  const size_t inputs = model.inputs.size(), weights = type->params().size() - inputs;
  TypeRef called = signature;
  if (weights > 0) {
    std::vector<TypeRef> params(type->params().begin(),
                                type->params().begin() + static_cast<std::ptrdiff_t>(inputs));
    std::vector<TypeVarRef> names(type->type_params().begin(), type->type_params().end());
    called = FuncType::make(std::move(params), type->result(), std::move(names));
  }
  std::string text = "@main : " + called->str() + "\n";
  for (size_t k = 0; k < model.inputs.size(); ++k) {
    add_value(text, "input", main.params()[k]->name().str(), *type->params()[k]);
  }
  const auto* results = type->result()->as<TupleType>();
  for (size_t k = 0; k < model.outputs.size(); ++k) {
    bool several = model.outputs.size() > 1 && results != nullptr;
    add_value(text, "output", model.outputs[k], several ? *results->fields()[k] : *type->result());
  }
  if (weights > 0)
    text += "weights: " + std::to_string(weights) + (weights == 1 ? " tensor\n" : " tensors\n");
  print_out(text);
}

struct LintOptions {
  bool all = false;
  std::vector<std::string> allowed;
  std::vector<std::string> denied;
};

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& one) { return one == name || one == "all"; });
}

bool asks_for_lints(const LintOptions& options) { return options.all || !options.denied.empty(); }

// A program, typed, and its text as far as `lint` looks at it: without being asked, long texts,
// which machines write, are not looked at. The file is read once, for it may be a pipe.
Module read_checked_program(const std::string& path, const LintOptions& options, Input& linted) {
  constexpr size_t kLong = size_t{1} << 20;
  Input input = read_input(path);
  linted.name = input.name;
  if (asks_for_lints(options) || input.text.size() <= kLong) linted.text = input.text;
  Module module = parse_program(std::move(input), true);
  check_program(module, path);
  return module;
}

// Warnings of the usual rules and of those that are asked for; those that are denied are errors,
// and thrown.
void lint(Input input, const LintOptions& options) {
  std::shared_ptr<const Source> source = SourceMap::add(input.name, std::move(input.text));
  std::vector<Diagnostic> warnings;
  std::vector<Diagnostic> errors;
  for (const lsp::Lint& lint : lsp::find_lints(source->text())) {
    const bool denied = has(options.denied, lint.rule->name);
    const bool wanted = options.all || denied || lint.rule->usual;
    if (!wanted || has(options.allowed, lint.rule->name)) continue;
    const Span span = source->span(lint.begin, lint.end - lint.begin);
    const std::string message = lint.message + " (" + lint.rule->name + ")";
    if (denied) {
      errors.push_back(Diagnostic::error(message, span));
    } else {
      warnings.push_back(Diagnostic::warning(message, span));
    }
  }
  report(warnings);
  if (!errors.empty()) throw Error(std::move(errors));
}

void add_lint_options(CLI::App& command, LintOptions& options) {
  std::vector<std::string> names{"all"};
  std::string text;
  std::string usual;
  for (const lsp::LintRule& rule : lsp::lint_rules()) {
    names.emplace_back(rule.name);
    text += std::string(text.empty() ? "" : ", ") + rule.name;
    if (rule.usual) usual += std::string(usual.empty() ? "" : " and ") + rule.name;
  }
  command.add_flag("--lint", options.all,
                   "Warn about what is right but hardly meant, by these rules: " + text +
                       ". Without it, of programs up to 1 MB, by " + usual + ".");
  command.add_option("--deny", options.denied, "Make warnings of a rule errors; all is each rule.")
      ->option_text("RULE")
      ->allow_extra_args(false)
      ->check(CLI::IsMember(names));
  command.add_option("--allow", options.allowed, "Leave a rule out; all is each rule.")
      ->option_text("RULE")
      ->allow_extra_args(false)
      ->check(CLI::IsMember(names));
}

std::string counted(size_t count) {
  return std::to_string(count) + (count == 1 ? " program" : " programs");
}

void check_one(const std::string& path, const LintOptions& lints) {
  if (is_onnx_path(path)) {
    check_model(path);
    return;
  }
  Input input;
  const Module& module = kept(read_checked_program(path, lints, input));
  std::string text;
  for (const Module::FunctionEntry& entry : module.functions()) {
    if (is_imported(entry.function->span())) continue;
    TypeRef signature = function_signature(module, entry.name);
    printing::append_name(text, '@', entry.name.view());
    text += " : " + (signature ? signature->str() : "_") + "\n";
  }
  print_out(text);
  lint(std::move(input), lints);
}

// Only the mistakes of many programs, and how many are wrong.
void check_all(const std::vector<std::string>& files, const LintOptions& lints, Context& context) {
  size_t wrong = 0;
  for (const std::string& path : files) {
    try {
      if (is_onnx_path(path)) {
        OnnxModel model = from_onnx(path);
        report(model.warnings);
        check_program(model.module, path);
      } else {
        Input input;
        read_checked_program(path, lints, input);
        lint(std::move(input), lints);
      }
    } catch (const Error& error) {  // of one program: the others are checked nevertheless
      report(with_onnx_nodes(error.diagnostics()));
      ++wrong;
    }
  }
  if (wrong > 0) context.exit_code = kWrong;
  print_out(counted(files.size()) + ", " +
            (wrong == 0 ? "all right" : std::to_string(wrong) + " wrong") + "\n");
}

struct FmtOptions {
  std::vector<std::string> paths;
  bool write = false;
  bool check = false;
  bool canonical = false;
  bool drop_comments = false;
};

// What was done with files.
struct Formatted {
  size_t differing = 0;
  size_t wrong = 0;
};

void fmt_one(const FmtOptions& options, const std::string& path, Context& context,
             Formatted& done) {
  if (options.write && path == "-") throw UsageError("fmt -w needs a file, not standard input");
  Input input = read_input(path);
  std::shared_ptr<const Source> source = SourceMap::add(input.name, input.text);
  SyntaxMarks marks(source->text().size());
  ParseResult parsed = parse_source(source, {}, false, &marks);
  report(parsed.diagnostics);
  if (!parsed.ok()) {
    context.exit_code = kWrong;
    ++done.wrong;
    return;
  }
  std::string text = options.canonical
                         ? format_program(parsed.module, *source, !options.drop_comments)
                         : format_source(source->text(), marks);
  if (options.check) {
    if (text != input.text) {
      print_out(input.name + " is not formatted\n");
      context.exit_code = kWrong;
      ++done.differing;
    }
    return;
  }
  if (!options.write) {
    print_out(text);
    return;
  }
  if (text == input.text) return;
  ++done.differing;
  OutputFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

}  // namespace

void add_check(CLI::App& app, Context& context) {
  auto paths = std::make_shared<std::vector<std::string>>();
  auto fix = std::make_shared<bool>(false);
  CLI::App* command =
      app.add_subcommand("check", "Type a program and print the signatures of its functions.");
  command
      ->add_option("PROGRAM", *paths,
                   "Files with programs, ONNX models, or folders, of which all files .rly and "
                   ".relay are taken; - is standard input. Several programs get a summary in place "
                   "of signatures.")
      ->required();
  command->add_flag("--fix", *fix,
                    "First make the changes in the files that errors and warnings propose and that "
                    "are safe.");
  auto lints = std::make_shared<LintOptions>();
  add_lint_options(*command, *lints);
  context.actions[command] = [paths, lints, fix, &context] {
    const std::vector<std::string> files = program_files(*paths);
    for (const std::string& path : files)
      if (*fix && !is_onnx_path(path)) fix_program(path);
    if (files.size() == 1 && files == *paths) {
      check_one(files[0], *lints);
    } else {
      check_all(files, *lints, context);
    }
  };
}

namespace {
void fmt_all(const FmtOptions& options, Context& context) {
  const std::vector<std::string> files = program_files(options.paths);
  Formatted done;
  for (const std::string& path : files) {
    try {
      fmt_one(options, path, context, done);
    } catch (const Error& error) {  // of one file: the others are formatted nevertheless
      report(error.diagnostics());
      context.exit_code = kWrong;
      ++done.wrong;
    }
  }
  if (files == options.paths || (!options.check && !options.write)) return;
  std::string text = counted(files.size());
  if (done.differing > 0 || done.wrong == 0)
    text +=
        ", " + std::to_string(done.differing) + (options.write ? " rewritten" : " not formatted");
  if (done.wrong > 0) text += ", " + std::to_string(done.wrong) + " wrong";
  print_out(text + "\n");
}
}  // namespace

void add_fmt(CLI::App& app, Context& context) {
  auto options = std::make_shared<FmtOptions>();
  CLI::App* command =
      app.add_subcommand("fmt", "Lay a program out: names, operators, order and comments stay.");
  command
      ->add_option("PROGRAM", options->paths,
                   "Files, or folders, of which all files .rly and .relay are taken; - is standard "
                   "input.")
      ->required();
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
  command
      ->add_option("PROGRAM", options->paths,
                   "Files, or folders, of which all files .rly and .relay are taken; - is standard "
                   "input.")
      ->required();
  command->add_flag("--drop-comments", options->drop_comments, "Leave comments out.");
  context.actions[command] = [options, &context] { fmt_all(*options, context); };
}

}  // namespace relay::tool
