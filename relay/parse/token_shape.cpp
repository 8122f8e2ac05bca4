#include <relay/parse/token_shape.h>

namespace relay::parsing {

bool TokenShape::ends_operand(size_t i) const {
  switch (tokens_[i].kind) {
    case Tok::kIdent:
      return !is_any_word(i, {"if", "else", "match", "fn", "let", "case", "def", "where"});
    case Tok::kLocal:
    case Tok::kGlobal:
    case Tok::kNumber:
    case Tok::kString:
    case Tok::kProjection:
    case Tok::kQuestion:
    case Tok::kRParen:
    case Tok::kRBracket:
    case Tok::kRBrace:
      return true;
    case Tok::kGreater:
      return type_bracket(i);
    default:
      return false;
  }
}

bool TokenShape::space_between(size_t a, size_t b) const {
  const Tok left = tokens_[a].kind;
  const Tok right = tokens_[b].kind;
  if (left == Tok::kLParen || left == Tok::kLBracket || right == Tok::kRParen ||
      right == Tok::kRBracket || right == Tok::kComma || right == Tok::kSemicolon ||
      right == Tok::kColon) {
    return false;
  }
  if (is_attribute_sign(a) || is_attribute_sign(b)) return false;
  if (is_prefix(a)) return false;
  if (type_bracket(b) || (type_bracket(a) && opens(a))) return false;
  if (is_attribute_brace(a) || (right == Tok::kRBrace && is_attribute_brace(tokens_[b].match)))
    return false;
  switch (right) {
    case Tok::kLParen:
      if (left == Tok::kIdent) return is_any_word(a, {"if", "match", "fn", "let", "case", "else"});
      if (left == Tok::kQuestion) return true;
      return !ends_operand(a);
    case Tok::kLBracket:
      return !ends_operand(a) && !is_word(a, "fn");
    case Tok::kLBrace:
      return !is_attribute_brace(b) || left != Tok::kIdent;
    case Tok::kProjection:
      // A name may have dots of its own.
      return tokens_[a].end != tokens_[b].begin;
    case Tok::kQuestion:
      return !is_word(a, "match");
    default:
      return true;
  }
}

}  // namespace relay::parsing
