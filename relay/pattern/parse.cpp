// Text to patterns.
#include <algorithm>
#include <cctype>
#include <charconv>

#include <relay/op/op.h>
#include <relay/parse/parse.h>
#include <relay/pattern/parser.h>
#include <relay/support/error.h>

namespace relay::pattern {

void Parser::fail(std::string message) const { throw Error(std::move(message), lexer_.span()); }

void Parser::unexpected(std::string_view wanted, At place) const {
  const bool end = lexer_.token() == Token::kEnd;
  const Span span = lexer_.span();
  const std::string_view text =
      lexer_.source()->text().substr(lexer_.begin(), lexer_.end() - lexer_.begin());
  Diagnostic diagnostic =
      Diagnostic::error("expected " + std::string(wanted) + ", not " +
                            (end ? "the end of the text" : "`" + std::string(text) + "`"),
                        span);
  std::string_view help = hint(place, end ? "" : text);
  if (!help.empty()) diagnostic.help(std::string(help));
  throw Error(std::move(diagnostic));
}

bool Parser::take(std::string_view sign) {
  if (!at(sign)) return false;
  lexer_.advance();
  return true;
}

bool Parser::at_attribute() {
  if (lexer_.token() != Token::kWord) return false;
  size_t begin = lexer_.begin();
  lexer_.advance();
  bool named = at("=");
  lexer_.seek(begin);
  return named;
}

void Parser::expect(std::string_view sign, std::string_view where, At place) {
  if (!take(sign)) unexpected("`" + std::string(sign) + "` " + std::string(where), place);
}

std::string Parser::take_text(Token kind, std::string_view what) {
  if (lexer_.token() != kind) unexpected(what);
  std::string text = lexer_.text();
  lexer_.advance();
  return text;
}

DFPatternRef Parser::whole_pattern() {
  DFPatternRef result = pattern();
  if (lexer_.token() != Token::kEnd) unexpected("the end of the pattern");
  return result;
}

// `let P = Q; R`, `%c = P`, `P | Q`.
DFPatternRef Parser::pattern() {
  Nesting nesting(*this);
  if (at_word("let")) return let();
  if (lexer_.token() != Token::kLocal) return alternatives();
  size_t begin = lexer_.begin();
  std::string name = lexer_.text();
  Span span = lexer_.span();
  lexer_.advance();
  if (!take("=")) {
    lexer_.seek(begin);
    return alternatives();
  }
  DFPatternRef inner = alternatives();
  bool is_number =
      std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
  // A copy, so that what has a name already keeps that one, too.
  if (!is_number) inner = DFPattern::named(inner, name);
  define(name, span, inner);
  return inner;
}

void Parser::define(const std::string& name, Span span, DFPatternRef pattern) {
  auto [known, fresh] = parts_.emplace(name, Part{std::move(pattern), span});
  if (fresh) return;
  throw Error(Diagnostic::error("%" + name + " has a meaning already", span)
                  .note("it is first written here", known->second.span));
}

DFPatternRef Parser::alternatives() {
  DFPatternRef result = sum();
  while (take("|")) result = DFPattern::alt(std::move(result), sum());
  return result;
}

DFPatternRef Parser::sum() {
  DFPatternRef left = product();
  while (at("+") || at("-")) {
    const Operator* op = get_op(at("+") ? "add" : "subtract");
    lexer_.advance();
    left = DFPattern::call(DFPattern::op(op), {std::move(left), product()});
  }
  return left;
}

DFPatternRef Parser::product() {
  DFPatternRef left = postfix();
  while (at("*") || at("/")) {
    const Operator* op = get_op(at("*") ? "multiply" : "divide");
    lexer_.advance();
    left = DFPattern::call(DFPattern::op(op), {std::move(left), postfix()});
  }
  return left;
}

DFPatternRef Parser::postfix() {
  Span span = lexer_.span();
  DFPatternRef result = primary();
  for (;;) {
    if (at("(")) {
      result = call(std::move(result), span);
    } else if (at(".")) {
      result = suffix(std::move(result));
    } else {
      return result;
    }
  }
}

DFPatternRef Parser::suffix(DFPatternRef inner) {
  expect(".", "");
  if (lexer_.token() == Token::kNumber) {
    refuse_suffix("it is that of a field");
    const Span span = lexer_.span();
    const uint32_t index = projection_index();
    check_projection(*inner, index, span);
    return DFPattern::projection(std::move(inner), index);
  }
  if (!at_word("_")) return method(std::move(inner));
  lexer_.advance();
  return DFPattern::projection(std::move(inner));
}

// The number of `.0.1` is two of them.
uint32_t Parser::projection_index() {
  std::string text = lexer_.text();
  size_t digits = text.find_first_not_of("0123456789");
  uint32_t index = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc()) fail("a projection's number is too large");
  if (digits == std::string::npos) {
    lexer_.advance();
  } else {
    lexer_.seek(lexer_.begin() + digits);
  }
  return index;
}

std::string Parser::raw_argument() {
  if (!at("(")) unexpected("`(`");
  std::string_view text = lexer_.source()->text();
  size_t begin = lexer_.end(), end = begin;
  for (int open = 1; end < text.size(); ++end) {
    open += text[end] == '(' || text[end] == '['   ? 1
            : text[end] == ')' || text[end] == ']' ? -1
                                                   : 0;
    if (open == 0) break;
  }
  if (end == text.size()) fail("this parenthesis is not closed");
  lexer_.seek(end);
  expect(")", "");
  return std::string(text.substr(begin, end - begin));
}

DFPatternRef Parser::method(DFPatternRef inner) {
  Span span = lexer_.span();
  std::string name =
      take_text(Token::kWord, "has_attr, has_type, has_dtype, has_shape or a number");
  if (name == "has_attr") {
    std::vector<NamedAttr> attrs;
    expect("(", "of has_attr");
    do {
      attrs.push_back(attribute(nullptr));
    } while (take(","));
    expect(")", "behind attributes");
    return DFPattern::attrs(std::move(inner), std::move(attrs));
  }
  if (name == "has_type") {
    std::string text = raw_argument();
    try {
      return DFPattern::type(std::move(inner), parse_type(text));
    } catch (const Error& error) {
      throw Error("`" + text + "` is no type: " + error.what(), span);
    }
  }
  if (name == "has_dtype") {
    expect("(", "of has_dtype");
    Span place = lexer_.span();
    std::string text = take_text(Token::kWord, "a dtype");
    std::optional<DType> dtype = DType::parse(text);
    if (!dtype) throw Error("there is no dtype " + text, place);
    expect(")", "behind the dtype");
    return DFPattern::dtype(std::move(inner), *dtype);
  }
  if (name != "has_shape")
    throw Error(
        "a pattern has no ." + name + "; it has has_attr, has_type, has_dtype and has_shape", span);
  return DFPattern::shape(std::move(inner), shape(span));
}

// `(2, n, ?, _)`: `_` is any extent.
std::vector<Dim> Parser::shape(Span span) {
  const std::string text = raw_argument();
  constexpr std::string_view kAny = "any_extent__";
  auto in_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  std::string written;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool alone = text[i] == '_' && (i == 0 || !in_word(text[i - 1])) &&
                       (i + 1 == text.size() || !in_word(text[i + 1]));
    written += alone ? std::string(kAny) : std::string(1, text[i]);
  }
  TypeRef type;
  try {
    type = parse_type("Tensor[" + written + ", float32]");
  } catch (const Error& error) {
    Diagnostic diagnostic = Diagnostic::error("`" + text + "` is no shape: " + error.what(), span);
    if (text.find('(') == std::string::npos)
      diagnostic.help("a shape has parentheses of its own: `has_shape((" + text + "))`");
    throw Error(std::move(diagnostic));
  }
  const auto* tensor = type->as<TensorType>();
  if (tensor == nullptr || !tensor->has_rank()) throw Error("`" + text + "` is no shape", span);
  std::vector<Dim> dims(tensor->dims().begin(), tensor->dims().end());
  for (Dim& dim : dims) {
    const TypeVar* symbol = dim.as_symbol();
    if (symbol != nullptr && symbol->name() == kAny) dim = DFPattern::any_extent();
    if (symbol == nullptr && dim.is_term())
      throw Error("an extent of a pattern is a number, a name, `?` or `_`, not " + dim.str(), span);
  }
  return dims;
}

DFPatternRef Parser::primary() {
  switch (lexer_.token()) {
    case Token::kWord:
      return word();
    case Token::kLocal:
      return local();
    case Token::kNumber:
      return number();
    case Token::kGlobal:
      return DFPattern::global(take_text(Token::kGlobal, "a global function"));
    default:
      if (at("-")) return number();
      if (at("(")) return parenthesised();
      unexpected("a pattern", At::kPattern);
  }
}

DFPatternRef Parser::local() {
  auto found = parts_.find(lexer_.text());
  DFPatternRef result;
  if (found != parts_.end()) {
    result = found->second.pattern;
  } else {
    result = DFPattern::wildcard();
    const std::string& name = lexer_.text();
    if (name.find_first_not_of("0123456789") != std::string::npos)
      result = DFPattern::named(result, name);
    parts_.emplace(name, Part{result, lexer_.span()});
  }
  lexer_.advance();
  return result;
}

// `0f` is 0 of the dtype float32.
DFPatternRef Parser::number() {
  const size_t begin = lexer_.begin();
  if (take("-") && lexer_.token() != Token::kNumber && !at_word("inf")) {
    lexer_.seek(begin);
    unexpected("a pattern", At::kPattern);
  }
  const DType dtype = lexer_.token() == Token::kNumber ? lexer_.suffix() : DType();
  lexer_.seek(begin);
  DFPatternRef result = DFPattern::number(signed_number());
  return dtype.valid() ? DFPattern::dtype(std::move(result), dtype) : result;
}

DFPatternRef Parser::parenthesised() {
  expect("(", "");
  if (take("..")) {
    expect(")", "behind `..`");
    return DFPattern::tuple_any();
  }
  std::vector<DFPatternRef> fields;
  bool is_tuple = at(")");
  while (!at(")")) {
    fields.push_back(pattern());
    if (!take(",")) break;
    is_tuple = true;
  }
  expect(")", "behind what it encloses", At::kPattern);
  return is_tuple ? DFPattern::tuple(std::move(fields)) : std::move(fields[0]);
}

DFPatternRef Parser::word() {
  const std::string& name = lexer_.text();
  if (name == "fn") return function();
  if (name == "if") return if_then_else();
  if (name == "inf") return number();
  if (name == "dominates") return dominator();
  if (name == "rec") return recursive();
  if (name == "expr") return quoted_expr();
  if (name == "match") return match();
  if (name == "ref" || name == "ref_read" || name == "ref_write") return reference();
  if (name == "rule") unexpected("a pattern", At::kPattern);
  if (name == "let") fail("put a let that is part of something in parentheses");
  if (name == "_" || name == "const") {
    bool is_constant = name == "const";
    lexer_.advance();
    return is_constant ? DFPattern::constant() : DFPattern::wildcard();
  }
  if (name == "var") {
    lexer_.advance();
    if (!take("(")) return DFPattern::var();
    DFPatternRef result = DFPattern::var(take_text(Token::kString, "a name in quotes"));
    expect(")", "behind the name");
    return result;
  }
  DFPatternRef result = is_constructor_name(name)
                            ? DFPattern::constructor(name)
                            : DFPattern::op(find_operator(name, lexer_.span()));
  lexer_.advance();
  return result;
}

// `match (P) { .. }`: by what it matches on.
DFPatternRef Parser::match() {
  lexer_.advance();
  expect("(", "of the match");
  DFPatternRef data = pattern();
  expect(")", "behind what is matched");
  expect("{", "of the clauses");
  expect("..", "for the clauses, which a pattern does not look at");
  expect("}", "behind the clauses");
  return DFPattern::node(ExprKind::kMatch, {std::move(data)});
}

// `ref(P)`, `ref_read(P)`, `ref_write(P, Q)`.
DFPatternRef Parser::reference() {
  const std::string name = take_text(Token::kWord, "");
  const ExprKind kind = name == "ref"        ? ExprKind::kRefCreate
                        : name == "ref_read" ? ExprKind::kRefRead
                                             : ExprKind::kRefWrite;
  expect("(", "of " + name);
  std::vector<DFPatternRef> operands{pattern()};
  if (kind == ExprKind::kRefWrite) {
    expect(",", "between the reference and the value");
    operands.push_back(pattern());
  }
  expect(")", "behind the operands of " + name);
  return DFPattern::node(kind, std::move(operands));
}

DFPatternRef Parser::call(DFPatternRef callee, Span callee_span) {
  Nesting nesting(*this);
  const Operator* op = callee->as_op();
  expect("(", "of a call");
  std::vector<DFPatternRef> args;
  std::vector<NamedAttr> attrs;
  bool any = false;
  while (!at(")")) {
    if (at("..")) {
      if (any || !args.empty()) fail("`..` stands for all arguments, so there are no others");
      any = true;
      lexer_.advance();
    } else {
      if (at_attribute()) {
        attrs.push_back(attribute(op));
      } else if (any || !attrs.empty()) {
        fail("arguments stand before attributes");
      } else {
        args.push_back(pattern());
      }
    }
    if (!take(",")) break;
  }
  expect(")", "behind arguments");
  if (op != nullptr && !any) check_arguments(op, args.size(), callee_span);
  DFPatternRef result = any ? DFPattern::call_any(std::move(callee))
                            : DFPattern::call(std::move(callee), std::move(args));
  return attrs.empty() ? result : DFPattern::attrs(std::move(result), std::move(attrs));
}

DFPatternRef Parser::function() {
  lexer_.advance();
  expect("(", "of the parameters");
  std::vector<DFPatternRef> params;
  bool any = take("..");
  while (!any && !at(")")) {
    params.push_back(pattern());
    if (!take(",")) break;
  }
  expect(")", "behind the parameters");
  expect("{", "before the body");
  DFPatternRef body = pattern();
  expect("}", "behind the body");
  return any ? DFPattern::function_any(std::move(body))
             : DFPattern::function(std::move(params), std::move(body));
}

DFPatternRef Parser::let() {
  lexer_.advance();
  DFPatternRef var = postfix();
  expect("=", "of the let");
  DFPatternRef value = alternatives();
  expect(";", "behind the value");
  return DFPattern::let(std::move(var), std::move(value), pattern());
}

DFPatternRef Parser::if_then_else() {
  Nesting nesting(*this);
  lexer_.advance();
  expect("(", "of the condition");
  DFPatternRef condition = pattern();
  expect(")", "behind the condition");
  expect("{", "of the first branch");
  DFPatternRef then_branch = pattern();
  expect("}", "behind the first branch");
  if (!at_word("else")) unexpected("`else`");
  lexer_.advance();
  expect("{", "of the second branch");
  DFPatternRef else_branch = pattern();
  expect("}", "behind the second branch");
  return DFPattern::if_then_else(std::move(condition), std::move(then_branch),
                                 std::move(else_branch));
}

DFPatternRef Parser::dominator() {
  lexer_.advance();
  expect("(", "of dominates");
  DFPatternRef parent = pattern();
  expect(",", "between parent and path");
  DFPatternRef path = pattern();
  expect(",", "between path and child");
  DFPatternRef child = pattern();
  expect(")", "behind the child");
  return DFPattern::dominator(std::move(parent), std::move(path), std::move(child));
}

DFPatternRef Parser::recursive() {
  lexer_.advance();
  expect("(", "of rec");
  Span span = lexer_.span();
  std::string name = take_text(Token::kLocal, "a name such as %w");
  DFPatternRef whole = DFPattern::wildcard();
  if (name.find_first_not_of("0123456789") != std::string::npos)
    whole = DFPattern::named(whole, name);
  define(name, span, whole);
  expect(",", "behind the name");
  DFPatternRef target = pattern();
  expect(")", "behind the pattern");
  try {
    whole->redirect(std::move(target));
  } catch (const Error&) {
    throw Error("%" + name + " stands for itself with nothing around it", span);
  }
  return whole;
}

DFPatternRef Parser::quoted_expr() {
  lexer_.advance();
  expect("(", "of expr");
  Span span = lexer_.span();
  std::string text = take_text(Token::kString, "an expression in quotes");
  expect(")", "behind the expression");
  try {
    return DFPattern::expr(parse_expr(text));
  } catch (const Error& error) {
    throw Error("this is no expression: " + std::string(error.what()), span);
  }
}

}  // namespace relay::pattern

namespace relay {

DFPatternRef parse_pattern(std::string name, std::string text) {
  return pattern::Parser(SourceMap::add(std::move(name), std::move(text))).whole_pattern();
}

}  // namespace relay
