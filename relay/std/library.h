// The standard library: program text that is part of this library and that programs import by name.
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

/// The text of a file; ".rly" may be left out. "tensor_array_int8.rly" is "tensor_array.rly", which
/// is of float32, for another dtype. Nothing if there is no such file.
std::optional<std::string> standard_text(std::string_view file);

/// What files there are, for messages.
std::string standard_file_names();

}  // namespace relay
