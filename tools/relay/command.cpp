#include <tools/relay/command.h>
#include <span>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <thread>

#include <fmt/core.h>

#include <relay/import/onnx/import.h>
#include <relay/infer/devices/devices.h>
#include <relay/infer/infer.h>
#include <relay/parse/parse.h>
#include <relay/reduce/isolate.h>
#include <relay/runtime/file.h>
#include <relay/runtime/file_kind.h>
#include <relay/support/diagnostic_json.h>
#include <relay/support/error.h>
#include <relay/transform/program.h>
#include <relay/vm/machine/executable_file.h>

namespace relay::tool {

namespace {
constexpr size_t kMost = size_t{1} << 32;

// The command that takes a file of a kind, or what reads it elsewhere.
const char* way_with(FileUse use) {
  switch (use) {
    case FileUse::kNone:
      break;
    case FileUse::kWeights:
      return "`--params FILE` takes weights, beside the program that has parameters of their names";
    case FileUse::kArray:
      return "`relay run PROGRAM --arg NAME=@FILE` takes an array";
    case FileUse::kLanguageModel:
      return "`relay.llm.load(FILE)` in Python makes a program of a language model";
    case FileUse::kTorch:
      return "`relay.from_torch` in Python takes what `torch.export` makes; `torch.onnx.export` "
             "writes ONNX models, which commands take";
    case FileUse::kOtherModel:
      return "export the model to ONNX: commands take files NAME.onnx";
  }
  return nullptr;
}

// Refuses other files than programs, by their beginning. The parser says what is wrong with one of
// no known kind.
void refuse_model(const std::string& name, std::string_view text) {
  if (vm::is_executable_file(std::as_bytes(std::span(text)))) {
    throw Error(Diagnostic::error(name + " is a compiled model; this needs the program's text")
                    .help("`relay run` and `relay bench` take models"));
  }
  // The number of an ONNX model's format stands first, under a key that no text begins with.
  if (text.starts_with('\x08') || is_onnx_path(name)) {
    throw Error(Diagnostic::error(name + " looks like an ONNX model; this needs a program's text")
                    .help("`relay import` writes the text of a model in a file NAME.onnx"));
  }
  // Text may have any name, but none has zeros in it.
  if (name.ends_with(".rlx") && (text.empty() || text.find('\0') != text.npos)) {
    throw Error(Diagnostic::error(name + (text.empty() ? " is empty" : " is no compiled model"))
                    .help("`relay compile` writes compiled models"));
  }
  const std::span<const std::byte> head = std::as_bytes(std::span(text));
  const bool binary = is_binary(head);
  std::string what = binary ? known_file(head) : misplaced_file(head);
  if (what.empty() || what == "a text") return;
  Diagnostic diagnostic = Diagnostic::error(name + " is " + what + "; this needs a program's text");
  if (const char* way = binary ? way_with(use_of_file(head)) : nullptr) diagnostic.help(way);
  throw Error(std::move(diagnostic));
}

// Standard input, read as far as somebody asked for it.
struct StandardInput {
  std::string text;
  bool ended = false;

  void read(size_t least) {
    char buffer[1 << 16];
    while (!ended && text.size() < least) {
      const size_t got = std::fread(buffer, 1, sizeof buffer, stdin);
      text.append(buffer, got);
      if (text.size() > kMost) throw Error("standard input is too long for a program");
      ended = got == 0;
    }
    if (std::ferror(stdin) != 0) throw Error("cannot read standard input");
  }
};
StandardInput& input_stream() {
  static StandardInput stream;
  return stream;
}
}  // namespace

void refuse_same_file(const std::string& one, const std::string& other) {
  if (one.empty() || one == "-" || other.empty() || other == "-") return;
  std::error_code error;
  bool same = std::filesystem::equivalent(one, other, error);
  // Files that are still to come have no identity yet.
  if (error) {
    auto place = [](const std::string& path) {
      std::error_code ignored;
      return std::filesystem::weakly_canonical(path, ignored);
    };
    same = one == other || (!place(one).empty() && place(one) == place(other));
  }
  if (same) throw Error("cannot write " + other + ": it is the file " + one + " as well");
}

const std::string& standard_input() {
  input_stream().read(kMost + 1);
  return input_stream().text;
}

Input read_input(const std::string& path) {
  if (path != "-") {
    InputFile file(path);
    if (file.size() > kMost)
      throw Error(path + " has " + std::to_string(file.size()) + " bytes, too many for a program");
    std::string text(std::min<size_t>(file.size(), kFileHead), '\0');
    file.read_at(0, text.data(), text.size());
    refuse_model(path, text);
    const size_t head = text.size();
    if (is_binary(std::as_bytes(std::span(text)))) return {path, std::move(text)};  // wrong already
    text.resize(file.size());
    file.read_at(head, text.data() + head, text.size() - head);
    return {path, std::move(text)};
  }
  input_stream().read(kFileHead);
  refuse_model("standard input", input_stream().text);
  if (is_binary(std::as_bytes(std::span(input_stream().text))))
    return {"<stdin>", input_stream().text};
  return {"<stdin>", standard_input()};
}

void suggest_reduce(Context& context, const std::string& program,
                    const std::vector<std::string>& words) {
  if (program == "-") return;  // read once
  std::string command = "relay reduce " + reduce::shell_word(program);
  for (const std::string& plugin : context.plugins)
    command += " --plugin " + reduce::shell_word(plugin);
  for (const std::string& word : words) command += " " + reduce::shell_word(word);
  context.reduce_command = std::move(command);
}

namespace {
bool json_diagnostics = false;
}  // namespace

void write_diagnostics_as_json(bool json) { json_diagnostics = json; }
bool diagnostics_are_json() { return json_diagnostics; }

bool may_colour(int descriptor) {
  const char* never = std::getenv("NO_COLOR");
  if (never != nullptr && *never != '\0') return false;
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  return !dumb && isatty(descriptor) == 1;
}

namespace {

// The colour that a line of diagnostics begins with, up to its colon, or null.
const char* line_colour(std::string_view line) {
  if (line.starts_with("error")) return "\033[1;31m";
  if (line.starts_with("warning")) return "\033[1;33m";
  if (line.starts_with("note:")) return "\033[1;36m";
  if (line.starts_with("help:")) return "\033[1;32m";
  return nullptr;
}

// Diagnostics with colours: what they are, and the carets under the source.
std::string coloured(std::string_view text) {
  constexpr const char* kPlain = "\033[0m";
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end);
    const size_t colon = line.find(':');
    const size_t caret = line.find_first_not_of(" |");
    if (const char* colour = line_colour(line); colour != nullptr && colon != line.npos) {
      out.append(colour).append(line.substr(0, colon)).append(kPlain).append(line.substr(colon));
    } else if (caret != line.npos && line[caret] == '^') {
      const size_t last = line.find_last_of('^') + 1;
      out.append(line.substr(0, caret)).append("\033[31m").append(line.substr(caret, last - caret));
      out.append(kPlain).append(line.substr(last));
    } else {
      out.append(line);
    }
  }
  return out;
}

}  // namespace

void report(const std::vector<Diagnostic>& diagnostics) {
  std::string text =
      json_diagnostics ? diagnostics_json(diagnostics) : render(diagnostics, /*codes=*/true);
  if (!json_diagnostics && may_colour(STDERR_FILENO)) text = coloured(text);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void print_out(std::string_view text) {
  size_t written = std::fwrite(text.data(), 1, text.size(), stdout);
  if (written != text.size() || std::fflush(stdout) != 0)
    throw Error("cannot write to standard output");
}

namespace {
std::vector<Diagnostic> warnings_of(const std::vector<Diagnostic>& diagnostics) {
  std::vector<Diagnostic> warnings;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.severity == Severity::kWarning) warnings.push_back(diagnostic);
  }
  return warnings;
}
}  // namespace

Module read_program(const std::string& path, bool typed, NamedArrays* params) {
  if (is_onnx_path(path)) {
    Progress progress("importing " + path);
    OnnxModel model = from_onnx(path);
    report(model.warnings);
    if (params != nullptr) *params = std::move(model.params);
    return std::move(model.module);
  }
  return parse_program(read_input(path), typed);
}

Module parse_program(Input input, bool typed) {
  Progress progress("parsing " + input.name);
  ParseResult parsed = parse_text(input.name, std::move(input.text));
  if (!parsed.ok()) {
    if (typed && parsed.only_attributes) {
      for (Diagnostic& diagnostic : infer_types(parsed.module)) {
        parsed.diagnostics.push_back(std::move(diagnostic));
      }
      std::stable_sort(
          parsed.diagnostics.begin(), parsed.diagnostics.end(),
          [](const Diagnostic& a, const Diagnostic& b) { return a.span.begin() < b.span.begin(); });
    }
    throw Error(std::move(parsed.diagnostics));
  }
  report(warnings_of(parsed.diagnostics));
  return std::move(parsed.module);
}

void check_program(Module& module, const std::string& path) {
  Progress progress("checking " + path);
  std::vector<Diagnostic> warnings;
  // The parser makes well-formed modules only.
  if (is_onnx_path(path)) {
    require_typed(module, &warnings);
  } else {
    infer_types_or_throw(module, &warnings);
  }
  report(warnings);
  if (std::vector<Diagnostic> errors = check_instances(module); !errors.empty()) {
    throw Error(std::move(errors));
  }
  if (std::vector<Diagnostic> errors = check_devices(module); !errors.empty()) {
    throw Error(std::move(errors));
  }
}

Module read_typed_program(const std::string& path) {
  Module module = read_program(path, true);
  check_program(module, path);
  return module;
}

std::string time_text(double ms) {
  if (ms >= 100) return fmt::format("{:.1f} ms", ms);
  if (ms >= 1) return fmt::format("{:.3f} ms", ms);
  if (ms >= 1e-1) return fmt::format("{:.1f} µs", ms * 1e3);
  if (ms >= 1e-3) return fmt::format("{:.2f} µs", ms * 1e3);
  return fmt::format("{:.0f} ns", ms * 1e6);
}

struct Progress::State {
  std::mutex mutex;
  std::condition_variable done;
  bool finished = false;
  std::thread thread;
};

Progress::Progress(std::string what) {
  if (isatty(STDERR_FILENO) == 0) return;
  state_ = std::make_unique<State>();
  state_->thread = std::thread([this, what = std::move(what)] {
    using namespace std::chrono_literals;
    auto start = std::chrono::steady_clock::now();
    bool shown = false;
    std::unique_lock lock(state_->mutex);
    auto wait = 2000ms;
    while (!state_->done.wait_for(lock, wait, [&] { return state_->finished; })) {
      auto seconds = std::chrono::duration_cast<std::chrono::seconds>(
          std::chrono::steady_clock::now() - start);
      fmt::print(stderr, "\r{} … {} s", what, seconds.count());
      std::fflush(stderr);
      shown = true;
      wait = 500ms;
    }
    if (shown) fmt::print(stderr, "\r\033[K");
  });
}

Progress::~Progress() {
  if (state_ == nullptr) return;
  {
    std::lock_guard lock(state_->mutex);
    state_->finished = true;
  }
  state_->done.notify_all();
  state_->thread.join();
}

}  // namespace relay::tool
