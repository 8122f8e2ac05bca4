// Specialisation (T16, T17): the functions that a call of the entry needs, one for each set of
// types that their code depends on.
#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <set>

#include <relay/infer/functions/inferencer.h>
#include <relay/infer/functions/literals.h>
#include <relay/infer/infer.h>
#include <relay/infer/messages.h>
#include <relay/infer/specialize/local_instances.h>
#include <relay/infer/specialize/matters.h>
#include <relay/ir/rewrite.h>
#include <relay/support/error.h>
#include <relay/support/stop.h>

namespace relay {
namespace inference {
namespace {

/// Instances of one function that ask for each other beyond this many are refused (T16).
constexpr size_t kMaxDepth = 64;
// Parts of the types of a function that calls itself at new ones, before types reach their own
// limit.
constexpr uint64_t kMaxRecursiveSize = 65536;
/// And so are more of all functions together: each may call the next at twice as many types.
constexpr size_t kMaxInstances = size_t{1} << 16;

/// `type` with `?` for its dimensions that are not those of `before`, a type of the same form.
TypeRef widen(const TypeRef& type, const TypeRef& before) {
  if (type == before || type->tag() != before->tag()) return type;
  auto list = [&](std::span<const TypeRef> now, std::span<const TypeRef> then) {
    std::vector<TypeRef> out(now.begin(), now.end());
    for (size_t i = 0; i < now.size() && i < then.size(); ++i) {
      out[i] = widen(now[i], then[i]);
    }
    return out;
  };
  switch (type->tag()) {
    case TypeTag::kTensor: {
      const auto* tensor = type->as<TensorType>();
      return TensorType::make(widen(tensor->shape(), before->as<TensorType>()->shape()),
                              tensor->dtype_type());
    }
    case TypeTag::kShape: {
      auto now = type->as<ShapeType>()->dims();
      auto then = before->as<ShapeType>()->dims();
      if (now.size() != then.size()) return type;
      std::vector<Dim> dims(now.begin(), now.end());
      for (size_t i = 0; i < dims.size(); ++i) {
        if (!(now[i] == then[i])) dims[i] = Dim::any();
      }
      return ShapeType::make(dims);
    }
    case TypeTag::kDim:
      return DimType::make(Dim::any());
    case TypeTag::kTuple:
      return TupleType::make(
          list(type->as<TupleType>()->fields(), before->as<TupleType>()->fields()));
    case TypeTag::kCall:
      return TypeCall::make(type->as<TypeCall>()->callee(),
                            list(type->as<TypeCall>()->args(), before->as<TypeCall>()->args()));
    default:
      return type;
  }
}

class Specializer {
 public:
  explicit Specializer(const Module& module)
      : module_(module),
        context_(module),
        matters_(module),
        recursive_(recursive_functions(module)) {
    for (const auto& entry : module.functions()) {
      context_.signatures.emplace(entry.name, TypeRef(entry.function->type()));
    }
  }

  Module run(Name entry, std::span<const TypeRef> arguments);
  std::vector<Diagnostic> check();

 private:
  struct Instance {
    Name origin;
    Name name;
    Substitution types;        // of the type parameters that matter
    const Instance* asked_by;  // null for an entry
    Span span;                 // where it was asked for
    FunctionRef function;
  };
  using Uses = std::map<std::pair<const Expr*, uint32_t>, Name>;

  Name fresh_name(Name origin);
  Name request(Name origin, Substitution types, const Instance* asked_by, Span span);
  Substitution settled(Name origin, Substitution types, const TypeVarSet& declared,
                       const Instance* asked_by);
  void build(Instance& instance);
  Uses request_uses(const LocalResult& caller, const Instance& instance,
                    bool (*wanted)(const Substitution&));
  void build_all();
  void request_from(const Module::FunctionEntry& polymorphic);
  void add_errors(std::vector<Diagnostic> errors, const Instance& instance);
  FunctionRef finish(const FunctionRef& function, const Uses& uses, const Instance& instance);

  const Module& module_;
  Context context_;
  Matters matters_;
  const std::unordered_set<Name> recursive_;
  std::deque<Instance> instances_;
  std::deque<Instance> callers_;  // polymorphic functions, of which there are none
  std::unordered_map<Name, std::vector<Instance*>> by_origin_;
  std::map<std::vector<const void*>, const Instance*> by_types_;  // by function, variables, types
  std::unordered_map<Name, InstanceNames> names_of_;
  std::unordered_set<Name> names_;
  std::unordered_map<Name, size_t> tried_;  // how many names for instances of a function
  size_t polymorphic_ = 0;                  // instances of functions that have several
  bool checking_ = false;
  DiagnosticSink errors_;
  std::set<std::pair<uint64_t, std::string>> told_;  // errors by their places
};

/// Puts constants for literals and instances for functions.
class Finisher final : public Rewriter {
 public:
  using Rename = std::function<Name(const Expr* parent, uint32_t operand, const GlobalVar* global)>;
  explicit Finisher(Rename rename) : rename_(std::move(rename)) {}

 private:
  ExprRef enter(const Expr* expr) override {
    const auto* literal = expr->as<Literal>();
    if (literal == nullptr || literal->type() == nullptr) return {};
    const auto* tensor = literal->type()->as<TensorType>();
    if (tensor == nullptr || !tensor->has_dtype()) return {};
    if (std::string problem = literal_problem(literal->value(), tensor->dtype());
        !problem.empty()) {
      throw Error(Diagnostic::error(std::move(problem), literal->span()).of_rule("T4"));
    }
    ExprRef constant =
        make_constant(literal_array(literal->value(), tensor->dtype()), literal->span());
    constant->set_type(TypeRef(literal->type()));
    return constant;
  }

  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    std::vector<ExprRef> changed;
    bool callee_changed = false;
    for (size_t i = 0; i < operands.size(); ++i) {
      const auto* global = operands[i]->as<GlobalVar>();
      if (global == nullptr) continue;
      Name name = rename_(expr, static_cast<uint32_t>(i), global);
      if (name.empty()) continue;
      if (changed.empty()) changed.assign(operands.begin(), operands.end());
      changed[i] = make_global_var(name, global->span());
      callee_changed |= i == 0;
    }
    if (changed.empty()) return rebuild(expr, operands);
    const auto* call = expr->as<Call>();
    if (call != nullptr && callee_changed && !call->type_args().empty()) {
      // The instance has taken its type arguments in.
      return make_call(changed[0], std::span<const ExprRef>(changed).subspan(1), call->attrs(), {},
                       call->span());
    }
    return rebuild(expr, changed);
  }

  Rename rename_;
};

// The types for one more instance. A function that calls itself at other dimensions may do so
// without end, or until a test at run time ends it: those dimensions are left to run time.
Substitution Specializer::settled(Name origin, Substitution types, const TypeVarSet& declared,
                                  const Instance* asked_by) {
  const Function* function = module_.function(origin);
  const FuncType* scheme = scheme_type(function);
  types = names_of_[origin].settle(std::move(types), function, scheme, declared);
  const Instance* last = recursive_.count(origin) == 0 ? nullptr : asked_by;
  while (last != nullptr && last->origin != origin) last = last->asked_by;
  if (last == nullptr) return types;
  Substitution wider;
  for (auto& [var, type] : types) {
    auto before = std::find_if(last->types.begin(), last->types.end(),
                               [&var = var](const auto& entry) { return entry.first == var; });
    if (before != last->types.end()) {
      wider.emplace_back(var, widen(type, before->second));
    } else if (var->kind() != Kind::kShapeVar) {  // else: run time has it already
      wider.emplace_back(var, type);
    }
  }
  return without_untold_names(std::move(wider), scheme);
}

Name Specializer::request(Name origin, Substitution types, const Instance* asked_by, Span span) {
  std::vector<Instance*>& siblings = by_origin_[origin];
  std::vector<const void*> key{module_.function(origin)};
  for (const auto& [var, type] : types) key.insert(key.end(), {var.get(), type.get()});
  if (auto same = by_types_.find(key); same != by_types_.end()) return same->second->name;
  if (!types.empty()) {
    size_t depth = 0;
    for (const Instance* at = recursive_.count(origin) == 0 ? nullptr : asked_by; at != nullptr;
         at = at->asked_by) {
      depth += at->origin == origin;
    }
    uint64_t size = 0;
    for (const auto& [var, type] : types) size += type->size();
    const bool large = depth > 0 && size > kMaxRecursiveSize;
    if (depth >= kMaxDepth || large) {
      const std::string how =
          large ? "its types get more than " + std::to_string(kMaxRecursiveSize) + " parts"
                : "specialisation goes deeper than " + std::to_string(kMaxDepth);
      throw Error(Diagnostic::error(
                      "@" + origin.str() + " calls itself at new types without end: " + how, span)
                      .of_rule("T16")
                      .help("its code depends on the types, so each needs an instance of its own"));
    }
  }
  if (!types.empty() && ++polymorphic_ > kMaxInstances) {
    throw Error(
        Diagnostic::error(
            "specialisation makes more than " + std::to_string(kMaxInstances) + " functions", span)
            .of_rule("T16"));
  }
  instances_.push_back({origin, fresh_name(origin), std::move(types), asked_by, span, {}});
  siblings.push_back(&instances_.back());
  by_types_.emplace(std::move(key), siblings.back());
  return siblings.back()->name;
}

Name Specializer::fresh_name(Name origin) {
  Name name = origin;
  size_t& i = tried_[origin];
  while (!names_.insert(name).second || (name != origin && module_.function(name))) {
    name = Name(origin.str() + "_" + std::to_string(++i));
  }
  return name;
}

bool is_closed(const Substitution& types) {
  return std::all_of(types.begin(), types.end(),
                     [](const auto& entry) { return !entry.second->has_type_var(); });
}

void Specializer::build(Instance& instance) {
  const Function* original = module_.function(instance.origin);
  const FuncType* scheme = scheme_type(original);
  FunctionRef function(original);
  Uses uses;
  if (!instance.types.empty() || matters_.has_polymorphic_uses(original)) {
    if (!instance.types.empty()) {
      if (auto errors = negative_dims(original, "@" + instance.origin.str(), instance.types);
          !errors.empty()) {
        return add_errors(std::move(errors), instance);
      }
      function =
          instantiate_function(original, scheme, instance.types, instance.asked_by != nullptr);
    } else if (checking_) {  // the types of the program stay as they are
      ExprRef copy = fresh_copy(function);
      function = FunctionRef(copy->as<Function>());
    }
    LocalResult local = specialize_locals(function, context_, matters_, true);
    if (!local.errors.empty()) {
      if (local.function) request_uses(local, instance, is_closed);
      return add_errors(std::move(local.errors), instance);
    }
    function = local.function;
    uses = request_uses(local, instance, [](const Substitution&) { return true; });
  }
  if (!checking_) instance.function = finish(function, uses, instance);
}

// The instances that a function calls, of those types that `wanted` takes.
Specializer::Uses Specializer::request_uses(const LocalResult& caller, const Instance& instance,
                                            bool (*wanted)(const Substitution&)) {
  Uses uses;
  TypeVarSet declared = declared_dims(caller.function.get());
  for (const Occurrence& use : caller.global_uses) {
    const auto* global = static_cast<const GlobalVar*>(use.callee);
    const Function* callee = module_.function(global->name());
    const FuncType* type = callee == nullptr ? nullptr : scheme_type(callee);
    if (type == nullptr) continue;
    Substitution types = match_scheme(type, use.type, matters_.of(global->name()));
    if (!wanted(types) || (checking_ && types.empty())) continue;
    types = settled(global->name(), std::move(types), declared, &instance);
    Span span = use.parent != nullptr ? use.parent->span() : global->span();
    uses[{use.parent, use.operand}] = request(global->name(), std::move(types), &instance, span);
  }
  return uses;
}

FunctionRef Specializer::finish(const FunctionRef& function, const Uses& uses,
                                const Instance& instance) {
  Finisher finisher([&](const Expr* parent, uint32_t operand, const GlobalVar* global) -> Name {
    auto found = uses.find({parent, operand});
    Name name = found != uses.end() ? found->second
                                    : request(global->name(), {}, &instance, global->span());
    bool polymorphic = scheme_type(module_.function(global->name())) != nullptr;
    return name == global->name() && !polymorphic ? Name() : name;
  });
  ExprRef done = finisher.run(function);
  return FunctionRef(done->as<Function>());
}

// The type variables of the functions that a value of a type holds.
std::unordered_set<const TypeVar*> function_variables(const TypeRef& type) {
  std::unordered_set<const TypeVar*> result;
  std::vector<const Type*> stack{type.get()};
  while (!stack.empty()) {
    const Type* at = stack.back();
    stack.pop_back();
    if (const auto* tuple = at->as<TupleType>()) {
      for (const TypeRef& field : tuple->fields()) stack.push_back(field.get());
    } else if (const auto* cell = at->as<RefType>()) {
      stack.push_back(cell->value().get());
    } else if (!at->is<TensorType>()) {
      for (const TypeVarRef& var : free_type_vars(TypeRef(at))) result.insert(var.get());
    }
  }
  return result;
}

// T8, T17: numbers of the entry that its arguments leave open, unless a function in its result has
// them too.
void default_numbers(const FuncType* type, const std::unordered_map<const TypeVar*, TypeRef>& fresh,
                     Solver& solver) {
  std::unordered_set<const TypeVar*> kept = function_variables(type->result());
  for (const RelationTypeRef& relation : type->constraints()) {
    bool is_float = relation->relation() == float_relation();
    if (!is_float && relation->relation() != num_relation()) continue;
    const auto* var = relation->args()[0]->as<TypeVar>();
    auto found = var == nullptr || kept.count(var) != 0 ? fresh.end() : fresh.find(var);
    if (found == fresh.end()) continue;
    TypeRef dtype = solver.resolve(found->second);
    if (!dtype->is<IncompleteType>()) continue;
    solver.bind_slot(dtype->as<IncompleteType>()->id(),
                     BaseType::make(default_dtype(is_float ? Numeric::kFloat : Numeric::kNum,
                                                  is_wide(relation->attrs()))));
  }
}

Module Specializer::run(Name entry, std::span<const TypeRef> arguments) {
  const Function* function = module_.function(entry);
  if (function == nullptr) throw Error("unknown function @" + entry.str());
  const auto* type = function->type()->as<FuncType>();
  size_t wanted = function->params().size();
  if (arguments.size() != wanted) {
    throw Error(Diagnostic::error("@" + entry.str() + " takes " + std::to_string(wanted) +
                                      (wanted == 1 ? " argument" : " arguments") + ", found " +
                                      std::to_string(arguments.size()),
                                  function->span()));
  }
  // T17: the parameters take the types of the arguments.
  Solver solver;
  std::unordered_map<const TypeVar*, TypeRef> fresh;
  for (const TypeVarRef& var : type->type_params()) {
    fresh.emplace(var.get(), solver.fresh_instance(var.get()));
  }
  auto replace = [&](const TypeVar* var) -> TypeRef {
    auto found = fresh.find(var);
    return found == fresh.end() ? TypeRef() : found->second;
  };
  DiagnosticSink sink;
  std::vector<TypeRef> params;
  for (size_t i = 0; i < wanted; ++i) {
    RELAY_CHECK(!arguments[i]->has_incomplete(), "the types of arguments are closed");
    TypeRef param = substitute(type->params()[i], replace);
    params.push_back(param);
    const Var* var = function->params()[i].get();
    solver.set_span(var->span());
    if (solver.unify(param, arguments[i])) continue;
    Diagnostic diagnostic = type_mismatch(
        solver,
        "argument " + std::to_string(i + 1) + " of @" + entry.str() + ", %" + var->name().str(),
        param, arguments[i], var->span());
    note_names(diagnostic, solver, std::span(params).first(i), [&](size_t k) {
      const Var* other = function->params()[k].get();
      return DiagnosticNote{DiagnosticNote::Kind::kNote,
                            "%" + other->name().str() + ": " + arguments[k]->str(), other->span()};
    });
    sink.add(std::move(diagnostic));
  }
  sink.throw_if_errors();
  for (const Solver::DimEquality& equality : solver.retry_dims())
    sink.add(dims_mismatch(solver, equality));
  sink.throw_if_errors();
  solver.settle_any();
  default_numbers(type, fresh, solver);
  Substitution types;
  for (const TypeVarRef& var : type->type_params()) {
    TypeRef known = solver.zonk(fresh[var.get()]);
    if (!known->has_incomplete()) types.emplace_back(var, known);
  }
  TypeVarSet declared;  // names in the types of the arguments
  for (const TypeRef& argument : arguments) {
    for (const TypeVarRef& var : free_type_vars(argument)) declared.insert(var.get());
  }
  if (!types.empty()) types = settled(entry, std::move(types), declared, nullptr);
  request(entry, std::move(types), nullptr, function->span());
  build_all();
  errors_.throw_if_errors();

  // In the order of the definitions they come from.
  Module result;
  for (const TypeDataRef& data : module_.types()) result.add_type(data);
  for (const auto& source : module_.sources()) result.add_source(source);
  for (const auto& definition : module_.functions()) {
    for (const Instance* instance : by_origin_[definition.name]) {
      result.add_function(instance->name, instance->function);
    }
  }
  infer_types_or_throw(result);
  return result;
}

// Errors inside of an instance, with the calls that ask for it, each place once. An error of
// several instances is reported once.
void Specializer::add_errors(std::vector<Diagnostic> errors, const Instance& instance) {
  std::vector<const Instance*> calls;
  std::unordered_set<uint64_t> places;
  for (const Instance* at = &instance; at->asked_by != nullptr; at = at->asked_by) {
    if (places.insert(at->span.begin()).second) calls.push_back(at);
  }
  for (Diagnostic& diagnostic : errors) {
    if (diagnostic.severity != Severity::kError) continue;
    if (!told_.emplace(diagnostic.span.begin(), diagnostic.message).second) continue;
    add_path(diagnostic, calls.size(), [&](size_t i) {
      const Instance* at = calls[i];
      return call_note("@" + at->origin.str(), module_.function(at->origin), at->types, at->span);
    });
    errors_.add(std::move(diagnostic));
  }
}

void Specializer::build_all() {
  for (size_t i = 0; i < instances_.size() && polymorphic_ <= kMaxInstances; ++i) {
    stop_if_asked();
    try {
      build(instances_[i]);
    } catch (const Error& error) {
      add_errors(error.diagnostics(), instances_[i]);
    }
  }
}

// Requests the instances that a polymorphic function needs at types that do not depend on its own.
void Specializer::request_from(const Module::FunctionEntry& polymorphic) {
  callers_.push_back(
      {polymorphic.name, polymorphic.name, {}, nullptr, polymorphic.function->span(), {}});
  ExprRef copy = fresh_copy(polymorphic.function);
  FunctionRef function(copy->as<Function>());
  try {
    LocalResult local = specialize_locals(function, context_, matters_, false);
    if (local.function) request_uses(local, callers_.back(), is_closed);
    add_errors(std::move(local.errors), callers_.back());
  } catch (const Error& error) {
    add_errors(error.diagnostics(), callers_.back());
  }
}

// True if everything but dimensions is known in the type of a function.
bool is_monomorphic(const FuncType* scheme) {
  return scheme == nullptr ||
         std::all_of(scheme->type_params().begin(), scheme->type_params().end(),
                     [](const TypeVarRef& var) { return var->kind() == Kind::kShapeVar; });
}

// A function without uses of polymorphic ones is right as it is: only others are built. Their parts
// are inferred by themselves, against the schemes of the functions that they call, because
// instances say less.
std::vector<Diagnostic> Specializer::check() {
  checking_ = true;
  std::vector<const Module::FunctionEntry*> polymorphic;
  for (const Module::FunctionEntry& entry : module_.functions()) {
    if (!matters_.has_polymorphic_uses(entry.function.get())) continue;
    if (is_monomorphic(scheme_type(entry.function.get()))) {
      request(entry.name, {}, nullptr, entry.function->span());
    } else {
      polymorphic.push_back(&entry);
    }
  }
  for (const Module::FunctionEntry* entry : polymorphic) request_from(*entry);
  build_all();
  return errors_.take();
}

}  // namespace
}  // namespace inference

namespace {

// A function in the result as a scheme of its own, over the variables that nothing else has.
TypeRef own_scheme(const FuncType* signature, const FuncType* func,
                   const std::unordered_set<const TypeVar*>& taken) {
  // The variables of the function, and those that relations tie to them.
  std::unordered_set<const TypeVar*> ours;
  auto mentions = [&](const TypeRef& type) {
    bool any = false;
    for (const TypeVarRef& var : free_type_vars(type)) any |= ours.count(var.get()) != 0;
    return any;
  };
  auto add = [&](const TypeRef& type) {
    for (const TypeVarRef& var : free_type_vars(type)) {
      if (taken.count(var.get()) == 0) ours.insert(var.get());
    }
  };
  add(TypeRef(func));
  for (size_t before = 0; before != ours.size();) {
    before = ours.size();
    for (const RelationTypeRef& relation : signature->constraints()) {
      if (mentions(relation)) add(relation);
    }
  }
  std::vector<TypeVarRef> type_params;
  for (const TypeVarRef& var : signature->type_params()) {
    if (ours.count(var.get()) != 0) type_params.push_back(var);
  }
  std::vector<RelationTypeRef> constraints;
  for (const RelationTypeRef& relation : signature->constraints()) {
    if (mentions(relation)) constraints.push_back(relation);
  }
  return FuncType::make({func->params().begin(), func->params().end()}, func->result(),
                        std::move(type_params), std::move(constraints));
}

}  // namespace

TypeRef result_type(const FuncType* signature) {
  if (!signature->is_scheme()) return signature->result();
  // Types nest no deeper than Type::kMaxDepth, so this may recurse.
  std::unordered_set<const TypeVar*> taken;
  auto take = [&](const TypeRef& type) {
    for (const TypeVarRef& var : free_type_vars(type)) taken.insert(var.get());
  };
  for (const TypeRef& param : signature->params()) take(param);
  std::function<void(const TypeRef&)> take_values = [&](const TypeRef& type) {
    if (const auto* tuple = type->as<TupleType>()) {
      for (const TypeRef& field : tuple->fields()) take_values(field);
    } else if (!type->is<FuncType>()) {
      take(type);
    }
  };
  take_values(signature->result());
  std::function<TypeRef(const TypeRef&)> close = [&](const TypeRef& type) -> TypeRef {
    if (const auto* tuple = type->as<TupleType>()) {
      std::vector<TypeRef> fields;
      for (const TypeRef& field : tuple->fields()) fields.push_back(close(field));
      return TupleType::make(std::move(fields));
    }
    const auto* func = type->as<FuncType>();
    return func == nullptr || func->is_scheme() ? type : own_scheme(signature, func, taken);
  };
  return close(signature->result());
}

std::vector<Diagnostic> check_instances(const Module& module) {
  return inference::Specializer(module).check();
}

Module specialize(const Module& module, Name entry, std::span<const TypeRef> arguments) {
  Module typed = module;
  infer_types_or_throw(typed);
  return inference::Specializer(typed).run(entry, arguments);
}

}  // namespace relay
