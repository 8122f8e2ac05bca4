#include <relay/infer/runtime/type_checks.h>

#include <algorithm>

#include <relay/support/error.h>

namespace relay {

namespace {

// Types nest no deeper than Type::kMaxDepth.
bool has_data(const Type* type) {
  if (type == nullptr) return false;
  if (const auto* tuple = type->as<TupleType>()) {
    return std::any_of(tuple->fields().begin(), tuple->fields().end(),
                       [](const TypeRef& field) { return has_data(field.get()); });
  }
  return type->is<TypeCall>() || type->is<GlobalTypeVar>() || type->is<RefType>();
}

}  // namespace

CheckBuilder::CheckBuilder(const Module& module, Flows& flows, bool foreign)
    : module_(module), flows_(flows), foreign_(foreign), terms_([this](Dim atom) {
        return DimInstruction{DimCode::kSymbol, symbol(atom.as_symbol()), 0, 0};
      }) {}

uint32_t CheckBuilder::symbol(const TypeVar* var) {
  auto [entry, added] = symbols_.try_emplace(var, static_cast<uint32_t>(check_.symbols.size()));
  if (added) check_.symbols.push_back(var->name().str());
  return entry->second;
}

TypeInfo::Dim CheckBuilder::dim(Dim dim) {
  TypeInfo::Dim result;
  result.text = dim.str();
  if (dim.is_int()) {
    result.kind = TypeInfo::Dim::Kind::kInt;
    result.value = dim.as_int();
  } else if (const TypeVar* var = dim.as_symbol()) {
    result.kind = TypeInfo::Dim::Kind::kSymbol;
    result.value = symbol(var);
  } else if (dim.is_term()) {
    bool symbols_only = true;
    for_each_atom(dim, [&](Dim atom) { symbols_only &= atom.as_symbol() != nullptr; });
    if (symbols_only) {
      result.kind = TypeInfo::Dim::Kind::kTerm;
      result.value = terms_.slot(dim, check_.terms);
    }
  }
  return result;
}

// Types nest no deeper than Type::kMaxDepth.
TypeInfo CheckBuilder::info(const Type* type, bool inside) {
  TypeInfo result;
  if (type == nullptr || (inside && !foreign_ && !flows_.has_shapes(type, true))) return result;
  ++size_;
  if (const auto* tensor = type->as<TensorType>()) {
    result.kind = TypeInfo::Kind::kTensor;
    if (tensor->has_dtype()) {
      result.dtype = tensor->dtype();
    } else if (inside) {
      result.name = tensor->dtype_type()->str();
    }
    result.has_rank = tensor->has_rank();
    if (result.has_rank) {
      for (Dim extent : tensor->dims()) result.dims.push_back(dim(extent));
    }
  } else if (const auto* tuple = type->as<TupleType>()) {
    result.kind = TypeInfo::Kind::kTuple;
    for (const TypeRef& field : tuple->fields()) result.fields.push_back(info(field.get(), inside));
  } else if (const auto* call = type->as<TypeCall>()) {
    if (const auto* name = call->callee()->as<GlobalTypeVar>()) {
      result.kind = TypeInfo::Kind::kData;
      result.name = name->name().str();
      if (inside) result.data = data(TypeRef(type));
    }
  } else if (const auto* name = type->as<GlobalTypeVar>()) {
    result.kind = TypeInfo::Kind::kData;
    result.name = name->name().str();
    if (inside) result.data = data(TypeRef(type));
  } else if (const auto* function = type->as<FuncType>()) {
    result.kind = TypeInfo::Kind::kFunction;
    if (foreign_) {
      for (const TypeRef& param : function->params())
        result.fields.push_back(info(param.get(), true));
      result.fields.push_back(info(function->result().get(), true));
    }
  } else if (const auto* cell = type->as<RefType>()) {
    result.kind = TypeInfo::Kind::kReference;
    if (inside) result.fields.push_back(info(cell->value().get(), inside));
  }
  return result;
}

uint32_t CheckBuilder::data(const TypeRef& type) {
  auto [entry, added] = data_.try_emplace(type.get(), static_cast<uint32_t>(check_.data.size()));
  if (added) {
    check_.data.emplace_back().text = type->str();
    types_.push_back(type);
  }
  return entry->second;
}

// The fields of all data types mentioned so far. One that contains itself at ever larger arguments
// has infinitely many: those of values too deep for its types are left open.
void CheckBuilder::define_data() {
  constexpr size_t kMostFields = 10000;
  for (; defined_ < types_.size(); ++defined_) {
    TypeRef type = types_[defined_];
    const auto* call = type->as<TypeCall>();
    const auto* name = (call != nullptr ? call->callee().get() : type.get())->as<GlobalTypeVar>();
    const TypeData* data = module_.type_data(name);
    if (data == nullptr || size_ > kMostFields) continue;
    DataInfo found;
    found.text = check_.data[defined_].text;
    try {
      for (const ConstructorRef& constructor : data->constructors()) {
        found.constructors.push_back({constructor->name().str(), {}});
        std::vector<TypeInfo>& fields = found.constructors.back().fields;
        for (const TypeRef& input : constructor->inputs()) {
          TypeRef field = substitute(input, [&](const TypeVar* var) -> TypeRef {
            for (size_t i = 0; call != nullptr && i < call->args().size(); ++i) {
              if (data->type_vars()[i].get() == var) return call->args()[i];
            }
            return {};
          });
          fields.push_back(info(field.get(), true));
        }
      }
    } catch (const Error&) {
      continue;  // there are no types that large, hence no values
    }
    check_.data[defined_] = std::move(found);
  }
}

// Tuples nest no deeper than types do.
static void set_devices(TypeInfo& info, const DeviceTree& devices) {
  if (info.kind == TypeInfo::Kind::kTensor) info.device = devices.device;
  if (info.kind != TypeInfo::Kind::kTuple) return;
  for (size_t i = 0; i < info.fields.size(); ++i)
    set_devices(info.fields[i], i < devices.fields.size() ? devices.fields[i] : devices);
}

void CheckBuilder::add(const DeclaredShape& shape, uint32_t position, const DeviceTree& devices) {
  TypeCheck::Part part;
  part.inside = shape.inside || (foreign_ && has_data(shape.type.get()));
  part.type = info(shape.type.get(), part.inside);
  set_devices(part.type, devices);
  define_data();
  part.text = shape.type ? shape.type->str() : "_";
  part.what = shape.what;
  part.position = position;
  check_.parts.push_back(std::move(part));
}

TypeCheck argument_check(const Module& module, Name name, const Devices* devices) {
  const Function* function = module.function(name);
  RELAY_CHECK(function != nullptr, "a check of @" + name.str());
  Flows flows(module);
  CheckBuilder builder(module, flows, true);
  uint32_t position = 0;
  for (const VarRef& param : function->params()) {
    const Type* type = param->type() != nullptr ? param->type() : param->annotation().get();
    builder.add({TypeRef(type), param->name().str(), param->span()}, position++,
                devices == nullptr ? DeviceTree() : devices->tree(param.get()));
  }
  TypeCheck check = builder.finish();
  check.closed = tells_names(function);
  return check;
}

KnownType returned_type(const Module& module, Name name) {
  const Function* function = module.function(name);
  const auto* type = function == nullptr || function->type() == nullptr
                         ? nullptr
                         : function->type()->as<FuncType>();
  if (type == nullptr) return {};
  Flows flows(module);
  CheckBuilder builder(module, flows, true);
  builder.add({type->result(), "the result of @" + name.str(), function->span()}, 0);
  auto check = std::make_shared<const TypeCheck>(builder.finish());
  return {check, &check->parts.front().type};
}

void check_arguments(const Module& module, Name name, std::span<const Value> arguments,
                     const Devices* devices) {
  TypeCheck check = argument_check(module, name, devices);
  if (check.parts.size() != arguments.size()) return;  // told by whoever calls it
  std::vector<const Value*> values;
  for (const Value& argument : arguments) values.push_back(&argument);
  TypeMismatch mismatch;
  if (fits(check, values, false, mismatch)) return;
  const std::vector<VarRef>& params = module.function(name)->params();
  throw Error(argument_error(check, mismatch, name.str(), [&](const TypeCheck::Part& part) {
    return params[part.position]->span();
  }));
}

}  // namespace relay
