#include <relay/lsp/chunk.h>

#include <algorithm>

namespace relay::lsp {

using parsing::Lexer;
using parsing::SymbolTable;
using parsing::SyntaxComment;
using parsing::SyntaxToken;
using parsing::Tok;
using parsing::Token;

Chunk::Chunk(std::string content, bool is_environment)
    : text(std::move(content)),
      syntax(parsing::read_syntax(text, SyntaxMarks(text.size()))),
      names(find_names(syntax)),
      environment(is_environment) {}

size_t Chunk::token_at(size_t offset) const {
  const std::vector<SyntaxToken>& tokens = syntax.tokens;
  auto after =
      std::upper_bound(tokens.begin(), tokens.end(), offset,
                       [](size_t at, const SyntaxToken& token) { return at < token.begin; });
  if (after == tokens.begin()) return tokens.size() - 1;
  const auto found = static_cast<size_t>(after - tokens.begin()) - 1;
  auto is_name = [&](size_t i) {
    const Tok kind = tokens[i].kind;
    return kind == Tok::kLocal || kind == Tok::kGlobal || kind == Tok::kIdent;
  };
  if (found > 0 && tokens[found].begin == offset && tokens[found - 1].end == offset &&
      !is_name(found) && is_name(found - 1))
    return found - 1;
  return offset <= tokens[found].end ? found : tokens.size() - 1;
}

std::string Chunk::comment_at_end() const {
  const SyntaxToken& end = syntax.tokens.back();
  size_t first = end.end_comment;
  // An empty line parts a comment from the definition.
  if (first > end.first_comment && end.lines_before <= 1) --first;
  while (first > end.first_comment && first < end.end_comment &&
         syntax.comments[first].lines_before == 1 && syntax.comments[first - 1].to_line_end)
    --first;
  // Behind a token on its line, a comment is about that token.
  if (first == end.first_comment && first < end.end_comment && syntax.tokens.size() > 1 &&
      syntax.comments[first].lines_before == 0)
    ++first;
  std::string doc;
  for (size_t i = first; i < end.end_comment; ++i) {
    const SyntaxComment& comment = syntax.comments[i];
    std::string_view line =
        std::string_view(text).substr(comment.begin, comment.end - comment.begin);
    if (line.starts_with("/*")) {
      line.remove_prefix(2);
      if (line.ends_with("*/")) line.remove_suffix(2);
    } else {
      line.remove_prefix(std::min(line.find_first_not_of("/#"), line.size()));
    }
    if (line.starts_with(' ')) line.remove_prefix(1);
    doc += doc.empty() ? "" : "\n";
    doc += line;
  }
  return doc;
}

namespace {

// True if the lines before all definitions are imports and the version, so that definitions can be
// read without them.
bool is_preamble(std::string_view text) {
  SymbolTable symbols;
  Lexer lexer(text, &symbols);
  for (Token token = lexer.next(); !token.is(Tok::kEnd); token = lexer.next()) {
    if (token.is(Tok::kVersion)) {
      while (!token.is(Tok::kRBracket) && !token.is(Tok::kEnd)) token = lexer.next();
    } else if (!token.is_word(parsing::kwImport) && !token.is(Tok::kString) &&
               !token.is(Tok::kSemicolon)) {
      return false;
    }
  }
  return true;
}

}  // namespace

Replaced Replaced::between(std::string_view old, std::string_view text) {
  const size_t common = std::min(old.size(), text.size());
  const auto first = std::mismatch(old.begin(), old.begin() + static_cast<ptrdiff_t>(common),
                                   text.begin(), text.begin() + static_cast<ptrdiff_t>(common));
  const auto begin = static_cast<size_t>(first.first - old.begin());
  const auto last =
      std::mismatch(old.rbegin(), old.rbegin() + static_cast<ptrdiff_t>(common - begin),
                    text.rbegin(), text.rbegin() + static_cast<ptrdiff_t>(common - begin));
  const auto same = static_cast<size_t>(last.first - old.rbegin());
  return {begin, old.size() - same, text.size() - same};
}

std::vector<Piece> cut(std::string_view text) { return cut_again(text, {}, {0, 0, text.size()}); }

std::vector<Piece> cut_again(std::string_view text, std::span<const Piece> before,
                             const Replaced& change) {
  std::vector<Piece> pieces{{0, text.size(), true}};
  SymbolTable symbols((change.end - change.begin) / 64);
  Lexer lexer(text, &symbols);
  // The piece before the one that the change begins in is the last whose first tokens cannot have
  // changed.
  const auto touched =
      std::upper_bound(before.begin(), before.end(), change.begin,
                       [](size_t at, const Piece& piece) { return at < piece.begin; });
  if (touched - before.begin() > 2) {
    pieces.assign(before.begin(), touched - 2);
    pieces.back().end = text.size();
    lexer.seek((touched - 2)->begin);
  }
  Token token = lexer.next();
  bool after_extern = false;
  while (!token.is(Tok::kEnd)) {
    const size_t begin = token.begin;
    const bool line_start = begin == 0 || text[begin - 1] == '\n';
    const bool definition = token.is_word(parsing::kwDef);
    const bool data = line_start && !after_extern &&
                      (token.is_word(parsing::kwType) || token.is_word(parsing::kwData) ||
                       token.is_word(parsing::kwExtern));
    after_extern = token.is_word(parsing::kwExtern);
    token = lexer.next();
    const bool names = definition ? token.is(Tok::kGlobal)
                                  : data && (token.is(Tok::kIdent) || token.is(Tok::kString));
    if (!names) continue;
    if (begin == 0) {
      pieces.back().environment = data;
      continue;
    }
    pieces.back().end = begin;
    pieces.push_back({begin, text.size(), data});
    // A text of one piece may not have been cut at all.
    if (before.size() < 2 || begin < change.end) continue;
    // Where a piece began behind the change before, all that follows is as it was.
    const size_t old_begin = begin - change.end + change.old_end;
    const auto old =
        std::lower_bound(before.begin(), before.end(), old_begin,
                         [](const Piece& piece, size_t at) { return piece.begin < at; });
    if (old == before.end() || old->begin != old_begin) continue;
    for (auto rest = old + 1; rest != before.end(); ++rest) {
      pieces.back().end = rest->begin - change.old_end + change.end;
      pieces.push_back({pieces.back().end, text.size(), rest->environment});
    }
    break;
  }
  const bool data = !pieces[0].environment || text.starts_with("type") ||
                    text.starts_with("data") || text.starts_with("extern");
  const bool together = lexer.metadata() != std::string_view::npos ||
                        (!data && !is_preamble(text.substr(0, pieces[0].end)));
  if (pieces.size() > 1 && together) return {{0, text.size(), true}};
  return pieces;
}

}  // namespace relay::lsp
