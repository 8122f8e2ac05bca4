// libFuzzer target: the words of a command line, one on each line, for commands that end by
// themselves. They run in a folder of their own, which has a program, rules, a model and arrays.
// No words are a defect of the command, and none name files elsewhere.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <relay/runtime/memory.h>
#include <relay/runtime/params.h>

#include <tools/relay/command.h>
#include <tools/relay/main.h>

#include <tests/fuzz/fuzz.h>

namespace {

using namespace relay;

constexpr std::array kCommands = {"check",   "print", "fmt",       "opt",   "run",
                                  "compile", "show",  "explain",   "match", "explain-program",
                                  "ops",     "help",  "completion"};

constexpr const char* kProgram = R"(
def @main(%x: Tensor[(n, 3), float32], %c: bool) {
  let %y = nn.relu(add(%x, 1f));
  if (%c) { multiply(%y, %y) } else { %y }
}
)";

void write(const char* name, std::string_view text) {
  std::ofstream(name, std::ios::binary | std::ios::trunc) << text;
}

// What a command line finds; one before may have written over it.
void make_folder() {
  namespace fs = std::filesystem;
  static const fs::path folder = [] {
    const fs::path made =
        fs::temp_directory_path() / ("command_fuzz." + std::to_string(::getpid()));
    ::setenv("RELAY_CACHE_DIR", (made.string() + ".cache").c_str(), 1);
    ::setenv("RELAY_EXECUTOR", "eval", 0);
    const int nothing = ::open("/dev/null", O_RDONLY);
    fuzz::require(::dup2(nothing, STDIN_FILENO) == STDIN_FILENO, "/dev/null can be read");
    return made;
  }();
  fs::remove_all(folder);
  fs::create_directory(folder);
  fs::current_path(folder);
  write("p.rly", kProgram);
  write("r.rules", "rule zero: %x + 0 => %x where integer(%x);\n");
  write_tvm_params("a.params", {{"x", NDArray::zeros(Shape{2, 3}, kFloat32)}});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes = fuzz::text_of(data, size);
  // Names of other folders, and libraries, which do when they are loaded what they like.
  for (const char* outside : {"/", "..", "--plugin"}) {
    if (bytes.find(outside) != bytes.npos) return 0;
  }
  set_memory_limit(size_t{256} << 20);
  make_folder();
  fuzz::Choices choices(bytes);
  std::vector<std::string> words = {"relay", kCommands[choices.number(kCommands.size())]};
  constexpr size_t kMostWords = 12;
  while (!choices.empty() && words.size() < kMostWords) {
    words.emplace_back(choices.until('\n'));
    // A word ends at its first byte 0, as the system passes it.
    words.back().resize(words.back().find('\0') == std::string::npos ? words.back().size()
                                                                     : words.back().find('\0'));
  }
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  const int code = tool::run_command(static_cast<int>(arguments.size()), arguments.data());
  fuzz::require(code == tool::kOk || code == tool::kWrong || code == tool::kUsage ||
                    code == tool::kRunTimeError,
                "a command line is done, refused, or its program fails");
  return 0;
}
