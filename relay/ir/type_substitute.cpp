// Substitution of type variables, and which are free.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <relay/ir/type_fields.h>

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

  TypeRef rebuild(const TypeRef& type) {
    if (const auto* var = type->as<TypeVar>()) {
      TypeRef result = replacement(var);
      return result ? result : type;
    }
    // Results depend on the bound variables, so each scheme has a memory of its own.
    const auto* function = type->as<FuncType>();
    std::unordered_map<const Type*, TypeRef> outer;
    size_t depth = bound_.size();
    if (function != nullptr && function->is_scheme()) {
      outer.swap(memo_);
      for (const TypeVarRef& var : function->type_params()) bound_.push_back(var.get());
    }
    TypeRef result = map_parts(
        type, [this](const TypeRef& part) { return apply(part); },
        [this](Dim dim) { return apply(dim); });
    if (bound_.size() != depth) outer.swap(memo_);
    bound_.resize(depth);
    return result;
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
    if (const auto* var = type->as<TypeVar>()) return add(var);
    const auto* function = type->as<FuncType>();
    std::unordered_set<const Type*> outer;
    size_t depth = bound_.size();
    if (function != nullptr && function->is_scheme()) {
      outer.swap(seen_);
      for (const TypeVarRef& var : function->type_params()) bound_.push_back(var.get());
    }
    for_each_dim(type, [this](Dim dim) { visit(dim); });
    for_each_part(*type, [this](const Type* part) { visit(part); });
    if (bound_.size() != depth) outer.swap(seen_);
    bound_.resize(depth);
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
