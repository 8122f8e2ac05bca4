// The end of an inference: variables that are left become type parameters, types go onto the nodes.
#include <algorithm>
#include <mutex>

#include <relay/infer/check/match_check.h>
#include <relay/infer/functions/inferencer.h>
#include <relay/infer/functions/literals.h>
#include <relay/infer/messages.h>
#include <relay/infer/type_walk.h>
#include <relay/ir/type_str.h>

namespace relay::inference {

TypeVarRef Inferencer::name_variable(Kind kind) {
  static const char* const kTypes[] = {"a", "b", "c", "t"};
  static const char* const kShapes[] = {"s"};
  static const char* const kDTypes[] = {"d"};
  static const char* const kDims[] = {"n", "m", "k"};
  std::span<const char* const> names;
  size_t which = 0;
  switch (kind) {
    case Kind::kShape:
      names = kShapes;
      which = 1;
      break;
    case Kind::kBaseType:
      names = kDTypes;
      which = 2;
      break;
    case Kind::kShapeVar:
      names = kDims;
      which = 3;
      break;
    default:
      names = kTypes;
      break;
  }
  for (;;) {
    uint32_t i = name_counters_[which]++;
    std::string text = names[i % names.size()];
    if (i >= names.size()) text += std::to_string(i / names.size());
    Name name(text);
    if (used_names_.insert(name).second) return TypeVar::make(name, kind, kind == Kind::kShapeVar);
  }
}

// Binds unsolved variables in a type to type parameters, which are appended to `params` in order.
TypeRef Inferencer::close(const TypeRef& type, std::vector<TypeVarRef>* params) {
  if (!type->has_incomplete()) return type;
  solver_.for_each_variable(
      type,
      [&](Slot& slot, uint32_t id) {
        if (slot.binding) return;
        TypeVarRef var = name_variable(slot.kind);
        generated_.emplace(var.get(), std::pair(slot.numeric, slot.wide));
        if (params != nullptr) params->push_back(var);
        solver_.bind_slot(id, var);
      },
      [&](DimSlot& slot, uint32_t id) {
        if (slot.solved) return;
        TypeVarRef var = name_variable(Kind::kShapeVar);
        generated_.emplace(var.get(), std::pair(Numeric::kAny, false));
        if (params != nullptr) params->push_back(var);
        solver_.bind_dim(id, Dim::symbol(var.get()));
      });
  return solver_.zonk(type);
}

TypeRef Inferencer::published_scheme(Scheme& scheme) {
  if (scheme.published) return scheme.published;
  std::vector<TypeVarRef> params = scheme.declared;
  TypeRef type = close(scheme.type, &params);
  std::vector<RelationTypeRef> constraints;
  for (ConstraintId id : scheme.constraints) {
    const Constraint& c = constraints_[id];
    if (c.state != Constraint::State::kPending) continue;
    std::vector<TypeRef> args;
    for (const TypeRef& arg : c.args) args.push_back(close(arg, &params));
    int inputs = static_cast<int>(args.size() > 1 ? args.size() - 1 : args.size());
    constraints.push_back(RelationType::make(c.relation, std::move(args), inputs, c.attrs));
  }
  // In a group, another function may have named some of the variables already.
  if (!groups_published_) {
    auto add = [&](const TypeRef& part) {
      for (const TypeVarRef& var : free_type_vars(part)) {
        bool ours = generated_.count(var.get()) != 0;
        if (ours && std::find(params.begin(), params.end(), var) == params.end())
          params.push_back(var);
      }
    };
    add(type);
    for (const RelationTypeRef& relation : constraints) add(relation);
  }
  for (const TypeVarRef& var : params) {
    auto generated = generated_.find(var.get());
    if (generated == generated_.end() || generated->second.first == Numeric::kAny) continue;
    auto [numeric, wide] = generated->second;
    constraints.push_back(RelationType::make(numeric_relation(numeric), {TypeRef(var)}, 1,
                                             numeric_attrs(wide && numeric == Numeric::kNum)));
  }
  const auto* func = type->as<FuncType>();
  if (func != nullptr) {
    scheme.published = FuncType::make({func->params().begin(), func->params().end()},
                                      func->result(), std::move(params), std::move(constraints));
  } else {
    scheme.published = type;
  }
  return scheme.published;
}

// Decides the types that are still open.
void Inferencer::close_nodes() {
  groups_published_ = true;
  // Outer schemes were made after inner ones and name their variables first.
  for (size_t i = schemes_.size(); i-- > 0;) published_scheme(schemes_[i]);
  for (auto& [expr, value] : open_) {
    if (value.scheme == kNoScheme) continue;
    record_closed(expr, published_scheme(schemes_[static_cast<size_t>(value.scheme)]));
  }
  for (auto& [expr, value] : open_) {
    if (value.scheme != kNoScheme) continue;
    record_closed(expr, close(solver_.zonk(value.type), nullptr));
  }
  for (Occurrence& occurrence : occurrences_) {
    occurrence.type = close(solver_.zonk(occurrence.type), nullptr);
  }
}

// Publishes all types or none: two threads that type programs with nodes in common do not mix their
// results, and an existing type stays, since another thread may be looking at it. False if one is
// in the way.
bool Inferencer::publish_nodes() {
  static std::mutex one_at_a_time;
  std::lock_guard lock(one_at_a_time);
  bool missing = false;
  bool other = false;
  for (const auto& [expr, type] : closed_) {
    const Type* there = expr->type();
    missing |= there == nullptr;
    other |= there != nullptr && there != type.get();
  }
  if (other) return !missing && same_but_for_names();
  if (!missing) return true;
  for (const auto& [expr, type] : closed_) expr->publish_type(type);
  return true;
}

namespace {

// A data type may have another definition in another module.
bool mentions_data(const Type* type) {
  if (type->is<TensorType>()) return false;
  bool found = false;
  std::unordered_set<const Type*> seen;
  auto visit = [&](const Type* part) {
    found |= part->is<GlobalTypeVar>();
    return !found && seen.insert(part).second;
  };
  walk_type(type, visit);
  return found;
}

// True if the types of a node follow from those of its free variables, its operands being so.
bool settles(const Expr* expr) {
  for (ExprPart part : {ExprPart::kNumber, ExprPart::kGlobal, ExprPart::kData, ExprPart::kTemp}) {
    if (expr->contains(part)) return false;
  }
  const Type* type = expr->type();
  if (type == nullptr || type->has_incomplete() || type->has_type_var() ||
      type->has_symbolic_dim() || type->has_binder()) {
    return false;
  }
  for (const ExprRef& operand : expr->operands()) {
    if (operand->settled() || operand->is<Constant>()) continue;
    if (!operand->is<Op>() || !expr->is<Call>() || operand != expr->operands()[0]) return false;
  }
  switch (expr->kind()) {
    case ExprKind::kVar:
      return !mentions_data(type);
    case ExprKind::kLet:
      return static_cast<const Let*>(expr)->var()->settled();
    case ExprKind::kCall:
      return static_cast<const Call*>(expr)->type_args().empty();
    case ExprKind::kFunction: {
      const auto* function = static_cast<const Function*>(expr);
      const auto& params = function->params();
      return function->type_params().empty() && function->constraints().empty() &&
             std::all_of(params.begin(), params.end(),
                         [](const VarRef& param) { return param->settled(); });
    }
    default:
      return true;
  }
}

}  // namespace

// Marks what a later inference need not visit. The nodes are in order: operands before users, and
// the variable of a let after a value that mentions it.
void Inferencer::settle_nodes() {
  for (const Expr* expr : settling_) {
    if (!expr->settled() && settles(expr)) expr->settle();
  }
  settling_.clear();
}

// True if nodes have the found types, with other objects for the variables that inference makes.
// The text of all types together gives each variable a name of its own.
bool Inferencer::same_but_for_names() const {
  TypeNames ours, theirs;
  for (const auto& [expr, type] : closed_) {
    const Type* there = expr->type();
    if (there != type.get() && type_str(type.get(), ours) != type_str(there, theirs)) return false;
  }
  return true;
}

void Inferencer::check_literals() {
  for (size_t i = 0; i < literals_.size(); ++i) {
    const auto& [literal, type] = literals_[i];
    const auto* tensor = solver_.zonk(type)->as<TensorType>();
    if (tensor == nullptr || !tensor->has_dtype()) continue;
    std::string problem = literal_problem(literal->value(), tensor->dtype());
    if (problem.empty()) continue;
    Diagnostic diagnostic = Diagnostic::error(std::move(problem), literal->span()).of_rule("T4");
    std::vector<const DiagnosticNote*> calls;
    for (const auto& [begin, end, call] : instance_literals_) {
      if (begin <= i && i < end) calls.push_back(call);
    }
    add_path(diagnostic, calls.size(), [&](size_t k) { return *calls[k]; });
    sink_.add(std::move(diagnostic));
  }
}

void Inferencer::check_matches() {
  for (const Match* match : matches_) check_match(*match, context_.module, sink_);
}

TypeRef Inferencer::declared_signature(const Function* function) {
  std::vector<TypeRef> params;
  for (const VarRef& param : function->params()) params.push_back(param->annotation());
  std::vector<RelationTypeRef> constraints;
  for (const RelationTypeRef& relation : function->constraints()) {
    if (!relation->args().empty()) {
      constraints.push_back(relation);
      continue;
    }
    std::vector<TypeRef> args = params;
    args.push_back(function->ret_type());
    constraints.push_back(RelationType::make(relation->relation(), std::move(args),
                                             static_cast<int>(params.size()), relation->attrs()));
  }
  return FuncType::make(std::move(params), function->ret_type(), function->type_params(),
                        std::move(constraints));
}

bool fully_annotated(const Function* function) {
  if (!function->ret_type() || function->ret_type()->has_incomplete()) return false;
  for (const VarRef& param : function->params()) {
    if (!param->annotation() || param->annotation()->has_incomplete() ||
        param->annotation()->has_binder()) {
      return false;
    }
  }
  return true;
}

// ---- Groups (T12) -----------------------------------------------------------------------------

// Removes the results of a group that is inferred again from the context.
void Inferencer::retract(std::span<const Module::FunctionEntry* const> group) {
  for (const Module::FunctionEntry* member : group) context_.signatures.erase(member->name);
  for (const Name& name : unknown_) context_.signatures.erase(name);
}

Inferencer::Inferencer(Context& context, Nodes nodes)
    : context_(context), nodes_(nodes), constraints_(solver_, sink_) {
  constraints_.set_values([this](const Call* call, size_t i) { return constant_value(call, i); });
}

namespace {

// "in function @f", for errors in programs that no text has; empty for instances, which have no
// name.
std::string group_note(std::span<const Module::FunctionEntry* const> group) {
  constexpr size_t kMost = 5;
  std::string names;
  for (size_t i = 0; i < group.size() && i < kMost; ++i) {
    if (group[i]->name == Name()) return {};
    names += (i == 0 ? "@" : ", @") + group[i]->name.str();
  }
  if (group.size() == 1) return "in function " + names;
  return "in functions " + names + (group.size() > kMost ? ", …" : "") + ", which call each other";
}

}  // namespace

GroupResult Inferencer::infer_group(std::span<const Module::FunctionEntry* const> group,
                                    bool entry) {
  std::vector<TypeRef> types;
  try {
    Scope scope = open_scope();
    for (const Module::FunctionEntry* member : group) {
      const Function* function = member->function.get();
      group_types_[member->name] = fully_annotated(function)
                                       ? declared_signature(function)
                                       : solver_.fresh(Kind::kType, function->span());
    }
    for (const Module::FunctionEntry* member : group) types.push_back(infer_function(*member));
    solver_.settle_any();
    std::vector<bool> lost;
    for (const TypeRef& type : types) lost.push_back(solver_.has_failed(type));
    std::vector<TypeVarRef> declared;
    for (const Module::FunctionEntry* member : group) {
      const auto& vars = member->function->type_params();
      declared.insert(declared.end(), vars.begin(), vars.end());
    }
    TypeRef all = types.size() == 1 ? types[0] : TypeRef(TupleType::make(types));
    int32_t scheme = close_scope(scope, all, std::move(declared), group[0]->function.get(),
                                 entry && group.size() == 1);
    publish_group(group, types, scheme);
    close_nodes();
    check_literals();
    check_matches();
    // A signature that an error has left open decides nothing: calls must not fail because of it.
    for (size_t i = 0; i < group.size(); ++i) {
      if (lost[i]) context_.signatures[group[i]->name] = {};
    }
  } catch (const Error& error) {
    // A type grew beyond all bounds, or the like.
    for (Diagnostic diagnostic : error.diagnostics()) {
      if (!diagnostic.span.known()) diagnostic.span = solver_.span();
      sink_.add(std::move(diagnostic));
    }
    for (const Module::FunctionEntry* member : group) context_.signatures[member->name] = {};
  }
  const bool failed = sink_.has_errors();
  if (nodes_ == Nodes::kShared) {
    if (failed || !publish_nodes()) {
      retract(group);
      return failed ? GroupResult::kFailed : GroupResult::kConflict;
    }
    // Perhaps the types that another inference has given them.
    for (const Module::FunctionEntry* member : group)
      context_.signatures[member->name] = TypeRef(member->function->type());
  } else if (failed) {  // to be looked at again
    for (const Module::FunctionEntry* member : group) member->function->set_type({});
  }
  if (!failed) settle_nodes();
  deliver(group_note(group));
  return failed ? GroupResult::kFailed : GroupResult::kTyped;
}

TypeRef Inferencer::infer_function(const Module::FunctionEntry& member) {
  const Function* function = member.function.get();
  root_ = function;
  roots_.push_back(function);
  root_level_ = solver_.level();
  homes_.reset();
  enter_function(function, nullptr, true);
  values_.push_back(run(function->body().get()));
  TypeRef body = take(values_.size() - 1, function, 0);
  values_.pop_back();
  TypeRef type = leave_function(function, body).type;
  if (fully_annotated(function)) return type;
  solver_.set_span(function->span());
  if (!solver_.unify(group_types_[member.name], type)) {
    Diagnostic diagnostic = type_mismatch(solver_, "@" + member.name.str() + " as it is used",
                                          group_types_[member.name], type, function->span());
    diagnostic.help(kAnnotateRecursion);
    sink_.add(std::move(diagnostic));
  }
  solve();
  return type;
}

void Inferencer::publish_group(std::span<const Module::FunctionEntry* const> group,
                               std::span<const TypeRef> types, int32_t scheme) {
  for (size_t i = 0; i < group.size(); ++i) {
    const Function* function = group[i]->function.get();
    TypeRef type = solver_.zonk(types[i]);
    if (scheme != kNoScheme) {
      Scheme own;
      own.type = types[i];
      own.declared = function->type_params();
      own.constraints = schemes_[static_cast<size_t>(scheme)].constraints;
      if (group.size() > 1) own.constraints = relevant_constraints(own.constraints, own);
      type = published_scheme(own);
    }
    record_closed(function, type);
    settling_.push_back(function);
    context_.signatures[group[i]->name] = type;
  }
}

// In a group of several functions each takes the constraints that its type is connected to.
std::vector<ConstraintId> Inferencer::relevant_constraints(std::span<const ConstraintId> all,
                                                           const Scheme& scheme) {
  std::unordered_set<const Type*> types;
  std::unordered_set<uint32_t> dims;
  auto collect = [&](const TypeRef& type) {
    TypeRef known = solver_.zonk(type);
    solver_.for_each_variable(
        known, [&](Slot& slot, uint32_t) { types.insert(slot.self.get()); },
        [&](DimSlot&, uint32_t id) { dims.insert(id); });
    for (const TypeVarRef& var : free_type_vars(known)) types.insert(var.get());
  };
  collect(scheme.type);
  std::vector<ConstraintId> result;
  std::vector<bool> taken(all.size());
  for (bool grown = true; grown;) {
    grown = false;
    for (size_t i = 0; i < all.size(); ++i) {
      if (taken[i]) continue;
      bool connected = false;
      for (const TypeRef& arg : constraints_[all[i]].args) {
        TypeRef known = solver_.zonk(arg);
        solver_.for_each_variable(
            known, [&](Slot& slot, uint32_t) { connected |= types.count(slot.self.get()) != 0; },
            [&](DimSlot&, uint32_t id) { connected |= dims.count(id) != 0; });
        for (const TypeVarRef& var : free_type_vars(known))
          connected |= types.count(var.get()) != 0;
      }
      if (!connected) continue;
      taken[i] = grown = true;
      for (const TypeRef& arg : constraints_[all[i]].args) collect(arg);
    }
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (taken[i]) result.push_back(all[i]);
  }
  return result;
}

TypeRef Inferencer::infer_root(const ExprRef& expr, GroupResult& outcome) {
  Scope scope = open_scope();
  root_ = expr.get();
  roots_.push_back(root_);
  root_level_ = solver_.level();
  values_.push_back(run(expr.get()));
  TypeRef type;
  if (const Value& value = values_.back(); value.scheme == kNoScheme && !value.type->has_binder()) {
    type = value.type;
  } else {
    type = instantiate(value, {}, expr->span());
    require_deferred();
  }
  values_.pop_back();
  solver_.settle_any();
  int32_t scheme = close_scope(scope, type, {}, expr.get(), true);
  TypeRef result = scheme == kNoScheme ? solver_.zonk(type)
                                       : published_scheme(schemes_[static_cast<size_t>(scheme)]);
  close_nodes();
  check_literals();
  check_matches();
  const bool failed = sink_.has_errors();
  outcome = failed ? GroupResult::kFailed : GroupResult::kTyped;
  if (nodes_ == Nodes::kShared) {
    if (failed) {
      retract({});
      return result;
    }
    if (!publish_nodes()) outcome = GroupResult::kConflict;
  }
  if (outcome == GroupResult::kTyped) settle_nodes();
  deliver();
  return result;
}

}  // namespace relay::inference
