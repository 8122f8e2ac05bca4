// Rules of what binds names: let, functions, match, annotations.
#include <relay/infer/check/kind_check.h>
#include <relay/infer/functions/inferencer.h>
#include <relay/infer/messages.h>
#include <relay/infer/type_walk.h>
#include <relay/support/suggest.h>

namespace relay::inference {

// ---- Let (T5) ---------------------------------------------------------------------------------

void Inferencer::step_let(Frame& frame, const Let* let) {
  const Expr* value = let->value().get();
  const Var* var = let->var().get();
  bool is_function = value->is<Function>();
  // A function generalises itself (leave_function); another value does here.
  bool generalise = !is_function && generalisable(value);
  if (frame.step == 0) {
    frame.step = 1;
    if (is_function) {
      // The function may refer to itself; inside it has one type.
      TypeRef type = var->annotation()
                         ? annotation(var->annotation(), var->span())
                         : solver_.fresh_at(solver_.level() + 1, Kind::kType, var->span());
      vars_[var] = {std::move(type)};
    } else if (generalise) {
      if (value->is<Tuple>()) find_homes();
      let_scopes_.push_back(open_scope());
    }
    visit(value);
    return;
  }
  if (frame.step == 1) {
    frame.step = 2;
    if (is_function && var->annotation() && known(value)) require_annotation(let);
    Value bound = values_.back();
    Span value_span = use_span(value, let);
    solver_.set_span(value_span);
    if (!is_function || (bound.scheme == kNoScheme && !bound.type->has_binder())) {
      bound = {take(values_.size() - 1, let, 0)};
      if (var->annotation() && !is_function) {
        TypeRef wanted = annotation(var->annotation(), var->span());
        if (!solver_.unify(wanted, bound.type)) {
          sink_.add(type_mismatch(solver_, "the value of %" + var->name().str(), wanted, bound.type,
                                  place_of(let, 0))
                        .note("%" + var->name().str() + " is annotated here", var->span()));
        }
        solver_.settle_any();
        solve();
        bound.type = wanted;
      }
    }
    if (generalise) {
      Scope scope = let_scopes_.back();
      let_scopes_.pop_back();
      bound.scheme = close_scope(scope, bound.type, {}, value);
    }
    values_.pop_back();
    if (bound.scheme == kNoScheme) bound.type = solver_.zonk(bound.type);
    record(var, bound);
    vars_[var] = std::move(bound);
    visit(let->body().get());
    return;
  }
  Value body = std::move(values_.back());
  values_.pop_back();
  bool scheme = body.scheme != kNoScheme || body.type->has_binder();
  frames_.pop_back();
  if (scheme) {
    values_.push_back(std::move(body));
    TypeRef type = take(values_.size() - 1, let, 1);
    values_.pop_back();
    body = {std::move(type)};
  }
  finish(let, std::move(body));
}

// A function compares itself with the annotation of its name when it is visited; this one was not.
void Inferencer::require_annotation(const Let* let) {
  const Var* var = let->var().get();
  const TypeRef type = values_.back().type;
  solver_.set_span(use_span(let->value().get(), let));
  if (!solver_.unify(vars_.find(var)->type, type)) {
    sink_.add(type_mismatch(solver_, "the function %" + var->name().str(), vars_.find(var)->type,
                            type, let->value()->span())
                  .note("it is used or annotated with another type", var->span()));
  }
  solve();
}

// ---- Functions --------------------------------------------------------------------------------

void Inferencer::step_function(Frame& frame, const Function* function) {
  if (frame.step == 0) {
    frame.step = 1;
    const Var* bound_to = nullptr;
    size_t parent = frames_.size() - 1;
    while (parent > 0 && frames_[parent - 1].expr == nullptr) --parent;
    if (parent > 0) {
      const auto* let = frames_[parent - 1].expr->as<Let>();
      if (let != nullptr && frames_[parent - 1].step == 1) bound_to = let->var().get();
    }
    enter_function(function, bound_to, false);
    visit(function->body().get());
    return;
  }
  uint32_t base = frame.base;
  TypeRef body = take(values_.size() - 1, function, 0);
  frames_.pop_back();
  values_.resize(base);
  finish(function, leave_function(function, body));
}

void Inferencer::enter_function(const Function* function, const Var* bound_to, bool top) {
  FunctionScope scope;
  scope.bound_to = bound_to;
  scope.diagnostics = sink_.diagnostics().size();
  scope.literals = literals_.size();
  scope.generalise = !top && (bound_to != nullptr || !function->type_params().empty());
  if (scope.generalise) {
    find_homes();
    scope.scope = open_scope();
  }
  for (const TypeVarRef& var : function->type_params()) {
    solver_.declare(var.get(), solver_.level());
    used_names_.insert(var->name());
  }
  std::unordered_set<const TypeVar*> in_params;
  for (const VarRef& param : function->params()) {
    TypeRef type;
    if (param->annotation()) {
      type = annotation(param->annotation(), param->span());
      if (type->has_binder()) {
        sink_.add(
            Diagnostic::error("parameter %" + param->name().str() +
                                  " cannot have a polymorphic type: " + display(solver_, type),
                              param->span())
                .of_rule("T11")
                .help("declare the type parameters on the function itself"));
        type = failed(param->span());
      }
      for (const TypeVarRef& var : free_type_vars(type)) in_params.insert(var.get());
    } else {
      type = solver_.fresh(Kind::kType, param->span());
    }
    record(param.get(), {type});
    vars_[param.get()] = {type};
    scope.params.push_back(std::move(type));
  }
  if (function->ret_type()) {
    scope.result = annotation(function->ret_type(), function->span());
    // T13: a dimension named only in the result is the body's to choose.
    std::unordered_map<const TypeVar*, TypeRef> chosen;
    for (const TypeVarRef& var : free_type_vars(scope.result)) {
      if (var->kind() != Kind::kShapeVar || !var->implicit() || in_params.count(var.get()) != 0)
        continue;
      if (solver_.level_of(var.get()) != solver_.level()) continue;
      chosen.emplace(var.get(), DimType::make(solver_.fresh_dim()));
    }
    scope.body_result = chosen.empty()
                            ? scope.result
                            : substitute(scope.result, [&](const TypeVar* var) -> TypeRef {
                                auto found = chosen.find(var);
                                return found == chosen.end() ? TypeRef() : found->second;
                              });
  } else if (!function->constraints().empty()) {
    scope.result = scope.body_result = solver_.fresh(Kind::kType, function->span());
  }
  // T10: relations stated on the function hold of its parameters and its result.
  for (const RelationTypeRef& relation : function->constraints()) {
    Constraint c;
    c.relation = relation->relation();
    c.op = operator_of(c.relation);
    c.attrs = relation->attrs();
    c.span = function->span();
    if (relation->args().empty()) {
      c.args = scope.params;
      c.args.push_back(scope.result);
    } else {
      for (const TypeRef& arg : relation->args()) {
        c.args.push_back(arg->kind() == Kind::kType ? annotation(arg, function->span()) : arg);
      }
    }
    if (c.args.size() < 2 && !is_dtype_relation(c.relation)) {
      sink_.add(
          Diagnostic::error("relation " + c.relation->name.str() + " needs at least one parameter",
                            function->span()));
      continue;
    }
    constraints_.require(std::move(c));
  }
  solve();
  functions_.push_back(std::move(scope));
}

Value Inferencer::leave_function(const Function* function, const TypeRef& body) {
  FunctionScope scope = std::move(functions_.back());
  functions_.pop_back();
  const Expr* value = tail(function->body().get());
  Span body_span = value->span().known() && !value->is<Var>()
                       ? value->span()
                       : use_span(function->body().get(), function);
  solver_.set_span(body_span);
  TypeRef result = body;
  if (scope.body_result) {
    if (!solver_.unify(scope.body_result, body)) {
      Diagnostic diagnostic =
          type_mismatch(solver_, "the result of the function", scope.body_result, body,
                        value == function->body().get() ? place_of(function, 0) : body_span);
      diagnostic.note("the function is declared here", function->span());
      sink_.add(std::move(diagnostic));
    }
    result = scope.result;
  }
  solver_.settle_any();
  solve();
  TypeRef type = FuncType::make(scope.params, result);
  if (scope.bound_to != nullptr) {
    const Value* self = vars_.find(scope.bound_to);
    if (!solver_.unify(self->type, type)) {
      Diagnostic diagnostic =
          type_mismatch(solver_, "the function %" + scope.bound_to->name().str(), self->type, type,
                        function->span());
      if (solver_.mismatch().why == Mismatch::Why::kOccurs)
        diagnostic.message = "the type of %" + scope.bound_to->name().str() + " would be infinite";
      diagnostic.note("it is used or annotated with another type", scope.bound_to->span());
      if (!scope.bound_to->annotation()) {
        diagnostic.help("a function that a let binds has one type inside its own body");
      }
      sink_.add(std::move(diagnostic));
    }
    solve();
  }
  Value made{type};
  if (scope.generalise) {
    made.scheme = close_scope(scope.scope, type, function->type_params(), function);
  }
  if (!context_.local_calls.empty()) note_instance(scope);
  return made;
}

// ---- Match ------------------------------------------------------------------------------------

void Inferencer::step_match(Frame& frame, const Match* match) {
  if (frame.step == 0) {
    frame.step = 1;
    visit(match->data().get());
    return;
  }
  uint32_t base = frame.base;
  size_t clauses = match->patterns().size();
  if (frame.step == 1) {  // the data is typed: keep one instance of it
    TypeRef data = take(base, match, 0);
    values_[base] = {data};
    matches_.push_back(match);
  }
  size_t clause = frame.step - 1;
  if (clause < clauses) {
    ++frame.step;
    const size_t reported = sink_.diagnostics().size();
    bind_pattern(match->patterns()[clause].get(), values_[base].type);
    // The patterns of the other clauses would be wrong for the same reason.
    if (sink_.diagnostics().size() > reported) values_[base] = {failed(match->span())};
    solve();
    visit(match->clause_bodies()[clause].get());
    return;
  }
  frames_.pop_back();
  TypeRef type;
  for (size_t i = 0; i < clauses; ++i) {
    const Expr* body = match->clause_bodies()[i].get();
    Span body_span = use_span(body, match);
    solver_.set_span(body_span);
    TypeRef next = take(base + 1 + i, match, static_cast<uint32_t>(i + 1));
    if (!type) {
      type = next;
      continue;
    }
    TypeRef joined = solver_.join(type, next);
    if (joined) {
      type = joined;
      continue;
    }
    Diagnostic diagnostic =
        Diagnostic::error("the clauses of a match have different types: " + display(solver_, type) +
                              " and " + display(solver_, next),
                          place_of(match, i + 1));
    diagnostic.note("the first clause is " + display(solver_, type), place_of(match, 1));
    explain(diagnostic, solver_);
    sink_.add(std::move(diagnostic));
    type = failed(match->span());
    break;
  }
  if (!type) type = solver_.fresh(Kind::kType, match->span());
  solver_.settle_any();
  solve();
  values_.resize(base);
  finish(match, {std::move(type)});
}

void Inferencer::bind_pattern(const Pattern* root, const TypeRef& type) {
  std::vector<std::pair<const Pattern*, TypeRef>> todo{{root, type}};
  while (!todo.empty()) {
    auto [pattern, expected] = std::move(todo.back());
    todo.pop_back();
    solver_.set_span(pattern->span());
    std::vector<TypeRef> fields;
    switch (pattern->kind()) {
      case PatternKind::kWildcard:
        continue;
      case PatternKind::kVar: {
        const Var* var = pattern->var().get();
        if (var->annotation()) {
          TypeRef wanted = annotation(var->annotation(), var->span());
          if (!solver_.unify(wanted, expected)) {
            sink_.add(type_mismatch(solver_, "the pattern %" + var->name().str(), wanted, expected,
                                    var->span()));
          }
          expected = wanted;
        }
        expected = solver_.zonk(expected);
        record(var, {expected});
        vars_[var] = {expected};
        continue;
      }
      case PatternKind::kTuple: {
        size_t count = pattern->fields().size();
        TypeRef known = solver_.resolve(expected);
        const auto* tuple = known->as<TupleType>();
        if (tuple != nullptr && tuple->fields().size() != count) {
          sink_.add(Diagnostic::error("a pattern of " + std::to_string(count) +
                                          " fields cannot match " + display(solver_, known) +
                                          ", a tuple of " + std::to_string(tuple->fields().size()),
                                      pattern->span()));
        }
        for (size_t i = 0; i < count; ++i) {
          fields.push_back(tuple != nullptr && i < tuple->fields().size()
                               ? tuple->fields()[i]
                               : solver_.fresh(Kind::kType, pattern->fields()[i]->span()));
        }
        if (tuple == nullptr && !solver_.unify(TupleType::make(fields), known)) {
          sink_.add(Diagnostic::error("a tuple pattern cannot match " + display(solver_, known),
                                      pattern->span()));
        }
        break;
      }
      case PatternKind::kConstructor: {
        const Constructor& constructor = *pattern->constructor();
        TypeRef scheme = context_.constructor_scheme(constructor, pattern->span());
        size_t count = pattern->fields().size();
        if (scheme) {
          scheme = instantiate({scheme}, {}, pattern->span());
          const auto* func = scheme->as<FuncType>();
          if (func->params().size() != count) {
            sink_.add(Diagnostic::error("constructor " + constructor.name().str() + " has " +
                                            std::to_string(func->params().size()) +
                                            (func->params().size() == 1 ? " field" : " fields") +
                                            ", the pattern " + std::to_string(count),
                                        pattern->span()));
          }
          if (!solver_.unify(expected, func->result())) {
            sink_.add(Diagnostic::error("pattern " + constructor.name().str() + " matches " +
                                            display(solver_, func->result()) + ", found " +
                                            display(solver_, expected),
                                        pattern->span()));
          }
          fields.assign(func->params().begin(), func->params().end());
        }
        while (fields.size() < count) fields.push_back(failed(pattern->span()));
        break;
      }
    }
    for (size_t i = pattern->fields().size(); i-- > 0;) {
      todo.emplace_back(pattern->fields()[i].get(), fields[i]);
    }
  }
}

// ---- Names and annotations --------------------------------------------------------------------

TypeRef Inferencer::variable_type(const Var* var) {
  TypeRef type;
  if (var->annotation()) {
    type = annotation(var->annotation(), var->span());
  } else if (var->type() != nullptr) {
    type = TypeRef(var->type());
  } else {
    sink_.add(Diagnostic::error("%" + var->name().str() + " is not bound here", var->span())
                  .of_rule("N1"));
    type = failed(var->span());
  }
  record(var, {type});
  vars_[var] = {type};
  return type;
}

TypeRef Inferencer::global_type(const GlobalVar* var) {
  auto in_group = group_types_.find(var->name());
  if (in_group != group_types_.end()) {
    record(var, {in_group->second});
    return in_group->second;
  }
  TypeRef type;
  auto known = context_.signatures.find(var->name());
  if (known != context_.signatures.end()) {
    type = known->second;
  } else if (const Function* function = context_.module.function(var->name())) {
    // In a cycle through a function whose signature is fully written (T12).
    type = declared_signature(function);
  } else {
    std::vector<std::string> names;
    for (const auto& entry : context_.module.functions()) names.push_back(entry.name.str());
    Diagnostic diagnostic =
        Diagnostic::error("unknown function @" + var->name().str(), var->span()).of_rule("N2");
    suggest(diagnostic, var->name().str(), names, "@");
    sink_.add(std::move(diagnostic));
    type = failed(var->span());
    context_.signatures.emplace(var->name(), TypeRef());  // report once
    unknown_.push_back(var->name());
  }
  if (!type) type = failed(var->span());
  record(var, {type});
  return type;
}

TypeRef Inferencer::annotation(const TypeRef& type, Span span) {
  if (type->is<TensorType>() && type->closed()) return type;
  check_annotation(type, context_.module, sink_, span);
  std::function<TypeRef(const TypeRef&)> leaf = [&](const TypeRef& t) -> TypeRef {
    return t->is<IncompleteType>() ? solver_.fresh(t->kind(), span) : t;
  };
  std::function<Dim(Dim)> dim = [&](Dim d) -> Dim {
    if (!d.has_symbol()) return d;
    return substitute(d, [&](Dim atom) -> Dim {
      const TypeVar* symbol = atom.as_symbol();
      if (symbol == nullptr || !symbol->implicit() || solver_.level_of(symbol) != 0) return atom;
      // T13: a name that no enclosing function declares is flexible.
      auto [entry, added] = flexible_names_.try_emplace(symbol);
      if (added) entry->second = solver_.fresh_dim();
      return entry->second;
    });
  };
  return map_type(type, leaf, dim);
}

}  // namespace relay::inference
