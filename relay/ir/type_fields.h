// The parts of walks over types, from types.def. Code that treats all kinds alike uses these, so
// that a new kind is one line there. Types are at most Type::kMaxDepth deep, so walks may recurse.
#pragma once

#include <relay/ir/type.h>
#include <relay/support/error.h>

namespace relay {

/// Calls `f` with the type as a TypeNode of its kind.
template <class F>
decltype(auto) visit_type(const Type& type, F&& f) {
  switch (type.tag()) {
#define RELAY_TYPE_KIND(Class, tag, kind, doc, fields) \
  case TypeTag::k##tag:                                \
    return f(static_cast<const TypeNode<Class>&>(type));
#include <relay/ir/types.def>
  }
  RELAY_UNREACHABLE("unknown type");
}

// each_field(fields, f): calls f for every field. all_fields(a, b, f): true if f holds for every
// pair of fields, in their order. mapped_fields(fields, f): the fields with the values of f.
#define RELAY_TYPE_FIELD(type, name) f(fields.name);
#define RELAY_TYPE_KIND(Class, tag, kind, doc, list)                     \
  template <class F>                                                     \
  void each_field([[maybe_unused]] const Class##Fields& fields, F&& f) { \
    list                                                                 \
  }
#include <relay/ir/types.def>
#define RELAY_TYPE_FIELD(type, name) &&f(a.name, b.name)
#define RELAY_TYPE_KIND(Class, tag, kind, doc, list)                       \
  template <class F>                                                       \
  bool all_fields(const Class##Fields& a, const Class##Fields& b, F&& f) { \
    return true list;                                                      \
  }
#include <relay/ir/types.def>
#define RELAY_TYPE_FIELD(type, name) f(fields.name),
#define RELAY_TYPE_KIND(Class, tag, kind, doc, list)                \
  template <class F>                                                \
  Class##Fields mapped_fields(const Class##Fields& fields, F&& f) { \
    return {list};                                                  \
  }
#include <relay/ir/types.def>

/// The one type with these fields. Not for TypeVar and TypeData, whose identity is the object.
#define RELAY_TYPE_KIND(Class, tag, kind, doc, fields) TypeRef make_type(Class##Fields parts);
#include <relay/ir/types.def>

/// True if a field is a part, or a list of parts; type parameters do not count.
template <class T>
inline constexpr bool kIsPart = false;
template <class T>
inline constexpr bool kIsPart<Ref<const T>> = std::is_base_of_v<Type, T>;
template <class T>
inline constexpr bool kIsParts = false;
template <class T>
inline constexpr bool kIsParts<std::vector<T>> = kIsPart<T> && !std::is_same_v<T, TypeVarRef>;

/// Calls f(const Type*) for each part, in order.
template <class F>
void for_each_part(const Type& type, F&& f) {
  visit_type(type, [&](const auto& node) {
    each_field(node.parts(), [&]<class Field>(const Field& field) {
      if constexpr (kIsPart<Field>) {
        f(field.get());
      } else if constexpr (kIsParts<Field>) {
        for (const auto& part : field) f(part.get());
      }
    });
  });
}

/// Calls f(Dim) for each dimension that a type holds directly.
template <class F>
void for_each_dim(const Type* type, F&& f) {
  if (const auto* shape = type->as<ShapeType>()) {
    for (Dim d : shape->dims()) f(d);
  } else if (const auto* dim = type->as<DimType>()) {
    f(dim->dim());
  }
}

/// The type made from `part(TypeRef)` of each part and `dim(Dim)` of each dimension: the same
/// object if all are the same. Type parameters stay.
template <class PartFn, class DimFn>
TypeRef map_parts(const TypeRef& type, PartFn&& part, DimFn&& dim) {
  return visit_type(*type, [&]<class Node>(const Node& node) -> TypeRef {
    bool changed = false;
    auto mapped = [&]<class T>(const T& old) {
      T result;
      if constexpr (std::is_same_v<T, Dim>) {
        result = dim(old);
      } else if constexpr (std::is_same_v<T, TypeRef>) {
        result = part(old);
      } else {
        result = T(static_cast<typename T::element_type*>(part(TypeRef(old)).get()));
      }
      changed |= !(result == old);
      return result;
    };
    auto fields = mapped_fields(node.parts(), [&]<class Field>(const Field& field) -> Field {
      if constexpr (kIsPart<Field> || std::is_same_v<Field, Dim>) {
        return mapped(field);
      } else if constexpr (kIsParts<Field> || std::is_same_v<Field, std::vector<Dim>>) {
        Field list;
        list.reserve(field.size());
        for (const auto& item : field) list.push_back(mapped(item));
        return list;
      } else {
        return field;
      }
    });
    return changed ? make_type(std::move(fields)) : type;
  });
}

}  // namespace relay
