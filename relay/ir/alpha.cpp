#include <relay/ir/alpha.h>

#include <vector>

#include <relay/ir/module.h>
#include <relay/ir/type_fields.h>
#include <relay/support/hash.h>

namespace relay {

void TypeMatcher::bind(const TypeVar* a, const TypeVar* b) {
  forward_[a] = b;
  backward_[b] = a;
}

bool TypeMatcher::bind_all(std::span<const TypeVarRef> a, std::span<const TypeVarRef> b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i]->kind() != b[i]->kind()) return false;
    bind(a[i].get(), b[i].get());
  }
  return true;
}

bool TypeMatcher::bind_declared(std::span<const TypeVarRef> a, std::span<const TypeVarRef> b) {
  auto declared = [](std::span<const TypeVarRef> vars) {
    std::vector<TypeVarRef> found;
    for (const TypeVarRef& var : vars) {
      if (!var->implicit()) found.push_back(var);
    }
    return found;
  };
  return bind_all(declared(a), declared(b));
}

bool TypeMatcher::equal_vars(const TypeVar* a, const TypeVar* b) {
  auto forward = forward_.find(a);
  auto backward = backward_.find(b);
  if (forward != forward_.end() || backward != backward_.end()) {
    return forward != forward_.end() && backward != backward_.end() && forward->second == b &&
           backward->second == a;
  }
  if (map_implicit_ && is_free_name(a) && is_free_name(b) && a->kind() == b->kind()) {
    bind(a, b);
    return true;
  }
  return a == b;
}

bool TypeMatcher::equal_dims(Dim a, Dim b) {
  if (!a.has_symbol()) return a == b;
  if (!b.has_symbol()) return false;
  const TypeVar* s = a.as_symbol();
  const TypeVar* t = b.as_symbol();
  if (s != nullptr && t != nullptr) return equal_vars(s, t);
  if (map_implicit_) {
    // Names that are first used inside an expression: pairs those with one name, then the rest in
    // order.
    std::vector<const TypeVar*> left;
    std::vector<const TypeVar*> right;
    auto collect = [this](std::vector<const TypeVar*>& out, const auto& known) {
      return [this, &out, &known](Dim atom) {
        const TypeVar* var = atom.as_symbol();
        if (var == nullptr || !is_free_name(var) || known.count(var) != 0) return;
        if (std::find(out.begin(), out.end(), var) == out.end()) out.push_back(var);
      };
    };
    for_each_atom(a, collect(left, forward_));
    for_each_atom(b, collect(right, backward_));
    if (left.size() != right.size()) return false;
    for (const TypeVar*& var : left) {
      for (const TypeVar*& other : right) {
        if (other != nullptr && other->name() == var->name()) {
          bind(var, other);
          var = other = nullptr;
          break;
        }
      }
    }
    size_t next = 0;
    for (const TypeVar* var : left) {
      if (var == nullptr) continue;
      while (right[next] == nullptr) ++next;
      bind(var, right[next++]);
    }
  }
  Dim mapped = substitute(a, [this](Dim atom) {
    const TypeVar* var = atom.as_symbol();
    if (var == nullptr) return atom;
    auto found = forward_.find(var);
    return found == forward_.end() ? atom : Dim::symbol(found->second);
  });
  return mapped == b;
}

bool TypeMatcher::equal_functions(const FuncType& a, const FuncType& b) {
  if (!a.is_scheme() && !b.is_scheme()) return equal_fields(a.parts(), b.parts());
  // Bound names count inside only.
  auto forward = forward_;
  auto backward = backward_;
  bool same = bind_all(a.type_params(), b.type_params()) && equal_fields(a.parts(), b.parts());
  if (map_implicit_) {  // names first used inside stay paired
    for (auto [x, y] : forward_) {
      if (is_free_name(x)) {
        forward.emplace(x, y);
        backward.emplace(y, x);
      }
    }
  }
  forward_ = std::move(forward);
  backward_ = std::move(backward);
  return same;
}

template <class Fields>
bool TypeMatcher::equal_fields(const Fields& a, const Fields& b) {
  return all_fields(a, b, [this]<class Field>(const Field& x, const Field& y) {
    if constexpr (kIsPart<Field>) {
      return equal(x.get(), y.get());
    } else if constexpr (kIsParts<Field>) {
      return equal_lists(std::span(x), std::span(y));
    } else if constexpr (std::is_same_v<Field, Dim>) {
      return equal_dims(x, y);
    } else if constexpr (std::is_same_v<Field, std::vector<Dim>>) {
      return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                        [this](Dim d, Dim e) { return equal_dims(d, e); });
    } else if constexpr (std::is_same_v<Field, std::vector<TypeVarRef>>) {
      return x.size() == y.size();  // bound before
    } else {
      return x == y;
    }
  });
}

bool TypeMatcher::equal(const Type* a, const Type* b) {
  if (a == nullptr || b == nullptr) return a == b;
  if (a == b && (trivial() || (!a->has_type_var() && !a->has_symbolic_dim()))) return true;
  if (a->tag() != b->tag() || a->kind() != b->kind()) return false;
  // Closed and without binders: one structure, one object.
  if (trivial() && !a->has_binder() && !b->has_binder()) return a == b;
  if (!a->has_type_var() && !a->has_symbolic_dim() && !a->has_binder()) return a == b;
  if (a->is<TypeData>()) return a == b;
  if (const auto* var = a->as<TypeVar>()) return equal_vars(var, b->as<TypeVar>());
  if (const auto* f = a->as<FuncType>()) return equal_functions(*f, *b->as<FuncType>());
  return visit_type(*a, [&]<class Node>(const Node& node) {
    return equal_fields(node.parts(), static_cast<const Node&>(*b).parts());
  });
}

uint64_t TypeHasher::hash_var(const TypeVar* var) {
  auto found = bound.find(var);
  if (found != bound.end()) return hash_combine(0xb0, found->second);
  uint64_t kind = static_cast<uint64_t>(var->kind());
  // A dimension name that is not declared may be renamed, so only its kind counts.
  return var->implicit() || var->kind() == Kind::kShapeVar
             ? hash_combine(0xb1, kind)
             : hash_combine(hash_combine(0xb2, kind), var->name().hash());
}

uint64_t TypeHasher::hash_dim(Dim dim) {
  if (!dim.is_term()) return hash_mix(dim.bits());
  const DimTerm& t = dim.term();
  uint64_t op = hash_mix(0xd1 + static_cast<uint64_t>(t.op));
  switch (t.op) {
    case DimOp::kSymbol:
      return hash_combine(op, hash_var(t.symbol));
    case DimOp::kValue:
      return hash_combine(hash_combine(op, t.input), t.index);
    case DimOp::kLinear: {
      // Order depends on names, so parts are summed.
      uint64_t sum = hash_combine(op, static_cast<uint64_t>(t.constant));
      for (const DimTerm::Part& part : t.parts) {
        sum += hash_combine(hash_dim(part.atom), static_cast<uint64_t>(part.coefficient));
      }
      return hash_mix(sum);
    }
    case DimOp::kFloorDiv:
    case DimOp::kFloorMod:
    case DimOp::kCeilDiv:
      return hash_combine(hash_combine(op, hash_dim(t.lhs)), hash_dim(t.rhs));
    case DimOp::kMul:
    case DimOp::kMin:
    case DimOp::kMax:
    case DimOp::kBroadcast: {
      uint64_t sum = op;
      Dim rest = dim;
      for (; rest.is_term() && rest.term().op == t.op; rest = rest.term().lhs) {
        sum += hash_dim(rest.term().rhs);
      }
      return hash_mix(sum + hash_dim(rest));
    }
  }
  RELAY_UNREACHABLE("unknown dimension");
}

uint64_t TypeHasher::hash(const Type* type) {
  if (type == nullptr) return 0x17;
  constexpr uint8_t kUnstable =
      Type::kHasTypeVar | Type::kHasSymbol | Type::kHasBinder | Type::kHasTerm;
  if ((type->flags_ & kUnstable) == 0) return type->hash();
  if (const auto* var = type->as<TypeVar>()) return hash_var(var);
  uint64_t h = hash_mix(0xa0 + static_cast<uint64_t>(type->tag()));
  const auto* function = type->as<FuncType>();
  bool is_scheme = function != nullptr && function->is_scheme();
  auto saved = is_scheme ? bound : decltype(bound)();
  uint64_t saved_next = next;
  if (is_scheme) {
    for (const TypeVarRef& var : function->type_params()) {
      h = hash_combine(h, static_cast<uint64_t>(var->kind()));
      bind(var.get());
    }
  }
  auto add = [&](uint64_t number) { h = hash_combine(h, number); };
  visit_type(*type, [&](const auto& node) {
    each_field(node.parts(), [&]<class Field>(const Field& field) {
      if constexpr (kIsPart<Field>) {
        add(hash(field.get()));
      } else if constexpr (kIsParts<Field>) {
        add(field.size());
        for (const auto& part : field) add(hash(part.get()));
      } else if constexpr (std::is_same_v<Field, Dim>) {
        add(hash_dim(field));
      } else if constexpr (std::is_same_v<Field, std::vector<Dim>>) {
        for (Dim d : field) add(hash_dim(d));
      } else if constexpr (std::is_same_v<Field, const Relation*>) {
        add(relation_name(field).hash());
      } else if constexpr (std::is_same_v<Field, AttrsRef>) {
        if (field) add(field->hash());
      } else if constexpr (std::is_integral_v<Field>) {
        add(static_cast<uint64_t>(field));
      }  // type parameters are bound; other data has no variables inside, see above
    });
  });
  if (is_scheme) bound = std::move(saved);
  next = saved_next;
  return h;
}

bool types_equal(const Type* a, const Type* b) {
  if (a == b) return true;
  if (a == nullptr || b == nullptr || !a->has_binder() || !b->has_binder()) return false;
  return TypeMatcher(false).equal(a, b);
}

uint64_t type_hash(const Type* type) { return TypeHasher().hash(type); }

}  // namespace relay
