// Finds the place in the text of an operand that has none: variables and the like are one node for
// all their uses. Only errors ask, so the text is read again.
#include <relay/infer/messages.h>
#include <relay/parse/lexer.h>

namespace relay::inference {

namespace {

using parsing::Tok;
using parsing::Token;

/// Longer texts are shown whole.
constexpr size_t kMaxTokens = 1 << 16;

struct Range {
  size_t begin = 0;
  size_t end = 0;  // begin == end: not found
};

class Text {
 public:
  explicit Text(std::string_view text) : symbols_(64) {
    parsing::Lexer lexer(text, &symbols_);
    for (Token token = lexer.next(); !token.is(Tok::kEnd); token = lexer.next()) {
      if (token.is(Tok::kError) || tokens_.size() == kMaxTokens) {
        tokens_.clear();
        return;
      }
      tokens_.push_back(token);
    }
  }

  size_t size() const { return tokens_.size(); }
  const Token& operator[](size_t i) const { return tokens_[i]; }
  bool is(size_t i, Tok kind) const { return i < tokens_.size() && tokens_[i].is(kind); }
  bool is_word(size_t i, parsing::Symbol word) const {
    return i < tokens_.size() && tokens_[i].is_word(word);
  }

  /// Past the bracket that closes the one at `i`, or past the token there.
  size_t skip(size_t i) const {
    size_t depth = 0;
    for (; i < tokens_.size(); ++i) {
      switch (tokens_[i].kind) {
        case Tok::kLParen:
        case Tok::kLBracket:
        case Tok::kLBrace:
          ++depth;
          break;
        case Tok::kRParen:
        case Tok::kRBracket:
        case Tok::kRBrace:
          if (depth > 0) --depth;
          break;
        default:
          break;
      }
      if (depth == 0) return i + 1;
    }
    return i;
  }
  /// The next token of a kind at this depth of brackets, before `end`.
  size_t find(size_t i, Tok kind, size_t end) const {
    while (i < end && !tokens_[i].is(kind)) i = skip(i);
    return std::min(i, end);
  }
  /// The end of the block that opens at `i`: its value, if that is one name.
  Range last_in(size_t i) const {
    if (!is(i, Tok::kLBrace)) return {};
    size_t end = skip(i) - 1;
    return end > i + 1 ? Range{end - 1, end} : Range{};
  }

 private:
  parsing::SymbolTable symbols_;
  std::vector<Token> tokens_;
};

Range in_if(const Text& text, size_t operand) {
  size_t condition = 1;
  size_t then = text.skip(condition);
  if (operand == 0) return {condition + 1, then - 1};
  if (operand == 1) return text.last_in(then);
  return text.last_in(text.skip(then) + 1);  // past `else`
}

Range in_match(const Text& text, size_t operand) {
  size_t open = 1;
  while (open < text.size() && !text.is(open, Tok::kLParen)) ++open;  // `match?`
  size_t body = text.skip(open);
  if (operand == 0) return {open + 1, body - 1};
  if (!text.is(body, Tok::kLBrace)) return {};
  size_t end = text.skip(body) - 1;
  size_t at = body + 1;
  for (size_t clause = 1; at < end; ++clause) {
    bool classic = text.is_word(at, parsing::kwCase);
    at = text.find(at, classic ? Tok::kLBrace : Tok::kFatArrow, end);
    if (at >= end) return {};
    if (!classic) ++at;
    if (clause == operand) {
      if (text.is(at, Tok::kLBrace)) return text.last_in(at);
      return {at, std::min(text.skip(at), end)};
    }
    if (text.is(at, Tok::kLBrace)) {
      at = text.skip(at);
      if (text.is(at, Tok::kComma)) ++at;
    } else {
      at = text.find(at, Tok::kComma, end) + 1;
    }
  }
  return {};
}

// Arguments in parentheses; attributes have names.
Range in_call(const Text& text, size_t operand, size_t operands) {
  size_t open = text.size();
  for (size_t i = 0; i < text.size(); i = text.skip(i)) {
    if (text.is(i, Tok::kLParen)) open = i;
  }
  if (operand == 0) return {0, 1};
  if (open == 0 || open >= text.size() || text.skip(open) != text.size()) return {};
  size_t end = text.size() - 1;
  std::vector<Range> args;
  for (size_t at = open + 1; at < end;) {
    size_t comma = text.find(at, Tok::kComma, end);
    if (!text.is(at + 1, Tok::kAssign)) args.push_back({at, comma});
    at = comma + 1;
  }
  return args.size() + 1 == operands ? args[operand - 1] : Range{};
}

Range find(const Expr* user, size_t operand, const Text& text) {
  switch (user->kind()) {
    case ExprKind::kIf:
      return in_if(text, operand);
    case ExprKind::kMatch:
      return in_match(text, operand);
    case ExprKind::kLet: {
      if (operand != 0) return {};
      size_t begin = text.find(0, Tok::kAssign, text.size()) + 1;
      return {begin, text.find(begin, Tok::kSemicolon, text.size())};
    }
    case ExprKind::kFunction: {
      size_t body = text.find(0, Tok::kLBrace, text.size());
      return text.last_in(body);
    }
    default:
      return in_call(text, operand, user->operands().size() + (user->is<Call>() ? 0 : 1));
  }
}

/// The text of an expression, read again.
struct Read {
  std::shared_ptr<const Source> source;  // null: it has no text
  size_t begin = 0;
  Text text;

  explicit Read(Span span)
      : source(span.known() ? SourceMap::find(span) : nullptr),
        begin(source == nullptr ? 0 : span.begin() - source->base()),
        text(source == nullptr ? std::string_view() : source->text().substr(begin, span.length())) {
  }
  Span span(const Range& range) const {
    const size_t from = text[range.begin].begin;
    return source->span(begin + from, text[range.end - 1].end - from);
  }
};

// The value of `name=value` among the arguments of a call.
Range attribute_in(const Text& text, std::string_view all, std::string_view name) {
  if (text.size() == 0 || !text.is(text.size() - 1, Tok::kRParen)) return {};
  const size_t end = text.size() - 1;
  size_t open = end;
  for (size_t i = 0; i < text.size(); i = text.skip(i)) {
    if (text.is(i, Tok::kLParen)) open = i;
  }
  for (size_t at = open + 1; at < end;) {
    const size_t comma = text.find(at, Tok::kComma, end);
    const Token& word = text[at];
    const bool named =
        text.is(at + 1, Tok::kAssign) && all.substr(word.begin, word.end - word.begin) == name;
    if (named && at + 2 < comma) return {at + 2, comma};
    at = comma + 1;
  }
  return {};
}

}  // namespace

Span place_of_attribute(const Call* call, std::string_view name) {
  const Read read(call->span());
  if (read.source == nullptr) return call->span();
  const Range range = attribute_in(read.text, read.source->text().substr(read.begin), name);
  return range.begin == range.end ? call->span() : read.span(range);
}

Span place_of(const Expr* user, size_t operand) {
  const Expr* expr = user->operands()[operand].get();
  Span whole = use_span(expr, user);
  if (whole == expr->span() && !expr->is<Var>() && !expr->is<Op>() && !expr->is<Constructor>()) {
    return whole;
  }
  const Read read(user->span());
  const Text& text = read.text;
  if (text.size() == 0) return whole;
  bool call = user->is<Call>();
  // References, tuples and projections have no callee among their operands.
  Range range = find(
      user,
      !call && !user->is<If>() && !user->is<Match>() && !user->is<Let>() && !user->is<Function>()
          ? operand + 1
          : operand,
      text);
  if (range.end != range.begin + 1 || range.end > text.size()) return whole;  // more than a name
  const Token& token = text[range.begin];
  bool name = token.is(Tok::kLocal) || token.is(Tok::kGlobal) || token.is(Tok::kIdent);
  return name ? read.span(range) : whole;
}

}  // namespace relay::inference
