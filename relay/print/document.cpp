#include <relay/ir/metadata.h>
#include <relay/op/registry/relation.h>
#include <relay/print/printer.h>
#include <relay/print/text.h>

namespace relay::printing {
void Document::reserve(const Module& module) {
  for (const TypeDataRef& data : module.types()) reserved_.reserve(data->name()->name().view());
}

void Document::type(const Type* type, TypeNames& names) {
  if (type == nullptr) {
    out += '_';
    return;
  }
  if (type->has_type_var() || type->has_symbolic_dim() || type->has_binder()) {
    out += type_str(type, names);
    return;
  }
  auto [entry, fresh] = closed_types_.try_emplace(type);
  if (fresh) entry->second = type->str();
  out += entry->second;
}

void Document::attr_value(std::string& text, const AttrValue& value, bool typed) {
  if (const auto* list = value.get<AttrValue::List>()) {
    text += '[';
    for (size_t i = 0; i < list->size(); ++i) {
      if (i > 0) text += ", ";
      attr_value(text, (*list)[i], typed);
    }
    text += ']';
  } else if (const auto* dict = value.get<AttrValue::Dict>()) {
    text += '{';
    const char* between = "";
    for (const auto& [key, item] : *dict) {
      text += between;
      append_quoted(text, key);
      text += ": ";
      attr_value(text, item, /*typed=*/false);
      between = ", ";
    }
    text += '}';
  } else if (const auto* dtype = value.get<DType>(); dtype != nullptr && !typed && dtype->valid()) {
    text += dtype->name();
  } else if (const auto* s = value.get<std::string>()) {
    append_quoted(text, *s);
  } else if (const auto* expr = value.get<Ref<const Expr>>()) {
    if (!*expr) {
      text += "None";
    } else if (const Constant* constant = (*expr)->as<Constant>()) {
      // A literal would read back as a number.
      text += metadata_text(constant->data());
    } else {
      text += print_short(expr->get());
    }
  } else {
    text += value.str();
  }
}

void Document::attrs(const Attrs* attrs) {
  if (attrs == nullptr) return;
  auto [entry, fresh] = attrs_.try_emplace(attrs);
  if (fresh) {
    std::string text;
    for (const NamedAttr& attr : attrs->fields(true)) {
      text += ", ";
      // Without quotes, `virtual_device` of a function places its body.
      bool placement = attrs->is<DictAttrs>() && attr.name == Name("virtual_device");
      if (is_word(attr.name.view()) && !placement) {
        text += attr.name.view();
      } else {
        append_quoted(text, attr.name.view());
      }
      text += '=';
      attr_value(text, attr.value, /*typed=*/!attrs->is<DictAttrs>());
    }
    entry->second = std::move(text);
  }
  out += entry->second;
}

std::string Document::constant_text(const NDArray& value) {
  if (auto text = printing::constant_text(value)) return *text;
  return metadata_text(value);
}

std::string Document::metadata_text(const NDArray& value) {
  auto [entry, fresh] = constant_index_.try_emplace(value.identity(), constants_.size());
  if (fresh) constants_.push_back(value);
  std::string text = "meta[relay.Constant][" + std::to_string(entry->second) + "]";
  if (!options.show_metadata) {
    text += " /* " + shape_text(value.shape()) + " " + std::string(value.dtype().name()) + " */";
  }
  return text;
}

void Document::constant(const Constant& constant) { out += constant_text(constant.data()); }

void Document::metadata() {
  if (constants_.empty() || !options.show_metadata) return;
  if (!out.empty() && out.back() != '\n') out += '\n';
  out += '\n';
  out += constants_metadata(constants_);
}

void Document::type_data(const TypeData& data) {
  TypeNames names = type_names();
  bool classic = false;
  for (const TypeVarRef& var : data.type_vars()) classic |= var->kind() != Kind::kType;
  auto parameters = [&](char open, char close) {
    if (data.type_vars().empty()) return;
    out += open;
    for (size_t i = 0; i < data.type_vars().size(); ++i) {
      if (i > 0) out += ", ";
      out += type_param_str(data.type_vars()[i].get(), names);
    }
    out += close;
  };
  const std::string name = type_word(data.name()->name().view());
  if (lines != nullptr) lines->lines.push_back({out.size(), lines->begin});
  if (data.is_extern()) {
    out += "extern type ";
    out += name;
    parameters(classic ? '<' : '[', classic ? '>' : ']');
    out += ";\n";
    return;
  }
  out += classic ? "data " : "type ";
  out += name;
  parameters(classic ? '<' : '[', classic ? '>' : ']');
  out += " {\n";
  for (const ConstructorRef& constructor : data.constructors()) {
    if (lines != nullptr) lines->lines.push_back({out.size(), constructor->span().begin()});
    out += "  ";
    append_constructor(out, constructor->name());
    const auto& inputs = constructor->inputs();
    if (classic) out += " : ";
    if (classic || !inputs.empty()) out += '(';
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (i > 0) out += ", ";
      type(inputs[i].get(), names);
    }
    if (classic || !inputs.empty()) out += ')';
    if (classic) {
      out += " -> ";
      out += name;
      if (!data.type_vars().empty()) {
        out += '[';
        for (size_t i = 0; i < data.type_vars().size(); ++i) {
          if (i > 0) out += ", ";
          out += names.name(data.type_vars()[i].get());
        }
        out += ']';
      }
      out += '\n';
    } else {
      out += ",\n";
    }
  }
  if (lines != nullptr) lines->close = out.size();
  out += "}\n";
}

}  // namespace relay::printing
