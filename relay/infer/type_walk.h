// Walks over types. Types are at most Type::kMaxDepth deep, so these may recurse.
#pragma once

#include <functional>
#include <unordered_map>

#include <relay/ir/type_fields.h>

namespace relay::inference {

/// Rebuilds a type bottom-up: `leaf` maps variables (TypeVar, IncompleteType) and `dim` maps
/// dimensions other than integers; parts that they leave alone stay shared. Large types remember
/// shared parts.
struct TypeMapper {
  const std::function<TypeRef(const TypeRef&)>& leaf;
  const std::function<Dim(Dim)>& dim;
  std::unordered_map<const Type*, TypeRef> memo;
  uint32_t depth = 0;

  /// Throws `Error` for deeper nesting than types may have (variables bound to each other's
  /// insides).
  TypeRef map(const TypeRef& type);
};

TypeRef map_type(const TypeRef& type, const std::function<TypeRef(const TypeRef&)>& leaf,
                 const std::function<Dim(Dim)>& dim);

/// Walks all parts; `visit` returns true to go on into a part.
template <class Visit>
void walk_type(const Type* type, Visit& visit) {
  if (!visit(type)) return;
  for_each_part(*type, [&](const Type* part) { walk_type(part, visit); });
}

}  // namespace relay::inference
