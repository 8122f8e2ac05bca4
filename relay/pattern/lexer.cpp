#include <relay/pattern/lexer.h>

#include <algorithm>
#include <array>
#include <cctype>

#include <relay/parse/lexer.h>
#include <relay/pattern/hints.h>
#include <relay/support/error.h>

namespace relay::pattern {

namespace {

bool starts_word(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

void Lexer::seek(size_t position) {
  end_ = position;
  advance();
}

void Lexer::skip_to(size_t position) {
  begin_ = end_ = std::min(position, source_->text().size());
  token_ = Token::kSign;
  text_.clear();
}

void Lexer::skip_blank() {
  while (end_ < source_->text().size()) {
    if (std::isspace(static_cast<unsigned char>(at(end_))) != 0) {
      ++end_;
    } else if (at(end_) == '/' && at(end_ + 1) == '/') {
      while (end_ < source_->text().size() && at(end_) != '\n') ++end_;
    } else if (at(end_) == '/' && at(end_ + 1) == '*') {
      size_t close = source_->text().find("*/", end_ + 2);
      if (close == std::string_view::npos)
        throw Error("this comment has no end", source_->span(end_, 2));
      end_ = close + 2;
    } else {
      return;
    }
  }
}

// A character of several bytes is one.
void Lexer::refuse_character() const {
  size_t length = 1;
  while ((static_cast<unsigned char>(at(begin_ + length)) & 0xc0) == 0x80) ++length;
  Diagnostic diagnostic =
      Diagnostic::error("this is no part of a rule or pattern", source_->span(begin_, length));
  std::string_view help = hint_for_character(source_->text().substr(begin_, length));
  if (!help.empty()) diagnostic.help(std::string(help));
  throw Error(std::move(diagnostic));
}

void Lexer::advance() {
  last_end_ = end_;
  skip_blank();
  begin_ = end_;
  if (end_ == source_->text().size()) {
    token_ = Token::kEnd;
    text_.clear();
    return;
  }
  char c = at(begin_);
  if (c == '%' && in_word(at(begin_ + 1))) {
    for (++end_; in_word(at(end_));) ++end_;
    token_ = Token::kLocal;
    text_ = source_->text().substr(begin_ + 1, end_ - begin_ - 1);
  } else if (c == '@' && (in_word(at(begin_ + 1)) || at(begin_ + 1) == '"')) {
    read_global();
  } else if (starts_word(c)) {
    read_word();
  } else if (is_digit(c)) {
    read_number();
  } else if (c == '"') {
    read_string();
  } else {
    std::string_view two = source_->text().substr(begin_, 2);
    constexpr std::array<std::string_view, 10> kPairs = {
        "==", "=>", "<=", ">=", "!=", "..", "->", "&&", "||", "**"};
    const bool pair = std::find(kPairs.begin(), kPairs.end(), two) != kPairs.end();
    constexpr std::string_view kSigns = "()[]{},;:=<>|+-*/.";
    if (!pair && kSigns.find(c) == std::string_view::npos) refuse_character();
    end_ += pair ? 2 : 1;
    token_ = Token::kSign;
    text_ = two.substr(0, pair ? 2 : 1);
  }
}

void Lexer::read_word() {
  while (in_word(at(end_))) ++end_;
  // Dots join words; `.has_attr` and the like, and projections, belong to patterns.
  while (at(end_) == '.' && starts_word(at(end_ + 1))) {
    size_t end = end_ + 1;
    while (in_word(at(end))) ++end;
    std::string_view part = source_->text().substr(end_ + 1, end - end_ - 1);
    if (part.starts_with("has_") || part == "_") break;
    end_ = end;
  }
  token_ = Token::kWord;
  text_ = source_->text().substr(begin_, end_ - begin_);
}

// `@f`, `@std.map`, `@"my function"`.
void Lexer::read_global() {
  ++end_;
  if (at(end_) == '"') {
    begin_ = end_;
    read_string();
    --begin_;
  } else {
    while (in_word(at(end_)) || (at(end_) == '.' && in_word(at(end_ + 1)))) ++end_;
    text_ = source_->text().substr(begin_ + 1, end_ - begin_ - 1);
  }
  token_ = Token::kGlobal;
}

void Lexer::read_number() {
  auto digits = [&] {
    while (is_digit(at(end_))) ++end_;
  };
  digits();
  if (at(end_) == '.' && is_digit(at(end_ + 1))) {
    ++end_;
    digits();
  }
  if (at(end_) == 'e' || at(end_) == 'E') {
    size_t sign = at(end_ + 1) == '-' || at(end_ + 1) == '+' ? 1 : 0;
    if (is_digit(at(end_ + 1 + sign))) {
      end_ += 1 + sign;
      digits();
    }
  }
  token_ = Token::kNumber;
  text_ = source_->text().substr(begin_, end_ - begin_);
  suffix_ = {};
  if (!in_word(at(end_))) return;
  const size_t suffix = end_;
  while (in_word(at(end_))) ++end_;
  suffix_ = parsing::suffix_dtype(source_->text().substr(suffix, end_ - suffix));
  if (!suffix_.valid())
    throw Error("a number is followed by something else", source_->span(begin_, end_ - begin_));
}

void Lexer::read_string() {
  size_t end = begin_ + 1;
  while (end < source_->text().size() && at(end) != '"' && at(end) != '\n')
    end += at(end) == '\\' ? 2 : 1;
  if (at(end) != '"') throw Error("this text has no end", source_->span(begin_, 1));
  end_ = end + 1;
  token_ = Token::kString;
  if (!parsing::unescape(source_->text().substr(begin_, end_ - begin_), text_))
    throw Error("this text has an escape that is none", span());
}

}  // namespace relay::pattern
