// match, and patterns.
#include <relay/parse/parser.h>

namespace relay::parsing {

ExprRef Parser::parse_match() {
  size_t begin = tok_.begin;
  advance();
  bool complete = !accept(Tok::kQuestion);
  ExprRef data;
  if (!at(Tok::kLParen)) {
    data = parse_bare_condition("match", "the value");
  } else {
    Bracket bracket(*this);
    data = parse_expr();
    expect(Tok::kRParen, "after the matched value");
  }
  if (!at(Tok::kLBrace)) fail_expected("'{' before the clauses of the match");
  Bracket bracket(*this);
  std::vector<PatternRef> patterns;
  std::vector<ExprRef> bodies;
  while (!at(Tok::kRBrace)) {
    if (at(Tok::kEnd)) fail_expected("'}' after the clauses of the match");
    try {
      parse_clause(patterns, bodies);
    } catch (const SyntaxError&) {
      // The beginning of the next clause is a guess; the end of the match is not.
      while (recover_in_block()) {
        if (at_word(kwLet)) advance();
      }
      if (!at(Tok::kRBrace)) throw;
      bodies.resize(patterns.size());
      patterns.push_back(Pattern::wildcard(span(tok_)));
      bodies.push_back(placeholder(span(tok_)));
    }
  }
  expect(Tok::kRBrace, "after the clauses of the match");
  if (patterns.empty()) error(span_from(begin), "a match needs at least one clause");
  return make_match(std::move(data), std::move(patterns), bodies, complete, span_from(begin));
}

// One clause, with the comma behind it.
void Parser::parse_clause(std::vector<PatternRef>& patterns, std::vector<ExprRef>& bodies) {
  mark(tok_.begin, Mark::kItem);
  accept_word(kwCase);
  BlockScope scope(*this);
  std::vector<Token> names;
  std::vector<VarRef> vars;
  PatternRef pattern = parse_pattern(names, vars);
  for (size_t i = 0; i < vars.size(); ++i) {
    for (size_t k = 0; k < i && vars.size() < 10000; ++k) {
      if (names[k].symbol != names[i].symbol) continue;
      report(Diagnostic::error(
                 "%" + std::string(name_of(names[i].symbol)) + " is bound twice in one pattern",
                 span(names[i]))
                 .note("first bound here", span(names[k])));
    }
    bind_var(names[i].symbol, vars[i], span(names[i]));
  }
  if (accept(Tok::kFatArrow)) {
    bodies.push_back(at(Tok::kLBrace) ? parse_block() : parse_value(/*names=*/true));
    if (!at(Tok::kRBrace) && !at(Tok::kComma)) fail_expected("',' or '}' after the clause");
  } else if (at(Tok::kLBrace)) {
    bodies.push_back(parse_block());
  } else {
    fail_expected("'{' or '=>' after the pattern");
  }
  patterns.push_back(std::move(pattern));
  accept(Tok::kComma);
}

// A number is no pattern: reported, and read on.
PatternRef Parser::parse_number_pattern() {
  const size_t begin = tok_.begin;
  const char* what = "a pattern: a constructor, a name such as %x, a tuple or _";
  if (!at(Tok::kNumber) && !at(Tok::kMinus)) fail_expected(what);
  report(
      Diagnostic::error("expected " + std::string(what) + ", found " + describe(tok_), span(tok_))
          .help("numbers are compared by if (%x == " + describe(tok_) + ") { … } else { … }")
          .of_rule("S3"));
  if (accept(Tok::kMinus) && !at(Tok::kNumber)) throw SyntaxError();
  advance();
  return Pattern::wildcard(span_from(begin));
}

PatternRef Parser::parse_pattern(std::vector<Token>& names, std::vector<VarRef>& vars,
                                 uint32_t depth) {
  if (depth >= Pattern::kMaxDepth) {
    fatal(span(tok_), "nested too deeply: more than " + std::to_string(Pattern::kMaxDepth) +
                          " levels of a pattern");
  }
  size_t begin = tok_.begin;
  Token name = tok_;
  switch (tok_.kind) {
    case Tok::kLocal: {
      advance();
      TypeRef type;
      if (accept(Tok::kColon)) type = parse_type();
      VarRef var = make_var(Name(name_of(name.symbol)), std::move(type), span(name));
      names.push_back(name);
      vars.push_back(var);
      return Pattern::var(std::move(var), span_from(begin));
    }
    case Tok::kLParen: {
      Bracket bracket(*this);
      std::vector<PatternRef> fields;
      bool comma = false;
      while (!at(Tok::kRParen)) {
        fields.push_back(parse_pattern(names, vars, depth + 1));
        comma = accept(Tok::kComma);
        if (!comma) break;
      }
      expect(Tok::kRParen, "at the end of the pattern");
      if (fields.size() == 1 && !comma) return fields[0];
      return Pattern::tuple(std::move(fields), span_from(begin));
    }
    case Tok::kString:
      make_name(name);
      [[fallthrough]];
    case Tok::kIdent: {
      advance();
      if (name.is_word(kwUnderscore)) return Pattern::wildcard(span(name));
      int32_t index = symbols_[name.symbol].constructor;
      std::vector<PatternRef> fields;
      bool parens = at(Tok::kLParen);
      if (parens) {
        Bracket bracket(*this);
        while (!at(Tok::kRParen)) {
          fields.push_back(parse_pattern(names, vars, depth + 1));
          if (!accept(Tok::kComma)) break;
        }
        expect(Tok::kRParen, "after the fields of the pattern");
      }
      if (index < 0) {
        auto diagnostic = Diagnostic::error(
            "unknown constructor " + std::string(name_of(name.symbol)), span(name));
        std::vector<std::string> candidates;
        for (const auto& [constructor, where] : constructors_)
          candidates.push_back(constructor->name().str());
        suggest(diagnostic, std::string(name_of(name.symbol)), candidates);
        if (!lost_constructors_.contains(name.symbol) &&
            suggest_import(diagnostic, name_of(name.symbol), Defined::kConstructor))
          report(std::move(diagnostic));
        return Pattern::wildcard(span_from(begin));
      }
      const auto& [constructor, where] = constructors_[static_cast<size_t>(index)];
      if (constructor->inputs().size() != fields.size()) {
        size_t count = constructor->inputs().size();
        report(Diagnostic::error("constructor " + constructor->name().str() + " has " +
                                     std::to_string(count) + (count == 1 ? " field" : " fields") +
                                     ", its pattern " + std::to_string(fields.size()),
                                 span_from(begin))
                   .note("defined here", where));
        return Pattern::wildcard(span_from(begin));
      }
      return Pattern::constructor(constructor, std::move(fields), span_from(begin));
    }
    default:
      return parse_number_pattern();
  }
}

}  // namespace relay::parsing
