#include <tests/unit/test_paths.h>

#include <cstdlib>
#include <filesystem>

namespace relay::testing {

std::string shared_dir() {
  const char* chosen = std::getenv("RELAY_SHARED");
  std::filesystem::path path = chosen != nullptr && *chosen != '\0'
                                   ? std::filesystem::path(chosen)
                                   : std::filesystem::path(source_dir()) / ".." / "shared";
  std::error_code error;
  return std::filesystem::is_directory(path, error) ? path.lexically_normal().string() : "";
}

}  // namespace relay::testing
