// Characters in bytes.
#pragma once

#include <cstddef>
#include <string_view>

namespace relay {

/// Bytes of the character of UTF-8 that a text begins with (a byte of 0 is one); 0 if it begins
/// with none: a part of one, one written longer than need be, a surrogate, one past the last. Of an
/// empty text 1.
size_t utf8_length(std::string_view text);

}  // namespace relay
