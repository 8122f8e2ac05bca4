#include <relay/parse/lexer.h>
#include <relay/support/utf8.h>

#include <array>
#include <cstring>

namespace relay::parsing {
namespace {

enum CharClass : uint8_t { kLetter = 1, kDigit = 2, kSpace = 4 };

constexpr std::array<uint8_t, 256> kClasses = [] {
  std::array<uint8_t, 256> classes{};
  for (int c = 'a'; c <= 'z'; ++c) classes[static_cast<size_t>(c)] = kLetter;
  for (int c = 'A'; c <= 'Z'; ++c) classes[static_cast<size_t>(c)] = kLetter;
  classes['_'] = kLetter;
  for (int c = '0'; c <= '9'; ++c) classes[static_cast<size_t>(c)] = kDigit;
  for (char c : {' ', '\t', '\r', '\n', '\f', '\v'}) classes[static_cast<size_t>(c)] = kSpace;
  return classes;
}();

bool is_letter(char c) { return kClasses[static_cast<unsigned char>(c)] & kLetter; }
bool is_digit(char c) { return kClasses[static_cast<unsigned char>(c)] & kDigit; }
bool is_name_char(char c) { return kClasses[static_cast<unsigned char>(c)] & (kLetter | kDigit); }
// Part of a character outside of ASCII.
bool is_foreign(char c) { return (static_cast<unsigned char>(c) & 0x80) != 0; }
bool is_space(char c) { return kClasses[static_cast<unsigned char>(c)] & kSpace; }

}  // namespace

std::string_view tok_name(Tok kind) {
  switch (kind) {
    case Tok::kEnd:
      return "the end of the text";
    case Tok::kIdent:
      return "a word";
    case Tok::kLocal:
      return "a local name";
    case Tok::kGlobal:
      return "a global name";
    case Tok::kNumber:
      return "a number";
    case Tok::kString:
      return "a string";
    case Tok::kProjection:
      return "a projection";
    case Tok::kVersion:
      return "'#[version'";
    case Tok::kLParen:
      return "'('";
    case Tok::kRParen:
      return "')'";
    case Tok::kLBracket:
      return "'['";
    case Tok::kRBracket:
      return "']'";
    case Tok::kLBrace:
      return "'{'";
    case Tok::kRBrace:
      return "'}'";
    case Tok::kComma:
      return "','";
    case Tok::kSemicolon:
      return "';'";
    case Tok::kColon:
      return "':'";
    case Tok::kAssign:
      return "'='";
    case Tok::kArrow:
      return "'->'";
    case Tok::kFatArrow:
      return "'=>'";
    case Tok::kQuestion:
      return "'?'";
    case Tok::kPlus:
      return "'+'";
    case Tok::kMinus:
      return "'-'";
    case Tok::kStar:
      return "'*'";
    case Tok::kSlash:
      return "'/'";
    case Tok::kLess:
      return "'<'";
    case Tok::kLessEqual:
      return "'<='";
    case Tok::kGreater:
      return "'>'";
    case Tok::kGreaterEqual:
      return "'>='";
    case Tok::kEqual:
      return "'=='";
    case Tok::kNotEqual:
      return "'!='";
    case Tok::kBang:
      return "'!'";
    case Tok::kAnd:
      return "'&&'";
    case Tok::kOr:
      return "'||'";
    case Tok::kError:
      return "an unknown character";
  }
  return "";
}

Token Lexer::finish(Token token, Tok kind, size_t length) {
  token.kind = kind;
  position_ += length;
  token.end = position_;
  return token;
}

Token Lexer::fail(Token token, size_t end, std::string message) {
  error_ = std::move(message);
  token.kind = Tok::kError;
  position_ = end;
  token.end = end;
  return token;
}

// Skips white space and comments; false at a block comment without an end.
bool Lexer::skip_blank(Token& token) {
  size_t size = text_.size();
  while (position_ < size) {
    char c = text_[position_];
    if (is_space(c)) {
      if (c == '\n') token.line_start = true;
      ++position_;
    } else if (c == '#') {
      size_t inside = position_ + 2;
      if (at(position_ + 1) == '[') {
        while (inside < size && (text_[inside] == ' ' || text_[inside] == '\t')) ++inside;
        std::string_view rest = text_.substr(inside);
        if (rest.starts_with("version") || rest.starts_with("metadata")) return true;
      }
      const void* line = std::memchr(text_.data() + position_, '\n', size - position_);
      position_ = line == nullptr
                      ? size
                      : static_cast<size_t>(static_cast<const char*>(line) - text_.data());
    } else if (c == '/' && at(position_ + 1) == '/') {
      const void* line = std::memchr(text_.data() + position_, '\n', size - position_);
      position_ = line == nullptr
                      ? size
                      : static_cast<size_t>(static_cast<const char*>(line) - text_.data());
    } else if (c == '/' && at(position_ + 1) == '*') {
      size_t begin = position_;
      size_t depth = 1;
      position_ += 2;
      while (depth > 0) {
        if (position_ + 1 >= size) {
          position_ = begin;
          return false;
        }
        char d = text_[position_];
        char e = text_[position_ + 1];
        if (d == '*' && e == '/') {
          --depth;
          position_ += 2;
        } else if (d == '/' && e == '*') {
          ++depth;
          position_ += 2;
        } else {
          if (d == '\n') token.line_start = true;
          ++position_;
        }
      }
    } else {
      break;
    }
  }
  return true;
}

void Lexer::lex_word(Token& token) {
  size_t p = position_;
  while (p < text_.size() && is_name_char(text_[p])) ++p;
  while (at(p) == '.' && is_letter(at(p + 1))) {
    p += 2;
    while (p < text_.size() && is_name_char(text_[p])) ++p;
  }
  if (is_foreign(at(p))) {
    while (is_foreign(at(p)) || is_name_char(at(p))) ++p;
    std::string word(text_.substr(position_, p - position_));
    token = fail(token, p, "the word " + word + " has characters other than a to z, 0 to 9 and _");
    return;
  }
  token.symbol = symbols_->intern(text_.substr(position_, p - position_));
  token.kind = Tok::kIdent;
  token.end = position_ = p;
}

Token Lexer::lex_sigil(Token token, Tok kind) {
  size_t p = position_ + 1;
  if (at(p) == '"') {
    position_ = p;
    Token string = lex_string(token);
    if (string.kind == Tok::kError) return string;
    std::string name;
    if (!unescape(text_.substr(p, string.end - p), name)) {
      return fail(token, string.end, "unknown escape in a quoted name");
    }
    if (name.empty()) return fail(token, string.end, "a name cannot be empty");
    token.escaped = true;
    token.symbol = symbols_->intern_copy(std::move(name));
    token.kind = kind;
    token.end = position_;
    return token;
  }
  if (!is_name_char(at(p)) && !is_foreign(at(p))) {
    return fail(token, p,
                kind == Tok::kLocal
                    ? "expected a name after '%' (there is no operator '%'; the remainder is mod)"
                    : "expected a name after '@'");
  }
  size_t begin = p;
  while (p < text_.size() && is_name_char(text_[p])) ++p;
  while (at(p) == '.' && is_name_char(at(p + 1))) {
    p += 2;
    while (p < text_.size() && is_name_char(text_[p])) ++p;
  }
  if (is_foreign(at(p))) {
    token.foreign = true;
    while (is_foreign(at(p)) || is_name_char(at(p))) ++p;
  }
  token.symbol = symbols_->intern(text_.substr(begin, p - begin));
  token.kind = kind;
  token.end = position_ = p;
  return token;
}

// Digits, fraction, exponent, and every letter that follows: the suffix is checked later.
void Lexer::lex_number(Token& token) {
  size_t p = position_;
  while (is_digit(at(p))) ++p;
  if (at(p) == '.' && is_digit(at(p + 1))) {
    ++p;
    while (is_digit(at(p))) ++p;
  }
  if (at(p) == 'e' || at(p) == 'E') {
    size_t sign = at(p + 1) == '+' || at(p + 1) == '-' ? 1 : 0;
    if (is_digit(at(p + 1 + sign))) p += 1 + sign;
  }
  while (is_name_char(at(p))) ++p;
  token.kind = Tok::kNumber;
  token.end = position_ = p;
}

Token Lexer::lex_string(Token token) {
  size_t p = position_ + 1;
  for (;; ++p) {
    if (p >= text_.size() || text_[p] == '\n')
      return fail(token, p, "a string without a closing '\"'");
    if (text_[p] == '"') break;
    if (text_[p] == '\\' && p + 1 < text_.size() && text_[p + 1] != '\n') ++p;
  }
  token.kind = Tok::kString;
  token.end = position_ = p + 1;
  return token;
}

// The text ends where its metadata begins.
Token Lexer::metadata_from(Token token, size_t begin) {
  metadata_ = begin;
  position_ = token.end = text_.size();
  token.kind = Tok::kEnd;
  return token;
}

// The metadata of TVM 0.6 follows this comment.
bool Lexer::after_metadata_comment() const {
  const size_t end = text_.find_last_not_of(" \t\r\n", position_ - 1);
  return position_ > 0 && end != std::string_view::npos && text_[end] == '/' &&
         text_.substr(0, end + 1).ends_with("/* meta data */");
}

// Marks of one character that begin no longer one.
static constexpr std::pair<char, Tok> kMarks[] = {
    {'(', Tok::kLParen}, {')', Tok::kRParen},   {'[', Tok::kLBracket}, {']', Tok::kRBracket},
    {'{', Tok::kLBrace}, {'}', Tok::kRBrace},   {',', Tok::kComma},    {';', Tok::kSemicolon},
    {':', Tok::kColon},  {'?', Tok::kQuestion}, {'+', Tok::kPlus},     {'*', Tok::kStar},
    {'/', Tok::kSlash},
};

Token Lexer::next() {
  Token token;
  if (position_ == 0) {
    token.line_start = true;
    if (text_.starts_with("\xEF\xBB\xBF")) position_ = 3;  // a mark of UTF-8, as editors write it
  }
  bool closed = skip_blank(token);
  token.begin = position_;
  if (!closed) return fail(token, text_.size(), "a comment without a closing '*/'");
  if (position_ >= text_.size()) return finish(token, Tok::kEnd, 0);
  char c = text_[position_];
  if (is_letter(c)) {
    if (c == 'M' && token.line_start && text_.substr(position_).starts_with(kOldMetadata))
      return metadata_from(token, position_ + kOldMetadata.size());
    lex_word(token);
    return token;
  }
  if (c == '{' && token.line_start && after_metadata_comment())
    return metadata_from(token, position_);
  if (is_digit(c)) {
    lex_number(token);
    return token;
  }
  char d = at(position_ + 1);
  switch (c) {
    case '%':
      return lex_sigil(token, Tok::kLocal);
    case '@':
      return lex_sigil(token, Tok::kGlobal);
    case '"':
      return lex_string(token);
    case '-':
      return d == '>' ? finish(token, Tok::kArrow, 2) : finish(token, Tok::kMinus, 1);
    case '=':
      return d == '='   ? finish(token, Tok::kEqual, 2)
             : d == '>' ? finish(token, Tok::kFatArrow, 2)
                        : finish(token, Tok::kAssign, 1);
    case '<':
      return d == '=' ? finish(token, Tok::kLessEqual, 2) : finish(token, Tok::kLess, 1);
    case '>':
      return d == '=' ? finish(token, Tok::kGreaterEqual, 2) : finish(token, Tok::kGreater, 1);
    case '!':
      return d == '=' ? finish(token, Tok::kNotEqual, 2) : finish(token, Tok::kBang, 1);
    case '&':
      if (d == '&') return finish(token, Tok::kAnd, 2);
      return fail(token, position_ + 1, "unknown operator '&' (logical and is '&&')");
    case '|':
      if (d == '|') return finish(token, Tok::kOr, 2);
      return fail(token, position_ + 1, "unknown operator '|' (logical or is '||')");
    case '.': {
      if (!is_digit(d)) return fail(token, position_ + 1, "expected a field number after '.'");
      size_t p = position_ + 1;
      while (is_digit(at(p))) ++p;
      return finish(token, Tok::kProjection, p - position_);
    }
    case '#': {
      size_t word = text_.find_first_not_of(" \t", position_ + 2);
      if (text_.substr(word).starts_with("version"))
        return finish(token, Tok::kVersion, word + 7 - position_);
      size_t close = text_.find_first_not_of(" \t", word + 8);
      if (at(close) != ']') return fail(token, word + 8, "expected ']' after '#[metadata'");
      return metadata_from(token, close + 1);
    }
    default: {
      for (const auto& [mark, kind] : kMarks) {
        if (c == mark) return finish(token, kind, 1);
      }
      // One error for a run of such characters.
      size_t p = position_ + 1;
      while (is_foreign(at(p)) || (p < text_.size() && at(p) == c)) ++p;
      size_t first = position_ + 1;
      while (first < p && (static_cast<unsigned char>(text_[first]) & 0xC0) == 0x80) ++first;
      return fail(
          token, p,
          "unexpected character '" + std::string(text_.substr(position_, first - position_)) + "'");
    }
  }
}

bool unescape(std::string_view quoted, std::string& out) {
  out.clear();
  auto hex = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
  };
  for (size_t i = 1; i + 1 < quoted.size(); ++i) {
    char c = quoted[i];
    if (c != '\\') {
      out += c;
      continue;
    }
    if (++i + 1 >= quoted.size()) return false;
    switch (quoted[i]) {
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      case 'r':
        out += '\r';
        break;
      case '0':
        out += '\0';
        break;
      case '"':
        out += '"';
        break;
      case '\'':
        out += '\'';
        break;
      case '\\':
        out += '\\';
        break;
      case 'x': {
        if (i + 3 >= quoted.size() || hex(quoted[i + 1]) < 0 || hex(quoted[i + 2]) < 0)
          return false;
        out += static_cast<char>(hex(quoted[i + 1]) * 16 + hex(quoted[i + 2]));
        i += 2;
        break;
      }
      default:
        return false;
    }
  }
  return true;
}

size_t find_binary(std::string_view text) {
  size_t i = 0;
  size_t size = text.size();
  while (i < size) {
    // Eight bytes at a time while all are printable ASCII or white space that is none of the
    // others.
    while (i + 8 <= size) {
      uint64_t word;
      std::memcpy(&word, text.data() + i, 8);
      constexpr uint64_t kHigh = 0x8080808080808080ull;
      constexpr uint64_t kOnes = 0x0101010101010101ull;
      bool below_space = ((word - kOnes * 0x20) & ~word & kHigh) != 0;
      bool above =
          (word & kHigh) != 0 || ((word + kOnes) & kHigh) != 0;  // a 0x7f carries into the high bit
      if (below_space || above) break;
      i += 8;
    }
    if (i >= size) break;
    auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x80) {
      bool blank = c == '\n' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
      if ((c < 0x20 && !blank) || c == 0x7f) return i;
      ++i;
      continue;
    }
    const size_t length = utf8_length(text.substr(i));
    if (length == 0) return i;
    i += length;
  }
  return std::string_view::npos;
}

}  // namespace relay::parsing
