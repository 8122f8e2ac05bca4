// Types: immutable, interned; pointer equality is structural equality (up to bound variables).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <relay/ir/attrs.h>
#include <relay/ir/dim.h>
#include <relay/runtime/dtype.h>
#include <relay/support/name.h>
#include <relay/support/ref.h>
#include <relay/support/span.h>

namespace relay {

/// The kind of thing that a type (or type parameter) stands for (language.md §3).
enum class Kind : uint8_t {
  kType,        // a type of values
  kShape,       // a shape: the first argument of Tensor
  kBaseType,    // a dtype: the second argument of Tensor
  kShapeVar,    // a single dimension
  kConstraint,  // a relation
  kAdtHandle,   // a data type's name
  kTypeData,    // a data type's definition
  kNumber       // a number that a run reads, of any sign: in sizes of works and graphs alone
};
/// "Type", "Shape", "BaseType", "ShapeVar", "Constraint", "AdtHandle", "TypeData", "Number".
std::string_view kind_name(Kind kind);

enum class TypeTag : uint8_t {
#define RELAY_TYPE_KIND(Class, tag, kind, doc, fields) k##tag,
#include <relay/ir/types.def>
};

class Type;
#define RELAY_TYPE_KIND(Class, tag, kind, doc, fields) class Class;
#include <relay/ir/types.def>
struct Relation;  // relay/op/registry/relation.h: a named predicate over types
class Operator;   // relay/op/op.h
using TypeRef = Ref<const Type>;
using TypeVarRef = Ref<const TypeVar>;
using GlobalTypeVarRef = Ref<const GlobalTypeVar>;
using TypeDataRef = Ref<const TypeData>;
using RelationTypeRef = Ref<const RelationType>;

/// Base of all types. Construct types with the `make` functions; those of one structure are one
/// object.
class Type {
 public:
  TypeTag tag() const { return tag_; }
  Kind kind() const { return kind_; }
  template <class T>
  const T* as() const {
    return tag_ == T::kTag ? static_cast<const T*>(this) : nullptr;
  }
  template <class T>
  bool is() const {
    return tag_ == T::kTag;
  }

  // Facts about everything inside, computed once.
  bool has_incomplete() const { return flags_ & kHasIncomplete; }  // an inference variable
  bool has_type_var() const { return flags_ & kHasTypeVar; }       // bound or free, any kind
  bool has_symbolic_dim() const { return flags_ & kHasSymbol; }
  bool has_any_dim() const { return flags_ & kHasAny; }
  bool has_binder() const { return flags_ & kHasBinder; }  // a FuncType with type parameters
  /// Neither inference variables nor type variables, so nothing remains to be solved.
  bool closed() const { return (flags_ & (kHasIncomplete | kHasTypeVar | kHasSymbol)) == 0; }
  /// The nesting, at most kMaxDepth, and the size as a tree, at most kMaxSize. The `make` functions
  /// throw `Error` beyond, so that walks over types may recurse and terminate.
  static constexpr uint32_t kMaxDepth = 200;
  static constexpr uint32_t kMaxSize = 1u << 20;
  uint32_t depth() const { return depth_; }
  uint32_t size() const { return size_; }
  uint64_t hash() const { return hash_; }

  /// Its text in programs, e.g. `Tensor[(2, 3), float32]`, `fn (int32) -> bool`.
  std::string str() const;

  void retain() const noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() const noexcept;

 protected:
  friend struct TypeTable;
  friend struct TypeHasher;
  enum Flags : uint8_t {
    kHasIncomplete = 1,
    kHasTypeVar = 2,
    kHasSymbol = 4,
    kHasAny = 8,
    kHasBinder = 16,
    kInterned = 32,
    kHasTerm = 64  // a dimension that is a term, so that the hash depends on addresses
  };
  Type(TypeTag tag, Kind kind) : tag_(tag), kind_(kind) {}
  ~Type() = default;
  Type(const Type&) = delete;

  mutable std::atomic<uint32_t> refs_{1};
  TypeTag tag_;
  Kind kind_;
  uint8_t flags_ = 0;
  uint32_t depth_ = 1;
  uint32_t size_ = 1;
  uint64_t hash_ = 0;
  mutable const Type* next_ = nullptr;  // in the table's bucket
};

// clang-format off
// `TensorTypeFields{shape, dtype_type}` …: the parts of a type of each kind.
#define RELAY_TYPE_FIELD(type, name) type name;
#define RELAY_TYPE_KIND(Class, tag, kind, doc, fields)                            \
  struct Class##Fields {                                                          \
    fields                                                                        \
    friend bool operator==(const Class##Fields&, const Class##Fields&) = default; \
  };
#include <relay/ir/types.def>

/// The result of an accessor for a field: spans for lists, values for small data.
template <class T>
struct TypeFieldView {
  using As = std::conditional_t<std::is_trivially_copyable_v<T>, T, const T&>;
};
template <class T>
struct TypeFieldView<std::vector<T>> {
  using As = std::span<const T>;
};

/// The part of each class that types.def defines: its tag, its fields and their accessors.
template <class T>
class TypeNode;
#define RELAY_TYPE_FIELD(type, name) \
  TypeFieldView<type>::As name() const { return parts_.name; }
#define RELAY_TYPE_KIND(Class, tag, kind, doc, fields) \
  template <>                                          \
  class TypeNode<Class> : public Type {                \
   public:                                             \
    using Parts = Class##Fields;                       \
    static constexpr TypeTag kTag = TypeTag::k##tag;   \
    const Parts& parts() const { return parts_; }      \
    fields                                             \
   protected:                                          \
    friend struct TypeTable;                           \
    explicit TypeNode(Parts parts);                    \
   private:                                            \
    Parts parts_;                                      \
  };
#include <relay/ir/types.def>
// clang-format on

/// A list of dimensions: `(2, n, ?)`.
class ShapeType final : public TypeNode<ShapeType> {
 public:
  using TypeNode::TypeNode;
  static TypeRef make(std::span<const Dim> dims);
};

/// A dtype as a type argument.
class BaseType final : public TypeNode<BaseType> {
 public:
  using TypeNode::TypeNode;
  static TypeRef make(DType dtype);
};

/// A dimension as a type argument.
class DimType final : public TypeNode<DimType> {
 public:
  using TypeNode::TypeNode;
  static TypeRef make(Dim dim);
};

/// `Tensor[shape, dtype]`. The shape is a ShapeType, or a TypeVar or IncompleteType of kind Shape;
/// the dtype is a BaseType or a variable in the same way.
class TensorType final : public TypeNode<TensorType> {
 public:
  using TypeNode::TypeNode;
  static TypeRef make(TypeRef shape, TypeRef dtype);
  static TypeRef make(std::span<const Dim> dims, DType dtype);
  static TypeRef scalar(DType dtype) { return make(std::span<const Dim>(), dtype); }

  bool has_rank() const { return shape()->is<ShapeType>(); }
  /// The dimensions; call it only if `has_rank()`.
  std::span<const Dim> dims() const { return shape()->as<ShapeType>()->dims(); }
  bool has_dtype() const { return dtype_type()->is<BaseType>(); }
  DType dtype() const { return dtype_type()->as<BaseType>()->dtype(); }
};

class TupleType final : public TypeNode<TupleType> {
 public:
  using TypeNode::TypeNode;
  static TypeRef make(std::vector<TypeRef> fields);
};

/// `fn<type_params>(params) -> result where constraints`: with type parameters, a scheme.
class FuncType final : public TypeNode<FuncType> {
 public:
  using TypeNode::TypeNode;
  static TypeRef make(std::vector<TypeRef> params, TypeRef result,
                      std::vector<TypeVarRef> type_params = {},
                      std::vector<RelationTypeRef> constraints = {});
  bool is_scheme() const { return !type_params().empty(); }
};

/// A type parameter: the object is its identity, the name is for people.
class TypeVar final : public TypeNode<TypeVar> {
 public:
  using TypeNode::TypeNode;
  /// `implicit`: a dimension name that is used without being declared (T13). The outermost function
  /// that mentions it quantifies it, but does not print it among the type parameters.
  static TypeVarRef make(Name name, Kind kind, bool implicit = false);
};

/// The name of a data type. One object for each name.
class GlobalTypeVar final : public TypeNode<GlobalTypeVar> {
 public:
  using TypeNode::TypeNode;
  static GlobalTypeVarRef make(Name name);
};

/// A data type applied: `List[int32]`; also without arguments, `Nat`.
class TypeCall final : public TypeNode<TypeCall> {
 public:
  using TypeNode::TypeNode;
  static TypeRef make(TypeRef callee, std::vector<TypeRef> args);
};

/// `ref(t)`.
class RefType final : public TypeNode<RefType> {
 public:
  using TypeNode::TypeNode;
  static TypeRef make(TypeRef value);
};

/// Gives this layer the names of relations and operators; op/ defines and sets these hooks when the
/// process starts.
struct NameHooks {
  Name (*relation)(const Relation* relation) = nullptr;
  Name (*op)(const Operator* op) = nullptr;
};
extern NameHooks name_hooks;
Name relation_name(const Relation* relation);
Name operator_name(const Operator* op);

/// A constraint `R{attrs}(t1, …, tk)` (T2). The first `num_inputs` arguments determine the others.
class RelationType final : public TypeNode<RelationType> {
 public:
  using TypeNode::TypeNode;
  static RelationTypeRef make(const Relation* relation, std::vector<TypeRef> args, int num_inputs,
                              AttrsRef attrs = {});
};

/// A variable of one inference, of any kind but ShapeVar (those are `Dim::variable`). Also `_` in
/// annotations: id 0 stands for "to be inferred", fresh at each occurrence.
class IncompleteType final : public TypeNode<IncompleteType> {
 public:
  using TypeNode::TypeNode;
  static TypeRef make(uint32_t id, Kind kind);
  /// `_`.
  static TypeRef hole() { return make(0, Kind::kType); }
};

/// Equality up to the names of bound type parameters. Compares pointers if neither type binds any.
bool types_equal(const Type* a, const Type* b);
inline bool types_equal(const TypeRef& a, const TypeRef& b) {
  return types_equal(a.get(), b.get());
}
/// A hash that agrees with `types_equal`.
uint64_t type_hash(const Type* type);

/// Replaces free type variables; `replace` returns null to keep one. A variable of kind ShapeVar is
/// replaced by a DimType.
TypeRef substitute(const TypeRef& type, const std::function<TypeRef(const TypeVar* var)>& replace);
/// Free type variables in order of first occurrence, dimension symbols included.
std::vector<TypeVarRef> free_type_vars(const TypeRef& type);

/// The number of elements of a tensor type with known integer dimensions, or nothing.
std::optional<int64_t> num_elements(const Type* type);

}  // namespace relay
