#include <relay/ir/alpha.h>

#include <vector>

#include <relay/ir/module.h>
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

bool TypeMatcher::equal_vars(const TypeVar* a, const TypeVar* b) {
  auto forward = forward_.find(a);
  auto backward = backward_.find(b);
  if (forward != forward_.end() || backward != backward_.end()) {
    return forward != forward_.end() && backward != backward_.end() && forward->second == b &&
           backward->second == a;
  }
  if (map_implicit_ && a->implicit() && b->implicit() && a->kind() == b->kind()) {
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
    // Names used first inside an expression: pair those of one name, then what is left in order.
    std::vector<const TypeVar*> left;
    std::vector<const TypeVar*> right;
    auto collect = [](std::vector<const TypeVar*>& out, const auto& known) {
      return [&out, &known](Dim atom) {
        const TypeVar* var = atom.as_symbol();
        if (var == nullptr || !var->implicit() || known.count(var) != 0) return;
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
  if (a.params().size() != b.params().size() || a.constraints().size() != b.constraints().size()) {
    return false;
  }
  // Bound names count inside only.
  auto forward = a.is_scheme() || b.is_scheme() ? forward_ : decltype(forward_)();
  auto backward = a.is_scheme() || b.is_scheme() ? backward_ : decltype(backward_)();
  bool same = bind_all(a.type_params(), b.type_params()) && equal_lists(a.params(), b.params()) &&
              equal(a.result(), b.result()) && equal_lists(a.constraints(), b.constraints());
  if (a.is_scheme() || b.is_scheme()) {
    if (map_implicit_) {  // names first used inside stay paired
      for (auto [x, y] : forward_) {
        if (x->implicit()) {
          forward.emplace(x, y);
          backward.emplace(y, x);
        }
      }
    }
    forward_ = std::move(forward);
    backward_ = std::move(backward);
  }
  return same;
}

bool TypeMatcher::equal(const Type* a, const Type* b) {
  if (a == nullptr || b == nullptr) return a == b;
  if (a == b && (trivial() || (!a->has_type_var() && !a->has_symbolic_dim()))) return true;
  if (a->tag() != b->tag() || a->kind() != b->kind()) return false;
  // Closed and without binders: one structure, one object.
  if (trivial() && !a->has_binder() && !b->has_binder()) return a == b;
  if (!a->has_type_var() && !a->has_symbolic_dim() && !a->has_binder()) return a == b;
  switch (a->tag()) {
    case TypeTag::kVar:
      return equal_vars(a->as<TypeVar>(), b->as<TypeVar>());
    case TypeTag::kShape: {
      auto s = a->as<ShapeType>()->dims();
      auto t = b->as<ShapeType>()->dims();
      return std::equal(s.begin(), s.end(), t.begin(), t.end(),
                        [this](Dim x, Dim y) { return equal_dims(x, y); });
    }
    case TypeTag::kDim:
      return equal_dims(a->as<DimType>()->dim(), b->as<DimType>()->dim());
    case TypeTag::kTensor:
      return equal(a->as<TensorType>()->shape(), b->as<TensorType>()->shape()) &&
             equal(a->as<TensorType>()->dtype_type(), b->as<TensorType>()->dtype_type());
    case TypeTag::kTuple:
      return equal_lists(a->as<TupleType>()->fields(), b->as<TupleType>()->fields());
    case TypeTag::kFunc:
      return equal_functions(*a->as<FuncType>(), *b->as<FuncType>());
    case TypeTag::kCall:
      return equal(a->as<TypeCall>()->callee(), b->as<TypeCall>()->callee()) &&
             equal_lists(a->as<TypeCall>()->args(), b->as<TypeCall>()->args());
    case TypeTag::kRef:
      return equal(a->as<RefType>()->value(), b->as<RefType>()->value());
    case TypeTag::kRelation: {
      const auto& r = *a->as<RelationType>();
      const auto& q = *b->as<RelationType>();
      return r.relation() == q.relation() && r.num_inputs() == q.num_inputs() &&
             r.attrs() == q.attrs() && equal_lists(r.args(), q.args());
    }
    case TypeTag::kBase:
    case TypeTag::kGlobalVar:
    case TypeTag::kData:
    case TypeTag::kIncomplete:
      return a == b;
  }
  RELAY_UNREACHABLE("unknown type");
}

uint64_t TypeHasher::hash_var(const TypeVar* var) {
  auto found = bound.find(var);
  if (found != bound.end()) return hash_combine(0xb0, found->second);
  uint64_t kind = static_cast<uint64_t>(var->kind());
  // An implicit name may be renamed, so only its kind counts.
  return var->implicit() ? hash_combine(0xb1, kind)
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
  uint64_t h = hash_mix(0xa0 + static_cast<uint64_t>(type->tag()));
  auto list = [&](auto items) {
    h = hash_combine(h, items.size());
    for (const auto& item : items) h = hash_combine(h, hash(item.get()));
  };
  switch (type->tag()) {
    case TypeTag::kVar:
      return hash_var(type->as<TypeVar>());
    case TypeTag::kShape:
      for (Dim d : type->as<ShapeType>()->dims()) h = hash_combine(h, hash_dim(d));
      return h;
    case TypeTag::kDim:
      return hash_combine(h, hash_dim(type->as<DimType>()->dim()));
    case TypeTag::kTensor:
      h = hash_combine(h, hash(type->as<TensorType>()->shape().get()));
      return hash_combine(h, hash(type->as<TensorType>()->dtype_type().get()));
    case TypeTag::kTuple:
      list(type->as<TupleType>()->fields());
      return h;
    case TypeTag::kFunc: {
      const auto& f = *type->as<FuncType>();
      auto saved = f.is_scheme() ? bound : decltype(bound)();
      uint64_t saved_next = next;
      for (const TypeVarRef& var : f.type_params()) {
        h = hash_combine(h, static_cast<uint64_t>(var->kind()));
        bind(var.get());
      }
      list(f.params());
      h = hash_combine(h, hash(f.result().get()));
      list(f.constraints());
      if (f.is_scheme()) bound = std::move(saved);
      next = saved_next;
      return h;
    }
    case TypeTag::kCall:
      h = hash_combine(h, hash(type->as<TypeCall>()->callee().get()));
      list(type->as<TypeCall>()->args());
      return h;
    case TypeTag::kRef:
      return hash_combine(h, hash(type->as<RefType>()->value().get()));
    case TypeTag::kRelation: {
      const auto& r = *type->as<RelationType>();
      h = hash_combine(h, relation_name(r.relation()).hash());
      h = hash_combine(h, static_cast<uint64_t>(r.num_inputs()));
      if (r.attrs()) h = hash_combine(h, r.attrs()->hash());
      list(r.args());
      return h;
    }
    case TypeTag::kData:
      return hash_combine(h, type->as<TypeData>()->name()->name().hash());
    case TypeTag::kBase:
    case TypeTag::kGlobalVar:
    case TypeTag::kIncomplete:
      return type->hash();
  }
  RELAY_UNREACHABLE("unknown type");
}

bool types_equal(const Type* a, const Type* b) {
  if (a == b) return true;
  if (a == nullptr || b == nullptr || !a->has_binder() || !b->has_binder()) return false;
  return TypeMatcher(false).equal(a, b);
}

uint64_t type_hash(const Type* type) { return TypeHasher().hash(type); }

}  // namespace relay
