#include <relay/infer/solver.h>

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
  s.solved = true;
  retry_dims_ = true;
  wake(s.watchers);
}

bool Solver::unify(const TypeRef& first, const TypeRef& second) {
  if (first == second) return true;
  TypeRef a = resolve(first);
  TypeRef b = resolve(second);
  if (a == b) return true;
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

// ---- Dimensions (T13–T15) ---------------------------------------------------------------------

bool Solver::unify_dims(Dim first, Dim second) {
  if (first == second) return true;
  Dim a = zonk(first);
  Dim b = zonk(second);
  if (a == b) return true;
  if (a.is_any() || b.is_any()) {
    Dim other = a.is_any() ? b : a;
    if (other.is_variable() && !dims_[other.variable_id()].met_any) {
      dims_[other.variable_id()].met_any = true;
      any_dims_.push_back(other.variable_id());
    }
    return true;
  }
  Dim difference = a - b;
  if (difference.is_any()) return true;  // a `?` inside a term: checked at run time
  auto refuted = [&] {
    mismatch_.left_dim = a;
    mismatch_.right_dim = b;
    return false;
  };
  if (difference.is_int()) return refuted();

  // Linear normal form: constant + sum of coefficient * atom.
  int64_t constant = 0;
  std::vector<DimTerm::Part> parts;
  if (difference.is_term() && difference.term().op == DimOp::kLinear) {
    constant = difference.term().constant;
    parts = difference.term().parts;
  } else {
    parts.push_back({1, difference});
  }
  bool has_variable = false;
  bool universal = true;  // every atom is a declared dimension, which may be anything
  for (size_t i = 0; i < parts.size(); ++i) {
    Dim atom = parts[i].atom;
    has_variable |= atom.has_variable();
    const TypeVar* symbol = atom.as_symbol();
    universal &= symbol != nullptr && existential_.count(symbol) == 0;
    int64_t coefficient = parts[i].coefficient;
    if (!atom.is_variable() || (coefficient != 1 && coefficient != -1)) continue;
    bool elsewhere = false;  // inside an opaque term
    for (size_t j = 0; j < parts.size(); ++j) {
      if (j == i) continue;
      for_each_atom(parts[j].atom, [&](Dim inner) { elsewhere |= inner == atom; });
    }
    if (elsewhere) continue;
    // coefficient * atom + rest = 0
    Dim rest(constant);
    for (size_t j = 0; j < parts.size(); ++j) {
      if (j != i) rest = rest + Dim(parts[j].coefficient) * parts[j].atom;
    }
    Dim solution = coefficient == 1 ? Dim(0) - rest : rest;
    if (solution.is_int() && solution.as_int() < 0) return refuted();
    uint32_t id = atom.variable_id();
    if (!lower_dim(solution, dims_[id].level)) return refuted();
    bind_dim(id, solution);
    return true;
  }
  if (has_variable) {
    waiting_dims_.push_back({a, b, span_});
    return true;
  }
  // T13: a body cannot choose a declared dimension. T14: anything else is checked at run time.
  return universal ? refuted() : true;
}

std::vector<Solver::DimEquality> Solver::retry_dims() {
  std::vector<DimEquality> waiting;
  std::vector<DimEquality> refuted;
  if (!std::exchange(retry_dims_, false)) return refuted;
  waiting.swap(waiting_dims_);
  for (DimEquality& equality : waiting) {
    Dim a = zonk(equality.a);
    Dim b = zonk(equality.b);
    if (a == equality.a && b == equality.b) {
      waiting_dims_.push_back(equality);
    } else if (!unify_dims(a, b)) {
      refuted.push_back({a, b, equality.span});
    }
  }
  return refuted;
}

void Solver::settle_any() {
  for (uint32_t id : any_dims_) {
    if (!dims_[id].solved) bind_dim(id, Dim::any());
  }
  any_dims_.clear();
}

// ---- Joins (T15) ------------------------------------------------------------------------------

TypeRef Solver::join(const TypeRef& a, const TypeRef& b) {
  if (a == b) return a;
  if (!unify(a, b)) return {};
  TypeRef x = zonk(a);
  TypeRef y = zonk(b);
  if (x == y || (!x->has_any_dim() && !y->has_any_dim())) return x;
  return join_known(x, y);
}

TypeRef Solver::join_known(const TypeRef& a, const TypeRef& b) {
  if (a == b || a->tag() != b->tag()) return a;
  switch (a->tag()) {
    case TypeTag::kTensor:
      return TensorType::make(
          join_known(a->as<TensorType>()->shape(), b->as<TensorType>()->shape()),
          a->as<TensorType>()->dtype_type());
    case TypeTag::kShape: {
      auto x = a->as<ShapeType>()->dims();
      auto y = b->as<ShapeType>()->dims();
      std::vector<Dim> dims(x.begin(), x.end());
      for (size_t i = 0; i < dims.size() && i < y.size(); ++i) {
        if (y[i].is_any()) dims[i] = y[i];
      }
      return ShapeType::make(dims);
    }
    case TypeTag::kTuple: {
      auto x = a->as<TupleType>()->fields();
      auto y = b->as<TupleType>()->fields();
      std::vector<TypeRef> fields;
      for (size_t i = 0; i < x.size(); ++i) fields.push_back(join_known(x[i], y[i]));
      return TupleType::make(std::move(fields));
    }
    case TypeTag::kCall: {
      auto x = a->as<TypeCall>()->args();
      auto y = b->as<TypeCall>()->args();
      std::vector<TypeRef> args;
      for (size_t i = 0; i < x.size(); ++i) args.push_back(join_known(x[i], y[i]));
      return TypeCall::make(a->as<TypeCall>()->callee(), std::move(args));
    }
    case TypeTag::kFunc: {
      const auto* x = a->as<FuncType>();
      if (x->is_scheme()) return a;
      return FuncType::make({x->params().begin(), x->params().end()},
                            join_known(x->result(), b->as<FuncType>()->result()));
    }
    default:
      return a;
  }
}

}  // namespace relay::inference
