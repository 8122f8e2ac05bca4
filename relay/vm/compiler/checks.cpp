#include <relay/vm/compiler/checks.h>

namespace relay::vm {

CheckBuilder::CheckBuilder(PositionTable& positions)
    : positions_(positions), terms_([this](Dim atom) {
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
TypeInfo CheckBuilder::info(const Type* type) {
  TypeInfo result;
  if (type == nullptr) return result;
  if (const auto* tensor = type->as<TensorType>()) {
    result.kind = TypeInfo::Kind::kTensor;
    if (tensor->has_dtype()) result.dtype = tensor->dtype();
    result.has_rank = tensor->has_rank();
    if (tensor->has_rank()) {
      for (Dim extent : tensor->dims()) result.dims.push_back(dim(extent));
    }
  } else if (const auto* tuple = type->as<TupleType>()) {
    result.kind = TypeInfo::Kind::kTuple;
    for (const TypeRef& field : tuple->fields()) result.fields.push_back(info(field.get()));
  } else if (const auto* call = type->as<TypeCall>()) {
    if (const auto* name = call->callee()->as<GlobalTypeVar>()) {
      result.kind = TypeInfo::Kind::kData;
      result.name = name->name().str();
    }
  } else if (const auto* name = type->as<GlobalTypeVar>()) {
    result.kind = TypeInfo::Kind::kData;
    result.name = name->name().str();
  } else if (type->is<FuncType>()) {
    result.kind = TypeInfo::Kind::kFunction;
  } else if (type->is<RefType>()) {
    result.kind = TypeInfo::Kind::kReference;
  }
  return result;
}

void CheckBuilder::add(const TypeRef& type, std::string what, Span span) {
  TypeCheck::Part part;
  part.type = info(type.get());
  part.text = type ? type->str() : "_";
  part.what = std::move(what);
  part.position = positions_.add(span);
  check_.parts.push_back(std::move(part));
}

}  // namespace relay::vm
