// The whole text: version line, definitions, a trailing expression.
#include <algorithm>

#include <relay/ir/effects.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/parse/parser.h>

namespace relay::parsing {
namespace {

// True if a word stands in the text on its own, roughly: spares most texts the search for data
// types.
bool mentions_word(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    size_t end = at + word.size();
    if (end < text.size() &&
        (text[end] == ' ' || text[end] == '\t' || text[end] == '\n' || text[end] == '\r')) {
      return true;
    }
  }
  return false;
}

// Graph nodes that were kept as lets in case their calls have effects, put back where they are
// pure. A name may be used before its let is met (in text the use of a closed block's name comes
// later, in the graph it may come first), so the values are rewritten in front of everything, in
// the order of the text, in which none uses a later one.
class InlineBindings final : public Rewriter {
 public:
  explicit InlineBindings(std::vector<std::pair<VarRef, ExprRef>> bindings)
      : bindings_(std::move(bindings)) {
    for (const auto& [var, value] : bindings_) values_[var.get()] = {};
  }

  std::vector<ExprRef> run_all(std::span<const ExprRef> roots) {
    std::vector<ExprRef> all;
    for (const auto& [var, value] : bindings_) all.push_back(value);
    all.insert(all.end(), roots.begin(), roots.end());
    ExprRef whole = make_tuple(all);
    whole_ = whole.get();
    ExprRef result = run(whole);
    auto done = result->operands().subspan(bindings_.size());
    return {done.begin(), done.end()};
  }

 protected:
  ExprRef enter(const Expr* expr) override {
    const auto* var = expr->as<Var>();
    auto entry = var == nullptr ? values_.end() : values_.find(var);
    return entry == values_.end() ? ExprRef() : entry->second;
  }
  void before(const Expr* expr, uint32_t operand, std::span<const ExprRef> done) override {
    if (expr == whole_ && operand > 0 && operand <= bindings_.size())
      values_[bindings_[operand - 1].first.get()] = done.back();
  }
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    const auto* let = expr->as<Let>();
    if (let != nullptr && values_.contains(let->var().get())) return operands[1];
    return Rewriter::rewrite(expr, operands);
  }

 private:
  std::vector<std::pair<VarRef, ExprRef>> bindings_;
  std::unordered_map<const Var*, ExprRef> values_;
  const Expr* whole_ = nullptr;
};

bool is_pure(const Expr* value, const Effects& effects) {
  std::unordered_set<const Expr*> seen;
  std::vector<const Expr*> stack{value};
  while (!stack.empty()) {
    const Expr* expr = stack.back();
    stack.pop_back();
    if (!seen.insert(expr).second) continue;
    if (effects.acts(expr)) return false;
    if (expr->is<Function>()) continue;
    for (const ExprRef& operand : expr->operands()) stack.push_back(operand.get());
  }
  return true;
}

}  // namespace

// ---- Data types ----

// Data types may be used before they are defined, so they are found and read first.
void Parser::scan_data_definitions() {
  if (!mentions_word(text_, "data") && !mentions_word(text_, "type") &&
      !mentions_word(text_, "extern"))
    return;
  Lexer lexer(text_, &symbols_);
  size_t nested = 0;
  Token previous;
  for (Token token = lexer.next(); !token.is(Tok::kEnd); previous = token, token = lexer.next()) {
    switch (token.kind) {
      case Tok::kLBrace:
      case Tok::kLParen:
      case Tok::kLBracket:
        ++nested;
        continue;
      case Tok::kRBrace:
      case Tok::kRParen:
      case Tok::kRBracket:
        if (nested > 0) --nested;
        continue;
      case Tok::kIdent:
        break;
      default:
        continue;
    }
    bool is_extern = token.symbol == kwExtern;
    if (nested > 0 || (token.symbol != kwType && token.symbol != kwData && !is_extern)) continue;
    DataHead head;
    head.begin = token.begin;
    head.is_extern = is_extern;
    token = lexer.next();
    if (is_extern && !token.is_word(kwType)) continue;
    if (is_extern) token = lexer.next();
    if (token.is(Tok::kString)) make_name(token);
    if (!token.is(Tok::kIdent)) continue;
    head.name = token.symbol;
    head.quoted = token.escaped;
    head.span = span(token);
    head.body = token.end;  // for now: after the name
    size_t before = token.end;
    // Its parameters, then up to the brace that closes it.
    size_t open = 0;
    bool braces = false;
    for (;;) {
      size_t position = lexer.position();
      Token part = lexer.next();
      if (part.is(Tok::kEnd)) {
        head.end = text_.size();
        break;
      }
      bool opens = part.is(Tok::kLBrace) || part.is(Tok::kLBracket) || part.is(Tok::kLess) ||
                   part.is(Tok::kLParen);
      bool closes = part.is(Tok::kRBrace) || part.is(Tok::kRBracket) || part.is(Tok::kGreater) ||
                    part.is(Tok::kRParen);
      if (!braces && open == 0 && !part.is(Tok::kLBrace) && !part.is(Tok::kLBracket) &&
          !part.is(Tok::kLess)) {
        lexer.seek(part.is(Tok::kSemicolon) ? lexer.position() : position);
        head.end = lexer.position();
        break;
      }
      if (!braces && open == 0 && part.is(Tok::kLBrace) && head.is_extern) {
        lexer.seek(position);
        head.end = position;
        break;
      }
      if (part.is(Tok::kLBrace)) braces = true;
      if (braces && (part.is(Tok::kLess) || part.is(Tok::kGreater))) continue;
      if (opens) ++open;
      if (closes && open > 0) --open;
      if (braces && open == 0) {
        head.end = part.end;
        break;
      }
    }
    if (head.end < before) head.end = before;
    token = Token();
    data_.push_back(std::move(head));
  }
}

void Parser::parse_data_head(DataHead& head) {
  if (head.elsewhere) return;
  auto [entry, added] = data_index_.emplace(head.name, static_cast<size_t>(&head - data_.data()));
  if (!added) {
    head.failed = true;
    report(Diagnostic::error("type " + std::string(name_of(head.name)) + " is defined twice",
                             head.span)
               .note("first defined here", data_[entry->second].span)
               .of_rule("N4"));
    return;
  }
  seek(head.body);
  TypeScope scope(*this);
  try {
    head.type_vars = parse_type_params();
    for (size_t i = 0; i < head.type_vars.size(); ++i) {
      head.type_symbols.push_back(symbols_.intern(head.type_vars[i]->name().view()));
      head.type_quoted.push_back(find_type_name(head.type_symbols.back())->quoted);
    }
    head.body = tok_.begin;
    if (!head.is_extern && !at(Tok::kLBrace))
      fail_expected("'{' before the constructors of the type");
  } catch (const SyntaxError&) {
    head.failed = true;
  }
}

void Parser::parse_data_body(const DataHead& head, Module& module) {
  if (head.failed || head.elsewhere) return;
  TypeScope scope(*this);
  for (size_t i = 0; i < head.type_vars.size(); ++i)
    bind_type_name(head.type_symbols[i], head.type_vars[i], false, head.type_quoted[i]);
  GlobalTypeVarRef type = GlobalTypeVar::make(Name(name_of(head.name)));
  std::vector<ConstructorRef> constructors;
  if (!head.is_extern) {
    seek(head.body);
    try {
      DimNames outer = dim_names_;
      dim_names_ = DimNames::kForbidden;
      unknown_types_.clear();
      Bracket bracket(*this);
      while (!at(Tok::kRBrace)) {
        ConstructorRef made =
            parse_constructor(head, type, static_cast<uint32_t>(constructors.size()));
        if (made) constructors.push_back(std::move(made));
        if (!accept(Tok::kComma)) accept(Tok::kSemicolon);
      }
      dim_names_ = outer;
    } catch (const SyntaxError&) {
      dim_names_ = DimNames::kLocal;
      lose_constructors(head);
    }
    if (constructors.empty() && num_errors_ == 0) {
      error(head.span, "type " + std::string(name_of(head.name)) + " has no constructors");
    }
  }
  for (const ConstructorRef& constructor : constructors) {
    Symbol symbol = symbols_.intern(constructor->name().view());
    int32_t& known = symbols_[symbol].constructor;
    if (known >= 0) {
      report(Diagnostic::error("constructor " + constructor->name().str() + " is defined twice",
                               constructor->span())
                 .note("first defined here", constructors_[static_cast<size_t>(known)].second)
                 .of_rule("N4"));
      return;
    }
    known = static_cast<int32_t>(constructors_.size());
    constructors_.emplace_back(constructor, constructor->span());
  }
  try {
    guarded(head.span, [&] {
      module.add_type(TypeData::make(std::move(type), head.type_vars, std::move(constructors),
                                     head.is_extern, head.span));
    });
  } catch (const SyntaxError&) {
  }
}

// An unknown type may be a parameter that nobody declared.
void Parser::suggest_type_parameter(const DataHead& head) {
  if (diagnostics_.empty() || !diagnostics_.back().message.starts_with("unknown type ") ||
      !diagnostics_.back().notes.empty())
    return;
  const std::string name(name_of(head.name));
  diagnostics_.back().help("a type parameter is declared behind the name: type " + name +
                           (name == "A" ? "[B]" : "[A]") + " { … }");
}

// The types of a constructor's fields. Each field with a mistake is reported, and passed over;
// false if there is one.
bool Parser::parse_fields(const DataHead& head, std::vector<TypeRef>& types) {
  bool good = true;
  while (!at(Tok::kRParen)) {
    const size_t begin = tok_.begin;
    const size_t reported = diagnostics_.size();
    try {
      types.push_back(parse_type());
    } catch (const SyntaxError&) {
      good = false;
      if (diagnostics_.size() > reported) suggest_type_parameter(head);
      seek(begin);
      Skipping skipping(*this);
      for (size_t open = 0; !at(Tok::kEnd); advance()) {
        const bool closes = at(Tok::kRParen) || at(Tok::kRBracket) || at(Tok::kRBrace);
        if (open == 0 && (closes || at(Tok::kComma))) break;
        if (closes) --open;
        if (at(Tok::kLParen) || at(Tok::kLBracket) || at(Tok::kLBrace)) ++open;
      }
    }
    if (!accept(Tok::kComma)) break;
  }
  return good;
}

// Uses of the constructors of a data type with a mistake are no errors.
void Parser::lose_constructors(const DataHead& head) {
  suggest_type_parameter(head);
  Skipping skipping(*this);
  seek(head.body);
  size_t open = 0;
  for (bool begins = true; tok_.begin < head.end && !at(Tok::kEnd); advance()) {
    if (at(Tok::kRBrace) || at(Tok::kRParen) || at(Tok::kRBracket)) open -= open > 0 ? 1 : 0;
    const bool classic = at(Tok::kIdent) && peek().is(Tok::kColon);
    if (open == 1 && at(Tok::kIdent) && (begins || classic)) lost_constructors_.insert(tok_.symbol);
    if (at(Tok::kLBrace) || at(Tok::kLParen) || at(Tok::kLBracket)) ++open;
    begins = at(Tok::kLBrace) || at(Tok::kComma) || at(Tok::kSemicolon);
  }
}

// `Cons(A, List[A])`, `Nil`, or `Cons : (A, List[A]) -> List[A]`. Null for one with a mistake in
// its fields, whose uses are no errors.
ConstructorRef Parser::parse_constructor(const DataHead& head, const GlobalTypeVarRef& type,
                                         uint32_t tag) {
  if (!at_name()) fail_expected("a constructor or '}'");
  mark(tok_.begin, Mark::kItem);
  Token name = tok_;
  symbols_[name.symbol].constructor_quoted = name.escaped;
  advance();
  const size_t errors = num_errors_;
  const size_t begin = tok_.begin;
  std::vector<TypeRef> inputs;
  bool good = true;
  if (accept(Tok::kColon)) {
    if (!accept_word(kwFn)) accept_word(kwFun);
    if (!at(Tok::kLParen)) fail_expected("'(' before the field types of the constructor");
    {
      Bracket bracket(*this);
      good = parse_fields(head, inputs);
      expect(Tok::kRParen, "after the field types");
    }
    expect(Tok::kArrow, "before the type that the constructor gives");
    Span where = span(tok_);
    TypeRef result = parse_type();
    const auto* call = result->as<TypeCall>();
    bool same = call != nullptr && call->callee() == type.get() &&
                call->args().size() == head.type_vars.size();
    for (size_t i = 0; same && i < head.type_vars.size(); ++i)
      same = call->args()[i] == head.type_vars[i].get();
    if (!same) {
      std::string expected(name_of(head.name));
      for (size_t i = 0; i < head.type_symbols.size(); ++i) {
        expected += (i == 0 ? "[" : ", ") + std::string(name_of(head.type_symbols[i]));
      }
      if (!head.type_symbols.empty()) expected += "]";
      error(where, "constructor " + std::string(name_of(name.symbol)) + " must give " + expected +
                       ", found " + result->str());
    }
  } else if (at(Tok::kLParen)) {
    Bracket bracket(*this);
    good = parse_fields(head, inputs);
    expect(Tok::kRParen, "after the field types");
  }
  const bool open = std::any_of(inputs.begin(), inputs.end(),
                                [](const TypeRef& input) { return input->has_incomplete(); });
  if (open && good && num_errors_ == errors) {
    report(Diagnostic::error("the fields of constructor " + std::string(name_of(name.symbol)) +
                                 " must have types without _: no use of it says what _ is",
                             span_from(begin))
               .of_rule("N5"));
  }
  if (open || !good) {
    lost_constructors_.insert(name.symbol);
    return {};
  }
  return make_constructor(Name(name_of(name.symbol)), type, tag, std::move(inputs), span(name));
}

// ---- The text ----

// `#[version = "0.0.5"]`
void Parser::parse_version() {
  advance();
  expect(Tok::kAssign, "after '#[version'");
  if (!at(Tok::kString)) fail_expected("the version as a string");
  Span where = span(tok_);
  std::string version = parse_string();
  bool known =
      version.size() == 5 && version.starts_with("0.0.") && version[4] >= '1' && version[4] <= '5';
  if (!known)
    error(where, "unknown version \"" + version + "\" of the text format; the latest is 0.0.5");
  expect(Tok::kRBracket, "after the version");
  has_version_ = true;
}

// `v0.0.4` on a line of its own, as TVM wrote before 0.7.
bool Parser::accept_old_version() {
  std::string_view line = text_.substr(tok_.begin);
  line = line.substr(0, line.find_first_of("\r\n"));
  line = line.substr(0, line.find_last_not_of(" \t") + 1);
  if (!at(Tok::kIdent) || !line.starts_with("v0.0.") || line.size() < 6 ||
      line.find_first_not_of("0123456789", 5) != std::string_view::npos)
    return false;
  if (line.size() != 6 || line[5] < '1' || line[5] > '5') {
    error(source_->span(tok_.begin, line.size()),
          "unknown version " + std::string(line) + " of the text format; the latest is 0.0.5");
  }
  seek(tok_.begin + line.size());
  has_version_ = true;
  return true;
}

void Parser::end_definition() {
  for (const Local& local : closed_) symbols_[local.symbol].closed = -1;
  closed_.clear();
  bare_.clear();
  unknown_locals_.clear();
  verified_.clear();
  verified_roots_.clear();
  free_vars_.clear();
  free_dims_.clear();
  effects_ = 0;
}

void Parser::parse_definition(Module& module) {
  size_t begin = tok_.begin;
  if (!at(Tok::kGlobal)) advance();  // def, which may be missing
  if (at(Tok::kIdent)) {
    std::string found = describe(tok_);
    bare_globals_[tok_.symbol] = diagnostics_.size();
    report(Diagnostic::error("expected a global name such as @" + found + ", found " + found,
                             span(tok_))
               .fix(source_->span(tok_.begin, 0), "@")
               .of_rule("S3"));
  } else if (!at(Tok::kGlobal)) {
    fail_expected("a global name such as @f after def");
  }
  Token name = tok_;
  advance();
  auto [entry, added] = globals_.emplace(name.symbol, span(name));
  if (!added && !keep_known_) {
    report(
        Diagnostic::error("@" + std::string(name_of(name.symbol)) + " is defined twice", span(name))
            .note("first defined here", entry->second)
            .of_rule("N4"));
  }
  FunctionRef function = parse_function(begin);
  accept(Tok::kSemicolon);
  if (added) module.add_function(Name(name_of(name.symbol)), std::move(function));
}

void Parser::parse_items_of_module(Module& module) {
  size_t next_data = 0;
  bool anything = false;
  for (;;) {
    if (at(Tok::kEnd)) break;
    size_t start = tok_.begin;
    mark(start, Mark::kItem);
    try {
      if (at(Tok::kVersion)) {
        parse_version();
        continue;
      }
      if (!anything && accept_old_version()) continue;
      // Definitions of data were read before.
      while (next_data < data_.size() && data_[next_data].begin < tok_.begin) ++next_data;
      if (next_data < data_.size() && data_[next_data].begin == tok_.begin) {
        anything = true;
        seek(data_[next_data].end);
        continue;
      }
      if (at_word(kwDef) || accept_foreign_definition() || accept_missing_def()) {
        anything = true;
        parse_definition(module);
        end_definition();
        continue;
      }
      if ((at_word(kwImport) && peek().is(Tok::kString)) || accept_bare_import()) {
        Span where = span(tok_);
        bool first = tok_.begin < imports_end_;
        advance();
        if (at(Tok::kString)) {
          parse_string();
        } else {
          advance();
        }
        accept(Tok::kSemicolon);
        anything = true;
        if (!first) error(where, "imports stand before all definitions");
        continue;
      }
      anything = true;
      Span where = span(tok_);
      ExprRef main;
      {
        BlockScope block(*this);
        TypeScope types(*this);
        main = parse_items(Ends::kText);
        if (num_errors_ == attribute_errors_) add_main(module, std::move(main), where);
      }
      end_definition();
    } catch (const SyntaxError&) {
      end_definition();
      if (tok_.begin == start) {
        Skipping skipping(*this);
        advance();
      }
      recover_to_definition();
    }
  }
  if (!anything && num_errors_ == 0)
    error(source_->span(0, 1), "the program is empty: expected definitions or an expression");
}

void Parser::add_main(Module& module, ExprRef expr, Span span) {
  Symbol main = symbols_.intern("main");
  auto [entry, added] = globals_.emplace(main, span);
  if (!added) {
    report(Diagnostic::error(
               "an expression after the definitions is @main, but @main is defined as well", span)
               .note("defined here", entry->second)
               .of_rule("N4"));
    return;
  }
  FunctionRef function;
  if (expr->is<Function>() && free_vars_.empty()) {
    function = FunctionRef(expr->as<Function>());
  } else {
    Span where = expr->span();
    std::vector<TypeVarRef> type_params;
    add_implicit(type_params, std::move(free_dims_), free_vars_, {});
    function =
        make_function(free_vars_, std::move(expr), {}, std::move(type_params), {}, {}, where);
  }
  module.add_function(Name("main"), std::move(function));
}

void Parser::check_globals() {
  std::vector<std::string> candidates;
  for (const auto& [symbol, where] : global_uses_) {
    if (globals_.contains(symbol)) continue;
    if (candidates.empty()) {
      for (const auto& [global, definition] : globals_) candidates.emplace_back(name_of(global));
    }
    std::string name(name_of(symbol));
    auto diagnostic = Diagnostic::error("unknown global @" + name, where).of_rule("N2");
    suggest(diagnostic, name, candidates, "@");
    if (suggest_import(diagnostic, name, Defined::kFunction)) report(std::move(diagnostic));
  }
}

// Lets that may be graph nodes become such where the whole program shows their calls to be pure.
void Parser::settle_candidates(const Effects& effects, std::vector<ExprRef>& roots) {
  std::vector<std::pair<VarRef, ExprRef>> pure;
  for (const VarRef& var : candidates_) {
    const ExprRef& value = candidate_values_[var.get()];
    if (is_pure(value.get(), effects)) {
      pure.emplace_back(var, value);
      continue;
    }
    for (const LateUse& use : late_uses_) {
      if (use.var == var) report_out_of_scope(use.symbol, var.get(), use.span);
    }
  }
  if (!pure.empty()) roots = InlineBindings(std::move(pure)).run_all(roots);
}

void Parser::settle_candidates(Module& module) {
  if (candidates_.empty()) return;
  std::vector<ExprRef> functions;
  for (const Module::FunctionEntry& entry : module.functions())
    functions.emplace_back(entry.function);
  settle_candidates(Effects(module), functions);
  std::vector<std::pair<Name, FunctionRef>> changed;
  for (size_t i = 0; i < functions.size(); ++i) {
    const Module::FunctionEntry& entry = module.functions()[i];
    if (functions[i] == entry.function.get()) continue;
    changed.emplace_back(entry.name, FunctionRef(functions[i]->as<Function>()));
  }
  for (auto& [name, function] : changed) module.update_function(name, std::move(function));
}

void Parser::parse_module(Module& module) {
  if (num_errors_ > 0) return;
  try {
    scan_data_definitions();
    if (keep_known_) {
      for (DataHead& head : data_)
        head.elsewhere = module.type_data(Name(name_of(head.name))) != nullptr;
    }
    for (DataHead& head : data_) parse_data_head(head);
    if (!module.functions().empty() || !module.types().empty()) {
      acts_ = true;  // what the text calls may have effects
      know_definitions(module);
    }
    parse_imports(module);
    for (const DataHead& head : data_) parse_data_body(head, module);
    seek(0);
    parse_items_of_module(module);
    check_globals();
    // A section that nothing refers to is read as well: it may be damaged.
    if (num_errors_ == 0 && lexer_.metadata() != std::string_view::npos) {
      Span where = source_->span(lexer_.metadata(), 0);
      guarded(where, [&] { metadata(where); });
    }
    if (num_errors_ == 0) settle_candidates(module);
  } catch (const SyntaxError&) {
  } catch (const FatalError&) {
  } catch (const Error& problem) {
    // A limit of the IR's that the parser does not know.
    for (const Diagnostic& diagnostic : problem.diagnostics()) diagnostics_.push_back(diagnostic);
  }
}

}  // namespace relay::parsing
