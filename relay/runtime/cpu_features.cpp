#include <relay/runtime/cpu_features.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <iterator>

#include <relay/runtime/cpu_probe.h>

namespace relay {
namespace {

int index_of(std::string_view name) {
  const std::span<const CpuFeature> all = known_cpu_features();
  const auto found = std::ranges::find(all, name, &CpuFeature::name);
  return found == all.end() ? -1 : static_cast<int>(found - all.begin());
}

// Without those that a name of the list stands for, and without what needs them.
unsigned without(unsigned features, std::string_view names) {
  while (!names.empty()) {
    const size_t comma = names.find(',');
    const int index = index_of(names.substr(0, comma));
    if (index >= 0) features &= ~(1u << index);
    names = comma == std::string_view::npos ? std::string_view() : names.substr(comma + 1);
  }
  const std::span<const CpuFeature> all = known_cpu_features();
  for (size_t i = 0; i < all.size(); ++i) {
    const int needed = index_of(all[i].needs);
    if (needed >= 0 && (features >> needed & 1) == 0) features &= ~(1u << i);
  }
  return features;
}

unsigned detect() {
  unsigned features = 0;
  for (std::string_view name : probe_cpu_features()) features |= 1u << index_of(name);
  const char* names = std::getenv("RELAY_CPU_WITHOUT");
  return without(features, names != nullptr ? names : "");
}

std::atomic<unsigned>& known() {
  static std::atomic<unsigned> features{detect()};
  return features;
}

}  // namespace

bool is_cpu_feature(std::string_view feature) { return index_of(feature) >= 0; }

bool cpu_has(std::string_view feature) {
  const int index = index_of(feature);
  return index >= 0 && (known().load(std::memory_order_relaxed) >> index & 1) != 0;
}

std::vector<std::string> missing_cpu_features(std::span<const std::string> features) {
  if (kCpuArchitecture != kX86_64 &&
      std::ranges::find(features, kCpuArchitecture) == features.end()) {
    return {std::string(kX86_64)};
  }
  std::vector<std::string> missing;
  std::ranges::copy_if(features, std::back_inserter(missing),
                       [](const std::string& each) { return !cpu_has(each); });
  return missing;
}

WithoutCpuFeatures::WithoutCpuFeatures(std::string_view names) : before_(known().load()) {
  known().store(without(before_, names));
}
WithoutCpuFeatures::~WithoutCpuFeatures() { known().store(before_); }

}  // namespace relay
