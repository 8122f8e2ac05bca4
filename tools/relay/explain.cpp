// relay explain-program: what passes know of a program, beside its text.
#include <algorithm>

#include <fmt/core.h>

#include <relay/infer/infer.h>
#include <relay/program/explain.h>
#include <relay/support/error.h>

#include <tools/relay/command.h>

namespace relay::tool {

namespace {

std::string list_columns() {
  std::string text = "Columns:";
  for (const ColumnText& column : column_texts())
    text += fmt::format("\n  {:16} {}", column.name, column.doc);
  return text;
}

void explain(const std::string& column, const std::string& path) {
  const auto& columns = column_texts();
  const bool known = std::any_of(columns.begin(), columns.end(),
                                 [&](const ColumnText& each) { return each.name == column; });
  if (!known) throw UsageError("there is no column " + column + ". " + list_columns());
  Module module = read_typed_program(path);
  print_out(explain_program(relay::Program(std::move(module)), column));
}

}  // namespace

void add_explain_program(CLI::App& app, Context& context) {
  struct Options {
    std::string column, path;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "explain-program", "Print what passes know of each expression of a program: a column.");
  command->add_option("COLUMN", options->column, "What to print; see below.")->required();
  command
      ->add_option("PROGRAM", options->path,
                   "File with the program, or an ONNX model; - is standard input.")
      ->required();
  command->footer(list_columns());
  context.actions[command] = [options] { explain(options->column, options->path); };
}

}  // namespace relay::tool
