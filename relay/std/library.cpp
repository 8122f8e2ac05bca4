#include <relay/std/library.h>

#include <relay/runtime/dtype.h>

namespace relay {

namespace {

constexpr std::string_view kTensorArray = "tensor_array";
constexpr std::string_view kWrittenFor = "float32";

const StandardFile* find(std::string_view name) {
  for (const StandardFile& file : standard_files()) {
    if (file.name.substr(0, file.name.rfind('.')) == name) return &file;
  }
  return nullptr;
}

}  // namespace

std::optional<std::string> standard_text(std::string_view file) {
  if (file.ends_with(".rly")) file.remove_suffix(4);
  if (const StandardFile* found = find(file)) return std::string(found->text);
  if (!file.starts_with(kTensorArray) || file.size() <= kTensorArray.size() + 1 ||
      file[kTensorArray.size()] != '_')
    return std::nullopt;
  std::string_view dtype = file.substr(kTensorArray.size() + 1);
  if (!DType::parse(dtype)) return std::nullopt;
  std::string text(find(kTensorArray)->text);
  for (size_t at = text.find(kWrittenFor); at != std::string::npos;
       at = text.find(kWrittenFor, at + dtype.size()))
    text.replace(at, kWrittenFor.size(), dtype);
  return text;
}

std::string standard_file_names() {
  std::string names;
  for (const StandardFile& file : standard_files()) {
    if (!names.empty()) names += ", ";
    names += file.name;
  }
  return names;
}

}  // namespace relay
