// Walks over types. Types are at most Type::kMaxDepth deep, so these may recurse.
#pragma once

#include <functional>
#include <unordered_map>

#include <relay/ir/type.h>

namespace relay::inference {

/// Rebuilds a type bottom-up: `leaf` maps variables (TypeVar, IncompleteType) and `dim` maps
/// dimensions other than integers; what they leave alone stays shared. Large types remember shared
/// parts.
struct TypeMapper {
  const std::function<TypeRef(const TypeRef&)>& leaf;
  const std::function<Dim(Dim)>& dim;
  std::unordered_map<const Type*, TypeRef> memo;
  uint32_t depth = 0;

  /// Throws `Error` when nested deeper than types may be (variables bound to each other's insides).
  TypeRef map(const TypeRef& type);

 private:
  bool list(std::span<const TypeRef> types, std::vector<TypeRef>& out);
  TypeRef map_parts(const TypeRef& type);
  TypeRef map_func(const TypeRef& type);
  TypeRef map_shape(const TypeRef& type);
  TypeRef map_relation(const TypeRef& type);
};

TypeRef map_type(const TypeRef& type, const std::function<TypeRef(const TypeRef&)>& leaf,
                 const std::function<Dim(Dim)>& dim);

/// Walks all parts; `visit` returns whether to go on into a part.
template <class Visit>
void walk_type(const Type* type, Visit& visit) {
  if (!visit(type)) return;
  switch (type->tag()) {
    case TypeTag::kTensor:
      walk_type(type->as<TensorType>()->shape().get(), visit);
      walk_type(type->as<TensorType>()->dtype_type().get(), visit);
      return;
    case TypeTag::kTuple:
      for (const TypeRef& field : type->as<TupleType>()->fields()) walk_type(field.get(), visit);
      return;
    case TypeTag::kFunc:
      for (const TypeRef& param : type->as<FuncType>()->params()) walk_type(param.get(), visit);
      walk_type(type->as<FuncType>()->result().get(), visit);
      for (const auto& relation : type->as<FuncType>()->constraints()) {
        walk_type(relation.get(), visit);
      }
      return;
    case TypeTag::kCall:
      for (const TypeRef& arg : type->as<TypeCall>()->args()) walk_type(arg.get(), visit);
      return;
    case TypeTag::kRef:
      walk_type(type->as<RefType>()->value().get(), visit);
      return;
    case TypeTag::kRelation:
      for (const TypeRef& arg : type->as<RelationType>()->args()) walk_type(arg.get(), visit);
      return;
    default:
      return;
  }
}

template <class F>
void for_each_dim(const Type* type, F&& f) {
  if (const auto* shape = type->as<ShapeType>()) {
    for (Dim d : shape->dims()) f(d);
  } else if (const auto* dim = type->as<DimType>()) {
    f(dim->dim());
  }
}

}  // namespace relay::inference
