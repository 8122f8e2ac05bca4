// The text of a program as a person wrote it, laid out anew.
#pragma once

#include <string>
#include <string_view>

#include <relay/parse/marks.h>

namespace relay {

inline constexpr size_t kFormatWidth = 100;

/// The text with the same tokens and comments in the same order: names, infix operators, order of
/// definitions and empty lines (one in a row) stay; spaces, line breaks and parentheses without
/// effect change. Blocks that stand on one line stay so where they fit; a block of several
/// statements takes several lines. The `#[metadata]` section stays as it is. Formatting the result
/// changes nothing. `marks` are those of parsing the text without an error. Throws InternalError if
/// the result had other tokens.
std::string format_source(std::string_view text, const SyntaxMarks& marks);

}  // namespace relay
