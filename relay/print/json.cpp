#include <relay/print/json.h>

#include <nlohmann/json.hpp>

#include <relay/ir/metadata.h>
#include <relay/ir/type_str.h>
#include <relay/ir/visit.h>
#include <relay/op/op.h>
#include <relay/print/text.h>
#include <relay/support/pointer_map.h>

namespace relay {
namespace {

using Json = nlohmann::json;

class JsonWriter {
 public:
  size_t add(const Expr* root) {
    post_order(root, [&](const Expr* expr) { node(expr); });
    return index(root);
  }

  Json type_data(const TypeData& data) {
    Json json{{"name", data.name()->name().str()}, {"extern", data.is_extern()}};
    json["parameters"] = Json::array();
    for (const TypeVarRef& var : data.type_vars()) json["parameters"].push_back(value(var));
    json["constructors"] = Json::array();
    for (const ConstructorRef& constructor : data.constructors()) {
      json["constructors"].push_back(
          {{"name", constructor->name().str()}, {"inputs", value(constructor->inputs())}});
    }
    return json;
  }

  Json nodes = Json::array();

 private:
  size_t index(const Expr* expr) {
    if (!ids_.contains(expr)) node(expr);
    return *ids_.find(expr);
  }

  void node(const Expr* expr) {
    // Variables may have been met before, as binders; nodes of other functions too.
    auto [id, fresh] = ids_.insert(expr);
    if (!fresh) return;
    *id = nodes.size();
    size_t place = nodes.size();
    nodes.emplace_back();
    Json json{{"kind", expr_kind_name(expr->kind())}};
    visit_node(*expr, [&](const auto& e) { fields(e, json); });
    if (!expr->operands().empty()) {
      Json operands = Json::array();
      for (const ExprRef& operand : expr->operands()) operands.push_back(*ids_.find(operand.get()));
      json["operands"] = std::move(operands);
    }
    if (expr->type() != nullptr) json["type"] = type_str(expr->type(), names_);
    nodes[place] = std::move(json);
  }

#define RELAY_OPERAND(name, index)
#define RELAY_OPERANDS(name, from)
#define RELAY_FIELD(type, name) json[#name] = value(e.name());
#define RELAY_TYPE(name) \
  if (e.name()) json[#name] = value(e.name());
#define RELAY_TYPES(name) json[#name] = value(e.name());
#define RELAY_BINDER(name) json[#name] = index(e.name().get());
#define RELAY_BINDERS(name)    \
  json[#name] = Json::array(); \
  for (const VarRef& var : e.name()) json[#name].push_back(index(var.get()));
#define RELAY_TYPE_PARAMS(name) json[#name] = value(e.name());
#define RELAY_CONSTRAINTS(name) json[#name] = value(e.name());
#define RELAY_PATTERNS(name)   \
  json[#name] = Json::array(); \
  for (const PatternRef& pattern : e.name()) json[#name].push_back(value(pattern));
#define RELAY_NODE(Kind, doc, operands, fields_list) \
  void fields([[maybe_unused]] const Kind& e, [[maybe_unused]] Json& json) { fields_list }
#include <relay/ir/nodes.def>

  static Json value(bool b) { return b; }
  static Json value(uint32_t i) { return i; }
  static Json value(Name name) { return name.str(); }
  static Json value(const Operator* op) { return op->name().str(); }
  static Json value(const std::shared_ptr<const void>&) { return nullptr; }
  static Json value(const LiteralValue& literal) {
    std::string text;
    printing::append_literal(text, literal);
    return text;
  }
  static Json value(const NDArray& array) {
    // Equal elements are written once, as a tensor without shape.
    bool uniform = array.is_uniform();
    return {{"dtype", array.dtype().name()},
            {"shape", std::vector<int64_t>(array.shape().begin(), array.shape().end())},
            {uniform ? "tvm_base64_of_each" : "tvm_base64",
             encode_ndarray(uniform ? NDArray::uniform(array, {}) : array)}};
  }
  Json value(const TypeVarRef& var) { return type_param_str(var.get(), names_); }
  template <class T>
  requires std::is_base_of_v<Type, T> Json value(const Ref<const T>& type) {
    return type_str(type.get(), names_);
  }
  template <class T>
  Json value(const std::vector<T>& items) {
    Json list = Json::array();
    for (const T& item : items) list.push_back(value(item));
    return list;
  }
  Json value(const AttrsRef& attrs) {
    if (!attrs) return nullptr;
    Json json = Json::object();
    for (const NamedAttr& attr : attrs->fields(false)) json[attr.name.str()] = value(attr.value);
    return {{"schema", attrs->schema().name.str()}, {"values", std::move(json)}};
  }
  Json value(const AttrValue& attr) {
    if (attr.is_none()) return nullptr;
    if (const auto* b = attr.get<bool>()) return *b;
    if (const auto* i = attr.get<int64_t>()) return *i;
    if (const auto* d = attr.get<double>()) {
      // JSON has no infinities.
      if (*d != *d) return "nan";
      if (*d - *d != 0) return *d > 0 ? "inf" : "-inf";
      return *d;
    }
    if (const auto* s = attr.get<std::string>()) return *s;
    if (const auto* t = attr.get<DType>()) return t->name();
    if (const auto* list = attr.get<AttrValue::List>()) return value(*list);
    if (const auto* dict = attr.get<AttrValue::Dict>()) {
      Json json = Json::object();
      for (const auto& [key, item] : *dict) json[key] = value(item);
      return json;
    }
    const auto& expr = *attr.get<Ref<const Expr>>();
    if (!expr) return nullptr;
    if (const Constant* constant = expr->as<Constant>()) return value(constant->data());
    return expr_kind_name(expr->kind());
  }
  Json value(const PatternRef& pattern) {
    switch (pattern->kind()) {
      case PatternKind::kWildcard:
        return {{"kind", "Wildcard"}};
      case PatternKind::kVar:
        return {{"kind", "Var"}, {"var", index(pattern->var().get())}};
      default:
        break;
    }
    Json fields = Json::array();
    for (const PatternRef& field : pattern->fields()) fields.push_back(value(field));
    if (pattern->kind() == PatternKind::kTuple) return {{"kind", "Tuple"}, {"fields", fields}};
    return {{"kind", "Constructor"},
            {"constructor", pattern->constructor()->name().str()},
            {"fields", fields}};
  }

  PointerMap<Expr, size_t> ids_;
  TypeNames names_;
};

std::string text(const Json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string print_json(const Module& module) {
  JsonWriter writer;
  Json functions = Json::array();
  Json types = Json::array();
  for (const TypeDataRef& data : module.types()) types.push_back(writer.type_data(*data));
  for (const auto& entry : module.functions()) {
    functions.push_back({{"name", entry.name.str()}, {"root", writer.add(entry.function.get())}});
  }
  return text({{"types", types}, {"functions", functions}, {"nodes", std::move(writer.nodes)}});
}

std::string print_json(const Expr* expr) {
  JsonWriter writer;
  size_t root = writer.add(expr);
  return text({{"root", root}, {"nodes", std::move(writer.nodes)}});
}

}  // namespace relay
