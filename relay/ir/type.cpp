#include <relay/ir/type.h>

#include <relay/ir/module.h>
#include <relay/ir/type_table.h>
#include <relay/support/error.h>

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
    case TypeTag::kTensor:
      delete static_cast<const TensorType*>(type);
      return;
    case TypeTag::kShape:
      delete static_cast<const ShapeType*>(type);
      return;
    case TypeTag::kBase:
      delete static_cast<const BaseType*>(type);
      return;
    case TypeTag::kDim:
      delete static_cast<const DimType*>(type);
      return;
    case TypeTag::kTuple:
      delete static_cast<const TupleType*>(type);
      return;
    case TypeTag::kFunc:
      delete static_cast<const FuncType*>(type);
      return;
    case TypeTag::kVar:
      delete static_cast<const TypeVar*>(type);
      return;
    case TypeTag::kCall:
      delete static_cast<const TypeCall*>(type);
      return;
    case TypeTag::kGlobalVar:
      delete static_cast<const GlobalTypeVar*>(type);
      return;
    case TypeTag::kData:
      delete static_cast<const TypeData*>(type);
      return;
    case TypeTag::kRef:
      delete static_cast<const RefType*>(type);
      return;
    case TypeTag::kRelation:
      delete static_cast<const RelationType*>(type);
      return;
    case TypeTag::kIncomplete:
      delete static_cast<const IncompleteType*>(type);
      return;
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

uint64_t tag_hash(TypeTag tag) { return hash_mix(static_cast<uint64_t>(tag) + 0x51ed27); }

template <class T>
uint64_t hash_children(uint64_t hash, const std::vector<Ref<const T>>& children) {
  hash = hash_combine(hash, children.size());
  for (const auto& child : children) hash = hash_combine(hash, child->hash());
  return hash;
}
uint64_t hash_dims(std::span<const Dim> dims) {
  uint64_t hash = hash_combine(tag_hash(TypeTag::kShape), dims.size());
  for (Dim d : dims) hash = hash_combine(hash, d.bits());
  return hash;
}
uint64_t hash_dtype(DType dtype) {
  return hash_combine(tag_hash(TypeTag::kBase),
                      (static_cast<uint64_t>(dtype.code) << 8) | dtype.bits);
}
uint64_t hash_tensor(uint64_t shape, uint64_t dtype) {
  return hash_combine(hash_combine(tag_hash(TypeTag::kTensor), shape), dtype);
}

template <class T>
void check_present(const std::vector<Ref<const T>>& parts) {
  for (const auto& part : parts) RELAY_CHECK(part.get() != nullptr, "a type has a null part");
}

}  // namespace

// ---- Construction -----------------------------------------------------------------------------

ShapeType::ShapeType(std::span<const Dim> dims)
    : Type(kTag, Kind::kShape), dims_(dims.begin(), dims.end()) {
  for (Dim d : dims_) TypeTable::add_dim(this, d);
  size_ += static_cast<uint32_t>(std::min<size_t>(dims_.size(), kMaxSize));
  TypeTable::check_limits(this);
}
TypeRef ShapeType::make(std::span<const Dim> dims) {
  return TypeTable::instance().intern<ShapeType>(
      hash_dims(dims),
      [&](const ShapeType& t) {
        return std::equal(dims.begin(), dims.end(), t.dims_.begin(), t.dims_.end());
      },
      [&] { return TypeTable::create<ShapeType>(dims); });
}

BaseType::BaseType(DType dtype) : Type(kTag, Kind::kBaseType), dtype_(dtype) {}
TypeRef BaseType::make(DType dtype) {
  return TypeTable::instance().intern<BaseType>(
      hash_dtype(dtype), [&](const BaseType& t) { return t.dtype_ == dtype; },
      [&] { return TypeTable::create<BaseType>(dtype); });
}

DimType::DimType(Dim dim) : Type(kTag, Kind::kShapeVar), dim_(dim) {
  TypeTable::add_dim(this, dim);
}
TypeRef DimType::make(Dim dim) {
  return TypeTable::instance().intern<DimType>(
      hash_combine(tag_hash(TypeTag::kDim), dim.bits()),
      [&](const DimType& t) { return t.dim_ == dim; },
      [&] { return TypeTable::create<DimType>(dim); });
}

TensorType::TensorType(TypeRef shape, TypeRef dtype)
    : Type(kTag, Kind::kType), shape_(std::move(shape)), dtype_(std::move(dtype)) {
  TypeTable::add_child(this, shape_.get());
  TypeTable::add_child(this, dtype_.get());
  TypeTable::check_limits(this);
}
TypeRef TensorType::make(TypeRef shape, TypeRef dtype) {
  RELAY_CHECK(shape && dtype, "a tensor type has a null part");
  return TypeTable::instance().intern<TensorType>(
      hash_tensor(shape->hash(), dtype->hash()),
      [&](const TensorType& t) { return t.shape_ == shape && t.dtype_ == dtype; },
      [&] { return TypeTable::create<TensorType>(shape, dtype); });
}
TypeRef TensorType::make(std::span<const Dim> dims, DType dtype) {
  // Finds the tensor type itself by the structure of its parts: one lookup rather than three.
  return TypeTable::instance().intern<TensorType>(
      hash_tensor(hash_dims(dims), hash_dtype(dtype)),
      [&](const TensorType& t) {
        const auto* base = t.dtype_->as<BaseType>();
        const auto* shape = t.shape_->as<ShapeType>();
        return base != nullptr && shape != nullptr && base->dtype() == dtype &&
               std::equal(dims.begin(), dims.end(), shape->dims().begin(), shape->dims().end());
      },
      [&] { return TypeTable::create<TensorType>(ShapeType::make(dims), BaseType::make(dtype)); });
}

TupleType::TupleType(std::vector<TypeRef> fields)
    : Type(kTag, Kind::kType), fields_(std::move(fields)) {
  for (const TypeRef& field : fields_) TypeTable::add_child(this, field.get());
  TypeTable::check_limits(this);
}
TypeRef TupleType::make(std::vector<TypeRef> fields) {
  check_present(fields);
  return TypeTable::instance().intern<TupleType>(
      hash_children(tag_hash(kTag), fields),
      [&](const TupleType& t) { return t.fields_ == fields; },
      [&] { return TypeTable::create<TupleType>(fields); });
}

FuncType::FuncType(std::vector<TypeRef> params, TypeRef result, std::vector<TypeVarRef> type_params,
                   std::vector<RelationTypeRef> constraints)
    : Type(kTag, Kind::kType),
      params_(std::move(params)),
      result_(std::move(result)),
      type_params_(std::move(type_params)),
      constraints_(std::move(constraints)) {
  for (const TypeRef& param : params_) TypeTable::add_child(this, param.get());
  TypeTable::add_child(this, result_.get());
  for (const TypeVarRef& var : type_params_) TypeTable::add_child(this, var.get());
  for (const RelationTypeRef& relation : constraints_) TypeTable::add_child(this, relation.get());
  if (!type_params_.empty()) flags_ |= kHasBinder;
  TypeTable::check_limits(this);
}
TypeRef FuncType::make(std::vector<TypeRef> params, TypeRef result,
                       std::vector<TypeVarRef> type_params,
                       std::vector<RelationTypeRef> constraints) {
  check_present(params);
  check_present(type_params);
  check_present(constraints);
  RELAY_CHECK(result, "a function type has no result");
  uint64_t hash = hash_combine(hash_children(tag_hash(kTag), params), result->hash());
  hash = hash_children(hash_children(hash, type_params), constraints);
  return TypeTable::instance().intern<FuncType>(
      hash,
      [&](const FuncType& t) {
        return t.params_ == params && t.result_ == result && t.type_params_ == type_params &&
               t.constraints_ == constraints;
      },
      [&] { return TypeTable::create<FuncType>(params, result, type_params, constraints); });
}

TypeVar::TypeVar(Name name, Kind kind, bool implicit)
    : Type(kTag, kind), name_(name), implicit_(implicit) {
  flags_ |= kHasTypeVar;
  hash_ = hash_mix(reinterpret_cast<uintptr_t>(this));  // identity
}
TypeVarRef TypeVar::make(Name name, Kind kind, bool implicit) {
  return TypeVarRef::adopt(TypeTable::create<TypeVar>(name, kind, implicit));
}

GlobalTypeVar::GlobalTypeVar(Name name) : Type(kTag, Kind::kAdtHandle), name_(name) {}
GlobalTypeVarRef GlobalTypeVar::make(Name name) {
  TypeRef type = TypeTable::instance().intern<GlobalTypeVar>(
      hash_combine(tag_hash(kTag), name.hash()),
      [&](const GlobalTypeVar& t) { return t.name_ == name; },
      [&] { return TypeTable::create<GlobalTypeVar>(name); });
  return GlobalTypeVarRef::adopt(static_cast<const GlobalTypeVar*>(type.detach()));
}

TypeCall::TypeCall(TypeRef callee, std::vector<TypeRef> args)
    : Type(kTag, Kind::kType), callee_(std::move(callee)), args_(std::move(args)) {
  TypeTable::add_child(this, callee_.get());
  for (const TypeRef& arg : args_) TypeTable::add_child(this, arg.get());
  TypeTable::check_limits(this);
}
TypeRef TypeCall::make(TypeRef callee, std::vector<TypeRef> args) {
  RELAY_CHECK(callee, "a type call has no callee");
  check_present(args);
  return TypeTable::instance().intern<TypeCall>(
      hash_children(hash_combine(tag_hash(kTag), callee->hash()), args),
      [&](const TypeCall& t) { return t.callee_ == callee && t.args_ == args; },
      [&] { return TypeTable::create<TypeCall>(callee, args); });
}

RefType::RefType(TypeRef value) : Type(kTag, Kind::kType), value_(std::move(value)) {
  TypeTable::add_child(this, value_.get());
  TypeTable::check_limits(this);
}
TypeRef RefType::make(TypeRef value) {
  RELAY_CHECK(value, "a reference type has no content");
  return TypeTable::instance().intern<RefType>(
      hash_combine(tag_hash(kTag), value->hash()),
      [&](const RefType& t) { return t.value_ == value; },
      [&] { return TypeTable::create<RefType>(value); });
}

RelationType::RelationType(const Relation* relation, std::vector<TypeRef> args, int num_inputs,
                           AttrsRef attrs)
    : Type(kTag, Kind::kConstraint),
      relation_(relation),
      args_(std::move(args)),
      num_inputs_(num_inputs),
      attrs_(std::move(attrs)) {
  for (const TypeRef& arg : args_) TypeTable::add_child(this, arg.get());
  TypeTable::check_limits(this);
}
RelationTypeRef RelationType::make(const Relation* relation, std::vector<TypeRef> args,
                                   int num_inputs, AttrsRef attrs) {
  check_present(args);
  uint64_t hash = hash_children(hash_combine(tag_hash(kTag), relation_name(relation).hash()), args);
  hash = hash_combine(hash, static_cast<uint64_t>(num_inputs));
  if (attrs) hash = hash_combine(hash, attrs->hash());
  TypeRef type = TypeTable::instance().intern<RelationType>(
      hash,
      [&](const RelationType& t) {
        return t.relation_ == relation && t.args_ == args && t.num_inputs_ == num_inputs &&
               t.attrs_ == attrs;
      },
      [&] { return TypeTable::create<RelationType>(relation, args, num_inputs, attrs); });
  return RelationTypeRef::adopt(static_cast<const RelationType*>(type.detach()));
}

IncompleteType::IncompleteType(uint32_t id, Kind kind) : Type(kTag, kind), id_(id) {
  flags_ |= kHasIncomplete;
}
TypeRef IncompleteType::make(uint32_t id, Kind kind) {
  return TypeTable::instance().intern<IncompleteType>(
      hash_combine(hash_combine(tag_hash(kTag), id), static_cast<uint64_t>(kind)),
      [&](const IncompleteType& t) { return t.id_ == id && t.kind() == kind; },
      [&] { return TypeTable::create<IncompleteType>(id, kind); });
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

}  // namespace relay
