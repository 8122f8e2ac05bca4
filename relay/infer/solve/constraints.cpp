#include <relay/infer/solve/constraints.h>

#include <algorithm>

#include <relay/infer/messages.h>
#include <relay/infer/type_walk.h>
#include <relay/op/registry/under_name.h>

namespace relay::inference {

using Outcome = Constraints::Outcome;

namespace {

struct ProjectionAttrs {
  int64_t index = -1;
  RELAY_ATTRS(ProjectionAttrs, (index, "Which field of the tuple."))
};

struct NumAttrs {
  bool wide = false;
  RELAY_ATTRS(NumAttrs, (wide, "Whether a literal needs 64 bits, so that the default is int64."))
};

struct DTypeClassAttrs {
  std::string of = kAnyDType.str();
  RELAY_ATTRS(DTypeClassAttrs,
              (of, "The dtypes: \"float\", \"integer\", \"number\", names with |."))
};

// These relations are solved here; they never run as functions of types.
TypeRef infer_nothing(const RelationCall& call) { call.fail("this relation has no operator"); }

const Relation* make_relation(const char* name, Relation::Form form, const char* doc) {
  Relation relation;
  relation.name = name;
  relation.form = form;
  relation.infer = infer_nothing;
  relation.doc = doc;
  return register_relation(relation);
}

/// The readiness of a type for a relation: every tensor's rank and dtype must be known.
enum class Readiness { kReady, kWait, kRigid };
Readiness readiness(const Type* type) {
  switch (type->tag()) {
    case TypeTag::kIncomplete:
      return Readiness::kWait;
    case TypeTag::kVar:
      return Readiness::kRigid;
    case TypeTag::kTensor: {
      const auto* tensor = type->as<TensorType>();
      if (tensor->shape()->is<IncompleteType>() || tensor->dtype_type()->is<IncompleteType>()) {
        return Readiness::kWait;
      }
      return tensor->has_rank() && tensor->has_dtype() ? Readiness::kReady : Readiness::kRigid;
    }
    case TypeTag::kTuple: {
      Readiness all = Readiness::kReady;
      for (const TypeRef& field : type->as<TupleType>()->fields()) {
        Readiness one = readiness(field.get());
        if (one == Readiness::kWait) return one;
        if (one == Readiness::kRigid) all = one;
      }
      return all;
    }
    default:
      return Readiness::kReady;
  }
}

// Terms over values that an operator reads mean nothing outside it: the dimension is known only at
// run time.
TypeRef hide_values(const TypeRef& type) {
  std::function<TypeRef(const TypeRef&)> leaf = [](const TypeRef& t) { return t; };
  std::function<Dim(Dim)> dim = [](Dim d) {
    bool reads = false;
    for_each_atom(d, [&](Dim atom) { reads |= atom.is_term() && atom.term().op == DimOp::kValue; });
    return reads ? Dim::any() : d;
  };
  // map_type skips types without anything open, so terms over values must be looked for.
  struct Finder {
    static bool has_term(const Type* t) {
      auto any = [](std::span<const TypeRef> types) {
        for (const TypeRef& type : types) {
          if (has_term(type.get())) return true;
        }
        return false;
      };
      if (const auto* tuple = t->as<TupleType>()) return any(tuple->fields());
      const auto* tensor = t->as<TensorType>();
      if (tensor == nullptr || !tensor->has_rank()) return false;
      for (Dim d : tensor->dims()) {
        if (d.is_term()) return true;
      }
      return false;
    }
    static TypeRef rewrite(const TypeRef& t, const std::function<Dim(Dim)>& dim) {
      if (const auto* tuple = t->as<TupleType>()) {
        std::vector<TypeRef> fields;
        for (const TypeRef& field : tuple->fields()) fields.push_back(rewrite(field, dim));
        return TupleType::make(std::move(fields));
      }
      const auto* tensor = t->as<TensorType>();
      if (tensor == nullptr || !tensor->has_rank()) return t;
      std::vector<Dim> dims(tensor->dims().begin(), tensor->dims().end());
      for (Dim& d : dims) d = dim(d);
      return TensorType::make(ShapeType::make(dims), tensor->dtype_type());
    }
  };
  return Finder::has_term(type.get()) ? Finder::rewrite(type, dim) : type;
}

}  // namespace

const Relation* num_relation() {
  static const Relation* relation =
      make_relation("Num", Relation::Form::kDType, "A dtype with arithmetic: any but bool.");
  return relation;
}
const Relation* float_relation() {
  static const Relation* relation =
      make_relation("Float", Relation::Form::kDType, "A floating-point dtype.");
  return relation;
}
const Relation* numeric_relation(Numeric numeric) {
  return numeric == Numeric::kFloat ? float_relation() : num_relation();
}
AttrsRef numeric_attrs(bool wide) { return wide ? Attrs::make(NumAttrs{true}) : AttrsRef(); }
bool is_wide(const AttrsRef& attrs) {
  return attrs && attrs->is<NumAttrs>() && attrs->as<NumAttrs>().wide;
}
const Relation* dtype_relation() {
  static const Relation* relation = register_relation(
      {"DType", Relation::Form::kDType, infer_nothing, "A dtype of a class that an operator needs.",
       nullptr, &attrs_schema<DTypeClassAttrs>()});
  return relation;
}
const Operator* operator_of(const Relation* relation) {
  const Operator* op = find_op(relation->name);
  return op != nullptr && op->relation() == relation ? op : nullptr;
}
AttrsRef dtype_attrs(DTypes dtypes) { return Attrs::make(DTypeClassAttrs{dtypes.str()}); }
bool is_float_demand(const RelationType& demand) {
  if (demand.relation() == float_relation()) return true;
  if (demand.relation() != dtype_relation()) return false;
  return demand.attrs().get() == dtype_attrs(kFloats).get();
}
const Relation* projection_relation() {
  static const Relation* relation = make_relation(
      "Projection", Relation::Form::kGeneral, "The second type is a field of the first, a tuple.");
  return relation;
}
AttrsRef projection_attrs(uint32_t index) { return Attrs::make(ProjectionAttrs{index}); }

namespace {
[[maybe_unused]] const bool registered =
    (register_attrs_schema(attrs_schema<NumAttrs>()), num_relation()) != nullptr &&
    (register_attrs_schema(attrs_schema<DTypeClassAttrs>()), dtype_relation()) != nullptr &&
    float_relation() != nullptr && projection_relation() != nullptr;
}

// The place of an error. The message of a relation about an attribute begins with the attribute's
// name, so the error stands at the attribute's value; others stand at the call.
static Span place_in(const Constraint& c, std::string_view message) {
  if (c.call == nullptr || !c.attrs) return c.span;
  const std::string_view word = message.substr(0, message.find_first_of(" =:"));
  for (const AttrField& field : c.attrs->schema().fields) {
    if (field.name.view() == word) return place_of_attribute(c.call, word);
  }
  return c.span;
}

Outcome Constraints::fail(const Constraint& c, std::string message,
                          const std::vector<DiagnosticNote>& notes) {
  Name name = c.op != nullptr ? c.op->name() : c.relation->name;
  const Span place = place_in(c, message);
  if (c.relation != projection_relation()) message = under_name(name, std::move(message));
  Diagnostic diagnostic = Diagnostic::error(std::move(message), place);
  diagnostic.of_rule(std::exchange(rule_, "T2"));
  note_origins(c, diagnostic);
  for (const DiagnosticNote& note : notes) diagnostic.notes.push_back(note);
  note_roles(c, diagnostic);
  if (c.defined.known() && !(c.defined == c.span)) {
    diagnostic.note(c.relation->name.str() + " is required here", c.defined);
  }
  report(c, std::move(diagnostic));
  return Outcome::kFailed;
}

// The demands of a function's scheme fail in many ways at once: this reports one error for each
// call, with better words once all is known of the arguments.
void Constraints::report(const Constraint& c, Diagnostic diagnostic) {
  if (c.site != nullptr || c.value != nullptr) {
    const Expr* callee = c.site != nullptr ? c.site->callee().get() : c.value;
    bool known =
        std::any_of(failed_calls_.begin(), failed_calls_.end(), [&](const FailedCall& failed) {
          return failed.call == c.site && failed.callee == callee &&
                 (c.site != nullptr || failed.place == c.span);
        });
    if (known) return;
    const Span place = c.site != nullptr ? c.site->span() : c.span;
    failed_calls_.push_back(
        {c.site, sink_.diagnostics().size(), c.relation, callee, place, solver_.span()});
  }
  sink_.add(std::move(diagnostic));
}

// True if an input stands for a reported error.
bool Constraints::has_failed(const Constraint& c) {
  size_t inputs = c.args.size() > 1 ? c.args.size() - 1 : c.args.size();
  return std::any_of(c.args.begin(), c.args.begin() + static_cast<std::ptrdiff_t>(inputs),
                     [&](const TypeRef& arg) { return solver_.has_failed(arg); });
}

// T13: the equation that a relation demanded of declared dimensions, before its own words.
Outcome Constraints::fail(const Constraint& c, const Error& error) {
  std::optional<Solver::Requirement> required = solver_.take_requirement();
  for (const Diagnostic& diagnostic : error.diagnostics()) {
    if (!required) {
      fail(c, diagnostic.message, diagnostic.notes);
      continue;
    }
    Name name = c.op != nullptr ? c.op->name() : c.relation->name;
    std::string left = required->left.str();
    std::string right = required->right.str();
    std::vector<DiagnosticNote> notes = diagnostic.notes;
    notes.push_back({DiagnosticNote::Kind::kNote,
                     "a named dimension of a parameter is whatever the caller chooses",
                     {}});
    if (required->left.as_symbol() != nullptr &&
        (required->right.is_int() || required->right.as_symbol() != nullptr)) {
      notes.push_back(
          {DiagnosticNote::Kind::kHelp, "write " + right + " in the place of " + left, {}});
    }
    rule_ = "T13";
    fail(c, name.str() + " requires " + left + " = " + right + ": " + diagnostic.message, notes);
  }
  return Outcome::kFailed;
}

Outcome Constraints::attempt(Constraint& c) {
  if (solver_.any_failed() && has_failed(c)) {
    if (c.args.back()) {
      solver_.give_up(c.args.back());
    } else {
      c.args.back() = solver_.fresh_failed(Kind::kType, c.span);
    }
    return Outcome::kFailed;
  }
  Outcome outcome = solve(c);
  if (outcome == Outcome::kFailed && c.args.back()) solver_.give_up(c.args.back());
  return outcome;
}

Outcome Constraints::solve(Constraint& c) {
  solver_.set_span(c.span);
  if (c.relation == projection_relation()) return solve_projection(c);
  Outcome outcome = Outcome::kFailed;
  switch (c.relation->form) {
    case Relation::Form::kBroadcast:
      outcome = solve_elementwise(c, false);
      break;
    case Relation::Form::kCompare:
      outcome = solve_elementwise(c, true);
      break;
    case Relation::Form::kIdentity:
      outcome = solve_identity(c);
      break;
    case Relation::Form::kGeneral:
      return solve_general(c);
    case Relation::Form::kDType:
      if (c.relation == dtype_relation()) return solve_dtype(c);
      return solve_numeric(c, c.relation == float_relation() ? Numeric::kFloat : Numeric::kNum);
  }
  // These forms share dtypes themselves; the classes remain.
  if (outcome == Outcome::kFailed || c.op == nullptr || apply_signature(c)) return outcome;
  return Outcome::kFailed;
}

Outcome Constraints::solve_numeric(Constraint& c, Numeric numeric) {
  TypeRef dtype = solver_.resolve(c.args[0]);
  if (dtype->is<TypeVar>()) return Outcome::kWait;  // joins the scheme (T10)
  if (solver_.require_numeric(dtype, numeric, is_wide(c.attrs))) return Outcome::kSolved;
  return fail(c, c.relation->name.str() + " cannot hold for " + display(solver_, dtype) +
                     ": a literal needs " + numeric_name(numeric));
}

Outcome Constraints::solve_projection(Constraint& c) {
  TypeRef type = solver_.resolve(c.args[0]);
  if (!c.args[1]) c.args[1] = solver_.fresh(Kind::kType, c.span);
  if (type->is<IncompleteType>()) return Outcome::kWait;
  auto index = static_cast<size_t>(c.attrs->as<ProjectionAttrs>().index);
  const auto* tuple = type->as<TupleType>();
  if (tuple == nullptr) {
    return fail(c, "projection ." + std::to_string(index) + " needs a tuple, found " +
                       display(solver_, type));
  }
  if (index >= tuple->fields().size()) {
    return fail(c, "projection ." + std::to_string(index) + " is out of range for " +
                       display(solver_, type) + ", a tuple of " +
                       std::to_string(tuple->fields().size()));
  }
  if (solver_.unify(c.args[1], tuple->fields()[index])) return Outcome::kSolved;
  report(c, type_mismatch(solver_, "field " + std::to_string(index) + " of a tuple", c.args[1],
                          tuple->fields()[index], c.span));
  return Outcome::kFailed;
}

// T3: derives facts about the other inputs of a relation from the known ones. True if all are known
// then.
bool Constraints::expect_inputs(Constraint& c, std::vector<TypeRef>& inputs) {
  std::vector<TypeRef> known = inputs;
  for (TypeRef& input : known) {
    if (readiness(input.get()) != Readiness::kReady) input = {};
  }
  bool all = true;
  for (size_t i = 0; i < known.size(); ++i) {
    if (known[i]) continue;
    TypeRef expected = c.relation->expect(RelationCall(known, c.attrs, &solver_), i);
    if (expected && !solver_.unify(c.args[i], expected)) {
      throw Error("argument " + std::to_string(i + 1) + " must be " + display(solver_, expected) +
                  ", found " + display(solver_, c.args[i]));
    }
    if (!expected) {
      all = false;
      continue;
    }
    inputs[i] = solver_.zonk(c.args[i]);
    known[i] = inputs[i];
  }
  return all;
}

Outcome Constraints::solve_general(Constraint& c) {
  size_t num_inputs = c.args.size() - 1;
  std::vector<TypeRef> inputs;
  inputs.reserve(num_inputs);
  bool ready = true;
  for (size_t i = 0; i < num_inputs; ++i) {
    inputs.push_back(solver_.zonk(c.args[i]));
    ready &= readiness(inputs.back().get()) == Readiness::kReady;
  }
  if (!ready) {
    if (c.op != nullptr && !apply_signature(c)) return Outcome::kFailed;
    ready = true;
    for (size_t i = 0; i < num_inputs; ++i) {
      inputs[i] = solver_.zonk(inputs[i]);
      ready &= readiness(inputs[i].get()) == Readiness::kReady;
    }
  }
  TypeRef output;
  try {
    if (!ready && c.relation->expect != nullptr) ready = expect_inputs(c, inputs);
    if (ready) {
      if (c.op != nullptr) check_signature(*c.op, inputs);
      std::function<std::optional<NDArray>(size_t)> values;
      if (c.call != nullptr && values_) {
        values = [this, &c](size_t i) { return values_(c.call, i); };
      }
      RelationCall call(inputs, c.attrs, &solver_, std::move(values));
      output = c.relation->infer(call);
    }
  } catch (const Error& error) {
    return fail(c, error);
  }
  if (!output) {
    if (!c.args.back()) c.args.back() = solver_.fresh(Kind::kType, c.span);
    return Outcome::kWait;
  }
  output = hide_values(output);
  if (!c.args.back()) {
    c.args.back() = std::move(output);
    return Outcome::kSolved;
  }
  if (solver_.unify(c.args.back(), output)) return Outcome::kSolved;
  Diagnostic diagnostic = type_mismatch(solver_, "the result of " + c.relation->name.str(),
                                        c.args.back(), output, c.span);
  if (c.defined.known()) diagnostic.note(c.relation->name.str() + " is called here", c.defined);
  // The output goes in again.
  TypeRef wanted = solver_.zonk(c.args.back());
  bool again = std::any_of(inputs.begin(), inputs.end(), [&](const TypeRef& input) {
    const auto* tuple = input->as<TupleType>();
    if (tuple == nullptr) return input == wanted;
    auto fields = tuple->fields();
    return std::find(fields.begin(), fields.end(), wanted) != fields.end();
  });
  if (c.instance && again) diagnostic.help(kAnnotateRecursion);
  report(c, std::move(diagnostic));
  return Outcome::kFailed;
}

ConstraintId Constraints::wait(Constraint constraint) {
  auto id = static_cast<ConstraintId>(all_.size());
  for (const TypeRef& arg : constraint.args) solver_.watch(arg, id);
  all_.push_back(std::move(constraint));
  return id;
}

void Constraints::require(Constraint constraint) {
  if (attempt(constraint) == Outcome::kWait) wait(std::move(constraint));
}

void Constraints::propagate() {
  std::vector<ConstraintId> batch;
  for (;;) {
    for (const Solver::RigidNumeric& rigid : std::exchange(solver_.rigid_numerics(), {})) {
      Constraint c;
      c.relation = numeric_relation(rigid.numeric);
      c.args = {rigid.var};
      c.span = rigid.span;
      wait(std::move(c));
    }
    batch.clear();
    batch.swap(solver_.woken());
    for (ConstraintId id : batch) {
      if (all_[id].state != Constraint::State::kPending) continue;
      Constraint work = all_[id];  // attempting may add constraints and move the list
      Outcome outcome = attempt(work);
      Constraint& c = all_[id];
      if (outcome == Outcome::kWait) {
        for (const TypeRef& arg : c.args) solver_.watch(arg, id);
      } else {
        c.state =
            outcome == Outcome::kSolved ? Constraint::State::kSolved : Constraint::State::kFailed;
      }
    }
    for (const Solver::DimEquality& equality : solver_.retry_dims()) {
      sink_.add(dims_mismatch(solver_, equality));
    }
    if (batch.empty() && solver_.woken().empty()) return;
  }
}

std::vector<ConstraintId> Constraints::pending_since(size_t mark) const {
  std::vector<ConstraintId> pending;
  for (size_t id = mark; id < all_.size(); ++id) {
    if (all_[id].state == Constraint::State::kPending && !all_[id].check_only) {
      pending.push_back(static_cast<ConstraintId>(id));
    }
  }
  return pending;
}

}  // namespace relay::inference
