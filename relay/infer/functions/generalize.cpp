// Schemes: generalisation, ambiguity, defaulting, instantiation (T5–T9, T13).
#include <algorithm>

#include <relay/infer/functions/inferencer.h>
#include <relay/infer/messages.h>
#include <relay/infer/type_walk.h>

namespace relay::inference {

namespace {

/// More residual constraints in one scheme are refused (T9).
constexpr size_t kMaxConstraints = 256;
/// With more constraints, joining is not tried.
constexpr size_t kMaxMerged = 4096;

/// Unsolved variables of some types.
struct Variables {
  std::unordered_set<uint32_t> slots;
  std::unordered_set<uint32_t> dims;

  void add(Solver& solver, const TypeRef& type) {
    solver.for_each_variable(
        type, [&](Slot&, uint32_t id) { slots.insert(id); },
        [&](DimSlot&, uint32_t id) { dims.insert(id); });
  }
  size_t size() const { return slots.size() + dims.size(); }
};

std::span<const TypeRef> inputs_of(const Constraint& c) {
  return {c.args.data(), c.args.size() > 1 ? c.args.size() - 1 : c.args.size()};
}

/// True if every variable of the inputs is in `known` or belongs to an outer scope.
bool determined(Solver& solver, const Constraint& c, const Variables& known, uint32_t outer) {
  bool all = true;
  for (const TypeRef& input : inputs_of(c)) {
    solver.for_each_variable(
        input,
        [&](Slot& slot, uint32_t id) { all &= slot.level <= outer || known.slots.count(id) != 0; },
        [&](DimSlot& slot, uint32_t id) {
          all &= slot.level <= outer || known.dims.count(id) != 0;
        });
  }
  return all;
}

/// True if a type parameter is itself an argument: its value decides the others' dtypes, at each
/// call.
bool meets_declared_type(Solver& solver, const Constraint& c) {
  return std::any_of(c.args.begin(), c.args.end(), [&](const TypeRef& arg) {
    TypeRef known = solver.resolve(arg);
    return known->is<TypeVar>() && known->kind() == Kind::kType;
  });
}

}  // namespace

Inferencer::Scope Inferencer::open_scope() {
  Scope scope{solver_.level(), constraints_.size(), numeric_slots_.size()};
  solver_.enter_level();
  return scope;
}

bool Inferencer::default_ambiguous(const Scope& scope, const TypeRef& seeds, const TypeRef& type,
                                   std::span<const ConstraintId> pending) {
  Variables reached;
  // Relations lead from known inputs to outputs (T7).
  auto reach = [&](const TypeRef& from) {
    if (from) reached.add(solver_, from);
    for (bool grown = true; grown;) {
      size_t before = reached.size();
      for (ConstraintId id : pending) {
        Constraint& c = constraints_[id];
        if (c.args.size() < 2) continue;
        if (meets_declared_type(solver_, c)) {
          for (const TypeRef& arg : c.args) reached.add(solver_, arg);
        } else if (determined(solver_, c, reached, scope.outer_level)) {
          reached.add(solver_, c.args.back());
        }
      }
      grown = reached.size() != before;
    }
  };
  reach(seeds);
  // T8: in one batch.
  bool any = false;
  for (size_t i = scope.numeric_mark; i < numeric_slots_.size(); ++i) {
    TypeRef head = solver_.resolve(solver_.slot(numeric_slots_[i]).self);
    if (!head->is<IncompleteType>()) continue;
    Slot& slot = solver_.slot(head.get());
    uint32_t id = head->as<IncompleteType>()->id();
    if (slot.failed || slot.generic || slot.level <= scope.outer_level) continue;
    if (reached.slots.count(id) != 0) continue;
    solver_.set_span(slot.origin);
    solver_.bind_slot(id, BaseType::make(default_dtype(slot.numeric, slot.wide)));
    any = true;
  }
  if (any) {
    constraints_.propagate();
    return true;
  }
  // A constraint that came with the scheme of a called function and cannot be decided any more is
  // an error at the call. A function's own ambiguity is left for its calls to decide, and so are
  // variables that a function in the entry's result leaves open (T17).
  reach(type);
  for (ConstraintId id : pending) {
    if (solver_.any_failed()) break;  // what has failed may be what leaves them open
    Constraint& c = constraints_[id];
    if (!c.instance || is_dtype_relation(c.relation) ||
        determined(solver_, c, reached, scope.outer_level))
      continue;
    Diagnostic diagnostic =
        Diagnostic::error(
            "the types of this call of " + c.relation->name.str() + " cannot be determined", c.span)
            .of_rule("T7");
    const auto* callee = c.site == nullptr ? nullptr : c.site->callee()->as<GlobalVar>();
    const Function* function =
        callee == nullptr ? nullptr : context_.module.function(callee->name());
    const Call* required = function == nullptr ? nullptr : only_call_of(function, c.relation);
    if (required != nullptr) {
      diagnostic.note(c.relation->name.str() + " is called here", required->span());
    } else if (c.defined.known()) {
      diagnostic.note(c.relation->name.str() + " is required here", c.defined);
    }
    diagnostic.help("annotate the types of its arguments");
    sink_.add(std::move(diagnostic));
    c.state = Constraint::State::kFailed;
  }
  return false;
}

int32_t Inferencer::close_scope(const Scope& scope, const TypeRef& type,
                                std::vector<TypeVarRef> declared, const Expr* what, bool entry) {
  uint32_t outer = scope.outer_level;
  constraints_.propagate();
  if (solver_.divide_waiting(outer)) constraints_.propagate();
  std::vector<ConstraintId> pending;
  for (;;) {
    pending = constraints_.pending_since(scope.constraint_mark);
    // An output belongs to the scope of its inputs.
    for (bool lowered = true; lowered;) {
      lowered = false;
      for (ConstraintId id : pending) {
        const Constraint& c = constraints_[id];
        if (c.args.size() < 2) continue;
        uint32_t level = 0;
        for (const TypeRef& input : inputs_of(c)) level = std::max(level, solver_.max_level(input));
        if (level <= outer && solver_.max_level(c.args.back()) > outer) {
          solver_.lower(c.args.back(), outer);
          lowered = true;
        }
      }
    }
    TypeRef seeds = type;
    if (entry) {
      // Only the arguments of the entry decide its types.
      const auto* func = solver_.resolve(type)->as<FuncType>();
      seeds = func == nullptr
                  ? TypeRef()
                  : TypeRef(TupleType::make({func->params().begin(), func->params().end()}));
    }
    if (pending.empty() && numeric_slots_.size() == scope.numeric_mark) break;
    if (!default_ambiguous(scope, seeds, type, pending)) break;
  }

  Scheme scheme;
  scheme.type = type;
  scheme.declared = std::move(declared);
  for (ConstraintId id : pending) {
    Constraint& c = constraints_[id];
    if (c.state != Constraint::State::kPending) continue;
    uint32_t level = 0;
    for (const TypeRef& arg : c.args) level = std::max(level, solver_.max_level(arg));
    if (level > outer) scheme.constraints.push_back(id);  // the others float out
  }
  solver_.set_level(outer);
  TypeRef known = solver_.zonk(type);
  if (scheme.constraints.empty() && scheme.declared.empty() && !known->has_incomplete()) {
    return kNoScheme;
  }
  if (!scheme.constraints.empty() && scheme.constraints.size() <= kMaxMerged) {
    merge_broadcasts(scheme.constraints, type);
  }
  if (scheme.constraints.size() > kMaxConstraints) {
    sink_.add(Diagnostic::error("the type of this function has " +
                                    std::to_string(scheme.constraints.size()) +
                                    " constraints that its calls would have to solve",
                                what->span())
                  .of_rule("T9")
                  .help("annotate its parameters"));
    scheme.constraints.clear();
  }
  bool any = !scheme.declared.empty() || !scheme.constraints.empty();
  auto generalise = [&](const TypeRef& t) {
    solver_.for_each_variable(
        t,
        [&](Slot& slot, uint32_t) {
          if (slot.level > outer) any = slot.generic = true;
        },
        [&](DimSlot& slot, uint32_t) {
          if (slot.level > outer) any = slot.generic = true;
        });
  };
  generalise(type);
  for (ConstraintId id : scheme.constraints) {
    Constraint& c = constraints_[id];
    c.check_only = true;
    for (const TypeRef& arg : c.args) generalise(arg);
  }
  if (!any) return kNoScheme;
  schemes_.push_back(std::move(scheme));
  return static_cast<int32_t>(schemes_.size() - 1);
}

namespace {

bool is_broadcast(const Constraint& c) { return c.relation->form == Relation::Form::kBroadcast; }
bool is_elementwise(const Constraint& c) {
  return is_broadcast(c) || c.relation->form == Relation::Form::kCompare;
}

/// The constraints of a scheme while elementwise ones are joined.
class MergedBroadcasts {
 public:
  struct Node {
    Constraint c;
    ConstraintId id;
    bool dropped = false;
    bool changed = false;
  };

  MergedBroadcasts(Solver& solver, std::vector<Node> nodes, const TypeRef& type)
      : solver_(solver), nodes_(std::move(nodes)) {
    in_type_.add(solver_, type);
    for (size_t n = 0; n < nodes_.size(); ++n) note_uses(n);
  }

  std::vector<Node> run() {
    // Inputs come from earlier nodes, which are merged already, so one round is enough.
    for (size_t n = 0; n < nodes_.size(); ++n) {
      if (is_elementwise(nodes_[n].c)) merge(n);
    }
    return std::move(nodes_);
  }

 private:
  TypeRef shape_of(const TypeRef& arg) {
    const auto* tensor = solver_.resolve(arg)->as<TensorType>();
    return tensor == nullptr ? TypeRef() : solver_.zonk(tensor->shape());
  }

  // The uses of a shape variable: as a direct input of elementwise relations, or otherwise.
  void note_uses(size_t n) {
    const Constraint& c = nodes_[n].c;
    for (size_t i = 0; i < c.args.size(); ++i) {
      TypeRef shape = shape_of(c.args[i]);
      bool direct = shape && shape->is<IncompleteType>() && is_elementwise(c);
      bool output = i + 1 == c.args.size();
      if (direct && output && is_broadcast(c)) {
        if (!producers_.emplace(shape.get(), n).second) ++other_uses_[shape.get()];
      } else if (!direct || output) {
        solver_.for_each_variable(
            c.args[i],
            [&](Slot& slot, uint32_t) { ++other_uses_[solver_.resolve(slot.self).get()]; },
            [](DimSlot&, uint32_t) {});
      }
    }
  }

  // The node whose result nothing but the argument of node `n` is, or null.
  Node* dissolved_in(size_t n, const TypeRef& arg) {
    TypeRef shape = shape_of(arg);
    auto producer = shape ? producers_.find(shape.get()) : producers_.end();
    const bool dissolve = producer != producers_.end() && producer->second != n &&
                          other_uses_.count(shape.get()) == 0 &&
                          in_type_.slots.count(shape->as<IncompleteType>()->id()) == 0;
    return dissolve ? &nodes_[producer->second] : nullptr;
  }

  void merge(size_t n) {
    Constraint& c = nodes_[n].c;
    std::vector<TypeRef> inputs;
    for (size_t i = 0; i + 1 < c.args.size(); ++i) {
      Node* source = dissolved_in(n, c.args[i]);
      if (source == nullptr) {
        inputs.push_back(c.args[i]);
        continue;
      }
      source->dropped = true;
      nodes_[n].changed = true;
      inputs.insert(inputs.end(), source->c.args.begin(), source->c.args.end() - 1);
    }
    std::vector<TypeRef> distinct;
    for (const TypeRef& input : inputs) {
      TypeRef known = solver_.zonk(input);
      bool seen = std::any_of(distinct.begin(), distinct.end(),
                              [&](const TypeRef& other) { return solver_.zonk(other) == known; });
      if (!seen) distinct.push_back(input);
    }
    if (distinct.size() + 1 != c.args.size()) nodes_[n].changed = true;
    distinct.push_back(c.args.back());
    c.args = std::move(distinct);
  }

  Solver& solver_;
  std::vector<Node> nodes_;
  Variables in_type_;
  std::unordered_map<const Type*, size_t> producers_;  // shape variable -> node
  std::unordered_map<const Type*, size_t> other_uses_;
};

/// A constraint that stays, and its arguments as they are known.
struct Kept {
  ConstraintId id;
  std::vector<TypeRef> key;
};

// True if a constraint demands what a kept one does. The outputs of one relation with the same
// inputs are equal (T2).
bool is_duplicate(Solver& solver, const Constraint& c, std::span<const TypeRef> key,
                  const Constraint& other, std::span<const TypeRef> other_key) {
  if (other.relation != c.relation) return false;
  if (other.attrs != c.attrs || other_key.size() != key.size() || c.args.size() < 2) {
    // The wider literal of two demands on a dtype stays.
    return std::equal(key.begin(), key.end(), other_key.begin(), other_key.end()) &&
           (other.attrs == c.attrs || c.relation != dtype_relation());
  }
  return std::equal(key.begin(), key.end() - 1, other_key.begin()) &&
         solver.unify(other.args.back(), c.args.back());
}

}  // namespace

// T9: a Broadcast whose result only feeds other elementwise relations is dissolved into them.
void Inferencer::merge_broadcasts(std::vector<ConstraintId>& ids, const TypeRef& type) {
  std::vector<MergedBroadcasts::Node> nodes;
  for (ConstraintId id : ids) nodes.push_back({constraints_[id], id});
  std::vector<Kept> kept;
  for (MergedBroadcasts::Node& node : MergedBroadcasts(solver_, std::move(nodes), type).run()) {
    std::vector<TypeRef> key;
    for (const TypeRef& arg : node.c.args) key.push_back(solver_.zonk(arg));
    const bool needless =
        node.dropped || std::any_of(kept.begin(), kept.end(), [&](const Kept& other) {
          return is_duplicate(solver_, node.c, key, constraints_[other.id], other.key);
        });
    if (needless || node.changed) constraints_[node.id].check_only = true;
    if (needless) continue;
    kept.push_back({node.changed ? constraints_.wait(node.c) : node.id, std::move(key)});
  }
  ids.clear();
  for (const Kept& each : kept) ids.push_back(each.id);
}

// ---- Instantiation ----------------------------------------------------------------------------

TypeRef Inferencer::fresh_for(const TypeVar* var, bool existential, Span span) {
  if (existential) {
    TypeVarRef symbol = TypeVar::make(var->name(), Kind::kShapeVar, true);
    solver_.declare_existential(symbol.get());
    return DimType::make(Dim::symbol(symbol.get()));
  }
  return solver_.fresh_instance(var, span);
}

TypeRef Inferencer::instantiate(const Value& value, std::span<const TypeRef> type_args, Span span) {
  if (value.scheme != kNoScheme) {
    return instantiate_local(schemes_[static_cast<size_t>(value.scheme)], type_args, span);
  }
  const auto* func = value.type->as<FuncType>();
  if (func != nullptr && func->is_scheme()) return instantiate_func(func, type_args, span);
  if (!type_args.empty()) {
    sink_.add(Diagnostic::error("type arguments are given to what is not polymorphic", span)
                  .of_rule("T11"));
  }
  if (const auto* tuple = value.type->as<TupleType>()) {  // a tuple of schemes
    std::vector<TypeRef> fields;
    for (const TypeRef& field : tuple->fields()) fields.push_back(instantiate({field}, {}, span));
    return TupleType::make(std::move(fields));
  }
  return value.type;
}

namespace {

/// The variables in the parameters of a function's type; a dimension outside that and of all
/// constraints is the function's own choice (T13).
std::unordered_set<const TypeVar*> mentioned(const FuncType* func) {
  std::unordered_set<const TypeVar*> vars;
  for (const TypeRef& param : func->params()) {
    for (const TypeVarRef& var : free_type_vars(param)) vars.insert(var.get());
  }
  for (const RelationTypeRef& relation : func->constraints()) {
    for (const TypeRef& arg : relation->args()) {
      for (const TypeVarRef& var : free_type_vars(arg)) vars.insert(var.get());
    }
  }
  return vars;
}

}  // namespace

// The value of each type parameter in one instance: the type argument given for it, or a fresh
// variable.
void Inferencer::choose(std::span<const TypeVarRef> params,
                        const std::unordered_set<const TypeVar*>& inputs,
                        std::span<const TypeRef> type_args, Span span,
                        std::unordered_map<const TypeVar*, TypeRef>& chosen) {
  size_t next = 0;
  for (const TypeVarRef& var : params) {
    bool named = var->kind() == Kind::kShapeVar && var->implicit();
    if (!named && next < type_args.size()) {
      TypeRef arg = type_args[next++];
      const auto* scalar = arg->as<TensorType>();
      if (var->kind() == Kind::kBaseType && scalar != nullptr && scalar->has_rank() &&
          scalar->dims().empty()) {
        arg = scalar->dtype_type();  // `float32` is written for both
      }
      if (arg->kind() == var->kind()) {
        chosen.emplace(var.get(), var->kind() == Kind::kType ? annotation(arg, span) : arg);
        continue;
      }
      sink_.add(Diagnostic::error("type argument " + arg->str() + " has kind " +
                                      std::string(kind_name(arg->kind())) + " where " +
                                      std::string(kind_name(var->kind())) + " is needed",
                                  span));
    }
    chosen.emplace(var.get(), fresh_for(var.get(), named && inputs.count(var.get()) == 0, span));
  }
  if (next < type_args.size()) {
    sink_.add(Diagnostic::error("too many type arguments: " + std::to_string(type_args.size()) +
                                    " where " + std::to_string(next) + " are taken",
                                span));
  }
}

TypeRef Inferencer::instantiate_func(const FuncType* scheme, std::span<const TypeRef> type_args,
                                     Span span) {
  std::unordered_map<const TypeVar*, TypeRef> fresh;
  std::unordered_set<const TypeVar*> inputs;
  bool dims = std::any_of(scheme->type_params().begin(), scheme->type_params().end(),
                          [](const TypeVarRef& var) { return var->kind() == Kind::kShapeVar; });
  if (dims) inputs = mentioned(scheme);
  choose(scheme->type_params(), inputs, type_args, span, fresh);
  auto replace = [&](const TypeVar* var) -> TypeRef {
    auto found = fresh.find(var);
    return found == fresh.end() ? TypeRef() : found->second;
  };
  TypeRef body =
      FuncType::make({scheme->params().begin(), scheme->params().end()}, scheme->result());
  TypeRef type = substitute(body, replace);
  for (const RelationTypeRef& relation : scheme->constraints()) {
    Constraint c;
    c.relation = relation->relation();
    c.op = operator_of(c.relation);
    c.attrs = relation->attrs();
    for (const TypeRef& arg : relation->args()) c.args.push_back(substitute(arg, replace));
    c.span = span;
    c.instance = true;
    // Numeric classes at once, so that defaulting sees them.
    if (c.relation == num_relation() || c.relation == float_relation()) {
      solver_.set_span(span);
      if (c.args[0]->is<IncompleteType>()) {
        numeric_slots_.push_back(c.args[0]->as<IncompleteType>()->id());
        Numeric numeric = c.relation == float_relation() ? Numeric::kFloat : Numeric::kNum;
        if (solver_.require_numeric(c.args[0], numeric, is_wide(c.attrs))) {
          continue;
        }
      }
    }
    deferred_.push_back(std::move(c));
  }
  return type;
}

TypeRef Inferencer::instantiate_local(const Scheme& scheme, std::span<const TypeRef> type_args,
                                      Span span) {
  std::unordered_map<uint32_t, TypeRef> slots;
  std::unordered_map<uint32_t, Dim> dims;
  std::unordered_map<const TypeVar*, TypeRef> declared;
  std::unordered_set<const TypeVar*> inputs;
  const auto* func = scheme.type->as<FuncType>();
  if (func != nullptr && !scheme.declared.empty()) inputs = mentioned(func);
  for (ConstraintId id : scheme.constraints) {
    for (const TypeRef& arg : constraints_[id].args) {
      if (scheme.declared.empty()) break;
      for (const TypeVarRef& var : free_type_vars(solver_.zonk(arg))) inputs.insert(var.get());
    }
  }
  choose(scheme.declared, inputs, type_args, span, declared);
  std::function<TypeRef(const TypeRef&)> leaf = [&](const TypeRef& t) -> TypeRef {
    if (const auto* var = t->as<TypeVar>()) {
      auto found = declared.find(var);
      return found == declared.end() ? t : found->second;
    }
    uint32_t id = t->as<IncompleteType>()->id();
    if (!solver_.slot(id).generic) return t;
    auto [entry, added] = slots.try_emplace(id);
    if (added) {
      entry->second = solver_.slot(id).failed ? solver_.fresh_failed(t->kind(), span)
                                              : solver_.fresh(t->kind(), span);
      const Slot& old = solver_.slot(id);
      Slot& made = solver_.slot(entry->second.get());
      made.numeric = old.numeric;
      made.wide = old.wide;
      if (made.numeric != Numeric::kAny) {
        numeric_slots_.push_back(entry->second->as<IncompleteType>()->id());
      }
    }
    return entry->second;
  };
  std::function<Dim(Dim)> dim = [&](Dim d) -> Dim {
    return substitute(d, [&](Dim atom) -> Dim {
      if (const TypeVar* symbol = atom.as_symbol()) {
        auto found = declared.find(symbol);
        return found == declared.end() ? atom : found->second->as<DimType>()->dim();
      }
      if (!atom.is_variable() || !solver_.dim_slot(atom.variable_id()).generic) return atom;
      auto [entry, added] = dims.try_emplace(atom.variable_id());
      if (added) entry->second = solver_.fresh_dim();
      return entry->second;
    });
  };
  TypeRef type = map_type(solver_.zonk(scheme.type), leaf, dim);
  for (ConstraintId id : scheme.constraints) {
    const Constraint& original = constraints_[id];
    if (original.state != Constraint::State::kPending) continue;
    Constraint c = original;
    for (TypeRef& arg : c.args) arg = map_type(solver_.zonk(arg), leaf, dim);
    c.defined = original.defined.known() ? original.defined : original.span;
    c.span = span;
    c.check_only = false;
    c.instance = true;
    deferred_.push_back(std::move(c));
  }
  return type;
}

// Instantiates only the requested field of a polymorphic tuple: the variables of the others would
// stay undetermined. Null if it is not such a tuple.
TypeRef Inferencer::field_of_scheme(const Value& value, uint32_t index, Span span) {
  if (value.scheme == kNoScheme) return {};
  const Scheme& whole = schemes_[static_cast<size_t>(value.scheme)];
  const auto* tuple = whole.type->as<TupleType>();
  if (tuple == nullptr || index >= tuple->fields().size()) return {};
  Scheme field;
  field.type = tuple->fields()[index];
  field.declared = whole.declared;
  field.constraints = relevant_constraints(whole.constraints, field);
  TypeRef type = instantiate_local(field, {}, span);
  require_deferred();
  return type;
}

void Inferencer::require_deferred() {
  if (deferred_.empty()) return;
  for (Constraint& c : std::exchange(deferred_, {})) constraints_.require(std::move(c));
  solve();
}

}  // namespace relay::inference
