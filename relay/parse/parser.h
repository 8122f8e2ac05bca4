// The parser's state and the declarations of its parts; each part is a file of its own.
//
//   parser.cpp       entry points, tokens, diagnostics, recovery
//   definitions.cpp  the whole text, def, type, data
//   imports.cpp      definitions from elsewhere
//   scopes.cpp       local names, graph names (rule G1), type parameters
//   types.cpp        types, shapes, dimensions
//   functions.cpp    parameters, result, constraints, attributes of functions
//   blocks.cpp       let, graph bindings (rule E4), sequences
//   expressions.cpp  operators by precedence, primaries
//   calls.cpp        arguments, attributes, type arguments
//   literals.cpp     numbers, Constant(…)
//   match.cpp        match, patterns
//   foreign.cpp      ways of other languages: what to write instead
//   metadata.cpp     the `#[metadata]` section
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <relay/ir/module.h>
#include <relay/op/op.h>
#include <relay/parse/infix.h>
#include <relay/parse/lexer.h>
#include <relay/parse/marks.h>
#include <relay/parse/parse.h>
#include <relay/runtime/device.h>
#include <relay/support/suggest.h>

namespace relay {
class Effects;
}

namespace relay::parsing {

/// Thrown after an error was reported; parsing goes on from the next possible place.
struct SyntaxError {};
/// Thrown after an error was reported that ends the parse.
struct FatalError {};

class Metadata;
struct MetadataDelete {
  void operator()(Metadata* metadata) const;
};

class Parser {
 public:
  /// With `keep_known`, definitions that exist already are skipped without an error.
  explicit Parser(std::shared_ptr<const Source> source, bool keep_known = false);

  /// Adds to a module; the text may use its definitions.
  void parse_module(Module& module);
  ExprRef parse_single_expr();
  TypeRef parse_single_type();
  std::vector<Diagnostic> take_diagnostics() { return std::move(diagnostics_); }
  /// Notes the places of the text in `marks`, which outlives the parser.
  void note_marks(SyntaxMarks* marks) { marks_ = marks; }
  /// The number of errors in attributes.
  size_t attribute_errors() const { return attribute_errors_; }

 private:
  // ---- Tokens (parser.cpp) ----
  /// Takes the token. Reports an invalid one and, unless skipping, ends the statement.
  void advance();
  void report_foreign(const Token& token);
  const Token& peek(size_t distance = 1);
  void seek(size_t position);
  bool at(Tok kind) const { return tok_.kind == kind; }
  bool at_word(Symbol word) const { return tok_.is_word(word); }
  /// A name without a sigil: a word, or another name in quotes, which becomes a word token.
  bool at_name();
  /// True if the next tokens are such a name and `=`.
  bool at_named_value() {
    return (at(Tok::kIdent) || at(Tok::kString)) && peek().is(Tok::kAssign) && at_name();
  }
  void make_name(Token& token);
  /// The keyword that a word is, if it is not in quotes.
  static Symbol keyword(const Token& word) { return word.escaped ? Symbol{kwNone} : word.symbol; }
  bool accept(Tok kind);
  bool accept_word(Symbol word);
  void expect(Tok kind, const char* where);
  std::string_view text(const Token& token) const {
    return text_.substr(token.begin, token.end - token.begin);
  }
  std::string_view name_of(Symbol symbol) const { return symbols_[symbol].view(); }
  Span span(const Token& token) const {
    return source_->span(token.begin, token.end - token.begin);
  }
  /// From byte `begin` to the end of the last token taken.
  Span span_from(size_t begin) const {
    return source_->span(begin, last_end_ > begin ? last_end_ - begin : 0);
  }

  void mark(size_t at, Mark mark) {
    if (marks_ != nullptr) marks_->set(at, mark);
  }

  // ---- Diagnostics (parser.cpp) ----
  void report(Diagnostic diagnostic);
  void error(Span span, std::string message) {
    report(Diagnostic::error(std::move(message), span));
  }
  [[noreturn]] void fail(Span span, std::string message);
  [[noreturn]] void fail_expected(const std::string& what);
  [[noreturn]] void fatal(Span span, std::string message);
  std::string describe(const Token& token) const;
  /// Runs `f`; reports an `Error` that it throws at `span`, as a SyntaxError.
  template <class F>
  decltype(auto) guarded(Span span, F&& f);
  [[noreturn]] void rethrow(const Error& error, Span span);
  /// Skips to after the next `;`, or up to the `}` that ends this block or the next definition.
  /// True if the block goes on.
  bool recover_in_block();
  void recover_to_definition();
  bool at_definition();

  /// While it lives, invalid tokens are reported and skipped.
  class Skipping {
   public:
    explicit Skipping(Parser& parser) : parser_(parser), outer_(parser.skipping_) {
      parser.skipping_ = true;
    }
    ~Skipping() { parser_.skipping_ = outer_; }

   private:
    Parser& parser_;
    bool outer_;
  };
  /// Counts nesting; ends the parse beyond kMaxParseDepth.
  class Nesting {
   public:
    explicit Nesting(Parser& parser) : parser_(parser) {
      if (++parser.depth_ > kMaxParseDepth) parser.too_deep();
    }
    ~Nesting() { --parser_.depth_; }
    Nesting(const Nesting&) = delete;

   private:
    Parser& parser_;
  };
  [[noreturn]] void too_deep();
  /// An opening bracket at the current token: takes it and counts nesting; inside, line starts do
  /// not matter.
  class Bracket {
   public:
    explicit Bracket(Parser& parser, bool block = false)
        : nesting_(parser), parser_(parser), outer_(parser.in_block_) {
      parser.advance();
      parser.in_block_ = block;
    }
    ~Bracket() { parser_.in_block_ = outer_; }

   private:
    Nesting nesting_;
    Parser& parser_;
    bool outer_;
  };
  /// The expressions of a list that is being read: those on the stack `args_` from here on.
  class ArgScope {
   public:
    explicit ArgScope(Parser& parser) : args_(parser.args_), mark_(args_.size()) {}
    ~ArgScope() { args_.resize(mark_); }
    ArgScope(const ArgScope&) = delete;
    std::span<const ExprRef> get() const { return std::span(args_).subspan(mark_); }

   private:
    std::vector<ExprRef>& args_;
    size_t mark_;
  };

  // ---- Definitions ----
  struct DataHead {
    Symbol name = 0;
    bool is_extern = false;
    bool failed = false;
    bool elsewhere = false;  // defined outside the text
    bool quoted = false;     // the name was declared in quotes
    size_t begin = 0;        // of the definition
    size_t body = 0;         // position of `{`
    size_t end = 0;          // after the definition
    Span span;
    std::vector<TypeVarRef> type_vars;
    std::vector<Symbol> type_symbols;
    std::vector<bool> type_quoted;  // as TypeName::quoted
  };
  void scan_data_definitions();
  void parse_data_head(DataHead& head);
  void parse_data_body(const DataHead& head, Module& module);
  bool parse_fields(const DataHead& head, std::vector<TypeRef>& types);
  void suggest_type_parameter(const DataHead& head);
  void lose_constructors(const DataHead& head);
  ConstructorRef parse_constructor(const DataHead& head, const GlobalTypeVarRef& type,
                                   uint32_t tag);
  void parse_version();
  bool accept_old_version();

  // ---- Imports ----
  void parse_imports(Module& module);
  void know_definitions(const Module& other);
  void parse_definition(Module& module);
  void parse_items_of_module(Module& module);
  void end_definition();
  void add_main(Module& module, ExprRef expr, Span span);
  void check_globals();
  void settle_candidates(const Effects& effects, std::vector<ExprRef>& roots);
  void settle_candidates(Module& module);

  // ---- Scopes ----
  struct Local {
    ExprRef expr;
    Symbol symbol = 0;
    int32_t outer = -1;  // binding that this one hides
    uint32_t block = 0;
    bool graph = false;
    bool binder = true;  // the expression is a variable that is bound here
    Span span;
  };
  struct TypeName {
    TypeVarRef var;
    Symbol symbol = 0;
    int32_t outer = -1;
    bool flexible = false;  // mentioned by let annotations only
    bool quoted = false;    // declared in quotes: without them, an element type keeps its meaning
  };
  /// A block: names bound inside end with it; its graph names stay known until the definition ends.
  class BlockScope {
   public:
    explicit BlockScope(Parser& parser)
        : parser_(parser), mark_(parser.locals_.size()), outer_block_(parser.block_) {
      parser.block_ = ++parser.last_block_;
    }
    ~BlockScope() {
      parser_.close_locals(mark_);
      parser_.block_ = outer_block_;
    }
    BlockScope(const BlockScope&) = delete;

   private:
    Parser& parser_;
    size_t mark_;
    uint32_t outer_block_;
  };
  class TypeScope {
   public:
    explicit TypeScope(Parser& parser) : parser_(parser), mark_(parser.type_names_.size()) {}
    ~TypeScope() { parser_.close_type_names(mark_); }
    TypeScope(const TypeScope&) = delete;

   private:
    Parser& parser_;
    size_t mark_;
  };
  void bind_var(Symbol symbol, VarRef var, Span span) {
    bind_local({std::move(var), symbol, -1, block_, false, true, span});
  }
  void bind_local(Local local);
  void close_locals(size_t mark);
  void bind_type_name(Symbol symbol, TypeVarRef var, bool flexible = false, bool quoted = false);
  void close_type_names(size_t mark);
  const TypeName* find_type_name(Symbol symbol) const;
  /// The meaning of a word where an element type may stand.
  const TypeName* find_type_name(const Token& word) const;
  int32_t find_constructor(const Token& word);
  ExprRef use_local(const Token& token);
  ExprRef find_local(Symbol symbol, const Token& use);
  void check_in_scope(const ExprRef& node, Symbol symbol, Span span);
  void report_out_of_scope(Symbol symbol, const Var* var, Span span);
  ExprRef placeholder(Span span) const;

  // ---- Types ----
  enum class DimNames : uint8_t { kLocal, kSignature, kForbidden };
  TypeRef parse_type();
  TypeRef parse_function_type();
  TypeRef parse_named_type();
  TypeRef parse_tensor_type();
  TypeRef parse_shape();
  TypeRef parse_dtype_argument();
  /// The element type of a name. In texts with a version, as TVM wrote them, `float`, `int` and
  /// `uint` have 32 bits.
  std::optional<DType> dtype_named(std::string_view name) const;
  TypeRef parse_parameter_of_kind(Kind kind);
  Dim parse_dim();
  Dim parse_dim_term();
  Dim parse_dim_atom();
  Dim named_dim(const Token& name);
  std::vector<TypeRef> parse_relation_args(const Relation* relation);
  std::vector<TypeRef> parse_type_list(Tok close, bool* trailing_comma = nullptr);
  std::vector<TypeVarRef> parse_type_params();
  Kind parse_kind();
  std::vector<RelationTypeRef> parse_where();
  [[noreturn]] void fail_unknown_type(const Token& name);

  // ---- Functions ----
  FunctionRef parse_function(size_t begin);
  static void add_implicit(std::vector<TypeVarRef>& type_params, std::vector<TypeVarRef> implicit,
                           const std::vector<VarRef>& params, const TypeRef& result);
  /// The places of a function's parameters and of its result, if the text has it.
  struct Places {
    std::vector<std::optional<Device>> params;
    std::optional<Device> result;
  };
  void parse_params(std::vector<VarRef>& params, std::vector<Token>& names, AttrsRef& attrs,
                    Places& places);
  std::optional<Device> parse_virtual_device();
  static ExprRef placed(ExprRef value, const Type* type, std::optional<Device> device);
  void bind_param(Symbol symbol, const VarRef& var, std::optional<Device> device, Span span);

  // ---- Blocks ----
  struct Item {
    VarRef var;
    ExprRef value;
    Span span;
  };
  enum class Ends : uint8_t { kBrace, kParen, kText, kValue };
  ExprRef parse_block();
  ExprRef parse_items(Ends ends, ExprRef first = {}, Span first_span = {});
  bool parse_item(std::vector<Item>& items, ExprRef& result, Ends ends, bool first);
  void parse_let(std::vector<Item>& items);
  void parse_let_of_global(std::vector<Item>& items);
  void parse_graph_binding(std::vector<Item>& items);
  void parse_free_var();
  /// A pattern of names on the left of a let; the projections are added after the value is known.
  struct LetPattern {
    Token name;
    TypeRef type;
    std::vector<LetPattern> fields;
    bool tuple = false;
    Span span;
  };
  LetPattern parse_let_pattern();
  void bind_let_pattern(const LetPattern& pattern, ExprRef value, Span span,
                        std::vector<Item>& items);
  ExprRef parse_value(bool names = false);
  bool at_block_end(Ends ends) const;

  // ---- Expressions ----
  ExprRef parse_expr() { return parse_binary(1); }
  ExprRef parse_binary(int min_precedence);
  ExprRef parse_unary();
  ExprRef parse_postfix(ExprRef expr, size_t begin, bool literal);
  ExprRef parse_primary(bool& literal);
  ExprRef parse_word(bool& literal);
  ExprRef parse_paren();
  ExprRef parse_if();
  ExprRef parse_reference_operation();
  ExprRef parse_named_callee(const Token& word);
  ExprRef call_operator(const char* name, Span op_span, std::initializer_list<ExprRef> args,
                        size_t begin);

  // ---- Calls and attributes ----
  struct OpEntry {
    const Operator* op = nullptr;
    ExprRef node;
    AttrsRef defaults;  // when they can be made without any attribute
  };
  OpEntry* find_operator(Symbol symbol);
  ExprRef parse_call(ExprRef callee, size_t begin, std::vector<TypeRef> type_args);
  struct CallAttrs {
    std::vector<NamedAttr> named;
    std::string metadata_key;
    uint64_t metadata_index = 0;
    Span span;
    bool failed = false;  // reported
    bool any() const { return !named.empty() || !metadata_key.empty(); }
  };
  AttrsRef attrs_of_call(const Expr* callee, CallAttrs& attrs, size_t entry, Span where);
  AttrsRef make_call_attrs(const Expr* callee, CallAttrs& attrs, Span span);
  AttrValue parse_attr_value();
  AttrValue parse_attr_list(Tok close);
  bool at_dictionary();
  AttrValue parse_dictionary();
  std::string parse_dictionary_key();
  bool looks_like_type_args();
  struct MetaRef {
    std::string key;
    uint64_t index = 0;
    Span span;
  };
  MetaRef parse_meta_ref();
  ExprRef meta_expr(const MetaRef& ref);
  Metadata& metadata(Span span);
  size_t find_metadata() const;

  // ---- Literals ----
  struct Number {
    bool is_float = false;
    uint64_t magnitude = 0;
    std::string_view digits;  // without suffix
    DType dtype;              // of the suffix
  };
  Number read_number(const Token& token);
  bool is_special_float(std::string_view word, DType& dtype) const;
  ExprRef parse_number(bool negative, size_t begin);
  /// A number in a constant; its value is known with the element type.
  struct Element {
    Token token;
    Number number;
    bool negative = false;
    bool special = false;  // inf, nan
    Span span;
  };
  Element parse_element();
  void parse_elements(std::vector<Element>& elements, Shape& extents, size_t depth);
  NDArray element_as(DType dtype, const Element& element);
  ExprRef parse_constant(size_t begin);
  ExprRef parse_dimension_value(size_t begin);
  /// A scalar of `dtype`, checked to be in range.
  NDArray number_as(DType dtype, const Number& number, bool negative, Span span);
  NDArray special_float(std::string_view word, DType dtype, bool negative) const;
  std::string parse_string();

  // ---- Match ----
  ExprRef parse_match();
  void parse_clause(std::vector<PatternRef>& patterns, std::vector<ExprRef>& bodies);
  PatternRef parse_number_pattern();
  PatternRef parse_pattern(std::vector<Token>& names, std::vector<VarRef>& vars,
                           uint32_t depth = 0);

  // ---- Ways of other languages (foreign.cpp) ----
  /// A name without `%` where one with it is bound: reported, and taken as if it had it. False if
  /// there is none.
  bool accept_bare_local(const char* wanted);
  /// `let mut %x`: the word is reported and left out.
  void skip_let_word();
  /// A word that is a local name without `%`; null if no local has the name.
  ExprRef use_bare_local(const Token& word);
  /// At `fn @main`: reported, and read as `def @main`. False elsewhere.
  bool accept_foreign_definition();
  /// `@f(%x: …) {` where a definition may stand: reports the missing def.
  bool accept_missing_def();
  /// At `var %x =`: reported, and read as `let %x =`. False elsewhere.
  bool accept_foreign_let();
  /// At `import prelude`: the file that is meant. False elsewhere.
  bool accept_bare_import();
  /// The value of a word that other languages have; null for other words.
  ExprRef parse_foreign_word(const Token& word);
  /// The error for a word that is called and has no meaning; none if an earlier one has its cause.
  std::optional<Diagnostic> unknown_callee(const Token& word);
  /// `if %x {`, `match %x {`: reported, and read as if the value stood in parentheses.
  ExprRef parse_bare_condition(std::string_view word, std::string_view what);
  [[noreturn]] void fail_missing_else();
  /// `[…]` after a value, or as a value: reported and left out.
  void skip_foreign_index(size_t begin);
  ExprRef skip_foreign_list();
  /// `transpose(%x, [1, 0])`: reported, and taken as the attribute. False elsewhere.
  bool accept_list_by_position(const Expr* callee, CallAttrs& attrs);
  void skip_brackets();
  /// `%x.T`, `%x.reshape`: the operator that does this.
  void explain_method(Diagnostic& diagnostic, std::string_view value, std::string_view method);
  /// `and`, `or`, `**`: reported, and read as the infix that is meant.
  Infix foreign_infix();
  /// Text in single quotes: reported, and read as a string. False for other mistakes.
  bool accept_single_quotes(const Token& bad);
  static void explain_token(Diagnostic& diagnostic, std::string_view rest);
  /// The element type that a foreign name means, as a help; false if it is no such name.
  bool suggest_dtype(Diagnostic& diagnostic, const Token& name) const;
  /// Adds the file of the standard library that defines an unknown name, if there is one. False if
  /// an error before this one asks for the same import: then there is nothing to report.
  enum class Defined { kFunction, kConstructor, kType };
  bool suggest_import(Diagnostic& diagnostic, std::string_view name, Defined what);
  /// A name that was unknown, if it is bound further down.
  void note_late_binding(const Local& local);

  friend class Skipping;
  friend class Nesting;
  friend class Bracket;
  friend class ArgScope;
  friend class BlockScope;
  friend class TypeScope;

  std::shared_ptr<const Source> source_;
  SyntaxMarks* marks_ = nullptr;
  std::string_view text_;
  SymbolTable symbols_;
  Lexer lexer_;
  Token tok_;
  Token ahead_[3];
  size_t num_ahead_ = 0;
  size_t last_end_ = 0;
  int depth_ = 0;
  bool in_block_ = true;   // directly inside `{ }` or at top level
  bool skipping_ = false;  // skips to the place where parsing goes on
  bool has_version_ = false;
  bool keep_known_ = false;
  bool acts_ = false;  // the text may contain references or impure operators
  DimNames dim_names_ = DimNames::kLocal;
  std::vector<TypeVarRef>* implicit_ = nullptr;  // of the function whose signature is being read

  static constexpr uint8_t kRefEffect = 1;
  static constexpr uint8_t kCallEffect = 2;
  uint8_t effects_ = 0;  // the effects of the expression so far, outside nested functions
  // Lets that are graph nodes if their calls prove pure, in the order of the text.
  std::vector<VarRef> candidates_;
  std::unordered_map<const Var*, ExprRef> candidate_values_;
  struct LateUse {
    VarRef var;
    Symbol symbol;
    Span span;
  };
  std::vector<LateUse> late_uses_;  // of them outside the let's scope: right only if it is a node

  std::vector<Local> locals_;
  std::vector<VarRef> binders_;  // the variables among them that are bound there
  std::vector<Local> closed_;
  std::unordered_map<const Expr*, VarRef> verified_;
  std::vector<ExprRef> verified_roots_;  // keep the nodes alive
  uint32_t block_ = 0;
  uint32_t last_block_ = 0;
  std::vector<TypeName> type_names_;
  std::vector<VarRef> free_vars_;
  std::vector<TypeVarRef> free_dims_;  // dimension names in their types

  size_t imports_end_ = 0;  // of the import lines at the beginning
  std::vector<DataHead> data_;
  std::unordered_map<Symbol, size_t> data_index_;
  std::vector<std::pair<ConstructorRef, Span>> constructors_;
  std::unordered_map<Symbol, Span> globals_;
  std::vector<std::pair<Symbol, Span>> global_uses_;

  std::vector<OpEntry> ops_;
  size_t last_op_ = 0;  // the operator named last
  std::vector<ExprRef> args_;
  std::unique_ptr<Metadata, MetadataDelete> metadata_;
  std::unordered_map<uint64_t, ExprRef> meta_constants_;

  std::unordered_set<Symbol> foreign_names_;              // reported
  std::unordered_set<std::string_view> missing_imports_;  // reported
  std::unordered_set<Symbol> lost_constructors_;          // of data types with mistakes
  std::unordered_set<Symbol> unknown_types_;  // that fields of the data type have, and are reported
  std::unordered_map<Symbol, size_t> bare_;   // locals without a sigil, and where that is reported
  std::unordered_map<Symbol, size_t> bare_globals_;
  struct UnknownLocal {
    size_t diagnostic;
    uint32_t block;  // of the use
  };
  std::unordered_map<Symbol, UnknownLocal> unknown_locals_;
  std::vector<Diagnostic> diagnostics_;
  size_t num_errors_ = 0;
  size_t attribute_errors_ = 0;  // counted among them: the program can be checked nevertheless
};

template <class F>
decltype(auto) Parser::guarded(Span span, F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    rethrow(error, span);
  }
}

}  // namespace relay::parsing
