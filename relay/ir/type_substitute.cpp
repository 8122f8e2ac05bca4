// Substitution of type variables, and which are free.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <relay/ir/type.h>
#include <relay/support/error.h>

namespace relay {

namespace {

class Substitution {
 public:
  explicit Substitution(const std::function<TypeRef(const TypeVar*)>& replace)
      : replace_(replace) {}

  TypeRef apply(const TypeRef& type) {
    if (!type || (!type->has_type_var() && !type->has_symbolic_dim())) return type;
    auto found = memo_.find(type.get());
    if (found != memo_.end()) return found->second;
    TypeRef result = rebuild(type);
    memo_.emplace(type.get(), result);
    return result;
  }

 private:
  TypeRef replacement(const TypeVar* var) {
    if (std::find(bound_.begin(), bound_.end(), var) != bound_.end()) return {};
    return replace_(var);
  }

  Dim apply(Dim dim) {
    if (!dim.has_symbol()) return dim;
    return relay::substitute(dim, [this](Dim atom) {
      const TypeVar* var = atom.as_symbol();
      TypeRef type = var != nullptr ? replacement(var) : TypeRef();
      if (!type) return atom;
      if (const auto* d = type->as<DimType>()) return d->dim();
      if (const auto* v = type->as<TypeVar>()) return Dim::symbol(v);
      throw InternalError("a dimension is replaced by a type of another kind");
    });
  }

  std::vector<TypeRef> apply(std::span<const TypeRef> types) {
    std::vector<TypeRef> result;
    result.reserve(types.size());
    for (const TypeRef& type : types) result.push_back(apply(type));
    return result;
  }

  TypeRef rebuild(const TypeRef& type) {
    switch (type->tag()) {
      case TypeTag::kVar: {
        TypeRef result = replacement(type->as<TypeVar>());
        return result ? result : type;
      }
      case TypeTag::kShape: {
        auto old = type->as<ShapeType>()->dims();
        std::vector<Dim> dims(old.begin(), old.end());
        for (Dim& d : dims) d = apply(d);
        return ShapeType::make(dims);
      }
      case TypeTag::kDim:
        return DimType::make(apply(type->as<DimType>()->dim()));
      case TypeTag::kTensor:
        return TensorType::make(apply(type->as<TensorType>()->shape()),
                                apply(type->as<TensorType>()->dtype_type()));
      case TypeTag::kTuple:
        return TupleType::make(apply(type->as<TupleType>()->fields()));
      case TypeTag::kFunc:
        return rebuild_function(*type->as<FuncType>());
      case TypeTag::kCall:
        return TypeCall::make(apply(type->as<TypeCall>()->callee()),
                              apply(type->as<TypeCall>()->args()));
      case TypeTag::kRef:
        return RefType::make(apply(type->as<RefType>()->value()));
      case TypeTag::kRelation: {
        const auto& r = *type->as<RelationType>();
        return RelationType::make(r.relation(), apply(r.args()), r.num_inputs(), r.attrs());
      }
      case TypeTag::kBase:
      case TypeTag::kGlobalVar:
      case TypeTag::kData:
      case TypeTag::kIncomplete:
        return type;
    }
    RELAY_UNREACHABLE("unknown type");
  }

  TypeRef rebuild_function(const FuncType& f) {
    // Results depend on what is bound, so each scheme has a memory of its own.
    std::unordered_map<const Type*, TypeRef> outer;
    if (f.is_scheme()) outer.swap(memo_);
    size_t depth = bound_.size();
    for (const TypeVarRef& var : f.type_params()) bound_.push_back(var.get());
    std::vector<TypeRef> params = apply(f.params());
    TypeRef result = apply(f.result());
    std::vector<RelationTypeRef> constraints;
    for (const RelationTypeRef& constraint : f.constraints()) {
      TypeRef mapped = apply(TypeRef(constraint));
      constraints.emplace_back(mapped->as<RelationType>());
    }
    bound_.resize(depth);
    if (f.is_scheme()) outer.swap(memo_);
    return FuncType::make(std::move(params), std::move(result),
                          {f.type_params().begin(), f.type_params().end()}, std::move(constraints));
  }

  const std::function<TypeRef(const TypeVar*)>& replace_;
  std::unordered_map<const Type*, TypeRef> memo_;
  std::vector<const TypeVar*> bound_;
};

class FreeVars {
 public:
  std::vector<TypeVarRef> found;

  void visit(const Type* type) {
    if (type == nullptr || (!type->has_type_var() && !type->has_symbolic_dim())) return;
    if (!seen_.insert(type).second) return;
    switch (type->tag()) {
      case TypeTag::kVar:
        add(type->as<TypeVar>());
        return;
      case TypeTag::kShape:
        for (Dim d : type->as<ShapeType>()->dims()) visit(d);
        return;
      case TypeTag::kDim:
        visit(type->as<DimType>()->dim());
        return;
      case TypeTag::kTensor:
        visit(type->as<TensorType>()->shape().get());
        visit(type->as<TensorType>()->dtype_type().get());
        return;
      case TypeTag::kTuple:
        for (const TypeRef& field : type->as<TupleType>()->fields()) visit(field.get());
        return;
      case TypeTag::kFunc: {
        const auto& f = *type->as<FuncType>();
        std::unordered_set<const Type*> outer;
        if (f.is_scheme()) outer.swap(seen_);
        size_t depth = bound_.size();
        for (const TypeVarRef& var : f.type_params()) bound_.push_back(var.get());
        for (const TypeRef& param : f.params()) visit(param.get());
        visit(f.result().get());
        for (const RelationTypeRef& constraint : f.constraints()) visit(constraint.get());
        bound_.resize(depth);
        if (f.is_scheme()) outer.swap(seen_);
        return;
      }
      case TypeTag::kCall:
        visit(type->as<TypeCall>()->callee().get());
        for (const TypeRef& arg : type->as<TypeCall>()->args()) visit(arg.get());
        return;
      case TypeTag::kRef:
        visit(type->as<RefType>()->value().get());
        return;
      case TypeTag::kRelation:
        for (const TypeRef& arg : type->as<RelationType>()->args()) visit(arg.get());
        return;
      case TypeTag::kBase:
      case TypeTag::kGlobalVar:
      case TypeTag::kData:
      case TypeTag::kIncomplete:
        return;
    }
  }

 private:
  void visit(Dim dim) {
    if (!dim.has_symbol()) return;
    for_each_atom(dim, [this](Dim atom) {
      if (const TypeVar* var = atom.as_symbol()) add(var);
    });
  }
  void add(const TypeVar* var) {
    if (std::find(bound_.begin(), bound_.end(), var) != bound_.end()) return;
    if (added_.insert(var).second) found.emplace_back(var);
  }

  std::unordered_set<const Type*> seen_;
  std::unordered_set<const TypeVar*> added_;
  std::vector<const TypeVar*> bound_;
};

}  // namespace

TypeRef substitute(const TypeRef& type, const std::function<TypeRef(const TypeVar* var)>& replace) {
  return Substitution(replace).apply(type);
}

std::vector<TypeVarRef> free_type_vars(const TypeRef& type) {
  FreeVars vars;
  vars.visit(type.get());
  return std::move(vars.found);
}

}  // namespace relay
