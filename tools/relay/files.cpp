#include <tools/relay/files.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <relay/support/error.h>

namespace relay::tool {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> programs_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  while (!error && entry != fs::recursive_directory_iterator()) {
    const fs::path& path = entry->path();
    std::error_code ignored;
    if (entry->is_directory(ignored)) {
      if (path.filename().string().starts_with('.')) entry.disable_recursion_pending();
    } else if ((path.extension() == ".rly" || path.extension() == ".relay") &&
               !entry->is_other(ignored)) {  // a pipe would be waited for
      files.push_back(path.string());
    }
    entry.increment(error);
  }
  if (error) throw Error("cannot read the folder " + folder + ": " + error.message());
  if (files.empty())
    throw Error("no program is in the folder " + folder +
                ": none of its files ends in .rly or .relay");
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::vector<std::string> program_files(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (path != "-" && fs::is_directory(path, ignored)) {
      for (std::string& file : programs_in(path)) files.push_back(std::move(file));
    } else {
      files.push_back(path);
    }
  }
  return files;
}

}  // namespace relay::tool
