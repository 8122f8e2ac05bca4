// Finds the instructions that code may use: those that the processor has, if the operating system
// saves the registers that they write.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace relay {

inline constexpr std::string_view kX86_64 = "x86-64", kAArch64 = "aarch64";
/// The architecture that this is compiled for.
#if defined(__aarch64__)
inline constexpr std::string_view kCpuArchitecture = kAArch64;
#else
inline constexpr std::string_view kCpuArchitecture = kX86_64;
#endif

/// True if code may use the instructions with that name ("avx2", "lzcnt"; LLVM's names). False for
/// an unknown name. RELAY_CPU_WITHOUT of the environment, names with commas between them, takes
/// instructions away, and those that need their registers ("avx" all of AVX2 and AVX-512).
bool cpu_has(std::string_view feature);

/// A cache of data: so many sets of so many lines.
struct CpuCache {
  int64_t line_bytes = 0, sets = 0, ways = 0;
  int64_t bytes() const { return line_bytes * sets * ways; }
};

/// The caches of the core that runs this, as the processor describes them; of 0 bytes where it says
/// nothing. The last one is the second where a core has no more, and may be shared.
struct CpuCaches {
  CpuCache first, second, last;
};
CpuCaches cpu_caches();

/// True if `cpu_has` knows how to ask the processor.
bool is_cpu_feature(std::string_view feature);

/// The names whose instructions code may not use here, in their order. Code for AArch64 names the
/// architecture among its instructions; code that does not is for x86-64, and so needs that.
std::vector<std::string> missing_cpu_features(std::span<const std::string> features);

/// While it lives, the processor lacks these instructions too, on every thread. For tests.
class WithoutCpuFeatures {
 public:
  explicit WithoutCpuFeatures(std::string_view names);
  ~WithoutCpuFeatures();
  WithoutCpuFeatures(const WithoutCpuFeatures&) = delete;
  WithoutCpuFeatures& operator=(const WithoutCpuFeatures&) = delete;

 private:
  const unsigned before_;
};

}  // namespace relay
