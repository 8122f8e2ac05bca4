// The kind of a file by its first bytes, for errors about one that is not what was expected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace relay {

/// How many of the first bytes `known_file` looks at.
inline constexpr size_t kFileHead = 512;

/// The kind of a file that begins so and never is a model, an array or weights: "a Git LFS pointer,
/// …", "an HTML page, …". Empty for others.
std::string misplaced_file(std::span<const std::byte> head);
/// The same and more: files of other programs too, such as archives, and text. Empty if unknown.
std::string known_file(std::span<const std::byte> head);

/// What takes a file of a known kind.
enum class FileUse : uint8_t {
  kNone,
  kWeights,        // tensors by name
  kArray,          // one tensor
  kLanguageModel,  // GGUF
  kTorch,          // what PyTorch writes
  kOtherModel,     // models of other libraries
};
FileUse use_of_file(std::span<const std::byte> head);
/// True if no program's text begins so.
bool is_binary(std::span<const std::byte> head);

}  // namespace relay
