// Pieces of program text: names, numbers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <relay/ir/expr.h>
#include <relay/support/quote.h>

namespace relay::printing {

/// True if a local or global name can stand without quotes: words of letters, digits and `_`,
/// joined by dots, none but the first beginning with a digit (`%a.0` is a projection).
bool plain_name(std::string_view name);
using relay::append_quoted;
/// `%x`, `@f` (with the given sigil), in quotes if needed.
void append_name(std::string& out, char sigil, std::string_view name);
/// A constructor's name, in quotes if the word is also an operator or a number.
void append_constructor(std::string& out, const Name& name);
/// A rank-0 constant as a literal with suffix that reads back to the same bits, or nothing: a NaN
/// with a payload of its own.
std::optional<std::string> scalar_text(const NDArray& value);
/// A constant in place: a literal, or `Constant(1.5, (2, 3), float32)` if several elements are one.
/// Nothing if it takes a list of elements.
std::optional<std::string> constant_text(const NDArray& value);
/// A literal in its written form.
void append_literal(std::string& out, const LiteralValue& value);
/// Makes the text from `begin` on fit into a comment: a `/` beside a `*`, which would end the
/// comment or begin another in it, becomes `\x2f`, as quoted names may spell it.
void escape_comment(std::string& out, size_t begin);

}  // namespace relay::printing
