// Tokens of patterns and rules.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <relay/runtime/dtype.h>
#include <relay/support/span.h>

namespace relay::pattern {

enum class Token : uint8_t {
  kEnd,
  kWord,    // `nn.conv2d`, `rule`
  kLocal,   // `%x`
  kGlobal,  // `@f`
  kNumber,  // without sign; the dtype behind it, as in `0f`, is its suffix
  kString,
  kSign,  // one of the characters of punctuation, or `==`, `=>`, `<=`, `>=`, `!=`, `..`; and
          // `->`, `&&`, `||`, `**`, which nothing expects
};

/// Reads one token at a time. Throws `Error` at what is none.
class Lexer {
 public:
  explicit Lexer(std::shared_ptr<const Source> source) : source_(std::move(source)) { advance(); }
  Token token() const { return token_; }
  /// The text of the token: of a local or global without its sign, of a string without quotes.
  const std::string& text() const { return text_; }
  /// The dtype behind a number, as in `0f` and `1i8`; not valid where none is.
  DType suffix() const { return suffix_; }
  Span span() const { return source_->span(begin_, end_ - begin_); }
  size_t begin() const { return begin_; }
  size_t end() const { return end_; }
  /// The place behind the token before this one.
  Span span_behind_last() const { return source_->span(last_end_ == 0 ? 0 : last_end_ - 1, 1); }
  void advance();
  /// Goes back to a place where a token begins.
  void seek(size_t position);
  /// Goes on behind something that is no token; without a token if there is none there either.
  void skip_to(size_t position);
  const std::shared_ptr<const Source>& source() const { return source_; }

 private:
  void skip_blank();
  void read_word();
  void read_global();
  void read_number();
  void read_string();
  char at(size_t i) const { return i < source_->text().size() ? source_->text()[i] : '\0'; }

  std::shared_ptr<const Source> source_;
  [[noreturn]] void refuse_character() const;
  size_t begin_ = 0, end_ = 0;
  size_t last_end_ = 0;
  Token token_ = Token::kEnd;
  std::string text_;
  DType suffix_;
};

}  // namespace relay::pattern
