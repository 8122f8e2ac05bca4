// The infix operators of program text: how strongly they bind, and the operators that they call.
#pragma once

#include <relay/parse/lexer.h>

namespace relay::parsing {

struct Infix {
  int precedence = 0;  // from 1 for `||` to 6 for `*`; 0 for other tokens
  const char* op = nullptr;
};

inline Infix infix(Tok kind) {
  switch (kind) {
    case Tok::kStar:
      return {6, "multiply"};
    case Tok::kSlash:
      return {6, "divide"};
    case Tok::kPlus:
      return {5, "add"};
    case Tok::kMinus:
      return {5, "subtract"};
    case Tok::kLess:
      return {4, "less"};
    case Tok::kLessEqual:
      return {4, "less_equal"};
    case Tok::kGreater:
      return {4, "greater"};
    case Tok::kGreaterEqual:
      return {4, "greater_equal"};
    case Tok::kEqual:
      return {3, "equal"};
    case Tok::kNotEqual:
      return {3, "not_equal"};
    case Tok::kAnd:
      return {2, "logical_and"};
    case Tok::kOr:
      return {1, "logical_or"};
    default:
      return {};
  }
}

}  // namespace relay::parsing
