// Names and texts in quotes, as program text and JSON write them.
#pragma once

#include <string>
#include <string_view>

namespace relay {

/// `"…"` with escapes; bytes that are not UTF-8 survive.
void append_quoted(std::string& out, std::string_view text);
/// A JSON string with quotes. Bytes that are not UTF-8 become U+FFFD.
void append_json_string(std::string& out, std::string_view text);
/// True if a name needs no quotes in a place without a sigil: words of letters, digits and `_`,
/// none beginning with a digit, joined by dots.
bool is_word(std::string_view name);
/// A name in such a place: in quotes if it is not a word.
std::string word_or_quoted(std::string_view name);
/// The name of a dimension, a type or a constructor: in quotes if it is not a word, or means
/// something else there (`fn`, `_`).
std::string quoted_name(std::string_view name);

}  // namespace relay
