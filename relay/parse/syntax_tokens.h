// The tokens of program text with the comments and line breaks between them.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include <relay/parse/lexer.h>
#include <relay/parse/marks.h>

namespace relay::parsing {

struct SyntaxComment {
  size_t begin = 0;
  size_t end = 0;            // without white space at the end
  size_t lines_before = 0;   // line breaks between it and what stands before it
  bool to_line_end = false;  // `//` and `#`
};

struct SyntaxToken {
  Tok kind = Tok::kEnd;
  bool escaped = false;  // a word in quotes
  size_t begin = 0;
  size_t end = 0;
  size_t lines_before = 0;   // line breaks between it and the comment or token before it
  size_t first_comment = 0;  // comments between the token before it and it
  size_t end_comment = 0;
  size_t match = 0;  // of a bracket: the other one; of others itself
};

/// The tokens of a text, with error tokens where it has any. The last token is the end of the text
/// or the beginning of `#[metadata]`. `<` and `>` around types are brackets.
struct SyntaxTokens {
  std::string_view text;
  std::vector<SyntaxToken> tokens;
  std::vector<SyntaxComment> comments;

  std::string_view at(size_t token) const {
    return text.substr(tokens[token].begin, tokens[token].end - tokens[token].begin);
  }
};

/// Reads the tokens of a text; `marks` are those of the parser. Without marks no `<` is a bracket.
SyntaxTokens read_syntax(std::string_view text, const SyntaxMarks& marks);

}  // namespace relay::parsing
