// What instructions code may use here: those that the processor has, where the operating system
// saves the registers that they write.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace relay {

/// Whether code may use the instructions of that name ("avx2", "lzcnt"; LLVM's names). False for a
/// name that is not known. RELAY_CPU_WITHOUT of the environment, names with commas between them,
/// takes instructions away, and those that need their registers ("avx" all of AVX2 and AVX-512).
bool cpu_has(std::string_view feature);

/// Whether `cpu_has` knows what to ask the processor.
bool is_cpu_feature(std::string_view feature);

/// Those of the names that code may not use here, in their order.
std::vector<std::string> missing_cpu_features(std::span<const std::string> features);

/// While it lives, the processor is without these instructions too, on every thread. For tests.
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
