// Signatures of operators while types are not yet known: their dtypes hold in every form of
// relation, before the relation can run.
#include <relay/infer/messages.h>
#include <relay/infer/solve/constraints.h>

namespace relay::inference {

using Outcome = Constraints::Outcome;

namespace {

std::string found(Solver& solver, const TypeRef& type) {
  return ", found " + display(solver, type);
}

}  // namespace

Outcome Constraints::solve_dtype(Constraint& c) {
  TypeRef type = solver_.resolve(c.args[0]);
  DTypes dtypes = DTypes::parse(*c.attrs->fields(false)[0].value.get<std::string>());
  if (const auto* tensor = type->as<TensorType>()) type = solver_.resolve(tensor->dtype_type());
  if (type->is<IncompleteType>() || type->is<TypeVar>()) return Outcome::kWait;
  const auto* base = type->as<BaseType>();
  if (base != nullptr && dtypes.contains(base->dtype())) return Outcome::kSolved;
  std::string wanted = "needs " + std::string(base == nullptr ? "a tensor of " : "") +
                       dtypes.described() + found(solver_, type);
  if (c.op == nullptr) {
    report(c, Diagnostic::error("the function that is called " + wanted, c.span).of_rule("T2"));
    return Outcome::kFailed;
  }
  wanted = c.op->name().str() + ": " + c.op->inputs()[static_cast<size_t>(c.input)].name.str() +
           " " + wanted;
  Diagnostic diagnostic = Diagnostic::error(std::move(wanted), c.span).of_rule("T2");
  note_origins(c, diagnostic);
  if (c.defined.known() && !(c.defined == c.span)) {
    diagnostic.note(c.op->name().str() + " is called here", c.defined);
  }
  // A number that nothing else gave a dtype.
  const Expr* arg = c.call == nullptr || c.instance
                        ? nullptr
                        : c.call->args()[static_cast<size_t>(c.input)].get();
  if (arg != nullptr && arg->is<Literal>() && base != nullptr && base->dtype().is_integer() &&
      dtypes.contains(kFloat32)) {
    diagnostic.help("a whole number is an integer unless it has a suffix or a point: write " +
                    source_text(arg) + "f or " + source_text(arg) + ".0");
  }
  report(c, std::move(diagnostic));
  return Outcome::kFailed;
}

// Demands a class of the dtype of a tensor: at once if it is known, else when it is solved. A
// constraint that came with a scheme has its demands in the scheme.
bool Constraints::require_dtypes(const Constraint& c, int32_t input, DTypes dtypes,
                                 const TypeRef& type) {
  if (dtypes == kAnyDType || c.instance) return true;
  Constraint demand;
  demand.relation = dtype_relation();
  demand.op = c.op;
  demand.call = c.call;
  demand.input = input;
  demand.attrs = dtype_attrs(dtypes);
  demand.span = c.span;
  demand.defined = c.defined;
  TypeRef known = solver_.resolve(type);
  if (const auto* tensor = known->as<TensorType>()) known = solver_.resolve(tensor->dtype_type());
  if (known->is<IncompleteType>()) {
    // A literal demands as much.
    Numeric numeric = solver_.slot(known.get()).numeric;
    DTypes demanded = numeric == Numeric::kFloat ? kFloats : kNumbers;
    if (numeric != Numeric::kAny && (demanded & dtypes) == demanded) return true;
    uint64_t key = (uint64_t{known->as<IncompleteType>()->id()} << 32) ^
                   static_cast<uint32_t>(demand.attrs->hash());
    if (!demanded_.insert(key).second) return true;
  }
  demand.args = {known};
  switch (solve_dtype(demand)) {
    case Outcome::kFailed:
      return false;
    case Outcome::kWait:
      wait(std::move(demand));
      break;
    case Outcome::kSolved:
      break;
  }
  return true;
}

bool Constraints::apply_spec(Constraint& c, int32_t input, const ValueSpec& spec, TypeRef type) {
  type = solver_.resolve(type);
  bool general = c.relation->form == Relation::Form::kGeneral;
  if (type->is<IncompleteType>() && general) {
    // T3: in every solution it is a tensor.
    uint32_t level = solver_.slot(type.get()).level;
    TypeRef made = TensorType::make(solver_.fresh_at(level, Kind::kShape, c.span),
                                    solver_.fresh_at(level, Kind::kBaseType, c.span));
    if (!solver_.unify(type, made)) return true;  // the relation will say what is wrong
    type = std::move(made);
  }
  DTypes dtypes = spec.variable() == 0 ? spec.dtypes() : dtypes_of(*c.op, spec.variable());
  const auto* tensor = type->as<TensorType>();
  if (tensor == nullptr) {
    return !type->is<TypeVar>() || input < 0 || require_dtypes(c, input, dtypes, type);
  }
  if (spec.variable() != 0 && general) {
    TypeRef* shared = nullptr;
    for (auto& [variable, dtype] : shared_) {
      if (variable == spec.variable()) shared = &dtype;
    }
    if (shared == nullptr) {
      shared_.emplace_back(spec.variable(), tensor->dtype_type());
    } else if (!solver_.unify(*shared, tensor->dtype_type())) {
      Diagnostic reason = Diagnostic::error("");
      explain(reason, solver_);
      fail(c,
           "dtypes " + display(solver_, *shared) + " and " +
               display(solver_, tensor->dtype_type()) + " differ" +
               (input < 0 ? ", of the arguments and the result"
                          : ", found at " + c.op->inputs()[static_cast<size_t>(input)].name.str()),
           reason.notes);
      return false;
    }
  }
  return input < 0 || require_dtypes(c, input, dtypes, type);
}

// Applies the signature of an operator to the types of a call, as far as they are known.
bool Constraints::apply_signature(Constraint& c) {
  const Operator& op = *c.op;
  shared_.clear();
  size_t inputs = std::min(c.args.size() - 1, op.num_inputs());
  for (size_t i = 0; i < inputs; ++i) {
    const ValueSpec& spec = op.inputs()[i].spec;
    auto input = static_cast<int32_t>(i);
    if (spec.is_tensor()) {
      if (!apply_spec(c, input, spec, c.args[i])) return false;
    } else if (spec.role() == ValueSpec::Role::kTuple) {
      TypeRef type = solver_.resolve(c.args[i]);
      const auto* tuple = type->as<TupleType>();
      for (size_t k = 0; tuple != nullptr && k < tuple->fields().size(); ++k) {
        if (!apply_spec(c, input, spec, tuple->fields()[k])) return false;
      }
    }
  }
  if (c.relation->form != Relation::Form::kGeneral || op.outputs().size() != 1) return true;
  // The dtype of the result is known before its shape.
  const ValueSpec& result = op.outputs()[0].spec;
  if (!result.is_tensor()) return true;
  TypeRef dtype;
  for (const auto& [variable, shared] : shared_) {
    if (variable == result.variable()) dtype = shared;
  }
  if (std::optional<DType> only = result.dtypes().only(); only && result.variable() == 0) {
    dtype = BaseType::make(*only);
  }
  if (!dtype) return true;
  if (!c.args.back()) {
    c.args.back() = TensorType::make(solver_.fresh(Kind::kShape, c.span), dtype);
    return true;
  }
  if (result.variable() != 0) return apply_spec(c, -1, result, c.args.back());
  return true;
}

}  // namespace relay::inference
