#include <relay/import/onnx/registry.h>

#include <algorithm>
#include <map>

#include <relay/support/error.h>

namespace relay::onnx {
namespace {

using Key = std::pair<std::string_view, std::string_view>;
using Versions = std::map<int64_t, Converter>;

std::map<Key, Versions>& registry() {
  static auto* entries = new std::map<Key, Versions>;
  return *entries;
}

}  // namespace

bool register_converter(ConverterEntry entry) {
  bool added = registry()[{entry.domain, entry.op_type}].emplace(entry.since, entry.convert).second;
  RELAY_CHECK(added, "two converters for " + std::string(entry.op_type));
  return true;
}

Converter find_converter(std::string_view domain, std::string_view op_type, int64_t version) {
  auto found = registry().find({domain, op_type});
  if (found == registry().end()) return nullptr;
  auto after = found->second.upper_bound(version);
  return after == found->second.begin() ? nullptr : std::prev(after)->second;
}

std::optional<int64_t> oldest_version(std::string_view domain, std::string_view op_type) {
  auto found = registry().find({domain, op_type});
  if (found == registry().end()) return std::nullopt;
  return found->second.begin()->first;
}

std::vector<ConverterEntry> all_converters() {
  std::vector<ConverterEntry> result;
  for (const auto& [key, versions] : registry()) {
    for (const auto& [since, convert] : versions) {
      result.push_back({key.first, key.second, since, convert});
    }
  }
  return result;
}

}  // namespace relay::onnx
