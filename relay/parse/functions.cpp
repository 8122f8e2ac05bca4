// Functions: type parameters, parameters, attributes, result, constraints, body.
#include <algorithm>

#include <relay/ir/tensor_types.h>
#include <relay/op/registry/columns.h>
#include <relay/parse/parser.h>

namespace relay::parsing {

// `{virtual_device=…}` after a name: the device of a variable, as TVM writes it.
std::optional<Device> Parser::parse_virtual_device() {
  std::optional<Device> device;
  if (!at(Tok::kLBrace) || !peek(1).is(Tok::kIdent) || !peek(2).is(Tok::kAssign)) return device;
  Bracket bracket(*this);
  while (!at(Tok::kRBrace)) {
    if (!at(Tok::kIdent)) fail_expected("an attribute of the variable");
    bool placed = name_of(tok_.symbol) == "virtual_device";
    advance();
    expect(Tok::kAssign, "after the name of the attribute");
    size_t begin = tok_.begin;
    AttrValue value = parse_attr_value();
    Span where = span_from(begin);
    if (placed) device = guarded(where, [&] { return device_attribute(value); });
    if (!accept(Tok::kComma)) break;
  }
  expect(Tok::kRBrace, "after the attributes of the variable");
  return device;
}

namespace {
// True if a value with this annotation can be placed on a device.
bool can_be_placed(const Type* type) {
  return type == nullptr || is_tuple_of_tensors(type) ||
         (type->is<TensorType>() && !is_number_type(type));
}
}  // namespace

// The value on a device, if one is given. Devices of data and functions are only inferred.
ExprRef Parser::placed(ExprRef value, const Type* type, std::optional<Device> device) {
  return device && can_be_placed(type) ? make_on_device(value, *device) : value;
}

// Every use of a parameter with a device is an `on_device` of it.
void Parser::bind_param(Symbol symbol, const VarRef& var, std::optional<Device> device, Span span) {
  bind_var(symbol, var, span);
  ExprRef value = placed(var, var->annotation().get(), device);
  if (value != var) bind_local({std::move(value), symbol, -1, block_, false, false, span});
}

void Parser::parse_params(std::vector<VarRef>& params, std::vector<Token>& names, AttrsRef& attrs,
                          Places& places) {
  if (!at(Tok::kLParen)) fail_expected("'(' before the parameters");
  std::map<Name, AttrValue> values;
  Bracket bracket(*this);
  while (!at(Tok::kRParen)) {
    if (at(Tok::kIdent) && !peek().is(Tok::kAssign))
      accept_bare_local("a parameter such as %x or an attribute");
    Token name = tok_;
    if (at(Tok::kLocal)) {
      advance();
      places.params.push_back(parse_virtual_device());
      TypeRef type;
      if (accept(Tok::kColon)) type = parse_type();
      for (const Token& other : names) {
        if (other.symbol != name.symbol || names.size() > 10000) continue;
        report(Diagnostic::error(
                   "parameter %" + std::string(name_of(name.symbol)) + " is declared twice",
                   span(name))
                   .note("first declared here", span(other))
                   .of_rule("N4"));
      }
      params.push_back(make_var(Name(name_of(name.symbol)), std::move(type), span(name)));
      names.push_back(name);
    } else if (at_named_value()) {
      name = tok_;
      advance();
      advance();
      size_t begin = tok_.begin;
      AttrValue value = parse_attr_value();
      Span where = span_from(begin);
      if (!name.escaped && name_of(name.symbol) == "virtual_device") {
        places.result = guarded(where, [&] { return device_attribute(value); });
      } else if (!values.emplace(Name(name_of(name.symbol)), std::move(value)).second) {
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
  Places places;
  parse_params(params, names, attrs, places);
  if (at(Tok::kColon)) {
    report(Diagnostic::error("expected '{' before the function's body, found ':'", span(tok_))
               .help("the type of a result stands after ->")
               .fix(span(tok_), " ->")
               .of_rule("S3"));
    tok_.kind = Tok::kArrow;
  }
  if (accept(Tok::kArrow)) result = parse_type();
  constraints = parse_where();
  dim_names_ = DimNames::kLocal;
  implicit_ = nullptr;
  for (size_t i = 0; i < params.size(); ++i)
    bind_param(names[i].symbol, params[i], places.params[i], span(names[i]));
  if (!at(Tok::kLBrace)) fail_expected("'{' before the function's body");
  ExprRef body = parse_block();
  body = placed(std::move(body), result.get(), places.result);
  add_implicit(type_params, std::move(implicit), params, result);
  return make_function(std::move(params), std::move(body), std::move(result),
                       std::move(type_params), std::move(constraints), std::move(attrs),
                       span_from(begin));
}

}  // namespace relay::parsing
