#include <relay/runtime/file_kind.h>

#include <algorithm>
#include <string_view>

#include <relay/support/utf8.h>

namespace relay {
namespace {

std::string_view text_of(std::span<const std::byte> head) {
  head = head.first(std::min(head.size(), kFileHead));
  return {reinterpret_cast<const char*>(head.data()), head.size()};
}

char small_letter(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Begins with a word, in large or small letters.
bool begins(std::string_view text, std::string_view word) {
  return text.size() >= word.size() &&
         std::equal(word.begin(), word.end(), text.begin(),
                    [](char a, char b) { return a == small_letter(b); });
}

std::string_view without_space(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // the mark of UTF-8
  size_t start = text.find_first_not_of(" \t\r\n");
  return start == std::string_view::npos ? std::string_view() : text.substr(start);
}

/// No byte that only binary files have, and enough to tell.
bool is_text(std::string_view head) {
  constexpr size_t kEnough = 8;
  return head.size() >= kEnough && std::all_of(head.begin(), head.end(), [](char c) {
           auto byte = static_cast<unsigned char>(c);
           return byte >= 0x20 || c == '\n' || c == '\r' || c == '\t';
         });
}

struct Signature {
  size_t at;
  std::string_view bytes;
  const char* what;
  FileUse use = FileUse::kNone;
};

constexpr Signature kSignatures[] = {
    {0, {"PK\x03\x04", 4}, "a zip archive, as PyTorch and NumPy write them", FileUse::kTorch},
    {0, {"\x93NUMPY", 6}, "a NumPy array", FileUse::kArray},
    {0, {"\xb7\x9c\x04\x05\x4f\x8d\xe5\xf7", 8}, "a .params file of weights", FileUse::kWeights},
    {0, {"\x89HDF\r\n\x1a\n", 8}, "an HDF5 file, as Keras writes them", FileUse::kOtherModel},
    {4, {"TFL3", 4}, "a TensorFlow Lite model", FileUse::kOtherModel},
    {4, {"ORTM", 4}, "a model in ONNX Runtime's own format; the .onnx file is needed"},
    {0, {"GGUF", 4}, "a GGUF file", FileUse::kLanguageModel},
    {0,
     {"\x80\x02", 2},
     "a Python pickle, as older versions of PyTorch write them",
     FileUse::kTorch},
    {0, {"\x80\x04", 2}, "a Python pickle"},
    {0,
     {"\x7f"
      "ELF",
      4},
     "a program or library"},
    {0, {"\x89PNG", 4}, "a PNG image"},
    {0, {"\xff\xd8\xff", 3}, "a JPEG image"},
    {0, {"GIF8", 4}, "a GIF image"},
    {8, {"WEBP", 4}, "a WebP image"},
    {0, {"\xff\xfe", 2}, "a text in UTF-16"},
    {0, {"\xfe\xff", 2}, "a text in UTF-16"},
};

/// The signature of a file that begins so, or null.
const Signature* signature_of(std::string_view text) {
  for (const Signature& known : kSignatures) {
    if (text.size() >= known.at && text.substr(known.at).starts_with(known.bytes)) return &known;
  }
  // The length of the header, which is JSON, stands before it.
  static constexpr Signature kSafetensors{
      0, {}, "a .safetensors file of weights", FileUse::kWeights};
  if (text.size() > 9 && text[8] == '{' && text[7] == '\0') return &kSafetensors;
  return nullptr;
}

}  // namespace

std::string misplaced_file(std::span<const std::byte> head) {
  std::string_view text = text_of(head);
  if (text.starts_with("version https://git-lfs.github.com/spec/")) {
    return "a Git LFS pointer, which stands for a file that is not here; `git lfs pull` fetches it";
  }
  std::string_view first = without_space(text);
  if (begins(first, "<!doctype html") || begins(first, "<html") || begins(first, "<head")) {
    return "an HTML page, perhaps one of an address that shows the file and does not give it";
  }
  if (first.starts_with("<?xml")) return "an XML document";
  if (text.starts_with("%PDF-")) return "a PDF document";
  if (text.starts_with("\x1f\x8b")) return "a gzip file; unpack it first";
  if (text.starts_with("\xfd"
                       "7zXZ"))
    return "an xz file; unpack it first";
  if (text.starts_with("BZh")) return "a bzip2 file; unpack it first";
  if (text.starts_with("\x28\xb5\x2f\xfd")) return "a zstd file; unpack it first";
  return "";
}

std::string known_file(std::span<const std::byte> head) {
  std::string misplaced = misplaced_file(head);
  if (!misplaced.empty()) return misplaced;
  std::string_view text = text_of(head);
  if (const Signature* known = signature_of(text)) return known->what;
  return is_text(text) ? "a text" : "";
}

FileUse use_of_file(std::span<const std::byte> head) {
  std::string_view text = text_of(head);
  const Signature* known = misplaced_file(head).empty() ? signature_of(text) : nullptr;
  if (known == nullptr) return FileUse::kNone;
  // Of zip archives, NumPy's begin with an array.
  constexpr size_t kFirstName = 30;
  const bool arrays = known->use == FileUse::kTorch && text.starts_with("PK") &&
                      text.substr(std::min(kFirstName, text.size())).find(".npy") != text.npos;
  return arrays ? FileUse::kWeights : known->use;
}

bool is_binary(std::span<const std::byte> head) {
  const std::string_view text = text_of(head);
  return text.find('\0') != text.npos || (!text.empty() && utf8_length(text) == 0);
}

}  // namespace relay
