// Finds the place inside of a called function where the types of a call fail. A scheme says only
// that they do: the functions on the way are inferred again, each with the types that its call
// gives it.
#include <algorithm>

#include <relay/infer/functions/inferencer.h>
#include <relay/infer/messages.h>
#include <relay/infer/specialize/local_instances.h>
#include <relay/infer/specialize/matters.h>
#include <relay/infer/type_walk.h>
#include <relay/ir/visit.h>

namespace relay::inference {

namespace {

/// Calls that are looked into one after the other, and errors of a module that are.
constexpr size_t kMaxPath = 64;
constexpr size_t kMaxExplained = 32;

/// The function literal that a let binds to a variable, or null.
const Function* bound_function(const Expr* root, const Var* var) {
  const Function* found = nullptr;
  post_order(root, [&](const Expr* expr) {
    const auto* let = expr->as<Let>();
    if (let != nullptr && let->var().get() == var) found = let->value()->as<Function>();
  });
  return found;
}

/// The values that a call gives to the type parameters of the function, with holes for unknown
/// ones. Dimensions that the caller declares keep their names, which are added to `names`. Nothing
/// if the arguments do not fit.
std::optional<Substitution> types_at(const FuncType* scheme, const Call* call,
                                     const TypeVarSet& declared,
                                     const std::function<TypeRef(const TypeRef&)>& literals,
                                     std::vector<TypeVarRef>& names) {
  if (scheme->params().size() != call->args().size()) return std::nullopt;
  const std::function<Dim(Dim)> known_names = [&](Dim d) {
    bool known = true;
    for_each_atom(d, [&](Dim atom) {
      const TypeVar* symbol = atom.as_symbol();
      known &= symbol != nullptr && declared.count(symbol) != 0;
    });
    return known ? d : Dim::any();
  };
  Solver solver;
  std::unordered_map<const TypeVar*, TypeRef> fresh;
  for (const TypeVarRef& var : scheme->type_params())
    fresh.emplace(var.get(), solver.fresh(var->kind()));
  auto replace = [&](const TypeVar* var) -> TypeRef {
    auto found = fresh.find(var);
    return found == fresh.end() ? TypeRef() : found->second;
  };
  for (size_t i = 0; i < call->args().size(); ++i) {
    const Type* type = call->args()[i]->type();
    if (type == nullptr || type->has_binder()) continue;
    TypeRef arg = map_type(TypeRef(type), literals, known_names);
    for (const TypeVarRef& var : free_type_vars(arg)) {
      if (declared.count(var.get()) != 0 &&
          std::find(names.begin(), names.end(), var) == names.end())
        names.push_back(var);
    }
    if (!solver.unify(substitute(scheme->params()[i], replace), arg)) return std::nullopt;
  }
  solver.settle_any();
  const std::function<TypeRef(const TypeRef&)> hole = [](const TypeRef& t) -> TypeRef {
    return t->is<IncompleteType>() || t->is<TypeVar>() ? IncompleteType::make(0, t->kind()) : t;
  };
  const std::function<Dim(Dim)> open = [](Dim d) { return d.has_variable() ? Dim::any() : d; };
  Substitution types;
  for (const TypeVarRef& var : scheme->type_params()) {
    TypeRef type = solver.zonk(fresh[var.get()]);
    if (var->kind() == Kind::kShapeVar && type->has_incomplete()) continue;
    types.emplace_back(var, map_type(type, hole, open));
  }
  return types;
}

/// The type of a function as a call has its arguments, where its text says nothing of a parameter.
/// Null if an argument does not fit what the text says.
TypeRef type_as_called(const Function* function, const Call* call,
                       const std::function<TypeRef(const TypeRef&)>& literals) {
  const auto& params = function->params();
  if (!function->type_params().empty() || params.size() != call->args().size()) return {};
  const std::function<Dim(Dim)> number = [](Dim d) { return d.is_int() ? d : Dim::any(); };
  Solver solver;
  std::vector<TypeRef> types;
  for (size_t i = 0; i < params.size(); ++i) {
    const ExprRef& arg = call->args()[i];
    TypeRef type = arg->type() == nullptr ? TypeRef() : TypeRef(arg->type());
    if (!type || type->has_binder()) return {};
    type = map_type(type, literals, number);
    if (type->has_type_var() || type->has_incomplete()) return {};
    if (const TypeRef& said = params[i]->annotation()) {
      if (said->has_incomplete() || !solver.unify(said, type)) return {};
      type = said;
    }
    types.push_back(std::move(type));
  }
  return FuncType::make(std::move(types), IncompleteType::hole());
}

}  // namespace

const Call* only_call_of(const Function* function, const Relation* relation) {
  const Call* found = nullptr;
  size_t count = 0;
  post_order(function, [&](const Expr* expr) {
    const auto* call = expr->as<Call>();
    const auto* op = call == nullptr ? nullptr : call->callee()->as<Op>();
    if (op == nullptr || op->op()->relation() != relation) return;
    found = call;
    ++count;
  });
  return count == 1 && found->span().known() ? found : nullptr;
}

/// The error of a function whose arguments fit by themselves, or that is used as a value, at its
/// operator: what is done with it or its result does not fit.
static void blame_operator(const Constraints::FailedCall& failed, const Function* function,
                           Diagnostic& diagnostic) {
  const Call* operation =
      failed.relation == nullptr ? nullptr : only_call_of(function, failed.relation);
  if (operation == nullptr) return;
  const std::string relation = failed.relation->name.str() + ":";
  if (diagnostic.message.starts_with(relation)) {
    diagnostic.message.replace(0, relation.size(),
                               operation->callee()->as<Op>()->op()->name().str() + ":");
  }
  diagnostic.span = operation->span();
  add_path(diagnostic, 1, [&](size_t) {
    DiagnosticNote note = call_note(source_text(failed.callee), function, {}, failed.place);
    if (failed.call == nullptr) note.message = "in " + source_text(failed.callee) + ", used here";
    return note;
  });
  const Span site = failed.place;
  if (failed.met.known() && (failed.met.end() <= site.begin() || failed.met.begin() >= site.end()))
    diagnostic.note("the types meet here", failed.met);
}

DiagnosticNote call_note(const std::string& callee, const Function* function,
                         const Substitution& types, Span span) {
  std::string values;
  for (const auto& [var, type] : types) {
    const auto& declared = function->type_params();
    if (std::find(declared.begin(), declared.end(), var) == declared.end()) continue;
    if (type->has_incomplete()) continue;
    constexpr size_t kMost = 60;
    std::string text = type->str();
    if (text.size() > kMost) text = text.substr(0, kMost) + "…";
    values += (values.empty() ? " with " : ", ") + var->name().str() + " = " + text;
  }
  return {DiagnosticNote::Kind::kNote, "in " + callee + values + ", which is called here", span};
}

void add_path(Diagnostic& diagnostic, size_t count,
              const std::function<DiagnosticNote(size_t i)>& call) {
  constexpr size_t kFirst = 8;
  constexpr size_t kLast = 3;
  std::vector<DiagnosticNote>& notes = diagnostic.notes;
  auto help = std::find_if(notes.begin(), notes.end(), [](const DiagnosticNote& note) {
    return note.kind == DiagnosticNote::Kind::kHelp;
  });
  std::vector<DiagnosticNote> helps(help, notes.end());  // what to do comes last
  notes.erase(help, notes.end());
  for (size_t i = 0; i < count; ++i) {
    if (count > kFirst + kLast + 1 && i >= kFirst && i + kLast < count) {
      if (i == kFirst) {
        diagnostic.note("through " + std::to_string(count - kFirst - kLast) + " more calls");
      }
      continue;
    }
    notes.push_back(call(i));
  }
  notes.insert(notes.end(), helps.begin(), helps.end());
}

// An instance by itself, with the dimensions that its callers name.
static Module::FunctionEntry nameless(const FunctionRef& instance,
                                      const std::vector<TypeVarRef>& names) {
  const auto& params = instance->params();
  const auto& where = instance->constraints();
  return {Name(),
          make_function({params.begin(), params.end()}, instance->body(), instance->ret_type(),
                        names, {where.begin(), where.end()}, instance->attrs(), instance->span())};
}

// The first error in an instance of a function whose calls of itself are calls of the instance;
// none if only these calls are wrong.
static std::optional<Diagnostic> error_of_itself(const Context& context, const GlobalVar* name,
                                                 const FunctionRef& instance) {
  Context apart(context.module);
  apart.signatures = context.signatures;
  apart.explained = kMaxExplained;
  const Module::FunctionEntry entry{name->name(), instance};
  const Module::FunctionEntry* group[] = {&entry};
  Inferencer(apart, Nodes::kOwn).infer_group(group, false);
  for (const Diagnostic& found : apart.sink.diagnostics()) {
    if (found.severity != Severity::kError) continue;
    return found.span == instance->span() ? std::nullopt : std::optional(found);
  }
  return std::nullopt;
}

void Inferencer::explain_call(const Constraints::FailedCall& failed, Diagnostic& diagnostic) {
  const Call* call = failed.call;
  std::vector<DiagnosticNote> path;  // outermost first
  std::vector<FunctionRef> kept;     // copies that calls below are in
  std::vector<const Expr*> roots = roots_;
  std::vector<const Function*> seen;
  Diagnostic original = diagnostic;
  // Dtypes of literals that nothing decides are their defaults.
  std::unordered_map<const TypeVar*, std::pair<Numeric, bool>> literals = generated_;
  std::function<TypeRef(const TypeRef&)> defaults = [&](const TypeRef& type) -> TypeRef {
    const auto* var = type->as<TypeVar>();
    auto literal = var == nullptr ? literals.end() : literals.find(var);
    if (literal == literals.end() || literal->second.first == Numeric::kAny) return type;
    auto [numeric, wide] = literal->second;
    return BaseType::make(default_dtype(numeric, wide));
  };
  while (path.size() < kMaxPath) {
    const Expr* callee = call->callee().get();
    const Function* function = callee->as<Function>();
    TypeVarSet declared;
    for (const Expr* root : roots) {
      declared.merge(declared_dims(root));
      if (function == nullptr && callee->is<Var>())
        function = bound_function(root, static_cast<const Var*>(callee));
    }
    const auto* global = callee->as<GlobalVar>();
    if (global != nullptr) function = context_.module.function(global->name());
    const auto* scheme = callee->type() == nullptr ? nullptr : callee->type()->as<FuncType>();
    if (function == nullptr || scheme == nullptr) return;
    if (function->params().size() != scheme->params().size()) return;
    if (std::find(seen.begin(), seen.end(), function) != seen.end()) {
      if (function == seen.back() && global != nullptr) {
        if (std::optional<Diagnostic> own = error_of_itself(context_, global, kept.back())) {
          diagnostic = std::move(*own);
          add_path(diagnostic, path.size(), [&](size_t i) { return path[path.size() - 1 - i]; });
          return;
        }
      }
      diagnostic = std::move(original);  // a function that calls itself: there is no end
      blame_operator(failed, seen[0], diagnostic);
      return;
    }
    seen.push_back(function);
    std::vector<TypeVarRef> names;
    std::optional<Substitution> types = types_at(scheme, call, declared, defaults, names);
    TypeRef as_called;
    if (!types) {
      as_called = type_as_called(function, call, defaults);
      if (!as_called) return;
      scheme = as_called->as<FuncType>();
      types.emplace();
    }
    FunctionRef instance = instantiate_function(function, scheme, *types, false);
    const Module::FunctionEntry alone = nameless(instance, names);
    const Module::FunctionEntry* group[] = {&alone};
    Inferencer inner(context_, Nodes::kOwn);
    inner.nested_ = true;
    inner.infer_group(group, false);
    context_.signatures.erase(Name());
    auto wrong = std::find_if(inner.found_.begin(), inner.found_.end(),
                              [](const Diagnostic& d) { return d.severity == Severity::kError; });
    if (wrong == inner.found_.end()) {
      if (path.empty()) blame_operator(failed, function, diagnostic);
      return;
    }
    path.push_back(call_note(source_text(callee), function, *types, call->span()));
    diagnostic = *wrong;
    add_path(diagnostic, path.size(), [&](size_t i) { return path[path.size() - 1 - i]; });
    // If it is a call that fails there too, it is looked into.
    auto index = static_cast<size_t>(wrong - inner.found_.begin());
    const auto& calls = inner.constraints_.failed_calls();
    auto next = std::find_if(calls.begin(), calls.end(),
                             [&](const auto& failed) { return failed.diagnostic == index; });
    if (next == calls.end()) return;
    call = next->call;
    kept.push_back(alone.function);
    roots.push_back(kept.back().get());
    literals = inner.generated_;
  }
}

void Inferencer::note_instance(const FunctionScope& scope) {
  if (scope.bound_to == nullptr) return;
  auto call = context_.local_calls.find(VarRef(scope.bound_to));
  if (call == context_.local_calls.end()) return;
  instance_literals_.emplace_back(scope.literals, literals_.size(), &call->second);
  if (sink_.diagnostics().size() == scope.diagnostics) return;
  std::vector<Diagnostic> all = sink_.take();
  for (size_t i = 0; i < all.size(); ++i) {
    if (i >= scope.diagnostics && all[i].severity == Severity::kError)
      add_path(all[i], 1, [&](size_t) { return call->second; });
    sink_.add(std::move(all[i]));
  }
}

void Inferencer::deliver(const std::string& group) {
  found_ = sink_.take();
  of_rule(found_, "T1");
  if (nested_) return;
  for (const Constraints::FailedCall& failed : constraints_.failed_calls()) {
    if (failed.diagnostic >= found_.size() || context_.explained == kMaxExplained) break;
    ++context_.explained;
    if (failed.call != nullptr) {
      explain_call(failed, found_[failed.diagnostic]);
    } else if (const Function* function =
                   context_.module.function(failed.callee->as<GlobalVar>()->name())) {
      blame_operator(failed, function, found_[failed.diagnostic]);
    }
  }
  for (Diagnostic& diagnostic : found_) {
    // Several calls may lead to one place.
    bool again = std::any_of(found_.data(), &diagnostic, [&](const Diagnostic& before) {
      return before.span == diagnostic.span && before.message == diagnostic.message;
    });
    if (again) continue;
    // A place in a text names the function, too.
    if (!diagnostic.span.known() && !group.empty()) {
      context_.sink.add(Diagnostic(diagnostic).note(group));
    } else {
      context_.sink.add(diagnostic);
    }
  }
}

}  // namespace relay::inference
