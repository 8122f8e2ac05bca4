#include <relay/infer/type_walk.h>

namespace relay::inference {

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
  TypeRef result = map_parts(
      type, [this](const TypeRef& part) { return map(part); },
      [this](Dim d) { return d.is_int() ? d : dim(d); });
  --depth;
  if (type->size() >= 16) memo.emplace(type.get(), result);
  return result;
}

TypeRef map_type(const TypeRef& type, const std::function<TypeRef(const TypeRef&)>& leaf,
                 const std::function<Dim(Dim)>& dim) {
  return TypeMapper{leaf, dim, {}}.map(type);
}

}  // namespace relay::inference
