// relay serve: the server of the Python package, in the place of this process.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/core.h>

#include <tools/relay/command.h>

namespace relay::tool {

namespace {

/// The package beside this command, as in a build folder; else Python looks where it always does.
std::string package_folder() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path command = fs::read_symlink("/proc/self/exe", error);
  if (error) return {};
  const fs::path folder = command.parent_path().parent_path() / "python";
  return fs::exists(folder / "relay" / "__init__.py", error) ? folder.string() : std::string();
}

}  // namespace

void add_serve(CLI::App& app, Context&) {
  // Only for the list of commands: `serve` runs before options are read, since they are Python's.
  app.add_subcommand("serve",
                     "Answer requests for models over HTTP (needs the Python package `relay`).");
}

int run_serve(int argc, const char* const* argv) {
  if (std::string folder = package_folder(); !folder.empty()) {
    const char* before = std::getenv("PYTHONPATH");
    if (before != nullptr && *before != '\0') folder += std::string(":") + before;
    ::setenv("PYTHONPATH", folder.c_str(), 1);
  }
  const char* given = std::getenv("RELAY_PYTHON");
  std::string python = given != nullptr && *given != '\0' ? given : "python3";
  std::vector<std::string> words = {python, "-m", "relay"};
  words.insert(words.end(), argv + 1, argv + argc);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execvp(python.c_str(), pointers.data());
  fmt::print(stderr,
             "error: relay serve runs in Python, and {} cannot be run: {}\n"
             "help: RELAY_PYTHON names another interpreter\n",
             python, std::strerror(errno));
  return kWrong;
}

}  // namespace relay::tool
