#include <tests/unit/test_paths.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace relay::testing {

std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::filesystem::path> program_files(std::initializer_list<const char*> folders) {
  std::vector<std::filesystem::path> paths;
  for (const char* folder : folders) {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(source_dir() + "/" + folder)) {
      if (entry.path().extension() == ".rly") paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace relay::testing
