// Calls: of operators by their relations, of everything else by its function type.
#include <algorithm>

#include <relay/infer/functions/inferencer.h>
#include <relay/infer/functions/literals.h>
#include <relay/infer/messages.h>
#include <relay/op/registry/call_form.h>
#include <relay/support/hash.h>

namespace relay::inference {

void Inferencer::solve() {
  if (!solver_.woken().empty() || !solver_.rigid_numerics().empty()) constraints_.propagate();
}

TypeRef Inferencer::literal_type(const Literal* literal) {
  const LiteralValue& value = literal->value();
  TypeRef type =
      solver_.fresh_scalar(literal_class(value), literal_is_wide(value), literal->span());
  numeric_slots_.push_back(type->as<TensorType>()->dtype_type()->as<IncompleteType>()->id());
  literals_.emplace_back(literal, type);
  return type;
}

// The dtype, or the variable for it, that a literal argument of an elementwise operator shares with
// another argument.
static TypeRef dtype_among(Solver& solver, std::span<const Value> args) {
  TypeRef variable;
  for (const Value& arg : args) {
    if (!arg.type || arg.scheme != kNoScheme) continue;
    TypeRef type = solver.resolve(arg.type);
    const auto* tensor = type->as<TensorType>();
    if (tensor == nullptr) continue;
    TypeRef dtype = solver.resolve(tensor->dtype_type());
    if (dtype->is<BaseType>()) return dtype;
    if (dtype->is<IncompleteType>() && !variable) variable = dtype;
  }
  return variable;
}

// Literals that are arguments of an operator were left open: give them the dtype of the others at
// once where that is certain, else a variable. True if any became a variable.
bool Inferencer::adopt_literals(const Call* call, const Operator* op, size_t base) {
  const Relation::Form form = op->relation()->form;
  bool open = false;
  TypeRef dtype;
  if (form == Relation::Form::kBroadcast || form == Relation::Form::kCompare) {
    dtype = dtype_among(solver_, std::span<const Value>(values_).subspan(base));
  }
  for (size_t i = 0; i < call->args().size(); ++i) {
    Value& value = values_[base + i];
    if (value.type) continue;
    const auto* literal = static_cast<const Literal*>(call->args()[i].get());
    const auto* base_type = dtype ? dtype->as<BaseType>() : nullptr;
    if (base_type != nullptr && literal_problem(literal->value(), base_type->dtype()).empty()) {
      value.type = TensorType::make(std::span<const Dim>(), base_type->dtype());
      record_closed(literal, value.type);
      continue;
    }
    if (dtype && base_type == nullptr) {
      Slot& slot = solver_.slot(dtype.get());
      if (slot.numeric == Numeric::kAny) {
        slot.origin = literal->span();
        numeric_slots_.push_back(dtype->as<IncompleteType>()->id());
      }
      slot.numeric = std::max(slot.numeric, literal_class(literal->value()));
      slot.wide |= literal_is_wide(literal->value());
      value.type = TensorType::make(scalar_shape_, dtype);
      literals_.emplace_back(literal, value.type);
      record(literal, value);
      open = true;
      continue;
    }
    value.type = literal_type(literal);
    record(literal, value);
    open = true;
  }
  return open;
}

void Inferencer::step_call(Frame& frame, const Call* call) {
  const Expr* callee = call->callee().get();
  bool direct = callee->is<Op>() || callee->is<Constructor>();
  if (frame.step == 0 && direct) frame.step = 1;
  auto operands = call->operands();
  if (callee->is<Op>()) {
    size_t depth = frames_.size();
    while (frame.step < operands.size()) {
      const Expr* arg = operands[frame.step++].get();
      if (arg->is<Literal>() && arg->has_one_owner()) {
        values_.push_back({});  // adopt_literals
      } else {
        visit(arg);
      }
      if (frames_.size() != depth) return;
    }
  } else if (!visit_operands(frame, static_cast<uint32_t>(operands.size()))) {
    return;
  }
  uint32_t base = frame.base;
  frames_.pop_back();
  solver_.set_span(call->span());
  TypeRef result;
  if (const auto* op = callee->as<Op>()) {
    result = call_operator(call, op->op(), base);
  } else if (const auto* constructor = callee->as<Constructor>()) {
    result = call_constructor(call, constructor, base);
  } else {
    TypeRef type = take_deferred(base, call, 0, call->type_args());
    result = call_value(call, type, base + 1);
  }
  values_.resize(base);
  finish(call, {std::move(result)});
}

// The error about the number of arguments of a call.
static Diagnostic wrong_count(const std::string& callee, size_t wanted, const Call* call) {
  return Diagnostic::error(callee + " takes " + std::to_string(wanted) +
                               (wanted == 1 ? " argument" : " arguments") + ", found " +
                               std::to_string(call->args().size()),
                           call->span())
      .of_rule("A1");
}

static Diagnostic wrong_count(const Operator& op, const Call* call) {
  const size_t wanted = op.num_inputs();
  const size_t found = call->args().size();
  Diagnostic diagnostic = wrong_count(op.name().str(), wanted, call);
  for (size_t i = found; i < wanted; ++i)
    diagnostic.message += (i == found ? ": without " : ", ") + op.inputs()[i].name.str();
  if (wanted == 1 && found > 1 && op.inputs()[0].spec.role() == ValueSpec::Role::kTuple) {
    std::string tuple;
    for (size_t i = 0; i < found; ++i)
      tuple += (i == 0 ? "(" : ", ") + source_text(place_of(call, i + 1), 20);
    diagnostic.help("it takes one tuple: " + tuple + ")");
  } else if (found > wanted && op.attrs_schema() != nullptr &&
             call->args()[wanted]->is<Literal>() && !op.attrs_schema()->fields.empty()) {
    diagnostic.help("attributes are given by name: " + op.attrs_schema()->fields[0].name.str() +
                    "=" + source_text(place_of(call, wanted + 1)));
  }
  diagnostic.note("it is called as " + call_form(op));
  return diagnostic;
}

TypeRef Inferencer::call_operator(const Call* call, const Operator* op, size_t base) {
  size_t count = call->args().size();
  const Relation* relation = op->relation();
  bool reads_constants = false;
  bool known = true;
  for (size_t i = 0; i < count; ++i) {
    if (!values_[base + i].type) adopt_literals(call, op, base);
    Value& value = values_[base + i];
    if (value.scheme != kNoScheme || value.type->has_binder()) {
      value = {take(base + i, call, static_cast<uint32_t>(i + 1))};
    }
    if (relation->form == Relation::Form::kGeneral) {
      const ExprRef& arg = call->args()[i];
      reads_constants |= arg->is<Constant>() || arg->is<Literal>();
    }
    known &= value.type->closed();
  }
  if (!call->type_args().empty()) {
    sink_.add(
        Diagnostic::error("operator " + op->name().str() + " takes no type arguments", call->span())
            .of_rule("T11"));
  }
  if (count != op->num_inputs()) {
    sink_.add(wrong_count(*op, call));
    return failed(call->span());
  }
  if (relation == nullptr) return failed(call->span());

  // Calls on closed types repeat: the relation is a function, so its last results are kept.
  Context::OpEntry* entry = nullptr;
  if (known && !reads_constants && count <= 3) {
    uint64_t hash =
        reinterpret_cast<uintptr_t>(op) ^ reinterpret_cast<uintptr_t>(call->attrs().get());
    for (size_t i = 0; i < count; ++i) {
      hash = hash_combine(hash, reinterpret_cast<uintptr_t>(values_[base + i].type.get()));
    }
    entry = &context_.op_cache[hash_mix(hash) % context_.op_cache.size()];
    bool same = entry->op == op && entry->attrs == call->attrs() && entry->num_inputs == count;
    for (size_t i = 0; same && i < count; ++i) same = entry->inputs[i] == values_[base + i].type;
    if (same) return entry->output;
  }

  Constraint c;
  c.relation = relation;
  c.op = op;
  c.attrs = call->attrs() ? call->attrs() : context_.default_attrs(op);
  c.call = call;
  c.span = call->span();
  c.args.reserve(count + 1);
  for (size_t i = 0; i < count; ++i) c.args.push_back(values_[base + i].type);
  c.args.emplace_back();
  switch (known ? constraints_.attempt_closed(c) : constraints_.attempt(c)) {
    case Constraints::Outcome::kFailed:
      return failed(call->span());
    case Constraints::Outcome::kWait: {
      TypeRef output = c.args.back();
      constraints_.wait(std::move(c));
      solve();
      return output;
    }
    case Constraints::Outcome::kSolved:
      break;
  }
  solve();
  TypeRef output = solver_.zonk(c.args.back());
  if (entry != nullptr && !output->has_incomplete()) {
    entry->op = op;
    entry->attrs = call->attrs();
    entry->num_inputs = static_cast<uint32_t>(count);
    for (size_t i = 0; i < count; ++i) entry->inputs[i] = values_[base + i].type;
    entry->output = output;
  }
  return output;
}

TypeRef Inferencer::call_constructor(const Call* call, const Constructor* constructor,
                                     size_t base) {
  TypeRef scheme = context_.constructor_scheme(*constructor, call->callee()->span());
  if (!scheme) return failed(call->span());
  if (constructor->type() == nullptr) constructor->publish_type(scheme);
  TypeRef type = instantiate({scheme}, call->type_args(), call->span());
  return call_value(call, type, base);
}

void Inferencer::note_definition(Diagnostic& diagnostic, const Expr* callee, size_t param) {
  const Function* function = callee->as<Function>();
  if (const auto* global = callee->as<GlobalVar>()) {
    function = context_.module.function(global->name());
  }
  if (function != nullptr && param < function->params().size()) {
    const Var* var = function->params()[param].get();
    if (var->span().known()) diagnostic.note("the parameter %" + var->name().str(), var->span());
  } else if (const auto* var = callee->as<Var>()) {
    if (var->span().known())
      diagnostic.note("%" + var->name().str() + " is defined here", var->span());
  }
}

TypeRef Inferencer::call_value(const Call* call, const TypeRef& callee, size_t first_arg) {
  auto args = call->args();
  const Expr* callee_expr = call->callee().get();
  std::string name;
  auto callee_name = [&] { return name.empty() ? name = source_text(callee_expr) : name; };
  std::vector<Constraint> constraints = std::exchange(deferred_, {});
  std::vector<TypeRef> types;
  types.reserve(args.size());
  for (size_t i = 0; i < args.size(); ++i) {
    types.push_back(take(first_arg + i, call, static_cast<uint32_t>(i + 1)));
  }
  solver_.set_span(call->span());
  TypeRef known = solver_.resolve(callee);
  TypeRef result;
  if (known->is<IncompleteType>()) {
    result = solver_.fresh(Kind::kType, call->span());
    TypeRef made = FuncType::make(types, result);
    if (!solver_.unify(known, made)) {
      Diagnostic diagnostic =
          Diagnostic::error("cannot call " + callee_name() + " with these arguments", call->span());
      explain(diagnostic, solver_);
      if (solver_.mismatch().why == Mismatch::Why::kOccurs)
        diagnostic.message = "the type of " + callee_name() + " would be infinite";
      sink_.add(std::move(diagnostic));
    }
  } else if (const auto* func = known->as<FuncType>()) {
    result = func->result();
    if (func->params().size() != args.size()) {
      Diagnostic diagnostic = wrong_count(callee_name(), func->params().size(), call);
      note_definition(diagnostic, callee_expr, args.size());
      sink_.add(std::move(diagnostic));
      solver_.give_up(known);
    }
    std::optional<Diagnostic> wrong;  // one for all arguments that do not fit
    // With an argument too many or too few, nobody knows which one belongs to which parameter.
    for (size_t i = 0; i < args.size() && args.size() == func->params().size(); ++i) {
      const TypeRef& param = func->params()[i];
      if (param == types[i]) continue;
      Span arg_span = use_span(args[i].get(), call);
      solver_.set_span(arg_span);
      if (solver_.unify(param, types[i])) continue;
      Diagnostic diagnostic =
          type_mismatch(solver_, "argument " + std::to_string(i + 1) + " of " + callee_name(),
                        param, types[i], place_of(call, i + 1));
      if (wrong) {
        wrong->note(diagnostic.message, diagnostic.span);
        continue;
      }
      note_names(diagnostic, solver_, func->params().first(i), [&](size_t k) {
        return DiagnosticNote{
            DiagnosticNote::Kind::kNote,
            "argument " + std::to_string(k + 1) + ", " + display(solver_, types[k]),
            place_of(call, k + 1)};
      });
      note_definition(diagnostic, callee_expr, i);
      wrong = std::move(diagnostic);
    }
    if (wrong) {
      const auto* global = callee_expr->as<GlobalVar>();
      if (global != nullptr && group_types_.count(global->name()) != 0 &&
          !fully_annotated(context_.module.function(global->name()))) {
        wrong->help(kAnnotateRecursion);
      }
      sink_.add(std::move(*wrong));
      constraints_.note_failed_call(call);
      solver_.give_up(known);
    }
  } else {
    sink_.add(Diagnostic::error(callee_name() + " is called, but it is not a function: it is " +
                                    display(solver_, known),
                                place_of(call, 0))
                  .of_rule("T1"));
    result = failed(call->span());
  }
  solver_.settle_any();
  solve();
  deferred_ = std::move(constraints);
  require_deferred();
  return result;
}

std::optional<NDArray> Inferencer::constant_value(const Call* call, size_t i) {
  if (i >= call->args().size()) return std::nullopt;
  const Expr* arg = call->args()[i].get();
  if (const auto* constant = arg->as<Constant>()) return constant->data();
  const auto* literal = arg->as<Literal>();
  if (literal == nullptr) return std::nullopt;
  // The dtype may be decided already, by other arguments of the call.
  for (size_t k = literals_.size(); k-- > 0;) {
    if (literals_[k].first != literal) continue;
    TypeRef type = solver_.zonk(literals_[k].second);
    const auto* tensor = type->as<TensorType>();
    if (!tensor->has_dtype() || !literal_problem(literal->value(), tensor->dtype()).empty()) break;
    return literal_array(literal->value(), tensor->dtype());
  }
  return std::nullopt;
}

// ---- Schemes of what a program does not define -------------------------------------------------

TypeRef Context::constructor_scheme(const Constructor& constructor, Span span) {
  auto found = constructors_.find(&constructor);
  if (found != constructors_.end()) return found->second;
  TypeRef scheme;
  const TypeData* data = module.type_data(constructor.type_name().get());
  bool defined = false;
  if (data != nullptr) {
    for (const ConstructorRef& other : data->constructors()) defined |= other.get() == &constructor;
  }
  if (defined) {
    // What a field leaves open is an error of the data type, and nothing to unify with.
    const auto& inputs = constructor.inputs();
    const bool open = std::any_of(inputs.begin(), inputs.end(),
                                  [](const TypeRef& input) { return input->has_incomplete(); });
    if (!open) scheme = constructor_type(*data, constructor);
  } else {
    sink.add(
        Diagnostic::error(
            "constructor " + constructor.name().str() + " belongs to no type of the module", span)
            .of_rule("N3"));
  }
  constructors_.emplace(&constructor, scheme);
  return scheme;
}

AttrsRef Context::default_attrs(const Operator* op) {
  if (op->attrs_schema() == nullptr) return {};
  auto found = attrs_.find(op);
  if (found != attrs_.end()) return found->second;
  AttrsRef attrs;
  try {
    attrs = Attrs::make(*op->attrs_schema(), {}, {});
  } catch (const Error& error) {
    for (const Diagnostic& diagnostic : error.diagnostics()) sink.add(diagnostic);
  }
  attrs_.emplace(op, attrs);
  return attrs;
}

TypeRef Context::operator_scheme(const Operator* op) {
  auto found = operators_.find(op);
  if (found != operators_.end()) return found->second;
  static const char* const kNames[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
  std::vector<TypeVarRef> vars;
  std::vector<TypeRef> params;
  for (size_t i = 0; i < op->num_inputs(); ++i) {
    vars.push_back(
        TypeVar::make(i < 8 ? Name(kNames[i]) : Name("a" + std::to_string(i)), Kind::kType));
    params.emplace_back(vars.back());
  }
  vars.push_back(TypeVar::make("r", Kind::kType));
  TypeRef result = vars.back();
  std::vector<TypeRef> args = params;
  args.push_back(result);
  RelationTypeRef relation = RelationType::make(
      op->relation(), std::move(args), static_cast<int>(op->num_inputs()), default_attrs(op));
  TypeRef scheme =
      FuncType::make(std::move(params), std::move(result), std::move(vars), {relation});
  operators_.emplace(op, scheme);
  return scheme;
}

}  // namespace relay::inference
