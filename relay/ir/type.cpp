#include <relay/ir/type.h>

#include <deque>
#include <map>
#include <mutex>
#include <string>

#include <relay/ir/module.h>
#include <relay/ir/numbered_symbol.h>
#include <relay/ir/type_fields.h>
#include <relay/ir/type_table.h>
#include <relay/support/error.h>
#include <relay/support/fork_mutex.h>

namespace relay {

std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::kType:
      return "Type";
    case Kind::kShape:
      return "Shape";
    case Kind::kBaseType:
      return "BaseType";
    case Kind::kShapeVar:
      return "ShapeVar";
    case Kind::kConstraint:
      return "Constraint";
    case Kind::kAdtHandle:
      return "AdtHandle";
    case Kind::kTypeData:
      return "TypeData";
    case Kind::kNumber:
      return "Number";
  }
  RELAY_UNREACHABLE("unknown kind");
}

constinit NameHooks name_hooks;
Name relation_name(const Relation* relation) {
  return name_hooks.relation != nullptr ? name_hooks.relation(relation) : Name("relation");
}
Name operator_name(const Operator* op) {
  return name_hooks.op != nullptr ? name_hooks.op(op) : Name("operator");
}

// ---- Lifetime ---------------------------------------------------------------------------------

void Type::release() const noexcept { TypeTable::release(this); }

void TypeTable::release(const Type* type) noexcept {
  if ((type->flags_ & Type::kInterned) == 0) {
    if (type->refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy(type);
    return;
  }
  uint32_t count = type->refs_.load(std::memory_order_relaxed);
  while (count > 1) {
    if (type->refs_.compare_exchange_weak(count, count - 1, std::memory_order_acq_rel)) return;
  }
  Shard& home = instance().shard(type->hash_);
  {
    std::lock_guard lock(home.mutex);
    if (type->refs_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;  // found again meanwhile
    remove(home, type);
  }
  destroy(type);
}

void TypeTable::destroy(const Type* type) noexcept {
  switch (type->tag()) {
#define RELAY_TYPE_KIND(Class, tag, kind, doc, fields) \
  case TypeTag::k##tag:                                \
    delete static_cast<const Class*>(type);            \
    return;
#include <relay/ir/types.def>
  }
}

// ---- Facts ------------------------------------------------------------------------------------

void TypeTable::add_child(Type* type, const Type* child) {
  constexpr uint8_t kInherited = Type::kHasIncomplete | Type::kHasTypeVar | Type::kHasSymbol |
                                 Type::kHasAny | Type::kHasBinder | Type::kHasTerm;
  if (child == nullptr) throw InternalError("a type has a null part");
  type->flags_ |= child->flags_ & kInherited;
  type->depth_ = std::max(type->depth_, child->depth_ + 1);
  uint64_t size = uint64_t{type->size_} + child->size_;
  type->size_ = static_cast<uint32_t>(std::min<uint64_t>(size, UINT32_MAX));
}

void TypeTable::add_dim(Type* type, Dim dim) {
  if (dim.is_int()) return;
  if (dim.is_any()) type->flags_ |= Type::kHasAny;
  if (dim.has_variable()) type->flags_ |= Type::kHasIncomplete;
  if (dim.has_symbol()) type->flags_ |= Type::kHasSymbol;
  if (dim.is_term()) type->flags_ |= Type::kHasTerm;
}

void TypeTable::check_limits(const Type* type) {
  if (type->depth_ > Type::kMaxDepth) {
    throw Error("a type is nested deeper than " + std::to_string(Type::kMaxDepth));
  }
  if (type->size_ > Type::kMaxSize) {
    throw Error("a type is larger than " + std::to_string(Type::kMaxSize) + " parts");
  }
}

namespace {

/// Gathers the facts that the fields of a type say of it.
struct Facts {
  Type* type;
  void operator()(Dim dim) { TypeTable::add_dim(type, dim); }
  void operator()(const std::vector<Dim>& dims) {
    for (Dim dim : dims) TypeTable::add_dim(type, dim);
    TypeTable::add_size(type, dims.size());
  }
  template <class T>
  requires std::is_base_of_v<Type, T>
  void operator()(const Ref<const T>& part) { TypeTable::add_child(type, part.get()); }
  template <class T>
  void operator()(const std::vector<Ref<const T>>& parts) {
    for (const auto& part : parts) TypeTable::add_child(type, part.get());
    if (std::is_same_v<T, TypeVar> && !parts.empty()) TypeTable::add_binder(type);
  }
  template <class T>
  void operator()(const T&) {}
};

uint64_t tag_hash(TypeTag tag) { return hash_mix(static_cast<uint64_t>(tag) + 0x51ed27); }

uint64_t hash_field(uint64_t h, std::span<const Dim> dims) {
  h = hash_combine(h, dims.size());
  for (Dim d : dims) h = hash_combine(h, d.bits());
  return h;
}
uint64_t hash_field(uint64_t h, const std::vector<Dim>& dims) {
  return hash_field(h, std::span<const Dim>(dims));
}
uint64_t hash_field(uint64_t h, Dim dim) { return hash_combine(h, dim.bits()); }
uint64_t hash_field(uint64_t h, DType dtype) {
  return hash_combine(h, (static_cast<uint64_t>(dtype.code) << 8) | dtype.bits);
}
uint64_t hash_field(uint64_t h, Name name) { return hash_combine(h, name.hash()); }
uint64_t hash_field(uint64_t h, const Relation* relation) {
  return hash_combine(h, relation_name(relation).hash());
}
uint64_t hash_field(uint64_t h, const AttrsRef& attrs) {
  return attrs ? hash_combine(h, attrs->hash()) : h;
}
template <class T>
requires(std::is_integral_v<T> || std::is_enum_v<T>) uint64_t hash_field(uint64_t h, T number) {
  return hash_combine(h, static_cast<uint64_t>(number));
}
template <class T>
requires std::is_base_of_v<Type, T> uint64_t hash_field(uint64_t h, const Ref<const T>& part) {
  RELAY_CHECK(part, "a type has a null part");
  return hash_combine(h, part->hash());
}
template <class T>
uint64_t hash_field(uint64_t h, const std::vector<Ref<const T>>& parts) {
  h = hash_combine(h, parts.size());
  for (const auto& part : parts) h = hash_field(h, part);
  return h;
}

template <class T>
Ref<const T> interned(typename TypeNode<T>::Parts fields) {
  uint64_t hash = tag_hash(T::kTag);
  each_field(fields, [&](const auto& field) { hash = hash_field(hash, field); });
  // The table compares once more after the object took the fields over.
  const typename TypeNode<T>::Parts* wanted = &fields;
  TypeRef type = TypeTable::instance().intern<T>(
      hash, [&](const T& t) { return t.parts() == *wanted; },
      [&] {
        T* made = TypeTable::create<T>(std::move(fields));
        wanted = &made->parts();
        return made;
      });
  return Ref<const T>::adopt(static_cast<const T*>(type.detach()));
}

}  // namespace

// ---- Construction -----------------------------------------------------------------------------

#define RELAY_TYPE_KIND(Class, tag, kind, doc, list)                                       \
  TypeNode<Class>::TypeNode(Parts fields) : Type(kTag, kind), parts_(std::move(fields)) {  \
    each_field(parts_, Facts{this});                                                       \
    TypeTable::check_limits(this);                                                         \
    if constexpr (kTag == TypeTag::kIncomplete) flags_ |= kHasIncomplete;                  \
    if constexpr (kTag == TypeTag::kVar) {                                                 \
      flags_ |= kHasTypeVar;                                                               \
      hash_ = hash_mix(reinterpret_cast<uintptr_t>(this)); /* identity */                  \
    }                                                                                      \
  }                                                                                        \
  TypeRef make_type(Class##Fields fields) {                                                \
    if constexpr (TypeTag::k##tag == TypeTag::kVar || TypeTag::k##tag == TypeTag::kData) { \
      RELAY_UNREACHABLE("identity is the object");                                         \
    } else {                                                                               \
      return interned<Class>(std::move(fields));                                           \
    }                                                                                      \
  }
#include <relay/ir/types.def>

TypeRef ShapeType::make(std::span<const Dim> dims) {
  return TypeTable::instance().intern<ShapeType>(
      hash_field(tag_hash(kTag), dims),
      [&](const ShapeType& t) {
        return std::equal(dims.begin(), dims.end(), t.dims().begin(), t.dims().end());
      },
      [&] {
        return TypeTable::create<ShapeType>({{dims.begin(), dims.end()}});
      });
}
TypeRef BaseType::make(DType dtype) { return interned<BaseType>({dtype}); }
TypeRef DimType::make(Dim dim) { return interned<DimType>({dim}); }
TypeRef TensorType::make(TypeRef shape, TypeRef dtype) {
  return interned<TensorType>({std::move(shape), std::move(dtype)});
}
TypeRef TensorType::make(std::span<const Dim> dims, DType dtype) {
  // Finds the tensor type itself by the structure of its parts: one lookup rather than three.
  uint64_t shape_hash = hash_field(tag_hash(TypeTag::kShape), dims);
  uint64_t dtype_hash = hash_field(tag_hash(TypeTag::kBase), dtype);
  return TypeTable::instance().intern<TensorType>(
      hash_combine(hash_combine(tag_hash(kTag), shape_hash), dtype_hash),
      [&](const TensorType& t) {
        const auto* base = t.dtype_type()->as<BaseType>();
        const auto* shape = t.shape()->as<ShapeType>();
        return base != nullptr && shape != nullptr && base->dtype() == dtype &&
               std::equal(dims.begin(), dims.end(), shape->dims().begin(), shape->dims().end());
      },
      [&] {
        return TypeTable::create<TensorType>({ShapeType::make(dims), BaseType::make(dtype)});
      });
}
TypeRef TupleType::make(std::vector<TypeRef> fields) {
  return interned<TupleType>({std::move(fields)});
}
TypeRef FuncType::make(std::vector<TypeRef> params, TypeRef result,
                       std::vector<TypeVarRef> type_params,
                       std::vector<RelationTypeRef> constraints) {
  return interned<FuncType>(
      {std::move(params), std::move(result), std::move(type_params), std::move(constraints)});
}
TypeVarRef TypeVar::make(Name name, Kind kind, bool implicit) {
  return TypeVarRef::adopt(TypeTable::create<TypeVar>({name, kind, implicit}));
}
GlobalTypeVarRef GlobalTypeVar::make(Name name) { return interned<GlobalTypeVar>({name}); }
TypeRef TypeCall::make(TypeRef callee, std::vector<TypeRef> args) {
  return interned<TypeCall>({std::move(callee), std::move(args)});
}
TypeRef RefType::make(TypeRef value) { return interned<RefType>({std::move(value)}); }
RelationTypeRef RelationType::make(const Relation* relation, std::vector<TypeRef> args,
                                   int num_inputs, AttrsRef attrs) {
  return interned<RelationType>({relation, std::move(args), num_inputs, std::move(attrs)});
}
TypeRef IncompleteType::make(uint32_t id, Kind kind) {
  return interned<IncompleteType>({id, kind});
}

std::optional<int64_t> num_elements(const Type* type) {
  const auto* tensor = type->as<TensorType>();
  if (tensor == nullptr || !tensor->has_rank()) return std::nullopt;
  int64_t count = 1;
  bool overflow = false;
  for (Dim d : tensor->dims()) {
    if (!d.is_int()) return std::nullopt;
    if (d.is_int(0)) return 0;
    overflow |= __builtin_mul_overflow(count, d.as_int(), &count);
  }
  return overflow ? std::nullopt : std::optional<int64_t>(count);
}

namespace {

Dim numbered(std::string_view prefix, size_t number, Kind kind) {
  static ForkMutex mutex;
  static auto* pools = new std::map<std::pair<Kind, std::string>, std::deque<TypeVarRef>>;
  std::lock_guard lock(mutex);
  std::deque<TypeVarRef>& pool = (*pools)[{kind, std::string(prefix)}];
  while (pool.size() <= number)
    pool.push_back(TypeVar::make(std::string(prefix) + std::to_string(pool.size()), kind));
  return Dim::symbol(pool[number].get());
}

}  // namespace

Dim numbered_symbol(std::string_view prefix, size_t number) {
  return numbered(prefix, number, Kind::kShapeVar);
}
Dim numbered_value(std::string_view prefix, size_t number) {
  return numbered(prefix, number, Kind::kNumber);
}

}  // namespace relay
