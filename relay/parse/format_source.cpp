#include <relay/parse/format_source.h>

#include <algorithm>
#include <optional>

#include <relay/parse/document.h>
#include <relay/parse/large_stack.h>
#include <relay/parse/token_shape.h>
#include <relay/support/error.h>

namespace relay {
namespace parsing {
namespace {

// Longer lists of numbers and names fill lines.
constexpr size_t kShortList = 6;

class SourceFormatter : private TokenShape {
 public:
  SourceFormatter(const SyntaxTokens& syntax, const SyntaxMarks& marks)
      : TokenShape(syntax, marks), dropped_(tokens_.size()), takes_lines_(tokens_.size()) {
    find_lines();
    drop_parentheses();
  }

  std::string run() {
    const size_t end = tokens_.size() - 1;
    items(0, end, /*hard=*/true);
    comments(end);
    std::string out = document_.print(kFormatWidth);
    std::string_view rest = syntax_.text.substr(tokens_[end].begin);
    if (!rest.empty()) {
      while (!rest.empty() && is_space(rest.back())) rest.remove_suffix(1);
      if (!out.empty() && tokens_[end].lines_before > 1) out += '\n';
      out += std::string(rest) + "\n";
    }
    return out;
  }

  /// True for each token that is left out: parentheses without effect.
  const std::vector<bool>& dropped() const { return dropped_; }

 private:
  static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
  // The comments on a token's own line before it: they stay at its side, whatever breaks before.
  size_t first_beside(size_t token) const {
    const SyntaxToken& next = tokens_[token];
    if (closes(token) || is(token, Tok::kComma) || is(token, Tok::kSemicolon) ||
        is(token, Tok::kEnd) || next.lines_before > 0) {
      return next.end_comment;
    }
    size_t k = next.end_comment;
    for (; k > next.first_comment; --k) {
      const SyntaxComment& comment = syntax_.comments[k - 1];
      if (comment.to_line_end) break;
      if (comment.lines_before > 0) return k - 1;
    }
    return k;
  }

  // Writes the comments before a token but those at its side. True if a line has to begin after
  // them.
  bool comments(size_t token) {
    bool pending = false;
    const SyntaxToken& next = tokens_[token];
    const size_t end = first_beside(token);
    for (size_t k = next.first_comment; k < end; ++k) {
      const SyntaxComment& comment = syntax_.comments[k];
      const bool first = token == 0 && k == next.first_comment;
      if ((comment.lines_before > 0 || pending) && !first) {
        if (comment.lines_before > 1 && written_ && !opened_) {
          document_.blank();
        } else {
          document_.hard();
        }
      } else if (written_) {
        document_.text(" ");
      }
      put_comment(k);
      pending =
          comment.to_line_end ||
          (k + 1 < next.end_comment ? syntax_.comments[k + 1].lines_before : next.lines_before) > 0;
    }
    return pending;
  }

  void put_comment(size_t k) {
    const SyntaxComment& comment = syntax_.comments[k];
    document_.text(syntax_.text.substr(comment.begin, comment.end - comment.begin), false);
    written_ = true;
    opened_ = false;
  }

  // `kFirst` is the first item of a file or a block, which has no break but behind comments;
  // `kDone` follows a break that is already there.
  enum class Break : uint8_t { kNone, kSpace, kLine, kSoft, kFill, kItem, kFirst, kDone };

  // Comments, then the break before a token, then the comments at its side.
  void separate(size_t token, Break wanted) {
    const SyntaxToken& next = tokens_[token];
    const size_t beside = first_beside(token);
    const bool line = comments(token);
    const bool item = wanted == Break::kItem || (wanted == Break::kFirst && line);
    const size_t lines =
        beside < next.end_comment ? syntax_.comments[beside].lines_before : next.lines_before;
    if (beside < next.end_comment && (wanted == Break::kNone || wanted == Break::kFirst) &&
        token > 0 && !is(token - 1, Tok::kLParen) && !is(token - 1, Tok::kLBracket)) {
      wanted = Break::kSpace;
    }
    if (line || item) {
      if (written_) {
        if (item && lines > 1 && !opened_) {
          document_.blank();
        } else {
          document_.hard();
        }
      }
    } else {
      soft_break(wanted);
    }
    for (size_t k = beside; k < next.end_comment; ++k) {
      put_comment(k);
      document_.text(" ");
    }
  }

  void soft_break(Break wanted) {
    switch (wanted) {
      case Break::kSpace:
        document_.text(" ");
        break;
      case Break::kLine:
        document_.line();
        break;
      case Break::kSoft:
        document_.soft();
        break;
      case Break::kFill:
        document_.fill();
        break;
      default:
        break;
    }
  }

  void put(size_t token) {
    if (dropped_[token]) return;
    if (is(token, Tok::kVersion)) {
      document_.text("#[version");
    } else {
      document_.text(syntax_.at(token));
    }
    written_ = true;
    opened_ = false;
  }

  // ---- Items ----

  // The item that begins at `begin` ends before the next one.
  size_t item_end(size_t begin, size_t end) const {
    for (size_t i = begin; i < end; ++i) {
      if (i > begin && begins_item(i)) return i;
      if (opens(i)) i = tokens_[i].match;
    }
    return end;
  }

  void items(size_t begin, size_t end, bool hard) {
    for (size_t i = begin; i < end;) {
      const size_t next = item_end(i, end);
      if (i == begin) {
        separate(i, hard ? Break::kFirst : Break::kDone);
      } else {
        separate(i, hard ? Break::kItem : Break::kLine);
      }
      segment(i, next);
      i = next;
    }
  }

  // ---- Segments: tokens between commas, or an item ----

  int weakest_operator(size_t begin, size_t end) const {
    int weakest = 0;
    for (size_t i = begin; i < end; ++i) {
      if (opens(i)) {
        i = tokens_[i].match;
        continue;
      }
      if (!is_infix(i)) continue;
      const int precedence = infix(tokens_[i].kind).precedence;
      if (weakest == 0 || precedence < weakest) weakest = precedence;
    }
    return weakest;
  }

  // The last block of a chain of `if` and `else` that begins at `i`; nothing if one of its blocks
  // takes several lines.
  std::optional<size_t> chain_end(size_t i) const {
    for (;;) {
      size_t block = tokens_[i + 1].match + 1;
      if (takes_lines(block)) return std::nullopt;
      size_t close = tokens_[block].match;
      if (!is_word(close + 1, "else")) return close;
      i = close + 2;
      if (is_word(i, "if")) continue;
      if (takes_lines(i)) return std::nullopt;
      return tokens_[i].match;
    }
  }

  // Blocks of one expression, of clauses or of constructors may stand on one line, if they did.
  void find_lines() {
    std::vector<size_t> open;
    for (size_t i = 0; i < tokens_.size(); ++i) {
      const bool block = is(i, Tok::kLBrace) && opens(i) && !is_attribute_brace(i);
      if (block) open.push_back(i);
      if (open.empty() || i == open.back()) continue;
      const bool of_block = is(i, Tok::kRBrace) && tokens_[i].match == open.back();
      const bool broken = tokens_[i].lines_before > 0 || breaks_line(i);
      // A statement before the last expression.
      const bool statement = begins_item(i) && (is_word(i, "let") || is(i + 1, Tok::kAssign));
      const bool sequence = is(i, Tok::kSemicolon);
      if (broken || statement || sequence) takes_lines_[open.back()] = true;
      if (!of_block) continue;
      const bool takes = takes_lines_[open.back()];
      open.pop_back();
      if (takes && !open.empty()) takes_lines_[open.back()] = true;
    }
  }
  bool takes_lines(size_t open) const { return takes_lines_[open]; }
  bool breaks_line(size_t i) const {
    const SyntaxToken& token = tokens_[i];
    for (size_t k = token.first_comment; k < token.end_comment; ++k) {
      const SyntaxComment& comment = syntax_.comments[k];
      if (comment.lines_before > 0 || comment.to_line_end) return true;
    }
    return false;
  }

  void segment(size_t begin, size_t end) {
    const int weakest = weakest_operator(begin, end);
    std::vector<size_t> chains;
    const bool breaks = weakest > 0 || breaks_itself(begin, end);
    if (breaks) document_.begin_group();
    bool indented = false;
    bool several = false;  // of an if: its blocks take several lines
    for (size_t i = begin; i < end; ++i) {
      if (i > begin) {
        if (breaks && !indented) document_.begin_indent();
        indented = true;
        const bool after = is_infix(i - 1) && infix(tokens_[i - 1].kind).precedence == weakest;
        const bool let = is(i - 1, Tok::kSemicolon);
        separate(i, after || let ? Break::kLine : visible_space(i) ? Break::kSpace : Break::kNone);
      }
      if (is_word(i, "if") && is(i + 1, Tok::kLParen) && !(i > begin && is_word(i - 1, "else"))) {
        std::optional<size_t> last = chain_end(i);
        several = !last;
        if (last) {
          document_.begin_group();
          chains.push_back(*last);
        }
      }
      if (!opens(i)) {
        put(i);
        continue;
      }
      const size_t close = tokens_[i].match;
      if (is(i, Tok::kLBrace) && !is_attribute_brace(i)) {
        const bool in_chain = !chains.empty();
        const bool of_if = several && (is_word(i - 1, "else") || is_condition_before(i));
        if (of_if || takes_lines(i)) {
          hard_block(i);
        } else {
          if (!in_chain) document_.begin_group();
          soft_block(i);
          if (!in_chain) document_.end_group();
        }
      } else {
        list(i);
      }
      while (!chains.empty() && chains.back() == close) {
        document_.end_group();
        chains.pop_back();
      }
      i = close;
    }
    if (breaks && indented) document_.end_indent();
    if (breaks) document_.end_group();
  }

  // True if comments or a let inside may take a line break between brackets.
  bool breaks_itself(size_t begin, size_t end) const {
    for (size_t i = begin; i < end; ++i) {
      if (i > begin && (has_comments(i) || is(i - 1, Tok::kSemicolon))) return true;
      if (opens(i)) i = tokens_[i].match;
    }
    return false;
  }

  // True if `if (…)` stands before a block.
  bool is_condition_before(size_t block) const {
    return is(block - 1, Tok::kRParen) && is_word(tokens_[block - 1].match - 1, "if");
  }

  // The space before a token, by the token before it that is written.
  bool visible_space(size_t i) const {
    size_t before = i - 1;
    if (dropped_[i] && opens(i)) return space_between(before, i) || !ends_operand(before);
    if (dropped_[i]) return false;
    while (before > 0 && dropped_[before]) --before;
    if (dropped_[before]) return false;
    if (dropped_[i - 1] && opens(i - 1)) return false;
    return space_between(before, i);
  }

  // ---- Brackets ----

  void hard_block(size_t open) {
    const size_t close = tokens_[open].match;
    put(open);
    opened_ = true;
    document_.begin_block();
    if (close > open + 1) {
      separate_first(open + 1);
      items(open + 1, close, true);
    }
    comments(close);
    document_.end_block();
    put(close);
  }

  // A comment beside the brace stays there.
  void separate_first(size_t token) {
    const SyntaxToken& next = tokens_[token];
    if (next.first_comment < next.end_comment &&
        syntax_.comments[next.first_comment].lines_before == 0) {
      return;
    }
    document_.hard();
  }

  void soft_block(size_t open) {
    const size_t close = tokens_[open].match;
    put(open);
    if (close > open + 1) {
      document_.begin_indent();
      document_.line();
      items(open + 1, close, false);
      comments(close);
      document_.end_indent();
      document_.line();
    }
    put(close);
  }

  std::vector<size_t> commas(size_t open) const {
    std::vector<size_t> found;
    for (size_t i = open + 1; i < tokens_[open].match; ++i) {
      if (opens(i)) {
        i = tokens_[i].match;
      } else if (is(i, Tok::kComma)) {
        found.push_back(i);
      }
    }
    return found;
  }

  void list(size_t open) {
    const size_t close = tokens_[open].match;
    if (dropped_[open]) {
      segment_inside(open);
      return;
    }
    std::vector<size_t> ends = commas(open);
    // Numbers and names only, a sign each at most.
    bool fills = ends.size() >= kShortList && close - open <= 3 * ends.size() + 4;
    for (size_t k = open + 1; fills && k < close; ++k) fills = !opens(k);
    document_.begin_group();
    put(open);
    document_.begin_indent();
    size_t i = open + 1;
    for (size_t comma : ends) {
      separate(i, i == open + 1 ? Break::kSoft : fills ? Break::kFill : Break::kLine);
      segment(i, comma + 1);
      i = comma + 1;
    }
    if (i < close) {
      separate(i, i == open + 1 ? Break::kSoft : fills ? Break::kFill : Break::kLine);
      segment(i, close);
    }
    const bool line = comments(close);
    document_.end_indent();
    if (line) {
      document_.hard();
    } else if (close > open + 1) {
      document_.soft();
    }
    put(close);
    document_.end_group();
  }

  void segment_inside(size_t open) {
    const size_t close = tokens_[open].match;
    separate(open + 1, Break::kNone);
    segment(open + 1, close);
    comments(close);
  }

  // ---- Parentheses without effect ----

  // `(x)`, `((a + b))`, `= (a + b);`: around what binds as strongly without them.
  void drop_parentheses() {
    for (size_t i = 0; i + 1 < tokens_.size(); ++i) {
      if (!is(i, Tok::kLParen) || !opens(i) || !marks_.has(tokens_[i].begin, Mark::kGroup))
        continue;
      if (can_drop(i)) dropped_[i] = dropped_[tokens_[i].match] = true;
    }
  }

  bool can_drop(size_t open) const {
    const size_t close = tokens_[open].match;
    if (has_comments(open) || has_comments(open + 1) || has_comments(close)) return false;
    if (is_any_word(open + 1, {"let", "fn", "if", "match"}) || is(open + 1, Tok::kLBrace)) {
      return false;
    }
    const Tok next = tokens_[close + 1].kind;
    if (next == Tok::kLParen || next == Tok::kLBracket || next == Tok::kProjection ||
        next == Tok::kLess) {
      return false;
    }
    bool simple = true;
    for (size_t i = open + 1; i < close; ++i) {
      if (opens(i)) {
        i = tokens_[i].match;
      } else if (is_infix(i) || is_prefix(i)) {
        simple = false;
      }
    }
    if (simple) return true;
    // A sign that begins a line would continue the expression before it.
    if (begins_item(open)) return !is_prefix(open + 1) && ends_here(close + 1);
    const bool begins = is(open - 1, Tok::kAssign) || is(open - 1, Tok::kComma) ||
                        is(open - 1, Tok::kLParen) || is(open - 1, Tok::kFatArrow);
    return begins && ends_here(close + 1);
  }
  bool ends_here(size_t i) const {
    return is(i, Tok::kSemicolon) || is(i, Tok::kComma) || is(i, Tok::kRParen) ||
           is(i, Tok::kRBrace) || is(i, Tok::kEnd) || begins_item(i);
  }

  std::vector<bool> dropped_;
  std::vector<bool> takes_lines_;  // of the opening braces of blocks
  Document document_;
  bool written_ = false;  // something stands before
  bool opened_ = false;   // the opening brace of a block was the last
};

// The tokens but those that are dropped, and all comments, in order: layout must not change them.
std::vector<std::string_view> content(const SyntaxTokens& syntax,
                                      const std::vector<bool>& dropped = {}) {
  std::vector<std::string_view> all;
  for (size_t i = 0; i < syntax.tokens.size(); ++i) {
    const SyntaxToken& token = syntax.tokens[i];
    for (size_t k = token.first_comment; k < token.end_comment; ++k) {
      const SyntaxComment& comment = syntax.comments[k];
      all.push_back(syntax.text.substr(comment.begin, comment.end - comment.begin));
    }
    if (dropped.empty() || !dropped[i]) {
      all.push_back(token.kind == Tok::kVersion ? "#[version" : syntax.at(i));
    }
  }
  return all;
}

}  // namespace
}  // namespace parsing

std::string format_source(std::string_view text, const SyntaxMarks& marks) {
  using namespace parsing;
  const SyntaxTokens syntax = read_syntax(text, marks);
  SourceFormatter formatter(syntax, marks);
  std::string out;
  run_on_large_stack([&] { out = formatter.run(); });
  const SyntaxTokens again = read_syntax(out, SyntaxMarks(0));
  if (content(syntax, formatter.dropped()) != content(again))
    throw InternalError("formatting changed the tokens of the program");
  return out;
}

}  // namespace relay
