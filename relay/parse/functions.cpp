// Functions: type parameters, parameters, attributes, result, constraints, body.
#include <algorithm>

#include <relay/parse/parser.h>

namespace relay::parsing {

// `{virtual_device=…}` after a name: TVM's placement, which is inferred anew.
void Parser::skip_virtual_device() {
  if (!at(Tok::kLBrace) || !peek(1).is(Tok::kIdent) || !peek(2).is(Tok::kAssign)) return;
  Bracket bracket(*this);
  while (!at(Tok::kRBrace)) {
    if (!at(Tok::kIdent)) fail_expected("an attribute of the variable");
    advance();
    expect(Tok::kAssign, "after the name of the attribute");
    parse_attr_value();
    if (!accept(Tok::kComma)) break;
  }
  expect(Tok::kRBrace, "after the attributes of the variable");
}

void Parser::parse_params(std::vector<VarRef>& params, std::vector<Token>& names, AttrsRef& attrs) {
  if (!at(Tok::kLParen)) fail_expected("'(' before the parameters");
  std::map<Name, AttrValue> values;
  Bracket bracket(*this);
  while (!at(Tok::kRParen)) {
    Token name = tok_;
    if (at(Tok::kLocal)) {
      advance();
      skip_virtual_device();
      TypeRef type;
      if (accept(Tok::kColon)) type = parse_type();
      for (const Token& other : names) {
        if (other.symbol != name.symbol || names.size() > 10000) continue;
        report(Diagnostic::error(
                   "parameter %" + std::string(name_of(name.symbol)) + " is declared twice",
                   span(name))
                   .note("declared here before", span(other)));
      }
      params.push_back(make_var(Name(name_of(name.symbol)), std::move(type), span(name)));
      names.push_back(name);
    } else if (at(Tok::kIdent) && peek().is(Tok::kAssign)) {
      advance();
      advance();
      AttrValue value = parse_attr_value();
      if (name_of(name.symbol) != "virtual_device" &&
          !values.emplace(Name(name_of(name.symbol)), std::move(value)).second) {
        error(span(name), "attribute " + std::string(name_of(name.symbol)) + " is given twice");
      }
    } else {
      fail_expected("a parameter such as %x or an attribute");
    }
    if (!accept(Tok::kComma)) break;
  }
  expect(Tok::kRParen, "after the parameters");
  if (!values.empty()) attrs = make_dict_attrs(std::move(values));
}

// By name: where a dimension is met first depends on how a term is written, and `n + m` may print
// as `m + n`. Names that cancelled out (`n - n`) are left out.
void Parser::add_implicit(std::vector<TypeVarRef>& type_params, std::vector<TypeVarRef> implicit,
                          const std::vector<VarRef>& params, const TypeRef& result) {
  if (implicit.empty()) return;
  std::unordered_set<const TypeVar*> used;
  auto note = [&](const TypeRef& type) {
    if (!type) return;
    for (const TypeVarRef& var : free_type_vars(type)) used.insert(var.get());
  };
  for (const VarRef& param : params) note(param->annotation());
  note(result);
  std::erase_if(implicit, [&](const TypeVarRef& var) { return !used.contains(var.get()); });
  std::sort(implicit.begin(), implicit.end(),
            [](const TypeVarRef& a, const TypeVarRef& b) { return a->name() < b->name(); });
  type_params.insert(type_params.end(), implicit.begin(), implicit.end());
}

FunctionRef Parser::parse_function(size_t begin) {
  Nesting nesting(*this);
  TypeScope type_scope(*this);
  BlockScope block(*this);
  std::vector<TypeVarRef> type_params = parse_type_params();
  std::vector<TypeVarRef> implicit;
  std::vector<VarRef> params;
  std::vector<Token> names;
  AttrsRef attrs;
  TypeRef result;
  std::vector<RelationTypeRef> constraints;
  struct Outer {
    Parser& parser;
    DimNames names;
    std::vector<TypeVarRef>* implicit;
    uint8_t effects;
    ~Outer() {
      parser.dim_names_ = names;
      parser.implicit_ = implicit;
      parser.effects_ = effects;  // what the body does happens at a call
    }
  } outer{*this, dim_names_, implicit_, effects_};
  dim_names_ = DimNames::kSignature;
  implicit_ = &implicit;
  parse_params(params, names, attrs);
  if (accept(Tok::kArrow)) result = parse_type();
  constraints = parse_where();
  dim_names_ = DimNames::kLocal;
  implicit_ = nullptr;
  for (size_t i = 0; i < params.size(); ++i) bind_var(names[i].symbol, params[i], span(names[i]));
  if (!at(Tok::kLBrace)) fail_expected("'{' before the function's body");
  ExprRef body = parse_block();
  add_implicit(type_params, std::move(implicit), params, result);
  return make_function(std::move(params), std::move(body), std::move(result),
                       std::move(type_params), std::move(constraints), std::move(attrs),
                       span_from(begin));
}

}  // namespace relay::parsing
