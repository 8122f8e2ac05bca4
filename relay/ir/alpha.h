// Internal to ir/: equality and hash of types up to the names of bound type parameters.
#pragma once

#include <unordered_map>

#include <relay/ir/type.h>

namespace relay {

/// Compares types of two programs under a growing one-to-one mapping of their type variables.
class TypeMatcher {
 public:
  /// With `map_implicit`, implicit dimension names correspond one to one by first use.
  explicit TypeMatcher(bool map_implicit) : map_implicit_(map_implicit) {}
  /// From here on, all dimension names that no function declares correspond in this way, as if the
  /// outermost function that mentions them declared them.
  void map_free_dims() { map_free_dims_ = true; }

  /// From here on, `a` of the first program is `b` of the second.
  void bind(const TypeVar* a, const TypeVar* b);
  /// Binds those that are declared; implicit ones are bound at their first use.
  bool bind_declared(std::span<const TypeVarRef> a, std::span<const TypeVarRef> b);
  bool bind_all(std::span<const TypeVarRef> a, std::span<const TypeVarRef> b);
  /// Null equals null only.
  bool equal(const Type* a, const Type* b);
  bool equal(const TypeRef& a, const TypeRef& b) { return equal(a.get(), b.get()); }
  template <class T>
  bool equal_lists(std::span<const Ref<const T>> a, std::span<const Ref<const T>> b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!equal(a[i].get(), b[i].get())) return false;
    }
    return true;
  }

 private:
  bool equal_vars(const TypeVar* a, const TypeVar* b);
  bool equal_dims(Dim a, Dim b);
  bool equal_functions(const FuncType& a, const FuncType& b);
  template <class Fields>
  bool equal_fields(const Fields& a, const Fields& b);
  bool trivial() const { return forward_.empty() && !map_implicit_; }
  bool is_free_name(const TypeVar* var) const {
    return var->implicit() || (map_free_dims_ && var->kind() == Kind::kShapeVar);
  }

  bool map_implicit_;
  bool map_free_dims_ = false;
  std::unordered_map<const TypeVar*, const TypeVar*> forward_;
  std::unordered_map<const TypeVar*, const TypeVar*> backward_;
};

/// A hash that agrees with `TypeMatcher`, the same in every process.
struct TypeHasher {
  std::unordered_map<const TypeVar*, uint64_t> bound;
  uint64_t next = 1;

  void bind(const TypeVar* var) { bound[var] = next++; }
  uint64_t hash(const Type* type);
  uint64_t hash_dim(Dim dim);
  uint64_t hash_var(const TypeVar* var);
};

}  // namespace relay
