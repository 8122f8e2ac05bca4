#include <relay/infer/solve/solver.h>

#include <algorithm>

#include <relay/infer/type_walk.h>

namespace relay::inference {

// ---- Variables --------------------------------------------------------------------------------

TypeRef Solver::fresh_at(uint32_t level, Kind kind, Span origin) {
  if (kind == Kind::kShapeVar) return DimType::make(fresh_dim_at(level));
  Slot& slot = slots_.emplace_back();
  slot.self = IncompleteType::make(static_cast<uint32_t>(slots_.size()), kind);
  slot.kind = kind;
  slot.level = level;
  slot.origin = origin;
  return slot.self;
}

TypeRef Solver::fresh_instance(const TypeVar* parameter, Span origin) {
  TypeRef made = fresh(parameter->kind(), origin);
  if (const auto* dim = made->as<DimType>()) dims_[dim->dim().variable_id()].name = parameter;
  return made;
}

Dim Solver::fresh_dim_at(uint32_t level) {
  DimSlot& slot = dims_.emplace_back();
  slot.level = level;
  return Dim::variable(static_cast<uint32_t>(dims_.size() - 1));
}

TypeRef Solver::fresh_scalar(Numeric numeric, bool wide, Span origin) {
  TypeRef dtype = fresh(Kind::kBaseType, origin);
  Slot& s = slot(dtype.get());
  s.numeric = numeric;
  s.wide = wide;
  return TensorType::make(ShapeType::make({}), std::move(dtype));
}

TypeRef Solver::fresh_failed(Kind kind, Span origin) {
  any_failed_ = true;
  TypeRef variable = fresh(kind, origin);
  slot(variable.get()).failed = true;
  return variable;
}

bool Solver::is_failed(const TypeRef& type) {
  if (!any_failed_) return false;
  TypeRef head = resolve(type);
  return head->is<IncompleteType>() && slot(head.get()).failed;
}

bool Solver::has_failed(const TypeRef& type) {
  bool found = false;
  if (!any_failed_ || !type->has_incomplete()) return false;
  for_each_variable(
      type, [&](Slot& s, uint32_t) { found |= s.failed; }, [](DimSlot&, uint32_t) {});
  return found;
}

void Solver::give_up(const TypeRef& type) {
  if (!type->has_incomplete()) return;
  any_failed_ = true;
  for_each_variable(
      type,
      [&](Slot& s, uint32_t) {
        if (s.failed) return;
        s.failed = true;
        wake(s.watchers);
      },
      [&](DimSlot& s, uint32_t id) {
        if (!s.solved) bind_dim(id, Dim::any());
      });
}

uint32_t Solver::level_of(const TypeVar* var) const {
  auto found = declared_.find(var);
  return found == declared_.end() ? 0 : found->second;
}

void Solver::wake(std::vector<ConstraintId>& watchers) {
  woken_.insert(woken_.end(), watchers.begin(), watchers.end());
  std::vector<ConstraintId>().swap(watchers);
}

// ---- Reading ----------------------------------------------------------------------------------

TypeRef Solver::resolve(const TypeRef& type) {
  if (!type->is<IncompleteType>()) return type;
  TypeRef root = type;
  size_t links = 0;
  while (root->is<IncompleteType>()) {
    const TypeRef& next = slot(root.get()).binding;
    if (!next) break;
    root = next;
    ++links;
  }
  if (links > 1) {  // point all on the way at the end
    for (TypeRef at = type; at != root;) {
      TypeRef next = slot(at.get()).binding;
      slot(at.get()).binding = root;
      at = std::move(next);
    }
  }
  return root;
}

Dim Solver::zonk(Dim dim) {
  if (!dim.has_variable()) return dim;
  if (dim.is_variable()) {
    DimSlot& s = dims_[dim.variable_id()];
    if (!s.solved) return dim;
    return s.binding = zonk(s.binding);  // chains are short: each link lowers a level or is a term
  }
  try {
    return substitute_solved(dim);
  } catch (const Error&) {
    return Dim::any();
  }
}

Dim Solver::substitute_solved(Dim dim) {
  return relay::substitute(dim,
                           [this](Dim atom) { return atom.is_variable() ? zonk(atom) : atom; });
}

TypeRef Solver::zonk_open(const TypeRef& type) {
  std::function<TypeRef(const TypeRef&)> leaf;
  std::function<Dim(Dim)> dim = [this](Dim d) { return zonk(d); };
  TypeMapper* mapper = nullptr;
  leaf = [this, &mapper](const TypeRef& t) -> TypeRef {
    if (!t->is<IncompleteType>()) return t;
    TypeRef target = resolve(t);
    if (target->is<IncompleteType>()) return target;
    return mapper->map(target);
  };
  TypeMapper m{leaf, dim, {}};
  mapper = &m;
  return m.map(type);
}

void Solver::for_each_variable(const TypeRef& type,
                               const std::function<void(Slot&, uint32_t)>& on_slot,
                               const std::function<void(DimSlot&, uint32_t)>& on_dim) {
  TypeRef known = zonk(type);
  auto visit = [&](const Type* t) {
    if (!t->has_incomplete()) return false;
    if (const auto* variable = t->as<IncompleteType>()) {
      on_slot(slot(t), variable->id());
    } else {
      for_each_dim(t, [&](Dim d) {
        if (!d.has_variable()) return;
        for_each_atom(d, [&](Dim atom) {
          if (atom.is_variable()) on_dim(dims_[atom.variable_id()], atom.variable_id());
        });
      });
    }
    return true;
  };
  walk_type(known.get(), visit);
}

void Solver::watch(const TypeRef& type, ConstraintId id) {
  auto add = [id](std::vector<ConstraintId>& watchers) {
    if (watchers.empty() || watchers.back() != id) watchers.push_back(id);
  };
  for_each_variable(
      type, [&](Slot& s, uint32_t) { add(s.watchers); },
      [&](DimSlot& s, uint32_t) { add(s.watchers); });
}

uint32_t Solver::max_level(const TypeRef& type) {
  TypeRef known = zonk(type);
  uint32_t level = 0;
  auto visit = [&](const Type* t) {
    if (const auto* variable = t->as<TypeVar>()) {
      level = std::max(level, level_of(variable));
    } else if (t->is<IncompleteType>()) {
      level = std::max(level, slot(t).level);
    } else {
      for_each_dim(t, [&](Dim d) {
        for_each_atom(d, [&](Dim atom) {
          if (atom.is_variable()) level = std::max(level, dims_[atom.variable_id()].level);
          if (const TypeVar* symbol = atom.as_symbol()) level = std::max(level, level_of(symbol));
        });
      });
    }
    return t->has_incomplete() || t->has_type_var() || t->has_symbolic_dim();
  };
  walk_type(known.get(), visit);
  return level;
}

// ---- Unification (T1) -------------------------------------------------------------------------

bool Solver::fail(Mismatch::Why why, const TypeRef& a, const TypeRef& b) {
  mismatch_.why = why;
  mismatch_.left = a;
  mismatch_.right = b;
  return false;
}

bool Solver::lower_dim(Dim dim, uint32_t level) {
  bool ok = true;
  for_each_atom(dim, [&](Dim atom) {
    if (atom.is_variable()) {
      DimSlot& s = dims_[atom.variable_id()];
      s.level = std::min(s.level, level);
    } else if (const TypeVar* symbol = atom.as_symbol()) {
      ok &= level_of(symbol) <= level;
    }
  });
  return ok;
}

// Returns whether `variable` occurs in `type`; lowers levels on the way.
bool Solver::occurs_and_lower(const Type* variable, const TypeRef& type, uint32_t level,
                              bool* escapes) {
  if (!type->has_incomplete() && !type->has_type_var() && !type->has_symbolic_dim()) return false;
  TypeRef known = zonk(type);
  bool occurs = false;
  auto visit = [&](const Type* t) {
    if (!t->has_incomplete() && !t->has_type_var() && !t->has_symbolic_dim()) return false;
    if (t == variable) {
      occurs = true;
    } else if (t->is<IncompleteType>()) {
      Slot& s = slot(t);
      s.level = std::min(s.level, level);
    } else if (const auto* var = t->as<TypeVar>()) {
      *escapes |= level_of(var) > level;
    } else {
      for_each_dim(t, [&](Dim d) {
        if (!d.is_int() && !lower_dim(d, level)) *escapes = true;
      });
    }
    return !occurs;
  };
  walk_type(known.get(), visit);
  return occurs;
}

bool Solver::lower(const TypeRef& type, uint32_t level) {
  bool escapes = false;
  occurs_and_lower(nullptr, type, level, &escapes);
  return !escapes;
}

bool Solver::numeric_holds(DType dtype, Numeric numeric) const {
  switch (numeric) {
    case Numeric::kAny:
      return true;
    case Numeric::kNum:
      return dtype.is_numeric();
    case Numeric::kFloat:
      return dtype.is_float();
  }
  return false;
}

bool Solver::require_numeric(const TypeRef& dtype, Numeric numeric, bool wide) {
  if (numeric == Numeric::kAny) return true;
  TypeRef known = resolve(dtype);
  if (known->is<IncompleteType>()) {
    Slot& s = slot(known.get());
    s.numeric = std::max(s.numeric, numeric);
    s.wide |= wide;
    return true;
  }
  if (const auto* base = known->as<BaseType>()) {
    return numeric_holds(base->dtype(), numeric) || fail(Mismatch::Why::kNumeric, dtype, known);
  }
  rigid_numerics_.push_back({known, numeric, span_});
  return true;
}

bool Solver::bind(const TypeRef& variable, const TypeRef& type) {
  Slot& s = slot(variable.get());
  if (s.kind != type->kind()) return fail(Mismatch::Why::kKind, variable, type);
  if (type->is<IncompleteType>()) {
    Slot& t = slot(type.get());
    t.numeric = std::max(t.numeric, s.numeric);
    t.wide |= s.wide;
    t.level = std::min(t.level, s.level);
    t.watchers.insert(t.watchers.end(), s.watchers.begin(), s.watchers.end());
    s.binding = type;
    s.reason = span_;
    wake(s.watchers);
    return true;
  }
  bool escapes = false;
  if (occurs_and_lower(variable.get(), type, s.level, &escapes)) {
    return fail(Mismatch::Why::kOccurs, variable, type);
  }
  if (escapes) return fail(Mismatch::Why::kEscape, variable, type);
  if (s.numeric != Numeric::kAny) {
    const auto* base = type->as<BaseType>();
    if (base == nullptr) {
      rigid_numerics_.push_back({type, s.numeric, span_});
    } else if (!numeric_holds(base->dtype(), s.numeric)) {
      mismatch_.left_reason = s.origin;
      return fail(Mismatch::Why::kNumeric, variable, type);
    }
  }
  s.binding = type;
  s.reason = span_;
  wake(s.watchers);
  return true;
}

void Solver::bind_slot(uint32_t id, const TypeRef& type) {
  Slot& s = slot(id);
  s.binding = type;
  s.reason = span_;
  wake(s.watchers);
}

void Solver::bind_dim(uint32_t id, Dim dim) {
  DimSlot& s = dims_[id];
  s.binding = dim;
  s.reason = span_;
  s.solved = true;
  retry_dims_ = true;
  wake(s.watchers);
}

bool Solver::unify(const TypeRef& first, const TypeRef& second) {
  if (first == second) return true;
  TypeRef a = resolve(first);
  TypeRef b = resolve(second);
  if (a == b) return true;
  if (any_failed_ && (is_failed(a) || is_failed(b))) return unify_failed(a, b);
  if (a->is<IncompleteType>()) {
    // The inner, or else the younger, variable is bound, so that scopes keep theirs and chains stay
    // short.
    if (b->is<IncompleteType>()) {
      uint32_t la = slot(a.get()).level;
      uint32_t lb = slot(b.get()).level;
      bool younger = b->as<IncompleteType>()->id() > a->as<IncompleteType>()->id();
      if (lb > la || (lb == la && younger)) return bind(b, a);
    }
    return bind(a, b);
  }
  if (b->is<IncompleteType>()) return bind(b, a);
  if (a->tag() != b->tag()) {
    mismatch_.left_reason = first->is<IncompleteType>() ? slot(first.get()).reason : Span();
    mismatch_.right_reason = second->is<IncompleteType>() ? slot(second.get()).reason : Span();
    bool rigid = a->is<TypeVar>() || b->is<TypeVar>();
    return fail(rigid ? Mismatch::Why::kRigid : Mismatch::Why::kTypes, a, b);
  }
  switch (a->tag()) {
    case TypeTag::kTensor: {
      const auto* x = a->as<TensorType>();
      const auto* y = b->as<TensorType>();
      return unify(x->shape(), y->shape()) && unify(x->dtype_type(), y->dtype_type());
    }
    case TypeTag::kShape: {
      auto x = a->as<ShapeType>()->dims();
      auto y = b->as<ShapeType>()->dims();
      if (x.size() != y.size()) return fail(Mismatch::Why::kTypes, a, b);
      for (size_t i = 0; i < x.size(); ++i) {
        if (!unify_dims(x[i], y[i])) return fail(Mismatch::Why::kDims, a, b);
      }
      return true;
    }
    case TypeTag::kDim:
      return unify_dims(a->as<DimType>()->dim(), b->as<DimType>()->dim()) ||
             fail(Mismatch::Why::kDims, a, b);
    case TypeTag::kTuple: {
      auto x = a->as<TupleType>()->fields();
      auto y = b->as<TupleType>()->fields();
      if (x.size() != y.size()) return fail(Mismatch::Why::kArity, a, b);
      for (size_t i = 0; i < x.size(); ++i) {
        if (!unify(x[i], y[i])) return false;
      }
      return true;
    }
    case TypeTag::kFunc:
      return unify_func(a->as<FuncType>(), b->as<FuncType>(), a, b);
    case TypeTag::kCall: {
      const auto* x = a->as<TypeCall>();
      const auto* y = b->as<TypeCall>();
      if (x->callee() != y->callee() || x->args().size() != y->args().size()) {
        return fail(Mismatch::Why::kTypes, a, b);
      }
      for (size_t i = 0; i < x->args().size(); ++i) {
        if (!unify(x->args()[i], y->args()[i])) return false;
      }
      return true;
    }
    case TypeTag::kRef:
      return unify(a->as<RefType>()->value(), b->as<RefType>()->value());
    case TypeTag::kVar:
      return fail(Mismatch::Why::kRigid, a, b);
    default:
      mismatch_.left_reason = first->is<IncompleteType>() ? slot(first.get()).reason : Span();
      mismatch_.right_reason = second->is<IncompleteType>() ? slot(second.get()).reason : Span();
      return fail(Mismatch::Why::kTypes, a, b);
  }
}

// One of the two stands for a reported error: the other gives up its open parts.
bool Solver::unify_failed(const TypeRef& a, const TypeRef& b) {
  const TypeRef& other = is_failed(a) ? b : a;
  if (!is_failed(other)) give_up(other);
  return true;
}

bool Solver::unify_func(const FuncType* a, const FuncType* b, const TypeRef& ra,
                        const TypeRef& rb) {
  if (a->is_scheme() || b->is_scheme()) {  // T11: no schemes inside types
    return types_equal(ra, rb) || fail(Mismatch::Why::kTypes, ra, rb);
  }
  if (a->params().size() != b->params().size()) return fail(Mismatch::Why::kArity, ra, rb);
  for (size_t i = 0; i < a->params().size(); ++i) {
    if (!unify(a->params()[i], b->params()[i])) return false;
  }
  return unify(a->result(), b->result());
}

}  // namespace relay::inference
