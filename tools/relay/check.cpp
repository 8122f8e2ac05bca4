// relay check and relay fmt: is a program right, and how is it written.
#include <algorithm>

#include <relay/infer/infer.h>
#include <relay/parse/parse.h>
#include <relay/print/print.h>
#include <relay/print/text.h>
#include <relay/runtime/file.h>
#include <relay/support/error.h>

#include <tools/relay/command.h>

namespace relay::tool {

namespace {

void check(const std::string& path) {
  Module module = read_typed_program(path);
  std::string text;
  for (const Module::FunctionEntry& entry : module.functions()) {
    TypeRef signature = function_signature(module, entry.name);
    printing::append_name(text, '@', entry.name.view());
    text += " : " + (signature ? signature->str() : "_") + "\n";
  }
  print_out(text);
}

struct FmtOptions {
  std::vector<std::string> paths;
  bool write = false;
  bool check = false;
  bool drop_comments = false;
};

// Comments that the printed program would lose.
size_t count_comments(std::string_view text) {
  size_t count = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') {
      in_string = true;
      continue;
    }
    std::string_view rest = text.substr(i);
    bool attribute = rest.starts_with("#[version") || rest.starts_with("#[metadata");
    if (rest.starts_with("#[metadata")) break;
    if (rest.starts_with("//") || (c == '#' && !attribute)) {
      ++count;
      i = std::min(text.find('\n', i), text.size());
    } else if (rest.starts_with("/*")) {
      ++count;
      i = std::min(text.find("*/", i), text.size());
    }
  }
  return count;
}

void fmt_one(const FmtOptions& options, const std::string& path, Context& context) {
  if (options.write && path == "-") throw UsageError("fmt -w needs a file, not standard input");
  Input input = read_input(path);
  ParseResult parsed = parse_text(input.name, input.text);
  report(parsed.diagnostics);
  if (!parsed.ok()) {
    context.exit_code = kWrong;
    return;
  }
  std::string text = print_module(parsed.module);
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
  size_t comments = count_comments(input.text);
  if (comments > 0 && !options.drop_comments) {
    throw Error(Diagnostic::error(path + " has " + std::to_string(comments) +
                                  (comments == 1 ? " comment" : " comments") +
                                  ", which would be lost; the file is left as it is")
                    .help("--drop-comments rewrites it all the same"));
  }
  OutputFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

}  // namespace

void add_check(CLI::App& app, Context& context) {
  auto path = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("check", "Type a program and print the signatures of its functions.");
  command->add_option("PROGRAM", *path, "File with the program; - is standard input.")->required();
  context.actions[command] = [path] { check(*path); };
}

void add_fmt(CLI::App& app, Context& context) {
  auto options = std::make_shared<FmtOptions>();
  CLI::App* command = app.add_subcommand("fmt", "Print a program in its standard form.");
  command->add_option("PROGRAM", options->paths, "Files; - is standard input.")->required();
  auto* write = command->add_flag("-w,--write", options->write, "Rewrite the files in place.");
  command
      ->add_flag("--check", options->check, "Only say which files differ; exit code 1 if any does.")
      ->excludes(write);
  command->add_flag("--drop-comments", options->drop_comments,
                    "With -w, rewrite files that have comments too.");
  context.actions[command] = [options, &context] {
    for (const std::string& path : options->paths) fmt_one(*options, path, context);
  };
}

}  // namespace relay::tool
