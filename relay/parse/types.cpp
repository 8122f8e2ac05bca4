// Types, shapes, dimensions, kinds.
#include <charconv>

#include <relay/parse/parser.h>

namespace relay::parsing {
namespace {

std::string list_kinds() {
  return "Type, Shape, BaseType, ShapeVar, Constraint, AdtHandle or TypeData";
}

}  // namespace

TypeRef Parser::parse_type() {
  size_t begin = tok_.begin;
  switch (tok_.kind) {
    case Tok::kLParen: {
      Bracket bracket(*this);
      bool trailing_comma = false;
      std::vector<TypeRef> fields = parse_type_list(Tok::kRParen, &trailing_comma);
      expect(Tok::kRParen, "at the end of the tuple type");
      if (fields.size() == 1 && !trailing_comma && !has_version_) return fields[0];
      return guarded(span_from(begin), [&] { return TupleType::make(std::move(fields)); });
    }
    case Tok::kString:
      make_name(tok_);
      return parse_named_type();
    case Tok::kIdent:
      return parse_named_type();
    default:
      fail_expected("a type");
  }
}

std::vector<TypeRef> Parser::parse_type_list(Tok close, bool* trailing_comma) {
  std::vector<TypeRef> types;
  while (!at(close)) {
    types.push_back(parse_type());
    bool comma = accept(Tok::kComma);
    if (trailing_comma != nullptr) *trailing_comma = comma;
    if (!comma) break;
  }
  return types;
}

TypeRef Parser::parse_named_type() {
  Token name = tok_;
  switch (keyword(name)) {
    case kwUnderscore:
      advance();
      return IncompleteType::hole();
    case kwFn:
    case kwFun:
      return parse_function_type();
    case kwTensor:
      if (peek().is(Tok::kLBracket)) return parse_tensor_type();
      break;
    case kwRef:
      if (peek().is(Tok::kLParen)) {
        advance();
        Bracket bracket(*this);
        TypeRef inner = parse_type();
        expect(Tok::kRParen, "after the type of the reference");
        return guarded(span_from(name.begin), [&] { return RefType::make(std::move(inner)); });
      }
      break;
    default:
      break;
  }
  advance();
  if (const TypeName* parameter = find_type_name(name);
      parameter != nullptr && !parameter->flexible) {
    const TypeVarRef& var = parameter->var;
    if (at(Tok::kLBracket) && !tok_.line_start) {
      fail(span(name),
           std::string(name_of(name.symbol)) + " is a type parameter and takes no arguments");
    }
    if (var->kind() == Kind::kType) return var;
    error(span(name), std::string(name_of(name.symbol)) + " has kind " +
                          std::string(kind_name(var->kind())) + " where Type is needed");
    return IncompleteType::hole();
  }
  auto data = data_index_.find(name.symbol);
  const bool known = data != data_index_.end();
  if (!known || (data_[data->second].quoted && !name.escaped)) {
    if (std::optional<DType> dtype = dtype_named(name_of(name.symbol)))
      return TensorType::scalar(*dtype);
    if (!known) fail_unknown_type(name);
  }
  std::vector<TypeRef> args;
  const DataHead& head = data_[data->second];
  if (at(Tok::kLBracket)) {
    Bracket bracket(*this);
    // An argument may be of another kind than Type, if the parameter has one.
    while (!at(Tok::kRBracket)) {
      Kind kind =
          args.size() < head.type_vars.size() ? head.type_vars[args.size()]->kind() : Kind::kType;
      args.push_back(parse_parameter_of_kind(kind));
      if (!accept(Tok::kComma)) break;
    }
    expect(Tok::kRBracket, "after the arguments of the type");
  }
  if (args.size() != head.type_vars.size() && !head.failed) {
    std::string expected = std::to_string(head.type_vars.size());
    report(Diagnostic::error("type " + std::string(name_of(name.symbol)) + " takes " + expected +
                                 (head.type_vars.size() == 1 ? " argument" : " arguments") +
                                 ", found " + std::to_string(args.size()),
                             span_from(name.begin))
               .note("defined here", head.span));
    return IncompleteType::hole();
  }
  return guarded(span_from(name.begin), [&] {
    return TypeCall::make(GlobalTypeVar::make(Name(name_of(name.symbol))), std::move(args));
  });
}

void Parser::fail_unknown_type(const Token& name) {
  // Known words with something else behind them than their form has.
  constexpr std::pair<std::string_view, std::string_view> kForms[] = {
      {"ref", "ref(T)"}, {"Tensor", "Tensor[(2, n), float32]"}, {"fn", "fn (S) -> T"}};
  // One name that a data type does not know is one mistake, in however many fields.
  if (dim_names_ == DimNames::kForbidden && !unknown_types_.insert(name.symbol).second)
    throw SyntaxError();
  for (const auto& [word, form] : kForms) {
    if (name_of(name.symbol) != word) continue;
    report(Diagnostic::error("a type " + std::string(word) + " is written " + std::string(form),
                             span(name))
               .of_rule("N5"));
    throw SyntaxError();
  }
  auto diagnostic =
      Diagnostic::error("unknown type " + std::string(name_of(name.symbol)), span(name))
          .of_rule("N5");
  if (suggest_dtype(diagnostic, name)) {
    report(std::move(diagnostic));
    throw SyntaxError();
  }
  std::vector<std::string> candidates{"Tensor", "fn", "ref"};
  for (const DataHead& head : data_) candidates.emplace_back(name_of(head.name));
  for (const TypeName& type : type_names_) candidates.emplace_back(name_of(type.symbol));
  for (DType dtype : kAllDTypes) candidates.emplace_back(dtype.name());
  suggest(diagnostic, std::string(name_of(name.symbol)), candidates);
  if (suggest_import(diagnostic, name_of(name.symbol), Defined::kType))
    report(std::move(diagnostic));
  throw SyntaxError();
}

TypeRef Parser::parse_parameter_of_kind(Kind kind) {
  switch (kind) {
    case Kind::kShape:
      return parse_shape();
    case Kind::kBaseType:
      return parse_dtype_argument();
    case Kind::kShapeVar: {
      Span where = span(tok_);
      Dim dim = parse_dim();
      return guarded(where, [&] { return DimType::make(dim); });
    }
    default:
      return parse_type();
  }
}

TypeRef Parser::parse_function_type() {
  Nesting nesting(*this);
  size_t begin = tok_.begin;
  advance();
  TypeScope scope(*this);
  std::vector<TypeVarRef> type_params = parse_type_params();
  std::vector<TypeRef> params;
  if (!at(Tok::kLParen)) fail_expected("'(' of the function type");
  {
    Bracket bracket(*this);
    params = parse_type_list(Tok::kRParen);
    expect(Tok::kRParen, "after the parameter types");
  }
  expect(Tok::kArrow, "before the result type");
  TypeRef result = parse_type();
  std::vector<RelationTypeRef> constraints;
  // A `where` after an annotation in a function's head is the function's, unless this type binds.
  if (!type_params.empty()) constraints = parse_where();
  return guarded(span_from(begin), [&] {
    return FuncType::make(std::move(params), std::move(result), std::move(type_params),
                          std::move(constraints));
  });
}

TypeRef Parser::parse_tensor_type() {
  size_t begin = tok_.begin;
  advance();
  Bracket bracket(*this);
  TypeRef shape = parse_shape();
  expect(Tok::kComma, "between shape and element type");
  TypeRef dtype = parse_dtype_argument();
  accept(Tok::kComma);
  expect(Tok::kRBracket, "after the element type");
  return guarded(span_from(begin),
                 [&] { return TensorType::make(std::move(shape), std::move(dtype)); });
}

TypeRef Parser::parse_shape() {
  if (at_name()) {
    Token name = tok_;
    advance();
    if (name.is_word(kwUnderscore)) return IncompleteType::make(0, Kind::kShape);
    if (const TypeName* type = find_type_name(name.symbol); type != nullptr && !type->flexible) {
      if (type->var->kind() == Kind::kShape) return type->var;
      error(span(name), std::string(name_of(name.symbol)) + " has kind " +
                            std::string(kind_name(type->var->kind())) + " where Shape is needed");
      return IncompleteType::make(0, Kind::kShape);
    }
    auto diagnostic =
        Diagnostic::error("unknown shape " + std::string(name_of(name.symbol)), span(name));
    diagnostic.help("a shape is written (2, 3), or is a type parameter of kind Shape");
    report(std::move(diagnostic));
    return IncompleteType::make(0, Kind::kShape);
  }
  const bool square = at(Tok::kLBracket);
  if (!at(Tok::kLParen) && !square) fail_expected("a shape such as (2, 3)");
  size_t begin = tok_.begin;
  const size_t reported = diagnostics_.size();
  if (square) {
    report(Diagnostic::error("expected a shape such as (2, 3), found '['", span(tok_))
               .fix(span(tok_), "(")
               .of_rule("S3"));
  }
  Bracket bracket(*this);
  std::vector<Dim> dims;
  const Tok close = square ? Tok::kRBracket : Tok::kRParen;
  while (!at(close)) {
    Span where = span(tok_);
    Dim dim = parse_dim();
    if (dim.is_int() && dim.as_int() < 0)
      error(where, "a dimension cannot be negative: " + dim.str());
    dims.push_back(dim);
    if (!accept(Tok::kComma)) break;
  }
  if (square) diagnostics_[reported].fix(span(tok_), ")");
  expect(close, "at the end of the shape");
  return guarded(span_from(begin), [&] { return ShapeType::make(dims); });
}

std::optional<DType> Parser::dtype_named(std::string_view name) const {
  std::optional<DType> dtype = DType::parse(name);
  if (dtype || !has_version_) return dtype;
  if (name == "float") return kFloat32;
  if (name == "int") return kInt32;
  if (name == "uint") return kUInt32;
  return dtype;
}

TypeRef Parser::parse_dtype_argument() {
  if (!at_name()) fail_expected("an element type");
  Token name = tok_;
  advance();
  if (name.is_word(kwUnderscore)) return IncompleteType::make(0, Kind::kBaseType);
  if (const TypeName* type = find_type_name(name); type != nullptr && !type->flexible) {
    if (type->var->kind() == Kind::kBaseType) return type->var;
    error(span(name), std::string(name_of(name.symbol)) + " has kind " +
                          std::string(kind_name(type->var->kind())) + " where BaseType is needed");
    return IncompleteType::make(0, Kind::kBaseType);
  }
  if (std::optional<DType> dtype = dtype_named(name_of(name.symbol))) return BaseType::make(*dtype);
  auto diagnostic =
      Diagnostic::error("unknown element type " + std::string(name_of(name.symbol)), span(name))
          .of_rule("N5");
  std::vector<std::string> candidates;
  for (DType dtype : kAllDTypes) candidates.emplace_back(dtype.name());
  if (!suggest_dtype(diagnostic, name))
    suggest(diagnostic, std::string(name_of(name.symbol)), candidates);
  report(std::move(diagnostic));
  return IncompleteType::make(0, Kind::kBaseType);
}

// ---- Dimensions ----

Dim Parser::parse_dim() {
  Span where = span(tok_);
  Dim dim = parse_dim_term();
  while (at(Tok::kPlus) || at(Tok::kMinus)) {
    bool plus = at(Tok::kPlus);
    advance();
    Dim right = parse_dim_term();
    dim = guarded(where, [&] { return plus ? dim + right : dim - right; });
  }
  return dim;
}

Dim Parser::parse_dim_term() {
  Span where = span(tok_);
  Dim dim = parse_dim_atom();
  while (accept(Tok::kStar)) {
    Dim right = parse_dim_atom();
    dim = guarded(where, [&] { return dim * right; });
  }
  return dim;
}

Dim Parser::parse_dim_atom() {
  Token token = tok_;
  switch (token.kind) {
    case Tok::kQuestion:
      advance();
      return Dim::any();
    case Tok::kNumber: {
      advance();
      int64_t value = 0;
      std::string_view digits = text(token);
      auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
      if (code == std::errc::result_out_of_range || value >= int64_t{1} << 60) {
        error(span(token), "dimension " + describe(token) + " is too large");
        return Dim(1);
      }
      if (end != digits.data() + digits.size()) {
        error(span(token), "a dimension is an integer without suffix, found " + describe(token));
        return Dim(1);
      }
      return Dim(value);
    }
    case Tok::kMinus: {
      Nesting nesting(*this);
      advance();
      Dim inner = parse_dim_atom();
      return guarded(span(token), [&] { return Dim(0) - inner; });
    }
    case Tok::kLParen: {
      Bracket bracket(*this);
      Dim inner = parse_dim();
      expect(Tok::kRParen, "in the dimension");
      return inner;
    }
    case Tok::kString:
      make_name(token);
      advance();
      return named_dim(token);
    case Tok::kIdent: {
      advance();
      if (!at(Tok::kLParen)) return named_dim(token);
      std::string_view name = name_of(token.symbol);
      Bracket bracket(*this);
      Dim left = parse_dim();
      expect(Tok::kComma, "between the operands");
      Dim right = parse_dim();
      expect(Tok::kRParen, "after the operands");
      return guarded(span_from(token.begin), [&]() -> Dim {
        if (name == "min") return min(left, right);
        if (name == "max") return max(left, right);
        if (name == "floordiv" || name == "floormod" || name == "ceildiv") {
          if (right.is_int() && right.as_int() <= 0)
            throw Error("division of a dimension by " + right.str());
          return name == "floordiv"   ? floor_div(left, right)
                 : name == "floormod" ? floor_mod(left, right)
                                      : ceil_div(left, right);
        }
        if (name == "broadcast") {
          if (std::optional<Dim> both = broadcast(left, right)) return *both;
          throw Error("dimensions " + left.str() + " and " + right.str() + " do not broadcast");
        }
        throw Error("unknown operation " + std::string(name) +
                    " on dimensions; there are min, max, floordiv, floormod, ceildiv, broadcast");
      });
    }
    default:
      fail_expected("a dimension");
  }
}

// A name that nothing declares is a parameter of the function whose signature this is (T13); in an
// annotation inside it is the enclosing one, else flexible.
Dim Parser::named_dim(const Token& name) {
  const TypeName* known = find_type_name(name.symbol);
  if (known != nullptr && !(known->flexible && dim_names_ == DimNames::kSignature)) {
    if (known->var->kind() == Kind::kShapeVar) return Dim::symbol(known->var.get());
    error(span(name), std::string(name_of(name.symbol)) + " has kind " +
                          std::string(kind_name(known->var->kind())) + " where ShapeVar is needed");
    return Dim::any();
  }
  if (name.is_word(kwUnderscore)) {
    error(span(name), "a dimension to infer is written as a name, an unknown one as ?");
    return Dim::any();
  }
  if (dim_names_ == DimNames::kForbidden) {
    error(span(name), "unknown dimension " + std::string(name_of(name.symbol)) +
                          ": the fields of a constructor can only use the type's own parameters");
    return Dim::any();
  }
  TypeVarRef var = TypeVar::make(Name(name_of(name.symbol)), Kind::kShapeVar, true);
  bool signature = dim_names_ == DimNames::kSignature && implicit_ != nullptr;
  bind_type_name(name.symbol, var, !signature, name.escaped);
  if (signature) implicit_->push_back(var);
  return Dim::symbol(var.get());
}

// ---- Type parameters and constraints ----

Kind Parser::parse_kind() {
  if (at(Tok::kIdent)) {
    for (Kind kind : {Kind::kType, Kind::kShape, Kind::kBaseType, Kind::kShapeVar,
                      Kind::kConstraint, Kind::kAdtHandle, Kind::kTypeData}) {
      if (name_of(tok_.symbol) == kind_name(kind)) {
        advance();
        return kind;
      }
    }
  }
  fail_expected("a kind (" + list_kinds() + ")");
}

std::vector<TypeVarRef> Parser::parse_type_params() {
  std::vector<TypeVarRef> params;
  if (!at(Tok::kLess) && !at(Tok::kLBracket)) return params;
  Tok close = at(Tok::kLess) ? Tok::kGreater : Tok::kRBracket;
  if (at(Tok::kLess)) mark(tok_.begin, Mark::kTypeBracket);
  std::vector<Symbol> names;
  Bracket bracket(*this);
  size_t mark = type_names_.size();
  while (!at(close)) {
    if (!at_name()) fail_expected("a type parameter");
    Token name = tok_;
    advance();
    Kind kind = Kind::kType;
    if (accept(Tok::kColon)) kind = parse_kind();
    const TypeName* earlier = find_type_name(name.symbol);
    if (earlier != nullptr && static_cast<size_t>(earlier - type_names_.data()) >= mark) {
      error(span(name),
            "type parameter " + std::string(name_of(name.symbol)) + " is declared twice");
    }
    TypeVarRef var = TypeVar::make(Name(name_of(name.symbol)), kind);
    bind_type_name(name.symbol, var, false, name.escaped);
    params.push_back(std::move(var));
    if (!accept(Tok::kComma)) break;
  }
  expect(close, "after the type parameters");
  return params;
}

// The arguments of a relation: types, or one dtype.
std::vector<TypeRef> Parser::parse_relation_args(const Relation* relation) {
  if (relation != nullptr && relation->form == Relation::Form::kDType && at_name()) {
    const TypeName* parameter = find_type_name(tok_);
    if (parameter != nullptr && parameter->var->kind() == Kind::kBaseType) {
      advance();
      return {parameter->var};
    }
  }
  return parse_type_list(Tok::kRParen);
}

std::vector<RelationTypeRef> Parser::parse_where() {
  std::vector<RelationTypeRef> constraints;
  while (accept_word(kwWhere)) {
    do {
      if (!at(Tok::kIdent)) fail_expected("the name of a relation");
      Token name = tok_;
      Name relation_name(name_of(name.symbol));
      const Relation* relation = find_relation(relation_name);
      if (relation == nullptr) {
        auto diagnostic =
            Diagnostic::error("unknown relation " + relation_name.str(), span(name)).of_rule("N5");
        suggest(diagnostic, relation_name.str(), relation_names());
        report(std::move(diagnostic));
      }
      advance();
      CallAttrs attrs;
      // `{` here begins the attributes of the relation only if a name and `=` follow, else the
      // body.
      if (at(Tok::kLBrace) && (peek(1).is(Tok::kIdent) || peek(1).is(Tok::kString)) &&
          peek(2).is(Tok::kAssign)) {
        Bracket bracket(*this);
        while (!at(Tok::kRBrace)) {
          if (!at_name()) fail_expected("the name of an attribute");
          Token field = tok_;
          advance();
          expect(Tok::kAssign, "after the name of the attribute");
          AttrValue value = parse_attr_value();
          attrs.named.push_back(
              {Name(name_of(field.symbol)), std::move(value), span_from(field.begin)});
          if (!accept(Tok::kComma)) break;
        }
        expect(Tok::kRBrace, "after the attributes of the relation");
      }
      std::vector<TypeRef> args;
      if (at(Tok::kLParen)) {
        Bracket bracket(*this);
        args = parse_relation_args(relation);
        expect(Tok::kRParen, "after the arguments of the relation");
        if (args.empty())
          error(span_from(name.begin), "relation " + relation_name.str() + " needs arguments");
      }
      if (relation == nullptr) continue;
      guarded(span_from(name.begin), [&] {
        const AttrsSchema* schema = relation->attrs;
        if (const Operator* op = find_op(relation_name); op != nullptr && schema == nullptr) {
          schema = op->attrs_schema();
        }
        AttrsRef made;
        if (schema != nullptr) {
          made = Attrs::make(*schema, attrs.named, span_from(name.begin));
        } else if (!attrs.named.empty()) {
          throw Error("relation " + relation_name.str() + " has no attributes");
        }
        int inputs = args.empty() ? 0 : static_cast<int>(args.size()) - 1;
        constraints.push_back(
            RelationType::make(relation, std::move(args), inputs, std::move(made)));
      });
    } while (accept(Tok::kComma));
  }
  return constraints;
}

}  // namespace relay::parsing
