#include <relay/parse/syntax_tokens.h>

#include <algorithm>

namespace relay::parsing {
namespace {

// The end of the block comment that begins at `begin`; they nest.
size_t block_end(std::string_view text, size_t begin) {
  size_t depth = 0;
  size_t i = begin;
  while (i + 1 < text.size()) {
    if (text[i] == '/' && text[i + 1] == '*') {
      ++depth;
      i += 2;
    } else if (text[i] == '*' && text[i + 1] == '/') {
      i += 2;
      if (--depth == 0) return i;
    } else {
      ++i;
    }
  }
  return text.size();
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }

// The comments of the white space before a token; gives the line breaks after the last of them.
size_t read_gap(std::string_view text, size_t begin, size_t end,
                std::vector<SyntaxComment>& comments) {
  size_t lines = 0;
  for (size_t i = begin; i < end;) {
    const char c = text[i];
    if (c == '\n') ++lines;
    if (c != '#' && c != '/') {
      ++i;
      continue;
    }
    SyntaxComment comment;
    comment.begin = i;
    comment.lines_before = lines;
    comment.to_line_end = c == '#' || text[i + 1] == '/';
    i = comment.to_line_end ? std::min(text.find('\n', i), end) : block_end(text, i);
    comment.end = i;
    while (comment.end > comment.begin && is_blank(text[comment.end - 1])) --comment.end;
    comments.push_back(comment);
    lines = 0;
  }
  return lines;
}

}  // namespace

SyntaxTokens read_syntax(std::string_view text, const SyntaxMarks& marks) {
  SyntaxTokens result;
  result.text = text;
  SymbolTable symbols(text.size() / 64);
  Lexer lexer(text, &symbols);
  std::vector<size_t> open;
  size_t last = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  for (;;) {
    const Token token = lexer.next();
    SyntaxToken out;
    out.kind = token.kind;
    out.escaped = token.escaped;
    out.begin = token.begin;
    out.end = token.end;
    out.first_comment = result.comments.size();
    out.lines_before = read_gap(text, last, token.begin, result.comments);
    out.end_comment = result.comments.size();
    const size_t index = result.tokens.size();
    out.match = index;
    const bool opens = token.is(Tok::kLParen) || token.is(Tok::kLBracket) ||
                       token.is(Tok::kLBrace) ||
                       (token.is(Tok::kLess) && marks.has(token.begin, Mark::kTypeBracket));
    const bool closes =
        token.is(Tok::kRParen) || token.is(Tok::kRBracket) || token.is(Tok::kRBrace) ||
        (token.is(Tok::kGreater) && !open.empty() && result.tokens[open.back()].kind == Tok::kLess);
    if (opens) open.push_back(index);
    if (closes && !open.empty()) {
      out.match = open.back();
      result.tokens[open.back()].match = index;
      open.pop_back();
    }
    result.tokens.push_back(out);
    last = token.end;
    if (token.is(Tok::kEnd)) break;
  }
  return result;
}

}  // namespace relay::parsing
