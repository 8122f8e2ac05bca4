// Ways of other languages and libraries: says what to write instead, and reads on as if it stood
// there, so that one mistake is one error.
#include <algorithm>
#include <limits>

#include <relay/parse/imports.h>
#include <relay/parse/parser.h>
#include <relay/std/library.h>
#include <relay/support/foreign_words.h>

namespace relay::parsing {

// ---- Names without sigils ----------------------------------------------------------------------

bool Parser::accept_bare_local(const char* wanted) {
  if (!at(Tok::kIdent) || tok_.escaped || tok_.symbol < kNumKeywords) return false;
  std::string name(name_of(tok_.symbol));
  if (name.find('.') != std::string::npos) return false;
  const Span sigil = source_->span(tok_.begin, 0);
  tok_.kind = Tok::kLocal;
  if (!bare_.empty()) {  // one error for all of a definition
    const size_t first = bare_.begin()->second;
    diagnostics_[first].fix(sigil, "%");
    bare_[tok_.symbol] = first;
    return true;
  }
  bare_[tok_.symbol] = diagnostics_.size();
  report(Diagnostic::error(std::string("expected ") + wanted + ", found " + name, span(tok_))
             .help("a local name is written %" + name)
             .fix(sigil, "%")
             .of_rule("S3"));
  return true;
}

ExprRef Parser::use_bare_local(const Token& word) {
  const Span sigil = source_->span(word.begin, 0);
  if (auto global = bare_globals_.find(word.symbol);
      global != bare_globals_.end() && globals_.contains(word.symbol)) {
    diagnostics_[global->second].fix(sigil, "@");
    return make_global_var(Name(name_of(word.symbol)), span(word));
  }
  int32_t local = symbols_[word.symbol].local;
  if (local < 0) return {};
  if (auto known = bare_.find(word.symbol); known != bare_.end()) {
    diagnostics_[known->second].fix(sigil, "%");
  } else {
    std::string name(name_of(word.symbol));
    bare_[word.symbol] = diagnostics_.size();
    report(Diagnostic::error("unknown operator " + name, span(word))
               .help("a local name is written %" + name)
               .fix(sigil, "%")
               .of_rule("N3"));
  }
  return locals_[static_cast<size_t>(local)].expr;
}

void Parser::skip_let_word() {
  if (!at(Tok::kIdent) || !peek().is(Tok::kLocal)) return;
  const ForeignWord* foreign = foreign_word(name_of(tok_.symbol));
  if (foreign == nullptr) return;
  report(
      Diagnostic::error("expected a name such as %x after let, found " + describe(tok_), span(tok_))
          .help(std::string(foreign->help))
          .fix(source_->span(tok_.begin, peek().begin - tok_.begin), "")
          .of_rule("S3"));
  advance();
}

bool Parser::accept_foreign_let() {
  if (!at(Tok::kIdent) || !peek().is(Tok::kLocal)) return false;
  const Token after = peek(2);
  const ForeignWord* foreign = foreign_word(name_of(tok_.symbol));
  if (foreign == nullptr || foreign->kind != ForeignWord::Kind::kBinds ||
      (!after.is(Tok::kAssign) && !after.is(Tok::kColon)))
    return false;
  report(Diagnostic::error("there is no " + std::string(foreign->word) + " in this language",
                           span(tok_))
             .help(std::string(foreign->help))
             .fix(span(tok_), "let")
             .of_rule("S3"));
  return true;
}

bool Parser::accept_bare_import() {
  if (!at_word(kwImport) || !peek().is(Tok::kIdent)) return false;
  const std::string file(name_of(peek().symbol));
  if (!standard_text(file)) return false;
  const Span where = span(peek());
  report(
      Diagnostic::error("expected the name of a file in quotes after import, found " + file, where)
          .fix(where, "\"" + file + "\"")
          .of_rule("S3"));
  return true;
}

bool Parser::accept_foreign_definition() {
  if (!at(Tok::kIdent) || !peek().is(Tok::kGlobal)) return false;
  std::string_view word = name_of(tok_.symbol);
  if (word != "fn" && word != "fun" && word != "func" && word != "function") return false;
  report(Diagnostic::error("a function with a name begins with def, found " + std::string(word),
                           span(tok_))
             .fix(span(tok_), "def")
             .of_rule("S3"));
  return true;
}

bool Parser::accept_missing_def() {
  if (!at(Tok::kGlobal) || !peek(1).is(Tok::kLParen)) return false;
  // A call has no types in its arguments, and no block behind it.
  const bool parameters = peek(2).is(Tok::kLocal) && peek(3).is(Tok::kColon);
  const bool none =
      peek(2).is(Tok::kRParen) && (peek(3).is(Tok::kLBrace) || peek(3).is(Tok::kArrow));
  if (!parameters && !none) return false;
  report(Diagnostic::error("a function with a name begins with def, found " + describe(tok_),
                           span(tok_))
             .fix(source_->span(tok_.begin, 0), "def ")
             .of_rule("S3"));
  return true;
}

void Parser::note_late_binding(const Local& local) {
  auto unknown = unknown_locals_.find(local.symbol);
  if (unknown == unknown_locals_.end()) return;
  // Blocks are numbered in the order of the text: a later one is not around the use.
  if (local.block <= unknown->second.block) {
    Diagnostic& diagnostic = diagnostics_[unknown->second.diagnostic];
    diagnostic.notes.clear();
    diagnostic.fixes.clear();
    const bool own = local.span.begin() < diagnostic.span.begin();  // in the value of its let
    diagnostic.note("%" + std::string(name_of(local.symbol)) +
                        (own ? " is bound here for what follows its value"
                             : " is bound only here, further down"),
                    local.span);
  }
  unknown_locals_.erase(unknown);
}

// ---- Words that are no operators ---------------------------------------------------------------

ExprRef Parser::parse_foreign_word(const Token& word) {
  const ForeignWord* foreign = foreign_word(name_of(word.symbol));
  if (foreign == nullptr) return {};
  std::string name(foreign->word);
  if (foreign->kind == ForeignWord::Kind::kSame) {
    std::string ours(foreign->ours);
    report(Diagnostic::error("unknown operator " + name, span(word))
               .help(name + " is written " + ours)
               .fix(span(word), ours)
               .of_rule("S3"));
    if (ours == "!") return call_operator("logical_not", span(word), {parse_unary()}, word.begin);
    return make_constant(NDArray::scalar(Bool(ours == "True")), span(word));
  }
  Diagnostic diagnostic =
      Diagnostic::error("there is no " + name + " in this language", span(word)).of_rule("S3");
  diagnostic.help(std::string(foreign->help));
  if (foreign->kind != ForeignWord::Kind::kDropped) {
    report(std::move(diagnostic));
    throw SyntaxError();
  }
  size_t end = tok_.begin > word.end ? tok_.begin : word.end;
  diagnostic.fix(source_->span(word.begin, end - word.begin), "");
  const size_t reported = diagnostics_.size();
  report(std::move(diagnostic));
  if (at(Tok::kSemicolon) || at(Tok::kRBrace)) return placeholder(span(word));
  ExprRef value = parse_value();
  if (at(Tok::kSemicolon) && peek().is(Tok::kRBrace)) {
    diagnostics_[reported].fix(span(tok_), "");
    advance();
  }
  return value;
}

namespace {

/// The operators that a name may mean: it lacks the family, or has the name of a library.
std::vector<std::string> in_families(std::string_view name) {
  std::string bare(without_library(name));
  std::vector<std::string> found;
  for (const char* family : {"", "nn.", "image.", "random.", "vision."}) {
    std::string full = family + bare;
    if (full != name && find_op(Name(full)) != nullptr) found.push_back(std::move(full));
  }
  return found;
}

/// True if the text defines a global function.
bool defines(std::string_view text, std::string_view name) {
  std::string form = "def @" + std::string(name);
  for (size_t at = text.find(form); at != std::string_view::npos; at = text.find(form, at + 1)) {
    size_t end = at + form.size();
    if (end == text.size() || (std::isalnum(static_cast<unsigned char>(text[end])) == 0 &&
                               text[end] != '_' && text[end] != '.'))
      return true;
  }
  return false;
}

}  // namespace

std::optional<Diagnostic> Parser::unknown_callee(const Token& word) {
  std::string name(name_of(word.symbol));
  bool upper = name[0] >= 'A' && name[0] <= 'Z' && name.find('.') == std::string::npos;
  Diagnostic diagnostic =
      Diagnostic::error((upper ? "unknown constructor " : "unknown operator ") + name, span(word))
          .of_rule("N3");
  if (globals_.contains(word.symbol) || defines(text_, name)) {
    diagnostic.help("a global function is written @" + name).fix(source_->span(word.begin, 0), "@");
    return diagnostic;
  }
  if (std::vector<std::string> same = in_families(name); !same.empty()) {
    diagnostic.help("did you mean " + same[0] + "?").fix(span(word), same[0]);
    return diagnostic;
  }
  const ForeignOperator* foreign = foreign_operator(name);
  if (const size_t dot = name.rfind('.'); foreign == nullptr && dot != std::string::npos)
    foreign = foreign_operator(std::string_view(name).substr(dot + 1));  // nn.linear
  if (foreign != nullptr) {
    std::string ours(foreign->ours);
    std::string note(foreign->note);
    diagnostic.help("the operator is " + ours + (note.empty() ? "" : ", " + note));
    diagnostic.fix(span(word), ours, note.empty());
    return diagnostic;
  }
  if (upper) {
    size_t notes = diagnostic.notes.size();
    if (!suggest_import(diagnostic, name, Defined::kConstructor)) return std::nullopt;
    if (diagnostic.notes.size() > notes) return diagnostic;
  }
  std::vector<std::string> candidates;
  for (const auto& [constructor, where] : constructors_)
    candidates.push_back(constructor->name().str());
  if (!upper || candidates.empty()) {
    for (const Operator* op : all_ops()) candidates.push_back(op->name().str());
  }
  suggest(diagnostic, name, candidates);
  return diagnostic;
}

bool Parser::suggest_import(Diagnostic& diagnostic, std::string_view name, Defined what) {
  // A file also has what it imports, so the smallest one is where the name comes from.
  std::string_view best;
  size_t fewest = std::numeric_limits<size_t>::max();
  for (const StandardFile& file : standard_files()) {
    if (file.text.find(name) == std::string_view::npos) continue;
    const Module module = standard_module(file.name);
    const bool defined = what == Defined::kFunction      ? module.function(Name(name)) != nullptr
                         : what == Defined::kConstructor ? module.constructor(Name(name)) != nullptr
                                                         : module.type_data(Name(name)) != nullptr;
    if (!defined || module.functions().size() >= fewest) continue;
    fewest = module.functions().size();
    best = file.name.substr(0, file.name.rfind('.'));
  }
  if (best.empty()) return true;
  diagnostic.help("import \"" + std::string(best) + "\" at the beginning defines it");
  return missing_imports_.insert(best).second;
}

bool Parser::suggest_dtype(Diagnostic& diagnostic, const Token& name) const {
  std::string ours(foreign_dtype(name_of(name.symbol)));
  if (ours.empty() || !DType::parse(ours)) return false;
  diagnostic.help("did you mean " + ours + "?").fix(span(name), ours);
  return true;
}

// ---- Elements, methods, infix operators --------------------------------------------------------

void Parser::skip_brackets() {
  Skipping skipping(*this);
  size_t nested = 0;
  size_t inner = 0;  // parentheses and braces that opened within
  while (!at(Tok::kEnd)) {
    if (at(Tok::kLBracket)) ++nested;
    const bool ends = at(Tok::kRBrace) || at(Tok::kRParen);
    if (inner == 0 && (ends || at(Tok::kSemicolon))) return;  // it is not closed
    if (at(Tok::kLBrace) || at(Tok::kLParen)) ++inner;
    if (ends) --inner;
    const bool closes = at(Tok::kRBracket) && --nested == 0;
    advance();
    if (closes) return;
  }
}

void Parser::skip_foreign_index(size_t begin) {
  std::string value(text_.substr(begin, last_end_ - begin));
  constexpr size_t kMost = 30;
  if (value.size() > kMost) value = "%x";
  Diagnostic diagnostic =
      Diagnostic::error("an element is not taken by [ ]", span(tok_)).of_rule("S3");
  const Token index = peek(1);
  const bool number = index.is(Tok::kNumber) && peek(2).is(Tok::kRBracket);
  const std::string digits = number ? describe(index) : "0";
  diagnostic.help("take(" + value + ", " + digits + ", axis=0) is a part of a tensor, " + value +
                  "." + digits + " a field of a tuple");
  if (!number) diagnostic.help("strided_slice(" + value + ", begin=[…], end=[…]) is a range");
  report(std::move(diagnostic));
  skip_brackets();
}

// The list becomes the first attribute that takes one and is not given: the rest is checked.
bool Parser::accept_list_by_position(const Expr* callee, CallAttrs& attrs) {
  const auto* op = callee->as<Op>();
  const AttrsSchema* schema =
      at(Tok::kLBracket) && op != nullptr ? op->op()->attrs_schema() : nullptr;
  if (schema == nullptr) return false;
  for (const AttrField& field : schema->fields) {
    const bool given = std::any_of(attrs.named.begin(), attrs.named.end(),
                                   [&](const NamedAttr& attr) { return attr.name == field.name; });
    if (given || field.type.find("list<") == std::string::npos) continue;
    const size_t begin = tok_.begin;
    const size_t reported = diagnostics_.size();
    const std::string name = field.name.str();
    report(Diagnostic::error("expected an expression, found '['", span(tok_)).of_rule("S3"));
    AttrValue value = parse_attr_value();
    const std::string text(text_.substr(begin, last_end_ - begin));
    constexpr size_t kMost = 40;
    diagnostics_[reported].help("attributes are given by name: " + name + "=" +
                                (text.size() > kMost ? "[…]" : text));
    diagnostics_[reported].fix(source_->span(begin, 0), name + "=");
    attrs.named.push_back({field.name, std::move(value), span_from(begin)});
    return true;
  }
  return false;
}

ExprRef Parser::skip_foreign_list() {
  Span where = span(tok_);
  Diagnostic diagnostic =
      Diagnostic::error("expected an expression, found '['", where).of_rule("S3");
  if (peek(1).is(Tok::kNumber)) {
    diagnostic.help("a tensor of numbers is written Constant([1, 2, 3], (3), float32)");
  } else {
    diagnostic.help("a tuple of values is written (%a, %b)");
  }
  report(std::move(diagnostic));
  skip_brackets();
  return placeholder(where);
}

void Parser::explain_method(Diagnostic& diagnostic, std::string_view value,
                            std::string_view method) {
  std::string name;
  if (find_op(Name(method)) != nullptr) name = method;
  if (const ForeignOperator* foreign = foreign_operator(method); name.empty() && foreign != nullptr)
    name = foreign->ours;
  if (std::vector<std::string> same = in_families(method); name.empty() && !same.empty())
    name = same[0];
  if (name.empty()) return;
  diagnostic.help("values have no methods: write " + name + "(%" + std::string(value) +
                  (at(Tok::kLParen) ? ", …)" : ")"));
}

Infix Parser::foreign_infix() {
  if (at(Tok::kStar)) {
    if (peek().is(Tok::kStar) && peek().begin == tok_.end) {
      report(Diagnostic::error("there is no infix **", source_->span(tok_.begin, 2))
                 .help("write power(a, b)")
                 .of_rule("S3"));
      advance();
    }
    return infix(tok_.kind);
  }
  std::string_view word = name_of(tok_.symbol);
  if (tok_.escaped || (word != "and" && word != "or")) return {};
  std::string ours = word == "and" ? "&&" : "||";
  report(Diagnostic::error("there is no infix " + std::string(word), span(tok_))
             .help("write " + ours)
             .fix(span(tok_), ours)
             .of_rule("S3"));
  tok_.kind = word == "and" ? Tok::kAnd : Tok::kOr;
  return infix(tok_.kind);
}

// ---- if ----------------------------------------------------------------------------------------

ExprRef Parser::parse_bare_condition(std::string_view word, std::string_view what) {
  if (at(Tok::kLBrace) || at(Tok::kEnd)) fail_expected("'(' after " + std::string(word));
  const size_t reported = diagnostics_.size();
  report(Diagnostic::error("expected '(' after " + std::string(word) + ", found " + describe(tok_),
                           span(tok_))
             .help(std::string(what) + " stands in parentheses")
             .fix(source_->span(tok_.begin, 0), "(")
             .of_rule("S3"));
  ExprRef condition = parse_value();
  if (!at(Tok::kLBrace)) throw SyntaxError();  // reported
  diagnostics_[reported].fix(source_->span(last_end_, 0), ")");
  return condition;
}

void Parser::fail_missing_else() {
  Span where = at(Tok::kEnd) ? source_->span(last_end_ > 0 ? last_end_ - 1 : 0, 1) : span(tok_);
  Diagnostic diagnostic =
      Diagnostic::error("expected else after the first branch, found " + describe(tok_), where)
          .of_rule("S1");
  if (at(Tok::kIdent) && (name_of(tok_.symbol) == "elif" || name_of(tok_.symbol) == "elseif")) {
    diagnostic.help("write else if").fix(span(tok_), "else if");
  } else {
    diagnostic.help("an if has a value, so that it needs both branches");
  }
  report(std::move(diagnostic));
  throw SyntaxError();
}

// ---- Characters --------------------------------------------------------------------------------

bool Parser::accept_single_quotes(const Token& bad) {
  if (text_[bad.begin] != '\'') return false;
  size_t end = text_.find_first_of("'\"\\\n", bad.begin + 1);
  if (end == std::string_view::npos || text_[end] != '\'') return false;
  std::string content(text_.substr(bad.begin + 1, end - bad.begin - 1));
  Span where = source_->span(bad.begin, end + 1 - bad.begin);
  report(Diagnostic::error("text stands in double quotes", where)
             .help("write \"" + content + "\"")
             .fix(where, "\"" + content + "\"")
             .of_rule("S2"));
  tok_ = Token();
  tok_.kind = Tok::kString;
  tok_.begin = bad.begin;
  tok_.end = end + 1;
  lexer_.seek(tok_.end);
  return true;
}

void Parser::explain_token(Diagnostic& diagnostic, std::string_view rest) {
  auto at = [&](size_t i) { return i < rest.size() ? rest[i] : '\0'; };
  const char next = at(1);
  const bool alone = next == ' ' || next == '\n' || next == '\t' || next == '\r';
  switch (at(0)) {
    case '@':
      if (alone) diagnostic.help("there is no infix @: nn.matmul(a, b) is the matrix product");
      break;
    case '%':
      if (alone) diagnostic.help("there is no infix %: mod(a, b) is the remainder");
      break;
    case '?':
      diagnostic.help("if (condition) { a } else { b } chooses");
      break;
    case '&':
      diagnostic.help("&& is the logical operator, bitwise_and(a, b) the one on integers");
      break;
    case '|':
      diagnostic.help("|| is the logical operator, bitwise_or(a, b) the one on integers");
      break;
    case '^':
      diagnostic.help("power(a, b) is a power, bitwise_xor(a, b) the operator on integers");
      break;
    case '~':
      diagnostic.help("! is the logical operator, bitwise_not(a) the one on integers");
      break;
    case ':':
      diagnostic.help(next == '=' ? "ref_write(%r, value) writes into a reference; let binds a name"
                                  : "a block stands in braces: { … }");
      break;
    case '=':
      if (next != '=') diagnostic.help("names keep their values: bind a new one by let");
      break;
    case '.':
      diagnostic.help("values have no methods: write operator(value, …)");
      break;
    default:
      break;
  }
}

}  // namespace relay::parsing
