#include <relay/infer/type_walk.h>

namespace relay::inference {

bool TypeMapper::list(std::span<const TypeRef> types, std::vector<TypeRef>& out) {
  bool changed = false;
  out.reserve(types.size());
  for (const TypeRef& type : types) {
    out.push_back(map(type));
    changed |= out.back() != type;
  }
  return changed;
}

TypeRef TypeMapper::map(const TypeRef& type) {
  if (!type->has_incomplete() && !type->has_type_var() && !type->has_symbolic_dim() &&
      !type->has_any_dim()) {
    return type;
  }
  if (depth >= Type::kMaxDepth) {
    throw Error("a type is nested deeper than " + std::to_string(Type::kMaxDepth));
  }
  if (type->is<IncompleteType>() || type->is<TypeVar>()) {
    ++depth;
    TypeRef result = leaf(type);
    --depth;
    return result;
  }
  if (type->size() >= 16) {
    auto found = memo.find(type.get());
    if (found != memo.end()) return found->second;
  }
  ++depth;
  TypeRef result = map_parts(type);
  --depth;
  if (type->size() >= 16) memo.emplace(type.get(), result);
  return result;
}

TypeRef TypeMapper::map_shape(const TypeRef& type) {
  auto dims = type->as<ShapeType>()->dims();
  std::vector<Dim> mapped(dims.begin(), dims.end());
  for (Dim& d : mapped) {
    if (!d.is_int()) d = dim(d);
  }
  return ShapeType::make(mapped);
}

TypeRef TypeMapper::map_relation(const TypeRef& type) {
  const auto* relation = type->as<RelationType>();
  std::vector<TypeRef> args;
  if (!list(relation->args(), args)) return type;
  return RelationType::make(relation->relation(), std::move(args), relation->num_inputs(),
                            relation->attrs());
}

TypeRef TypeMapper::map_func(const TypeRef& type) {
  const auto* func = type->as<FuncType>();
  std::vector<TypeRef> params;
  bool changed = list(func->params(), params);
  TypeRef result = map(func->result());
  changed |= result != func->result();
  std::vector<RelationTypeRef> constraints;
  for (const RelationTypeRef& relation : func->constraints()) {
    TypeRef mapped = map_relation(relation);
    changed |= mapped != relation.get();
    constraints.push_back(RelationTypeRef(mapped->as<RelationType>()));
  }
  if (!changed) return type;
  return FuncType::make(std::move(params), std::move(result),
                        {func->type_params().begin(), func->type_params().end()},
                        std::move(constraints));
}

TypeRef TypeMapper::map_parts(const TypeRef& type) {
  switch (type->tag()) {
    case TypeTag::kTensor: {
      const auto* tensor = type->as<TensorType>();
      TypeRef shape = map(tensor->shape());
      TypeRef dtype = map(tensor->dtype_type());
      if (shape == tensor->shape() && dtype == tensor->dtype_type()) return type;
      return TensorType::make(std::move(shape), std::move(dtype));
    }
    case TypeTag::kShape:
      return map_shape(type);
    case TypeTag::kDim:
      return DimType::make(dim(type->as<DimType>()->dim()));
    case TypeTag::kTuple: {
      std::vector<TypeRef> fields;
      if (!list(type->as<TupleType>()->fields(), fields)) return type;
      return TupleType::make(std::move(fields));
    }
    case TypeTag::kFunc:
      return map_func(type);
    case TypeTag::kCall: {
      const auto* call = type->as<TypeCall>();
      std::vector<TypeRef> args;
      if (!list(call->args(), args)) return type;
      return TypeCall::make(call->callee(), std::move(args));
    }
    case TypeTag::kRef: {
      const auto* ref = type->as<RefType>();
      TypeRef value = map(ref->value());
      return value == ref->value() ? type : RefType::make(std::move(value));
    }
    case TypeTag::kRelation:
      return map_relation(type);
    case TypeTag::kIncomplete:
    case TypeTag::kVar:
    case TypeTag::kBase:
    case TypeTag::kGlobalVar:
    case TypeTag::kData:
      return type;
  }
  RELAY_UNREACHABLE("unknown type");
}

TypeRef map_type(const TypeRef& type, const std::function<TypeRef(const TypeRef&)>& leaf,
                 const std::function<Dim(Dim)>& dim) {
  return TypeMapper{leaf, dim, {}}.map(type);
}

}  // namespace relay::inference
