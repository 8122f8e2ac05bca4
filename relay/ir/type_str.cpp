#include <relay/ir/type_str.h>

#include <relay/ir/module.h>
#include <relay/support/error.h>
#include <relay/support/quote.h>

namespace relay {

std::string type_word(std::string_view name) {
  if (!DType::parse(name)) return quoted_name(name);
  std::string text;
  append_quoted(text, name);
  return text;
}

const std::string& TypeNames::name(const TypeVar* var) {
  auto [entry, fresh] = names_.try_emplace(var);
  if (fresh) {
    std::string base = var->name().empty() ? "t" : var->name().str();
    std::string name = base;
    for (int i = 1; !taken_.insert(name).second; ++i) name = base + '_' + std::to_string(i);
    entry->second = type_word(name);
  }
  return entry->second;
}

namespace {

class Writer {
 public:
  explicit Writer(TypeNames& names) : names_(names) {}
  std::string out;

  void type(const Type* t) {
    if (t == nullptr) {
      out += '_';
      return;
    }
    switch (t->tag()) {
      case TypeTag::kVar:
        out += names_.name(t->as<TypeVar>());
        return;
      case TypeTag::kShape:
        out += '(';
        for (size_t i = 0; i < t->as<ShapeType>()->dims().size(); ++i) {
          if (i > 0) out += ", ";
          dim(t->as<ShapeType>()->dims()[i]);
        }
        out += ')';
        return;
      case TypeTag::kBase:
        out += t->as<BaseType>()->dtype().name();
        return;
      case TypeTag::kDim:
        dim(t->as<DimType>()->dim());
        return;
      case TypeTag::kTensor:
        tensor(*t->as<TensorType>());
        return;
      case TypeTag::kTuple: {
        auto fields = t->as<TupleType>()->fields();
        out += '(';
        list(fields);
        out += fields.size() == 1 ? ",)" : ")";
        return;
      }
      case TypeTag::kFunc:
        function(*t->as<FuncType>());
        return;
      case TypeTag::kCall:
        type(t->as<TypeCall>()->callee().get());
        if (t->as<TypeCall>()->args().empty()) return;
        out += '[';
        list(t->as<TypeCall>()->args());
        out += ']';
        return;
      case TypeTag::kGlobalVar:
        out += type_word(t->as<GlobalTypeVar>()->name().view());
        return;
      case TypeTag::kData:
        out += type_word(t->as<TypeData>()->name()->name().view());
        return;
      case TypeTag::kRef:
        out += "ref(";
        type(t->as<RefType>()->value().get());
        out += ')';
        return;
      case TypeTag::kRelation:
        relation(*t->as<RelationType>());
        return;
      case TypeTag::kIncomplete:
        out += '_';
        return;
    }
  }

  void param(const TypeVar* var) {
    out += names_.name(var);
    if (var->kind() == Kind::kType) return;
    out += " : ";
    out += kind_name(var->kind());
  }

 private:
  void dim(Dim d) {
    out += d.str([this](const TypeVar* var) { return names_.name(var); });
  }

  template <class T>
  void list(std::span<const Ref<const T>> items) {
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out += ", ";
      type(items[i].get());
    }
  }

  void tensor(const TensorType& t) {
    if (t.has_rank() && t.has_dtype() && t.dims().empty()) {  // rank 0: the dtype alone
      out += t.dtype().name();
      return;
    }
    out += "Tensor[";
    type(t.shape().get());
    out += ", ";
    type(t.dtype_type().get());
    out += ']';
  }

  void function(const FuncType& f) {
    // Names of dimensions that nobody declared are not listed; their use declares them.
    bool any = false;
    for (const TypeVarRef& var : f.type_params()) {
      if (var->implicit()) continue;
      out += any ? ", " : "fn<";
      param(var.get());
      any = true;
    }
    out += any ? ">(" : "fn (";
    list(f.params());
    out += ") -> ";
    type(f.result().get());
    if (f.constraints().empty()) return;
    out += " where ";
    list(f.constraints());
  }

  void relation(const RelationType& r) {
    out += relation_name(r.relation()).view();
    if (r.attrs()) {
      std::string fields;
      for (const NamedAttr& attr : r.attrs()->fields(true)) {
        if (!fields.empty()) fields += ", ";
        fields += quoted_name(attr.name.view()) + '=' + attr.value.str();
      }
      if (!fields.empty()) out += '{' + fields + '}';
    }
    out += '(';
    list(r.args());
    out += ')';
  }

  TypeNames& names_;
};

}  // namespace

std::string type_str(const Type* type, TypeNames& names) {
  Writer writer(names);
  writer.type(type);
  return std::move(writer.out);
}

std::string type_param_str(const TypeVar* var, TypeNames& names) {
  Writer writer(names);
  writer.param(var);
  return std::move(writer.out);
}

std::string Type::str() const {
  TypeNames names;
  return type_str(this, names);
}

}  // namespace relay
