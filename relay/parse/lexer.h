// Turns text into tokens, one at a time: it keeps nothing of the text but views.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <relay/parse/symbols.h>
#include <relay/runtime/dtype.h>

namespace relay::parsing {

enum class Tok : uint8_t {
  kEnd,     // of the text, or the beginning of `#[metadata]`
  kIdent,   // words, dotted ones too: `nn.conv2d`
  kLocal,   // `%x`, `%"…"`
  kGlobal,  // `@f`
  kNumber,  // with its suffix
  kString,
  kProjection,  // `.0`
  kVersion,     // `#[version`
  kLParen,
  kRParen,
  kLBracket,
  kRBracket,
  kLBrace,
  kRBrace,
  kComma,
  kSemicolon,
  kColon,
  kAssign,
  kArrow,
  kFatArrow,
  kQuestion,
  kPlus,
  kMinus,
  kStar,
  kSlash,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kEqual,
  kNotEqual,
  kBang,
  kAnd,
  kOr,
  kError  // see Lexer::error
};

/// "')'", "a name", …: for messages.
std::string_view tok_name(Tok kind);

struct Token {
  Tok kind = Tok::kEnd;
  bool line_start = false;  // first on its line
  bool escaped = false;     // the name was written in quotes
  bool foreign = false;     // the name has characters that it may only have in quotes
  Symbol symbol = 0;        // of words and names
  size_t begin = 0;
  size_t end = 0;
  bool is(Tok k) const { return kind == k; }
  bool is_word(Symbol word) const { return kind == Tok::kIdent && symbol == word && !escaped; }
};

class Lexer {
 public:
  Lexer(std::string_view text, SymbolTable* symbols) : text_(text), symbols_(symbols) {}

  Token next();
  /// The place of the next token.
  size_t position() const { return position_; }
  void seek(size_t position) { position_ = position; }
  /// The mistake in the last error token.
  const std::string& error() const { return error_; }
  /// The beginning of the JSON of `#[metadata]` once the lexer has met it, else npos.
  size_t metadata() const { return metadata_; }
  /// What stands before the metadata in texts of TVM 0.6, in place of `#[metadata]`.
  static constexpr std::string_view kOldMetadata = "METADATA:";

 private:
  bool skip_blank(Token& token);
  Token finish(Token token, Tok kind, size_t length);
  Token fail(Token token, size_t end, std::string message);
  void lex_word(Token& token);
  Token lex_sigil(Token token, Tok kind);
  void lex_number(Token& token);
  Token lex_string(Token token);
  Token metadata_from(Token token, size_t begin);
  bool after_metadata_comment() const;
  bool starts_with(std::string_view what) const {
    return text_.substr(position_, what.size()) == what;
  }
  char at(size_t position) const { return position < text_.size() ? text_[position] : '\0'; }

  std::string_view text_;
  SymbolTable* symbols_;
  size_t position_ = 0;
  size_t metadata_ = std::string_view::npos;
  std::string error_;
};

/// Appends the characters of a string token or of a quoted name, quotes included; false for a bad
/// escape.
bool unescape(std::string_view quoted, std::string& out);

/// The dtype of a number's suffix such as `f` and `i8`; not valid for one that does not exist.
DType suffix_dtype(std::string_view suffix);

/// The first byte that cannot be in program text (invalid UTF-8 or a control character), or npos.
size_t find_binary(std::string_view text);

}  // namespace relay::parsing
