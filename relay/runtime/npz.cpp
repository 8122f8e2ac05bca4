#include <relay/runtime/npy.h>
#include <relay/runtime/npz.h>
#include <relay/support/error.h>
#include <relay/support/suggest.h>

#include <string_view>
#include <unordered_set>

namespace relay {
namespace {

constexpr std::string_view kSuffix = ".npy";

bool is_array(const ZipReader::Member& member) { return member.name.ends_with(kSuffix); }

std::string_view array_name(const ZipReader::Member& member) {
  return std::string_view(member.name).substr(0, member.name.size() - kSuffix.size());
}

// "it has 'a', 'b'"
std::string names_text(const std::vector<std::string>& names) {
  constexpr size_t kMost = 12;
  if (names.empty()) return "it has no arrays";
  std::string text = "it has ";
  for (size_t k = 0; k < names.size() && k < kMost; ++k) {
    text += (k > 0 ? ", '" : "'") + names[k] + "'";
  }
  if (names.size() > kMost) text += " and " + std::to_string(names.size() - kMost) + " more";
  return text;
}

}  // namespace

NpzReader::NpzReader(std::string path) : zip_(std::move(path)) {
  for (const auto& member : zip_.members()) {
    if (is_array(member)) index_.emplace(array_name(member), &member);
  }
}

std::vector<std::string> NpzReader::names() const {
  std::vector<std::string> names;
  for (const auto& member : zip_.members()) {
    if (is_array(member)) names.emplace_back(array_name(member));
  }
  return names;
}

const ZipReader::Member* NpzReader::find(const std::string& name) const {
  auto found = index_.find(name);
  return found == index_.end() ? nullptr : found->second;
}

bool NpzReader::contains(const std::string& name) const { return find(name) != nullptr; }

NDArray NpzReader::read(const std::string& name) const {
  const ZipReader::Member* member = find(name);
  if (member == nullptr) {
    Diagnostic diagnostic = Diagnostic::error(zip_.path() + ": there is no array '" + name + "'; " +
                                              names_text(names()));
    suggest(diagnostic, name, names(), "'", "'");
    throw Error(std::move(diagnostic));
  }
  auto source = zip_.open(*member);
  return read_npy(*source);
}

NamedArrays NpzReader::read_all() const {
  NamedArrays arrays;
  for (const auto& member : zip_.members()) {
    if (!is_array(member)) continue;
    auto source = zip_.open(member);
    arrays.emplace_back(array_name(member), read_npy(*source));
  }
  return arrays;
}

void write_npz(const std::string& path, const NamedArrays& arrays) {
  std::unordered_set<std::string_view> names;
  for (const auto& [name, array] : arrays) {
    if (!names.insert(name).second) throw Error(path + ": there are two arrays '" + name + "'");
  }
  OutputFile file(path);
  ZipWriter zip(file);
  for (const auto& [name, array] : arrays) {
    // The checksum stands before the data, and the file may be a pipe: go over the data twice.
    ChecksumSink checksum;
    write_npy(checksum, array);
    zip.add(name + std::string(kSuffix), npy_size(array), checksum.crc());
    write_npy(zip.contents(), array);
  }
  zip.finish();
  file.commit();
}

}  // namespace relay
