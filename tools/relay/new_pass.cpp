// relay new-pass: the file of a pass and a test of it, to begin with.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/core.h>

#include <relay/support/error.h>
#include <relay/transform/pass.h>

#include <tools/relay/command.h>

namespace relay::tool {

namespace {

namespace fs = std::filesystem;

struct NewPassOptions {
  std::string name;
  std::string doc = "Leaves the program as it is.";
  bool python = false;
  bool plugin = false;
  std::string folder = ".";
};

struct NewFile {
  fs::path path;
  std::string text;
};

constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_lower(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

// FoldConstant as fold_constant, ToANormalForm as to_a_normal_form, HTMLForm as html_form.
std::string snake_case(const std::string& name) {
  std::string text;
  for (size_t i = 0; i < name.size(); ++i) {
    bool begins = is_upper(name[i]) && i > 0 &&
                  (is_lower(name[i - 1]) || (i + 1 < name.size() && is_lower(name[i + 1])));
    if (begins) text += '_';
    text += is_upper(name[i]) ? static_cast<char>(name[i] - 'A' + 'a') : name[i];
  }
  return text;
}

void check_name(const std::string& name) {
  bool fits = !name.empty() && name.size() <= 100 && is_upper(name[0]);
  for (char c : name) fits &= is_upper(c) || is_lower(c);
  if (!fits)
    throw UsageError(
        "NAME is written like FoldConstant: letters and digits, a capital first, not '" + name +
        "'");
  if (find_pass(name) != nullptr) throw UsageError("a pass " + name + " exists already");
}

// A text as the inside of a string literal of C++ or Python.
std::string quoted(const std::string& text) {
  std::string result;
  for (char c : text) {
    if (static_cast<unsigned char>(c) < 32)
      throw UsageError("--doc is one line, without control characters");
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::string filled(std::string text, const NewPassOptions& options) {
  const std::pair<std::string_view, std::string> words[] = {
      {"@NAME@", options.name},
      {"@FUNCTION@", snake_case(options.name)},
      {"@DOC@", quoted(options.doc)},
  };
  for (const auto& [word, by] : words) {
    size_t from = 0;
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, from)) {
      text.replace(at, word.size(), by);
      from = at + by.size();
    }
  }
  return text;
}

// Sources are compiled several at a time: names of functions are the pass's own.
constexpr const char* kPassBody = R"(
namespace {

// Gives what takes the place of an expression, or null to keep it. Its operands have been rewritten
// already: of a call, operands[0] is what is called, the arguments follow. docs/passes.md and
// CONTRIBUTING.md say what a pass must keep.
ExprRef @FUNCTION@_replacement(const Expr* expr, std::span<const ExprRef> operands) {
  (void)expr;
  (void)operands;
  return {};
}

FunctionRef run_@FUNCTION@(const FunctionRef& function, const Module&, const PassContext&) {
  return FunctionRef(rewrite_post_order(function, @FUNCTION@_replacement)->as<Function>());
}
)";

constexpr const char* kTreeHead = R"(// The pass @NAME@.
#include <relay/ir/rewrite.h>
#include <relay/transform/pass.h>

namespace relay {)";

constexpr const char* kTreeEnd = R"(
RELAY_REGISTER_PASS({
    {"@NAME@", 1, {ProgramState::kTyped}, "@DOC@"},
    {},
    [](const PassInfo& info, const PassOptions&) { return make_function_pass(info, run_@FUNCTION@); },
});

}  // namespace
}  // namespace relay
)";

constexpr const char* kPluginHead = R"(// The pass @NAME@.
// c++ -std=c++20 -O2 -fPIC -shared -I FOLDER_OF_HEADERS @FUNCTION@.cpp -o @FUNCTION@.so
#include <relay/ir/rewrite.h>
#include <relay/op/registry/plugin.h>
#include <relay/transform/pass.h>

using namespace relay;
)";

constexpr const char* kPluginEnd = R"(
}  // namespace

RELAY_PLUGIN() {
  register_pass({
      {"@NAME@", 1, {ProgramState::kTyped}, "@DOC@"},
      {},
      [](const PassInfo& info, const PassOptions&) {
        return make_function_pass(info, run_@FUNCTION@);
      },
  });
}
)";

constexpr const char* kGolden = R"(// RUN: relay opt --passes @NAME@ %s
def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }
/* EXPECT
#[version = "0.0.5"]
def @main(%x: Tensor[(2), float32]) {
  nn.relu(%x)
}
*/
)";

constexpr const char* kPython = R"(import relay
from relay.expr_functor import ExprMutator


class _@NAME@(ExprMutator):
    def visit_call(self, call):
        """Gives what takes the place of a call; the default rewrites its operands."""
        return super().visit_call(call)


@relay.transform.function_pass(opt_level=1, name="@NAME@")
def @FUNCTION@_pass(func, mod, ctx):
    """@DOC@"""
    return _@NAME@().visit(func)
)";

constexpr const char* kPythonTest = R"(import relay
from @FUNCTION@_pass import @FUNCTION@_pass

BEFORE = "def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }"
AFTER = "def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }"


def test_@FUNCTION@_pass():
    expected = relay.transform.InferType()(relay.parse(AFTER))
    relay.assert_structural_equal(@FUNCTION@_pass(relay.parse(BEFORE)), expected)
)";

std::vector<NewFile> files_of(const NewPassOptions& options) {
  fs::path folder = options.folder;
  std::string file = snake_case(options.name);
  // With a suffix, since a pass may be called as a word or a module of Python is (If, Relay).
  if (options.python)
    return {{folder / (file + "_pass.py"), filled(kPython, options)},
            {folder / ("test_" + file + "_pass.py"), filled(kPythonTest, options)}};
  if (options.plugin)
    return {{folder / (file + ".cpp"),
             filled(std::string(kPluginHead) + kPassBody + kPluginEnd, options)}};
  for (const char* needed : {"relay/transform", "tests/transform"}) {
    if (!fs::is_directory(folder / needed))
      throw Error(Diagnostic::error(fmt::format("there is no folder {} in {}", needed,
                                                fs::absolute(folder).lexically_normal().string()))
                      .help("run it in a checkout of Relay; --plugin and --python write passes "
                            "that need none"));
  }
  return {{folder / "relay/transform" / (file + ".cpp"),
           filled(std::string(kTreeHead) + kPassBody + kTreeEnd, options)},
          {folder / "tests/transform" / (file + ".rly"), filled(kGolden, options)}};
}

// Writes a file that does not exist yet.
void create(const NewFile& file) {
  std::FILE* out = std::fopen(file.path.c_str(), "wx");
  bool written =
      out != nullptr && std::fwrite(file.text.data(), 1, file.text.size(), out) == file.text.size();
  int error = errno;
  if (out != nullptr && std::fclose(out) != 0 && written) {
    written = false;
    error = errno;
  }
  if (written) return;
  if (out != nullptr) std::remove(file.path.c_str());
  throw Error(Diagnostic::error(
      fmt::format("cannot write {}: {}", file.path.string(), std::strerror(error))));
}

void new_pass(const NewPassOptions& options) {
  if (options.python && options.plugin)
    throw UsageError("--python and --plugin exclude each other");
  check_name(options.name);
  quoted(options.doc);  // refuses what cannot stand there
  std::vector<NewFile> files = files_of(options);
  for (const NewFile& file : files) {
    std::error_code ignored;
    if (fs::exists(fs::symlink_status(file.path, ignored)))
      throw Error(Diagnostic::error(file.path.string() + " exists already"));
  }
  for (size_t i = 0; i < files.size(); ++i) {
    try {
      create(files[i]);
    } catch (const Error&) {
      for (size_t k = 0; k < i; ++k) std::remove(files[k].path.c_str());
      throw;
    }
  }
  for (const NewFile& file : files) print_out(file.path.lexically_normal().string() + "\n");
}

}  // namespace

void add_new_pass(CLI::App& app, Context& context) {
  auto options = std::make_shared<NewPassOptions>();
  CLI::App* command =
      app.add_subcommand("new-pass", "Write the file of a new pass and a test of it.");
  command->add_option("NAME", options->name, "The pass, e.g. FoldConstant.")->required();
  command->add_option("--doc", options->doc, "One line that says what the pass does.");
  command->add_flag("--plugin", options->plugin,
                    "Write a plug-in, which --plugin loads, instead of a file of this project.");
  command->add_flag("--python", options->python, "Write a pass in Python and its test for pytest.");
  command->add_option("--folder", options->folder,
                      "Where to write: a checkout of Relay, or with --plugin and --python any "
                      "folder; the current one by default.");
  context.actions[command] = [options] { new_pass(*options); };
}

}  // namespace relay::tool
