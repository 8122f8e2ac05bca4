// What Linux says of an AArch64 processor.
#if defined(__aarch64__)

#include <relay/runtime/cpu_probe.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <string>

namespace relay {
namespace {

// Vectors of 128 bits are a part of it.
constexpr std::array<CpuFeature, 1> kFeatures{{{kAArch64, ""}}};

constexpr const char* kFirstCore = "/sys/devices/system/cpu/cpu0/cache/index";

std::string read_word(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

int64_t read_number(const std::string& path) {
  const std::string word = read_word(path);
  int64_t value = 0;
  for (const char c : word.substr(0, 12)) {
    if (c < '0' || c > '9') break;
    value = value * 10 + (c - '0');
  }
  return word.ends_with('K') ? value << 10 : word.ends_with('M') ? value << 20 : value;
}

}  // namespace

std::span<const CpuFeature> known_cpu_features() { return kFeatures; }

std::vector<std::string_view> probe_cpu_features() { return {kFeatures[0].name}; }

CpuCaches cpu_caches() {
  CpuCaches caches;
  constexpr int kMost = 16;
  for (int index = 0; index < kMost; ++index) {
    const std::string folder = kFirstCore + std::to_string(index) + "/";
    const std::string type = read_word(folder + "type");
    if (type.empty()) break;
    if (type == "Instruction") continue;
    const CpuCache cache{read_number(folder + "coherency_line_size"),
                         read_number(folder + "number_of_sets"),
                         read_number(folder + "ways_of_associativity")};
    keep_cache(caches, read_number(folder + "level"), cache);
  }
  return caches;
}

}  // namespace relay

#endif
