// The part a token plays among its neighbours, for layout: a sign or an operator, a call's bracket
// or a block's, and where spaces stand.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <vector>

#include <relay/parse/infix.h>
#include <relay/parse/syntax_tokens.h>

namespace relay::parsing {

/// The precedence of an infix operator, from 1 for `||` to 6 for `*`; 0 for other tokens.
int infix_precedence(Tok kind);

/// Questions about the tokens of a text, by number.
class TokenShape {
 protected:
  TokenShape(const SyntaxTokens& syntax, const SyntaxMarks& marks)
      : syntax_(syntax), tokens_(syntax.tokens), marks_(marks) {}

  bool is(size_t i, Tok kind) const { return i < tokens_.size() && tokens_[i].kind == kind; }
  bool is_word(size_t i, std::string_view word) const {
    return is(i, Tok::kIdent) && !tokens_[i].escaped && syntax_.at(i) == word;
  }
  bool is_any_word(size_t i, std::initializer_list<std::string_view> words) const {
    return std::any_of(words.begin(), words.end(), [&](auto word) { return is_word(i, word); });
  }
  bool begins_item(size_t i) const { return marks_.has(tokens_[i].begin, Mark::kItem); }
  bool opens(size_t i) const { return tokens_[i].match > i; }
  bool closes(size_t i) const { return tokens_[i].match < i; }
  bool type_bracket(size_t i) const {
    return is(i, Tok::kLess) ? opens(i) : is(i, Tok::kGreater) && is(tokens_[i].match, Tok::kLess);
  }

  // An operand may end with it, so that `-` after it subtracts.
  bool ends_operand(size_t i) const;
  bool is_prefix(size_t i) const {
    if (is(i, Tok::kBang)) return true;
    return is(i, Tok::kMinus) && (i == 0 || begins_item(i) || !ends_operand(i - 1));
  }
  bool is_infix(size_t i) const {
    return infix(tokens_[i].kind).precedence > 0 && !type_bracket(i) && !is_prefix(i);
  }
  // `axis=1`, against the `=` of a binding.
  bool is_attribute_sign(size_t i) const {
    if (!is(i, Tok::kAssign) || i < 2) return false;
    if (!is(i - 1, Tok::kIdent) && !is(i - 1, Tok::kString)) return false;
    const Tok before = tokens_[i - 2].kind;
    return before == Tok::kLParen || before == Tok::kComma || before == Tok::kLBrace ||
           before == Tok::kLBracket;
  }
  // `{virtual_device=…}`, the attributes of a relation and dictionaries, against a block.
  bool is_attribute_brace(size_t i) const {
    if (!is(i, Tok::kLBrace)) return false;
    if (is(i + 1, Tok::kString)) return is(i + 2, Tok::kAssign) || is(i + 2, Tok::kColon);
    if (is(i + 1, Tok::kIdent)) return is(i + 2, Tok::kAssign);
    // An empty block has no value, so nothing else begins so inside brackets.
    return is(i + 1, Tok::kRBrace) && i > 0 &&
           (is_attribute_sign(i - 1) || is(i - 1, Tok::kColon) || is(i - 1, Tok::kLBracket));
  }

  bool space_between(size_t a, size_t b) const;
  bool has_comments(size_t i) const { return tokens_[i].first_comment < tokens_[i].end_comment; }

  const SyntaxTokens& syntax_;
  const std::vector<SyntaxToken>& tokens_;
  const SyntaxMarks& marks_;
};

}  // namespace relay::parsing
