// Types: immutable, interned; pointer equality is structural equality (up to bound variables).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <relay/ir/attrs.h>
#include <relay/ir/dim.h>
#include <relay/runtime/dtype.h>
#include <relay/support/name.h>
#include <relay/support/ref.h>
#include <relay/support/span.h>

namespace relay {

/// What a type (or type parameter) stands for (language.md §3).
enum class Kind : uint8_t {
  kType,        // a type of values
  kShape,       // a shape: the first argument of Tensor
  kBaseType,    // a dtype: the second argument of Tensor
  kShapeVar,    // a single dimension
  kConstraint,  // a relation
  kAdtHandle,   // a data type's name
  kTypeData     // a data type's definition
};
/// "Type", "Shape", "BaseType", "ShapeVar", "Constraint", "AdtHandle", "TypeData".
std::string_view kind_name(Kind kind);

enum class TypeTag : uint8_t {
  kTensor,
  kShape,
  kBase,
  kDim,
  kTuple,
  kFunc,
  kVar,
  kCall,
  kGlobalVar,
  kData,
  kRef,
  kRelation,
  kIncomplete
};

class Type;
class TypeVar;
class GlobalTypeVar;
class TypeData;
class RelationType;
struct Relation;  // relay/op/relation.h: a named predicate over types
class Operator;   // relay/op/op.h
using TypeRef = Ref<const Type>;
using TypeVarRef = Ref<const TypeVar>;
using GlobalTypeVarRef = Ref<const GlobalTypeVar>;
using TypeDataRef = Ref<const TypeData>;
using RelationTypeRef = Ref<const RelationType>;

/// Base of all types. Construct with the `make` functions; those of one structure are one object.
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
  /// Nesting, at most kMaxDepth; and the size as a tree, at most kMaxSize. The `make` functions
  /// throw `Error` beyond, so that walks over types may recurse and terminate.
  static constexpr uint32_t kMaxDepth = 200;
  static constexpr uint32_t kMaxSize = 1u << 20;
  uint32_t depth() const { return depth_; }
  uint32_t size() const { return size_; }
  uint64_t hash() const { return hash_; }

  /// As printed in programs, e.g. `Tensor[(2, 3), float32]`, `fn (int32) -> bool`.
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

/// A list of dimensions: `(2, n, ?)`. Kind Shape.
class ShapeType final : public Type {
 public:
  static constexpr TypeTag kTag = TypeTag::kShape;
  static TypeRef make(std::span<const Dim> dims);
  std::span<const Dim> dims() const { return dims_; }

 private:
  friend struct TypeTable;
  explicit ShapeType(std::span<const Dim> dims);
  std::vector<Dim> dims_;
};

/// A dtype as a type argument. Kind BaseType.
class BaseType final : public Type {
 public:
  static constexpr TypeTag kTag = TypeTag::kBase;
  static TypeRef make(DType dtype);
  DType dtype() const { return dtype_; }

 private:
  friend struct TypeTable;
  explicit BaseType(DType dtype);
  DType dtype_;
};

/// A dimension as a type argument. Kind ShapeVar.
class DimType final : public Type {
 public:
  static constexpr TypeTag kTag = TypeTag::kDim;
  static TypeRef make(Dim dim);
  Dim dim() const { return dim_; }

 private:
  friend struct TypeTable;
  explicit DimType(Dim dim);
  Dim dim_;
};

/// `Tensor[shape, dtype]`. The shape is a ShapeType, or a TypeVar or IncompleteType of kind Shape;
/// the dtype likewise a BaseType or a variable.
class TensorType final : public Type {
 public:
  static constexpr TypeTag kTag = TypeTag::kTensor;
  static TypeRef make(TypeRef shape, TypeRef dtype);
  static TypeRef make(std::span<const Dim> dims, DType dtype);
  static TypeRef scalar(DType dtype) { return make(std::span<const Dim>(), dtype); }

  const TypeRef& shape() const { return shape_; }
  const TypeRef& dtype_type() const { return dtype_; }
  bool has_rank() const { return shape_->is<ShapeType>(); }
  /// The dimensions; only when `has_rank()`.
  std::span<const Dim> dims() const { return shape_->as<ShapeType>()->dims(); }
  bool has_dtype() const { return dtype_->is<BaseType>(); }
  DType dtype() const { return dtype_->as<BaseType>()->dtype(); }

 private:
  friend struct TypeTable;
  TensorType(TypeRef shape, TypeRef dtype);
  TypeRef shape_;
  TypeRef dtype_;
};

class TupleType final : public Type {
 public:
  static constexpr TypeTag kTag = TypeTag::kTuple;
  static TypeRef make(std::vector<TypeRef> fields);
  std::span<const TypeRef> fields() const { return fields_; }

 private:
  friend struct TypeTable;
  explicit TupleType(std::vector<TypeRef> fields);
  std::vector<TypeRef> fields_;
};

/// `fn<type_params>(params) -> result where constraints`: with type parameters, a scheme.
class FuncType final : public Type {
 public:
  static constexpr TypeTag kTag = TypeTag::kFunc;
  static TypeRef make(std::vector<TypeRef> params, TypeRef result,
                      std::vector<TypeVarRef> type_params = {},
                      std::vector<RelationTypeRef> constraints = {});
  std::span<const TypeRef> params() const { return params_; }
  const TypeRef& result() const { return result_; }
  std::span<const TypeVarRef> type_params() const { return type_params_; }
  std::span<const RelationTypeRef> constraints() const { return constraints_; }
  bool is_scheme() const { return !type_params_.empty(); }

 private:
  friend struct TypeTable;
  FuncType(std::vector<TypeRef> params, TypeRef result, std::vector<TypeVarRef> type_params,
           std::vector<RelationTypeRef> constraints);
  std::vector<TypeRef> params_;
  TypeRef result_;
  std::vector<TypeVarRef> type_params_;
  std::vector<RelationTypeRef> constraints_;
};

/// A type parameter: identity is the object, the name is for people.
class TypeVar final : public Type {
 public:
  static constexpr TypeTag kTag = TypeTag::kVar;
  /// `implicit`: a dimension name that was used without being declared (T13); it is quantified by
  /// the outermost function that mentions it but not printed among the type parameters.
  static TypeVarRef make(Name name, Kind kind, bool implicit = false);
  Name name() const { return name_; }
  bool implicit() const { return implicit_; }

 private:
  friend struct TypeTable;
  TypeVar(Name name, Kind kind, bool implicit);
  Name name_;
  bool implicit_;
};

/// The name of a data type. One object for each name.
class GlobalTypeVar final : public Type {
 public:
  static constexpr TypeTag kTag = TypeTag::kGlobalVar;
  static GlobalTypeVarRef make(Name name);
  Name name() const { return name_; }

 private:
  friend struct TypeTable;
  explicit GlobalTypeVar(Name name);
  Name name_;
};

/// A data type applied: `List[int32]`; also without arguments, `Nat`.
class TypeCall final : public Type {
 public:
  static constexpr TypeTag kTag = TypeTag::kCall;
  static TypeRef make(TypeRef callee, std::vector<TypeRef> args);
  const TypeRef& callee() const { return callee_; }
  std::span<const TypeRef> args() const { return args_; }

 private:
  friend struct TypeTable;
  TypeCall(TypeRef callee, std::vector<TypeRef> args);
  TypeRef callee_;
  std::vector<TypeRef> args_;
};

/// `ref(t)`.
class RefType final : public Type {
 public:
  static constexpr TypeTag kTag = TypeTag::kRef;
  static TypeRef make(TypeRef value);
  const TypeRef& value() const { return value_; }

 private:
  friend struct TypeTable;
  explicit RefType(TypeRef value);
  TypeRef value_;
};

/// How this layer asks for the names of relations and operators, which op/ defines and sets here
/// when the process starts.
struct NameHooks {
  Name (*relation)(const Relation* relation) = nullptr;
  Name (*op)(const Operator* op) = nullptr;
};
extern NameHooks name_hooks;
Name relation_name(const Relation* relation);
Name operator_name(const Operator* op);

/// A constraint `R{attrs}(t1, …, tk)` (T2). The first `num_inputs` arguments determine the others.
class RelationType final : public Type {
 public:
  static constexpr TypeTag kTag = TypeTag::kRelation;
  static RelationTypeRef make(const Relation* relation, std::vector<TypeRef> args, int num_inputs,
                              AttrsRef attrs = {});
  const Relation* relation() const { return relation_; }
  std::span<const TypeRef> args() const { return args_; }
  int num_inputs() const { return num_inputs_; }
  const AttrsRef& attrs() const { return attrs_; }

 private:
  friend struct TypeTable;
  RelationType(const Relation* relation, std::vector<TypeRef> args, int num_inputs, AttrsRef attrs);
  const Relation* relation_;
  std::vector<TypeRef> args_;
  int num_inputs_;
  AttrsRef attrs_;
};

/// A variable of one inference, of any kind but ShapeVar (those are `Dim::variable`). Also `_` in
/// annotations: id 0 stands for "to be inferred", fresh at each occurrence.
class IncompleteType final : public Type {
 public:
  static constexpr TypeTag kTag = TypeTag::kIncomplete;
  static TypeRef make(uint32_t id, Kind kind);
  /// `_`.
  static TypeRef hole() { return make(0, Kind::kType); }
  uint32_t id() const { return id_; }

 private:
  friend struct TypeTable;
  IncompleteType(uint32_t id, Kind kind);
  uint32_t id_;
};

/// Equality up to the names of bound type parameters. Pointer comparison when neither binds any.
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
