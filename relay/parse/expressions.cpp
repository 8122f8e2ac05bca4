// Expressions: operators by precedence, suffixes of operands, primaries.
#include <charconv>

#include <relay/parse/infix.h>
#include <relay/parse/parser.h>

namespace relay::parsing {
ExprRef Parser::call_operator(const char* name, Span op_span, std::initializer_list<ExprRef> args,
                              size_t begin) {
  OpEntry* entry = find_operator(symbols_.intern(name));
  if (entry == nullptr) {
    error(op_span, std::string("unknown operator ") + name);
    return placeholder(op_span);
  }
  return make_call(entry->node, std::span<const ExprRef>(args.begin(), args.size()),
                   entry->defaults, {}, span_from(begin));
}

ExprRef Parser::parse_binary(int min_precedence) {
  size_t begin = tok_.begin;
  ExprRef left = parse_unary();
  for (;;) {
    Infix op = infix(tok_.kind);
    if (at(Tok::kIdent) || at(Tok::kStar)) op = foreign_infix();
    if (op.precedence < min_precedence) return left;
    Span where = span(tok_);
    if (at(Tok::kMinus) && tok_.line_start && in_block_) {
      report(Diagnostic::warning(
                 "a '-' at the beginning of a line continues the expression before it", where)
                 .help("end that expression with ';', or join the lines"));
    }
    advance();
    ExprRef right = parse_binary(op.precedence + 1);
    left = call_operator(op.op, where, {std::move(left), std::move(right)}, begin);
  }
}

ExprRef Parser::parse_unary() {
  if (!at(Tok::kMinus) && !at(Tok::kBang)) {
    size_t begin = tok_.begin;
    bool literal = false;
    ExprRef primary = parse_primary(literal);
    return parse_postfix(std::move(primary), begin, literal);
  }
  std::vector<Token> prefixes;
  size_t begin = tok_.begin;
  ExprRef operand;
  while (at(Tok::kMinus) || at(Tok::kBang)) {
    Token prefix = tok_;
    advance();
    DType dtype;
    bool number = at(Tok::kNumber) || (at(Tok::kIdent) && find_constructor(tok_) < 0 &&
                                       is_special_float(name_of(tok_.symbol), dtype));
    if (prefix.is(Tok::kMinus) && number) {
      begin = prefix.begin;
      // All signs before a number are its own.
      bool negative = true;
      for (; !prefixes.empty() && prefixes.back().is(Tok::kMinus); prefixes.pop_back()) {
        negative = !negative;
        begin = prefixes.back().begin;
      }
      operand = parse_postfix(parse_number(negative, begin), begin, true);
      break;
    }
    prefixes.push_back(prefix);
    if (depth_ + static_cast<int>(prefixes.size()) > kMaxParseDepth) too_deep();
  }
  if (!operand) {
    begin = tok_.begin;
    bool literal = false;
    operand = parse_primary(literal);
    operand = parse_postfix(std::move(operand), begin, literal);
  }
  while (!prefixes.empty()) {
    Token prefix = prefixes.back();
    prefixes.pop_back();
    operand = call_operator(prefix.is(Tok::kMinus) ? "negative" : "logical_not", span(prefix),
                            {std::move(operand)}, prefix.begin);
  }
  return operand;
}

ExprRef Parser::parse_postfix(ExprRef expr, size_t begin, bool literal) {
  for (;;) {
    switch (tok_.kind) {
      case Tok::kLParen:
        if (tok_.line_start && in_block_) return expr;
        expr = parse_call(std::move(expr), begin, {});
        break;
      case Tok::kProjection: {
        uint32_t index = 0;
        std::string_view digits = text(tok_).substr(1);
        auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
        if (code != std::errc() || end != digits.data() + digits.size()) {
          error(span(tok_), "field number " + std::string(digits) + " is too large");
          index = 0;
        }
        advance();
        expr = make_projection(std::move(expr), index, span_from(begin));
        break;
      }
      case Tok::kLess: {
        if (literal || !looks_like_type_args()) return expr;
        std::vector<TypeRef> types;
        mark(tok_.begin, Mark::kTypeBracket);
        {
          Bracket bracket(*this);
          types = parse_type_list(Tok::kGreater);
          expect(Tok::kGreater, "after the type arguments");
        }
        if (!at(Tok::kLParen)) fail_expected("'(' after the type arguments");
        expr = parse_call(std::move(expr), begin, std::move(types));
        break;
      }
      case Tok::kLBracket:
        if (tok_.line_start && in_block_) return expr;
        skip_foreign_index(begin);
        break;
      default:
        return expr;
    }
    literal = false;
  }
}

ExprRef Parser::parse_primary(bool& literal) {
  Token token = tok_;
  switch (token.kind) {
    case Tok::kLocal:
      advance();
      return use_local(token);
    case Tok::kGlobal:
      advance();
      if (!globals_.contains(token.symbol)) global_uses_.emplace_back(token.symbol, span(token));
      return make_global_var(Name(name_of(token.symbol)), span(token));
    case Tok::kNumber:
      literal = true;
      return parse_number(false, token.begin);
    case Tok::kLParen:
      return parse_paren();
    case Tok::kLBrace:
      return parse_block();
    case Tok::kIdent:
      return parse_word(literal);
    case Tok::kLBracket:
      return skip_foreign_list();
    case Tok::kString:
      // Only constructors have names in quotes.
      make_name(token);
      if (symbols_[token.symbol].constructor < 0) fail_expected("an expression");
      advance();
      return parse_named_callee(token);
    default:
      fail_expected("an expression");
  }
}

// `()`, `(e)`, `(e,)`, `(a, b)`, `(let …; e)`, `(e1; e2)`.
ExprRef Parser::parse_paren() {
  size_t begin = tok_.begin;
  Bracket bracket(*this);
  if (accept(Tok::kRParen)) return make_tuple({}, span_from(begin));
  if (at_word(kwLet) || (at(Tok::kLocal) && peek().is(Tok::kAssign))) {
    BlockScope scope(*this);
    ExprRef result = parse_items(Ends::kParen);
    expect(Tok::kRParen, "after the expression");
    return result;
  }
  ExprRef first = parse_expr();
  if (at(Tok::kSemicolon)) {
    Span where = span_from(begin + 1);
    advance();
    BlockScope scope(*this);
    ExprRef result = parse_items(Ends::kParen, std::move(first), where);
    expect(Tok::kRParen, "after the expression");
    return result;
  }
  if (accept(Tok::kRParen)) {
    mark(begin, Mark::kGroup);
    return first;
  }
  if (!at(Tok::kComma)) fail_expected("an operator, ',' or ')' after the expression");
  ArgScope args(*this);
  args_.push_back(std::move(first));
  while (accept(Tok::kComma)) {
    if (at(Tok::kRParen)) break;
    args_.push_back(parse_value());
  }
  expect(Tok::kRParen, "at the end of the tuple");
  return relay::make_tuple(args.get(), span_from(begin));
}

// A chain of `else if` is a loop here and a nest in the IR.
ExprRef Parser::parse_if() {
  struct Branch {
    ExprRef condition;
    ExprRef body;
    size_t begin;
  };
  std::vector<Branch> branches;
  ExprRef result;
  for (;;) {
    size_t begin = tok_.begin;
    advance();
    ExprRef condition;
    if (at(Tok::kLParen)) {
      Bracket bracket(*this);
      condition = parse_value();
      expect(Tok::kRParen, "after the condition");
    } else {
      condition = parse_bare_condition("if", "the condition");
    }
    if (!at(Tok::kLBrace)) fail_expected("'{' after the condition");
    ExprRef body = parse_block();
    branches.push_back({std::move(condition), std::move(body), begin});
    if (!at_word(kwElse)) fail_missing_else();
    advance();
    if (at_word(kwIf)) continue;
    if (!at(Tok::kLBrace)) fail_expected("'{' or if after else");
    result = parse_block();
    break;
  }
  while (!branches.empty()) {
    Branch& branch = branches.back();
    result = make_if(std::move(branch.condition), std::move(branch.body), std::move(result),
                     span_from(branch.begin));
    branches.pop_back();
  }
  return result;
}

ExprRef Parser::parse_reference_operation() {
  Token word = tok_;
  advance();
  Bracket bracket(*this);
  ExprRef first = parse_value();
  ExprRef result;
  effects_ |= kRefEffect;
  if (word.symbol == kwRefWrite) {
    expect(Tok::kComma, "between the reference and its new value");
    ExprRef second = parse_value();
    accept(Tok::kComma);
    expect(Tok::kRParen, "after the arguments of ref_write");
    return make_ref_write(std::move(first), std::move(second), span_from(word.begin));
  }
  accept(Tok::kComma);
  expect(Tok::kRParen, "after the argument");
  return word.symbol == kwRef ? make_ref_create(std::move(first), span_from(word.begin))
                              : make_ref_read(std::move(first), span_from(word.begin));
}

ExprRef Parser::parse_word(bool& literal) {
  Token word = tok_;
  switch (word.symbol) {
    case kwFn:
      advance();
      return parse_function(word.begin);
    case kwIf:
      return parse_if();
    case kwMatch:
      return parse_match();
    case kwLet: {
      Nesting nesting(*this);
      BlockScope scope(*this);
      return parse_items(Ends::kValue);
    }
    case kwTrue:
    case kwFalse:
      advance();
      literal = true;
      return make_constant(NDArray::scalar(Bool(word.symbol == kwTrue)), span(word));
    case kwRef:
    case kwRefRead:
    case kwRefWrite:
      if (peek().is(Tok::kLParen)) return parse_reference_operation();
      break;
    case kwMeta:
      if (peek().is(Tok::kLBracket)) return meta_expr(parse_meta_ref());
      break;
    case kwConstant:
      if (find_constructor(word) < 0 && peek().is(Tok::kLParen)) {
        advance();
        return parse_constant(word.begin);
      }
      break;
    default:
      if (peek().is(Tok::kLParen) && peek(2).is(Tok::kIdent) && peek(3).is(Tok::kRParen) &&
          name_of(word.symbol) == "dim" && find_constructor(word) < 0 &&
          symbols_[word.symbol].local < 0)
        return parse_dimension_value(word.begin);
      break;
  }
  if (find_constructor(word) < 0) {
    DType dtype;
    if (is_special_float(name_of(word.symbol), dtype)) {
      literal = true;
      return parse_number(false, word.begin);
    }
  }
  advance();
  return parse_named_callee(word);
}

// The constructor that a word means, or -1: one that was declared in quotes leaves the word alone
// where it means something else.
int32_t Parser::find_constructor(const Token& word) {
  const SymbolInfo& info = symbols_[word.symbol];
  const int32_t index = info.constructor;
  if (index < 0 || word.escaped || !info.constructor_quoted) return index;
  DType dtype;
  const bool taken = word.symbol == kwConstant || is_special_float(info.view(), dtype) ||
                     find_operator(word.symbol) != nullptr;
  return taken ? -1 : index;
}

// A constructor or an operator. A constructor without fields is a call of it, with or without `()`.
ExprRef Parser::parse_named_callee(const Token& word) {
  int32_t index = find_constructor(word);
  if (index >= 0) {
    ConstructorRef constructor = constructors_[static_cast<size_t>(index)].first;
    bool called = (at(Tok::kLParen) && !(tok_.line_start && in_block_)) ||
                  (at(Tok::kLess) && looks_like_type_args());
    if (!constructor->inputs().empty() || called) return constructor;
    return make_call(constructor, {}, {}, {}, span(word));
  }
  if (OpEntry* entry = find_operator(word.symbol)) {
    last_op_ = static_cast<size_t>(entry - ops_.data());
    return entry->node;
  }
  if (ExprRef local = use_bare_local(word)) return local;
  if (ExprRef meant = parse_foreign_word(word)) return meant;
  if (lost_constructors_.contains(word.symbol)) return placeholder(span(word));
  if (std::optional<Diagnostic> diagnostic = unknown_callee(word)) report(std::move(*diagnostic));
  return placeholder(span(word));
}

}  // namespace relay::parsing
