// The one seam between `cpu_features.h` and a kind of processor: cpu_probe_x86.cpp and
// cpu_probe_aarch64.cpp each define all of it.
#pragma once

#include <relay/runtime/cpu_features.h>

namespace relay {

struct CpuFeature {
  std::string_view name;   // LLVM's
  std::string_view needs;  // one before it in the list, without which it is of no use; or ""
};

/// The instructions that this kind of processor can be asked for, 32 at most.
std::span<const CpuFeature> known_cpu_features();

/// Those that the processor has, if the operating system saves the registers that they write.
std::vector<std::string_view> probe_cpu_features();

/// Notes a cache of data of a level, counted from 1 outwards, in the order of levels.
inline void keep_cache(CpuCaches& caches, int64_t level, const CpuCache& cache) {
  if (level == 1) caches.first = cache;
  if (level == 2) caches.second = cache;
  if (level >= 2) caches.last = cache;
}

}  // namespace relay
