// Sequences of bindings that end in an expression. Long ones are loops, however deep the IR nests.
#include <relay/parse/parser.h>

namespace relay::parsing {

ExprRef Parser::parse_block() {
  BlockScope scope(*this);
  Bracket bracket(*this, /*block=*/true);
  ExprRef result = parse_items(Ends::kBrace);
  expect(Tok::kRBrace, "at the end of the block");
  return result;
}

bool Parser::at_block_end(Ends ends) const {
  switch (ends) {
    case Ends::kBrace:
      return at(Tok::kRBrace);
    case Ends::kParen:
      return at(Tok::kRParen);
    case Ends::kText:
      return at(Tok::kEnd);
    case Ends::kValue:
      return true;
  }
  return true;
}

// A value on the right of `=`. A let there ends with its first expression: the `;` after it is that
// of the outer binding, as TVM prints it. With `names` nodes may be named in front, too: `%0 = …;`.
ExprRef Parser::parse_value(bool names) {
  const bool named = names && at(Tok::kLocal) && peek().is(Tok::kAssign);
  if (!at_word(kwLet) && !named) return parse_expr();
  Nesting nesting(*this);
  BlockScope scope(*this);
  return parse_items(Ends::kValue);
}

ExprRef Parser::parse_items(Ends ends, ExprRef first, Span first_span) {
  std::vector<Item> items;
  ExprRef result;
  if (first) items.push_back({make_var(Name("_"), {}, first_span), std::move(first), first_span});
  for (bool begin = items.empty();; begin = false) {
    try {
      if (parse_item(items, result, ends, begin)) break;
    } catch (const SyntaxError&) {
      // Only blocks know where they go on.
      if (ends != Ends::kBrace && ends != Ends::kText) throw;
      if (recover_in_block() && !at_block_end(ends)) continue;
      if (!at_block_end(ends)) throw;
      result = placeholder(span(tok_));
      break;
    }
  }
  while (!items.empty()) {
    Item& item = items.back();
    result = make_let(std::move(item.var), std::move(item.value), std::move(result), item.span);
    items.pop_back();
  }
  return result;
}

// One binding or the final expression; true after the latter.
bool Parser::parse_item(std::vector<Item>& items, ExprRef& result, Ends ends, bool first) {
  if (ends != Ends::kValue) mark(tok_.begin, Mark::kItem);
  if (at_word(kwLet) || accept_foreign_let()) {
    parse_let(items);
    return false;
  }
  if (at(Tok::kIdent) && peek().is(Tok::kAssign)) accept_bare_local("a name such as %x before '='");
  if (at(Tok::kLocal) && peek().is(Tok::kAssign)) {
    parse_graph_binding(items);
    return false;
  }
  if (at_word(kwFreeVar) && peek().is(Tok::kLocal)) {
    if (ends != Ends::kText)
      error(span(tok_), "free_var can only stand before an expression that is the whole input");
    parse_free_var();
    return false;
  }
  size_t begin = tok_.begin;
  if (at_block_end(ends) && ends != Ends::kValue) {
    fail_expected(first ? "an expression" : "an expression after the last binding");
  }
  ExprRef expr = parse_expr();
  if (ends != Ends::kValue && at(Tok::kSemicolon)) {
    Span where = span_from(begin);
    advance();
    items.push_back({make_var(Name("_"), {}, where), std::move(expr), where});
    return false;
  }
  if (!at_block_end(ends)) {
    const char* close = ends == Ends::kBrace   ? "'}'"
                        : ends == Ends::kParen ? "')'"
                                               : "the end of the text";
    if (at(Tok::kAssign)) fail(span(tok_), "only names can be bound with '='");
    fail_expected(std::string("an operator, ';' or ") + close + " after the expression");
  }
  result = std::move(expr);
  return true;
}

void Parser::parse_let(std::vector<Item>& items) {
  size_t begin = tok_.begin;
  advance();
  if (at(Tok::kGlobal)) {
    report(Diagnostic::error("let binds local names, found " + describe(tok_), span(tok_))
               .help("a global function is defined by def " + describe(tok_) + "(…) { … }")
               .of_rule("S3"));
    globals_.emplace(tok_.symbol, span(tok_));  // so that its uses are no errors
    return parse_let_of_global(items);
  }
  skip_let_word();
  const bool pattern = at(Tok::kLParen) || at_word(kwUnderscore);
  if (!at(Tok::kLocal) && !pattern && !accept_bare_local("a name such as %x after let"))
    fail_expected("a name such as %x after let");
  if (pattern) {
    LetPattern names = parse_let_pattern();
    expect(Tok::kAssign, "after the names of the let");
    ExprRef value = parse_value();
    Span where = span_from(begin);
    if (names.tuple) {
      bind_let_pattern(names, std::move(value), where, items);
    } else {  // `_`: the value is computed all the same
      items.push_back({make_var(Name("_"), names.type, names.span), std::move(value), where});
    }
    expect(Tok::kSemicolon, "after the value of the let");
    return;
  }
  Token name = tok_;
  advance();
  VarRef var;
  ExprRef value;
  try {
    std::optional<Device> device = parse_virtual_device();
    TypeRef type;
    if (accept(Tok::kColon)) type = parse_type();
    var = make_var(Name(name_of(name.symbol)), std::move(type), span(name));
    expect(Tok::kAssign, "after the name of the let");
    if (at_word(kwFn)) {
      // A function may refer to itself.
      bind_var(name.symbol, var, span(name));
      value = parse_expr();
    } else {
      value = placed(parse_value(), var->annotation().get(), device);
      bind_var(name.symbol, var, span(name));
    }
  } catch (const SyntaxError&) {
    if (!var) var = make_var(Name(name_of(name.symbol)), {}, span(name));
    bind_var(name.symbol, var, span(name));  // so that its uses are no errors
    throw;
  }
  items.push_back({std::move(var), std::move(value), span_from(begin)});
  expect(Tok::kSemicolon, "after the value of the let");
}

// The name was reported; the value may have mistakes of its own.
void Parser::parse_let_of_global(std::vector<Item>& items) {
  const size_t begin = tok_.begin;
  advance();
  TypeRef type;
  if (accept(Tok::kColon)) type = parse_type();
  if (!at(Tok::kAssign)) throw SyntaxError();
  advance();
  ExprRef value = parse_value();
  const Span where = span_from(begin);
  items.push_back({make_var(Name("_"), std::move(type), where), std::move(value), where});
  expect(Tok::kSemicolon, "after the value of the let");
}

Parser::LetPattern Parser::parse_let_pattern() {
  LetPattern pattern;
  pattern.span = span(tok_);
  if (at(Tok::kLParen)) {
    size_t begin = tok_.begin;
    pattern.tuple = true;
    Bracket bracket(*this);
    while (!at(Tok::kRParen)) {
      pattern.fields.push_back(parse_let_pattern());
      if (!accept(Tok::kComma)) break;
    }
    expect(Tok::kRParen, "after the names");
    pattern.span = span_from(begin);
  } else if (at(Tok::kLocal)) {
    pattern.name = tok_;
    advance();
  } else if (!accept_word(kwUnderscore)) {
    fail_expected("a name such as %x");
  }
  if (accept(Tok::kColon)) pattern.type = parse_type();
  return pattern;
}

void Parser::bind_let_pattern(const LetPattern& pattern, ExprRef value, Span where,
                              std::vector<Item>& items) {
  if (!pattern.tuple) {
    if (pattern.name.kind != Tok::kLocal) {
      // A type that is stated is compared.
      if (pattern.type)
        items.push_back({make_var(Name("_"), pattern.type, pattern.span), std::move(value), where});
      return;
    }
    VarRef var = make_var(Name(name_of(pattern.name.symbol)), pattern.type, pattern.span);
    bind_var(pattern.name.symbol, var, pattern.span);
    items.push_back({std::move(var), std::move(value), where});
    return;
  }
  VarRef whole = make_var(Name("_"), pattern.type, pattern.span);
  items.push_back({whole, std::move(value), where});
  for (size_t i = 0; i < pattern.fields.size(); ++i) {
    const LetPattern& field = pattern.fields[i];
    bind_let_pattern(field, make_projection(whole, static_cast<uint32_t>(i), field.span),
                     field.span, items);
  }
}

// `%n = value`: a name for the node; if the value has an effect, a let (E4).
void Parser::parse_graph_binding(std::vector<Item>& items) {
  Token name = tok_;
  advance();
  advance();
  uint8_t outer_effects = effects_;
  effects_ = 0;
  ExprRef value;
  try {
    value = parse_value();
  } catch (const SyntaxError&) {
    effects_ = outer_effects;
    bind_local({placeholder(span(name)), name.symbol, -1, block_, true, false, span(name)});
    throw;
  }
  uint8_t effects = effects_;
  effects_ |= outer_effects;
  if (effects == 0 || !acts_) {
    bind_local({std::move(value), name.symbol, -1, block_, true, false, span(name)});
  } else {
    VarRef var = make_var(Name(name_of(name.symbol)), {}, span(name));
    if ((effects & kRefEffect) == 0) {
      candidates_.push_back(var);
      candidate_values_[var.get()] = value;
    }
    items.push_back({var, std::move(value), span_from(name.begin)});
    bind_local({std::move(var), name.symbol, -1, block_, true, true, span(name)});
  }
  accept(Tok::kSemicolon);
}

void Parser::parse_free_var() {
  advance();
  Token name = tok_;
  advance();
  std::optional<Device> device = parse_virtual_device();
  TypeRef type;
  if (accept(Tok::kColon)) {
    // It becomes a parameter of @main, so its dimension names are that function's.
    dim_names_ = DimNames::kSignature;
    implicit_ = &free_dims_;
    type = parse_type();
    dim_names_ = DimNames::kLocal;
    implicit_ = nullptr;
  }
  VarRef var = make_var(Name(name_of(name.symbol)), std::move(type), span(name));
  bind_param(name.symbol, var, device, span(name));
  free_vars_.push_back(std::move(var));
  expect(Tok::kSemicolon, "after the free variable");
}

}  // namespace relay::parsing
