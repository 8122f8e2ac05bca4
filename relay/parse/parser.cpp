#include <relay/parse/parser.h>

#include <algorithm>

#include <relay/ir/effects.h>
#include <relay/parse/large_stack.h>
#include <relay/support/error.h>

namespace relay {
namespace parsing {
namespace {

bool is_name(char c) {
  return c == '_' || c == '.' || c == '%' || c == '@' || (c >= '0' && c <= '9') ||
         (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool mentions_impure_operators(std::string_view text) {
  for (const Operator* op : impure_ops()) {
    std::string_view name = op->name().view();
    for (size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
      size_t end = at + name.size();
      if ((at == 0 || !is_name(text[at - 1])) && (end == text.size() || !is_name(text[end])))
        return true;
    }
  }
  return false;
}

bool mentions_references(std::string_view text) {
  for (size_t at = text.find("ref"); at != std::string_view::npos; at = text.find("ref", at + 3)) {
    if (at > 0 && is_name(text[at - 1])) continue;
    std::string_view rest = text.substr(at + 3);
    if (rest.starts_with("_read") || rest.starts_with("_write")) return true;
    size_t next = rest.find_first_not_of(" \t\r\n");
    if (next != std::string_view::npos && rest[next] == '(') return true;
  }
  return false;
}

}  // namespace

Parser::Parser(std::shared_ptr<const Source> source, bool keep_known)
    : source_(std::move(source)),
      text_(source_->text()),
      symbols_(std::min(text_.size() / 64, size_t{1} << 20)),
      lexer_(text_, &symbols_),
      keep_known_(keep_known) {
  size_t binary = find_binary(text_);
  if (binary != std::string_view::npos) {
    constexpr char kHex[] = "0123456789abcdef";
    auto byte = static_cast<unsigned char>(text_[binary]);
    report(Diagnostic::error(std::string("not program text: byte 0x") + kHex[byte >> 4] +
                                 kHex[byte & 15] + " at offset " + std::to_string(binary),
                             source_->span(binary, 1)));
    text_ = {};
    lexer_ = Lexer(text_, &symbols_);
  }
  acts_ = mentions_references(text_) || mentions_impure_operators(text_);
}

// ---- Tokens ----

void Parser::advance() {
  last_end_ = tok_.end;
  if (num_ahead_ > 0) {
    tok_ = ahead_[0];
    ahead_[0] = ahead_[1];
    ahead_[1] = ahead_[2];
    --num_ahead_;
  } else {
    tok_ = lexer_.next();
  }
  if (tok_.foreign) report_foreign(tok_);
  if (tok_.kind != Tok::kError) return;
  do {
    // The lexer keeps the text of its last error only, and it may have been asked further ahead.
    num_ahead_ = 0;
    lexer_.seek(tok_.begin);
    Token bad = lexer_.next();
    Span where = source_->span(bad.begin, bad.end > bad.begin ? bad.end - bad.begin : 1);
    if (text_.substr(bad.begin).starts_with("/*")) {
      fatal(source_->span(bad.begin, 2), lexer_.error());
    }
    if (accept_single_quotes(bad)) return;
    Diagnostic diagnostic = Diagnostic::error(lexer_.error(), where).of_rule("S2");
    explain_token(diagnostic, text_.substr(bad.begin));
    report(std::move(diagnostic));
    tok_ = lexer_.next();
  } while (tok_.kind == Tok::kError);
  if (!skipping_) throw SyntaxError();
}

// Each such name once: everything else about it is as if it were in quotes.
void Parser::report_foreign(const Token& token) {
  if (!foreign_names_.insert(token.symbol).second) return;
  std::string name(name_of(token.symbol));
  const char* sigil = token.is(Tok::kLocal) ? "%" : "@";
  report(Diagnostic::error(
             "the name " + (sigil + name) + " has characters other than a to z, 0 to 9 and _",
             span(token))
             .help(std::string("write it in quotes: ") + sigil + "\"" + name + "\"")
             .of_rule("S2"));
}

const Token& Parser::peek(size_t distance) {
  while (num_ahead_ < distance) ahead_[num_ahead_++] = lexer_.next();
  return ahead_[distance - 1];
}

void Parser::seek(size_t position) {
  lexer_.seek(position);
  num_ahead_ = 0;
  tok_ = Token();
  tok_.end = position;
  Skipping skipping(*this);
  advance();
}

void Parser::make_name(Token& token) {
  std::string name;
  if (!unescape(text(token), name)) fail(span(token), "unknown escape in a quoted name");
  if (name.empty()) fail(span(token), "a name cannot be empty");
  token.kind = Tok::kIdent;
  token.escaped = true;
  token.symbol = symbols_.intern_copy(std::move(name));
}

bool Parser::at_name() {
  if (at(Tok::kString)) make_name(tok_);
  return at(Tok::kIdent);
}

bool Parser::accept(Tok kind) {
  if (tok_.kind != kind) return false;
  advance();
  return true;
}

bool Parser::accept_word(Symbol word) {
  if (!tok_.is_word(word)) return false;
  advance();
  return true;
}

void Parser::expect(Tok kind, const char* where) {
  if (tok_.kind == kind) {
    advance();
    return;
  }
  if (kind == Tok::kSemicolon && tok_.line_start && last_end_ > 0) {
    // The end of the line before lacks it.
    const Span end = source_->span(last_end_, 0);
    report(
        Diagnostic::error("expected ';' " + std::string(where) + ", found " + describe(tok_), end)
            .fix(end, ";"));
    throw SyntaxError();
  }
  fail_expected(std::string(tok_name(kind)) + " " + where);
}

// ---- Diagnostics ----

void Parser::report(Diagnostic diagnostic) {
  diagnostic.of_rule("S1");
  bool is_error = diagnostic.severity == Severity::kError;
  diagnostics_.push_back(std::move(diagnostic));
  if (is_error && ++num_errors_ >= DiagnosticSink::kMaxErrors) throw FatalError();
}

void Parser::fail(Span span, std::string message) {
  error(span, std::move(message));
  throw SyntaxError();
}

void Parser::fail_expected(const std::string& what) {
  Span where = span(tok_);
  if (at(Tok::kEnd)) where = source_->span(tok_.begin > 0 ? tok_.begin - 1 : 0, 1);
  Diagnostic diagnostic =
      Diagnostic::error("expected " + what + ", found " + describe(tok_), where);
  explain_token(diagnostic, text_.substr(std::min(tok_.begin, text_.size())));
  report(std::move(diagnostic));
  throw SyntaxError();
}

void Parser::fatal(Span span, std::string message) {
  error(span, std::move(message));
  throw FatalError();
}

void Parser::too_deep() {
  report(
      Diagnostic::error(
          "nested too deeply: more than " + std::to_string(kMaxParseDepth) + " levels", span(tok_))
          .of_rule("S4"));
  throw FatalError();
}

std::string Parser::describe(const Token& token) const {
  switch (token.kind) {
    case Tok::kIdent:
    case Tok::kLocal:
    case Tok::kGlobal:
    case Tok::kNumber:
    case Tok::kString:
    case Tok::kProjection: {
      std::string_view all = text(token);
      if (all.size() > 40) return std::string(all.substr(0, 40)) + "…";
      return std::string(all);
    }
    case Tok::kEnd:
      return "the end of the text";
    default:
      return std::string(tok_name(token.kind));
  }
}

void Parser::rethrow(const Error& error, Span span) {
  for (Diagnostic diagnostic : error.diagnostics()) {
    if (!diagnostic.span.known()) diagnostic.span = span;
    report(std::move(diagnostic));
  }
  throw SyntaxError();
}

// A word that begins a definition and nothing else.
bool Parser::at_definition() {
  if (at_word(kwDef)) return peek().is(Tok::kGlobal) || peek().is(Tok::kIdent);
  if (at_word(kwType) || at_word(kwData)) return peek().is(Tok::kIdent) || peek().is(Tok::kString);
  if (at_word(kwExtern)) return peek().is_word(kwType);
  return false;
}

bool Parser::recover_in_block() {
  Skipping skipping(*this);
  size_t nested = 0;
  for (;; advance()) {
    switch (tok_.kind) {
      case Tok::kEnd:
        return false;
      case Tok::kLBrace:
      case Tok::kLParen:
      case Tok::kLBracket:
        ++nested;
        break;
      case Tok::kRBrace:
        if (nested == 0) return false;
        --nested;
        break;
      case Tok::kRParen:
      case Tok::kRBracket:
        if (nested > 0) --nested;
        break;
      case Tok::kSemicolon:
        if (nested == 0) {
          advance();
          return true;
        }
        break;
      case Tok::kIdent:
        if (at_word(kwDef) && at_definition()) return false;
        if (at_word(kwLet) && nested == 0 && tok_.line_start) return true;
        break;
      default:
        break;
    }
  }
}

void Parser::recover_to_definition() {
  Skipping skipping(*this);
  while (!at(Tok::kEnd) && !(tok_.line_start && at_definition()) &&
         !(at_word(kwDef) && at_definition())) {
    advance();
  }
}

// ---- Entry points ----

ExprRef Parser::parse_single_expr() {
  ExprRef result;
  try {
    advance();
    if (at(Tok::kVersion)) parse_version();
    if (at(Tok::kEnd) && num_errors_ == 0)
      fatal(source_->span(0, 1), "expected an expression, found nothing");
    BlockScope scope(*this);
    TypeScope types(*this);
    result = parse_items(Ends::kText);
    if (num_errors_ == 0 && !candidates_.empty()) {
      std::vector<ExprRef> roots{result};
      settle_candidates(Effects(result.get()), roots);
      result = std::move(roots[0]);
    }
  } catch (const SyntaxError&) {
  } catch (const FatalError&) {
  }
  return result;
}

TypeRef Parser::parse_single_type() {
  TypeRef result;
  try {
    advance();
    TypeScope types(*this);
    result = parse_type();
    if (!at(Tok::kEnd)) fail_expected("the end of the type");
  } catch (const SyntaxError&) {
  } catch (const FatalError&) {
  }
  return result;
}

}  // namespace parsing

bool ParseResult::ok() const {
  for (const Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.severity == Severity::kError) return false;
  }
  return true;
}

ParseResult parse_source(std::shared_ptr<const Source> source, Module base, bool keep_known,
                         SyntaxMarks* marks) {
  ParseResult result;
  result.module = std::move(base);
  result.module.add_source(source);
  parsing::run_on_large_stack([&] {
    parsing::Parser parser(source, keep_known);
    parser.note_marks(marks);
    parser.parse_module(result.module);
    result.diagnostics = parser.take_diagnostics();
    auto errors = std::count_if(
        result.diagnostics.begin(), result.diagnostics.end(),
        [](const Diagnostic& diagnostic) { return diagnostic.severity == Severity::kError; });
    result.only_attributes = errors > 0 && static_cast<size_t>(errors) == parser.attribute_errors();
  });
  return result;
}

ParseResult parse_text(std::string name, std::string text) {
  return parse_source(SourceMap::add(std::move(name), std::move(text)));
}

Module parse_module(std::string name, std::string text, Module base) {
  ParseResult result =
      parse_source(SourceMap::add(std::move(name), std::move(text)), std::move(base));
  if (!result.ok()) throw Error(std::move(result.diagnostics));
  return std::move(result.module);
}

namespace {

template <class T>
T parse_piece(std::string name, std::string text, T (parsing::Parser::*parse)()) {
  std::shared_ptr<const Source> source = SourceMap::add(std::move(name), std::move(text));
  T result;
  std::vector<Diagnostic> diagnostics;
  parsing::run_on_large_stack([&] {
    parsing::Parser parser(source);
    result = (parser.*parse)();
    diagnostics = parser.take_diagnostics();
  });
  for (const Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.severity == Severity::kError) throw Error(std::move(diagnostics));
  }
  return result;
}

}  // namespace

ExprRef parse_expr(std::string text) {
  return parse_piece("<expression>", std::move(text), &parsing::Parser::parse_single_expr);
}

TypeRef parse_type(std::string text) {
  return parse_piece("<type>", std::move(text), &parsing::Parser::parse_single_type);
}

}  // namespace relay
