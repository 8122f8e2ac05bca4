// The standard library: program text in this library that programs import by name.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace relay {

struct StandardFile {
  std::string_view name;  // "prelude.rly"
  std::string_view text;
};

/// All files, by name.
std::span<const StandardFile> standard_files();

/// The text of a file; ".rly" may be left out. "tensor_array_int8.rly" is "tensor_array.rly" for
/// another dtype than float32. Nothing if the file does not exist.
std::optional<std::string> standard_text(std::string_view file);

/// The names of all files, for messages.
std::string standard_file_names();

}  // namespace relay
