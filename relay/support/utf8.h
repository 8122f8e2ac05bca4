// Characters in bytes.
#pragma once

#include <cstddef>
#include <string_view>

namespace relay {

/// Bytes of the UTF-8 character that a text begins with (a byte of 0 is one). 0 if it begins with
/// none: with a part of one, one written longer than needed, a surrogate, or one past the last. 1
/// for an empty text.
size_t utf8_length(std::string_view text);

}  // namespace relay
