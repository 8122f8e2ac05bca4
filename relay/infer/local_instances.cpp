#include <relay/infer/local_instances.h>

#include <algorithm>
#include <map>

#include <relay/infer/type_walk.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>

namespace relay::inference {

namespace {

/// Rounds of replacing polymorphic lets by instances; each takes one level of their nesting.
constexpr int kMaxRounds = 64;

std::function<TypeRef(const TypeVar*)> replacer(const Substitution& types) {
  return [&types](const TypeVar* var) -> TypeRef {
    for (const auto& [param, type] : types) {
      if (param == var) return type;
    }
    return {};
  };
}

/// A copy that shares nothing whose type may differ: variables and literals are new.
ExprRef fresh_copy(const ExprRef& expr, const std::function<TypeRef(const TypeRef&)>& types = {}) {
  ExprRef copy = copy_with_fresh_vars(expr, types);
  return rewrite_post_order(copy, [](const Expr* node, std::span<const ExprRef>) -> ExprRef {
    const auto* literal = node->as<Literal>();
    return literal == nullptr ? ExprRef() : make_literal(literal->value(), literal->span());
  });
}

/// A let whose value is polymorphic.
struct Candidate {
  const Let* let = nullptr;
  const FuncType* scheme = nullptr;  // null: a tuple or a name, put in its place
  TypeVarSet matters;
  bool blocked = false;  // used at types that a function around it leaves open: later
  std::vector<Substitution> instances;
  std::vector<VarRef> vars;  // of the instances

  size_t instance(const Substitution& types, Name name, Span span) {
    for (size_t i = 0; i < instances.size(); ++i) {
      if (instances[i] == types) return i;
    }
    instances.push_back(types);
    Name own = instances.size() == 1
                   ? name
                   : Name(name.str() + "_" + std::to_string(instances.size() - 1));
    vars.push_back(make_var(own, {}, span));
    return instances.size() - 1;
  }
};

using Place = std::pair<const Expr*, uint32_t>;

/// Replaces uses of candidates and expands their lets.
class Expander final : public Rewriter {
 public:
  Expander(std::unordered_map<const Var*, Candidate>& candidates,
           const std::map<Place, size_t>& uses)
      : candidates_(candidates), uses_(uses) {}

 private:
  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    if (const auto* projection = expr->as<TupleGetItem>()) {
      // Out of a tuple of functions only the one that is asked for: the others' types would stay
      // open.
      const auto* var = operands[0]->as<Var>();
      auto known = var == nullptr ? values_.end() : values_.find(var);
      const auto* tuple = known == values_.end() ? nullptr : known->second->as<Tuple>();
      if (tuple != nullptr && projection->index() < tuple->fields().size()) {
        return fresh_copy(tuple->fields()[projection->index()]);
      }
    }
    std::vector<ExprRef> changed(operands.begin(), operands.end());
    bool callee_changed = false;
    for (size_t i = 0; i < changed.size(); ++i) {
      const auto* var = changed[i]->as<Var>();
      if (var == nullptr) continue;
      auto found = candidates_.find(var);
      if (found == candidates_.end() || found->second.blocked) continue;
      Candidate& candidate = found->second;
      if (candidate.scheme == nullptr) {
        changed[i] = fresh_copy(values_.at(var));
      } else {
        auto use = uses_.find({expr, static_cast<uint32_t>(i)});
        if (use == uses_.end()) continue;  // inside itself
        changed[i] = candidate.vars[use->second];
      }
      callee_changed |= i == 0;
    }
    if (const auto* let = expr->as<Let>()) {
      auto found = candidates_.find(let->var().get());
      if (found != candidates_.end() && !found->second.blocked) {
        return expand(let, found->second, changed[0], changed[1]);
      }
    }
    const auto* call = expr->as<Call>();
    if (call != nullptr && callee_changed && !call->type_args().empty()) {
      return make_call(changed[0], std::span<const ExprRef>(changed).subspan(1), call->attrs(), {},
                       call->span());
    }
    return rebuild(expr, changed);
  }

  void before(const Expr* expr, uint32_t operand, std::span<const ExprRef> done) override {
    // The value that stands for a name is needed while the body is rewritten.
    const auto* let = expr->as<Let>();
    if (let == nullptr || operand != 1) return;
    auto found = candidates_.find(let->var().get());
    if (found != candidates_.end() && found->second.scheme == nullptr) {
      ExprRef value = done[0];
      if (const auto* var = value->as<Var>()) {  // a name of a name
        auto inner = values_.find(var);
        if (inner != values_.end()) value = inner->second;
      }
      values_.emplace(let->var().get(), std::move(value));
    }
  }

  ExprRef expand(const Let* let, Candidate& candidate, const ExprRef& value, const ExprRef& body) {
    if (candidate.scheme == nullptr) return body;
    const auto* function = value->as<Function>();
    ExprRef result = body;
    for (size_t i = candidate.instances.size(); i-- > 0;) {
      FunctionRef instance =
          instantiate_function(function, candidate.scheme, candidate.instances[i], true);
      ExprRef bound =
          substitute(ExprRef(instance), {{let->var().get(), ExprRef(candidate.vars[i])}});
      result = make_let(candidate.vars[i], std::move(bound), std::move(result), let->span());
    }
    return result;
  }

  std::unordered_map<const Var*, Candidate>& candidates_;
  const std::map<Place, size_t>& uses_;
  std::unordered_map<const Var*, ExprRef> values_;
};

bool is_open(const Type* type) {
  return type != nullptr && (type->has_type_var() || type->has_symbolic_dim());
}

std::unordered_map<const Var*, Candidate> find_candidates(const Function* function,
                                                          const Matters& matters) {
  std::unordered_map<const Var*, Candidate> candidates;
  post_order(function, [&](const Expr* expr) {
    const auto* let = expr->as<Let>();
    if (let == nullptr || !is_open(let->var()->type())) return;
    Candidate candidate;
    candidate.let = let;
    const Expr* value = let->value().get();
    if (value->is<Function>()) {
      candidate.scheme = scheme_type(let->var().get());
      if (candidate.scheme == nullptr) return;
      candidate.matters = matters.of(value, candidate.scheme);
      if (candidate.matters.empty()) return;
    } else if (!value->is<Var>() && !value->is<GlobalVar>() && !value->is<Op>() &&
               !value->is<Constructor>() && !value->is<Tuple>()) {
      return;
    } else if (value->is<Tuple>()) {
      for (const ExprRef& field : value->operands()) {
        if (!field->is<Var>() && !field->is<GlobalVar>() && !field->is<Op>() &&
            !field->is<Constructor>() && !field->is<Function>()) {
          return;
        }
      }
    } else if (scheme_type(let->var().get()) == nullptr) {
      return;
    }
    candidates.emplace(let->var().get(), std::move(candidate));
  });
  return candidates;
}

}  // namespace

Substitution match_scheme(const FuncType* scheme, const TypeRef& instance,
                          const TypeVarSet& which) {
  Solver solver;
  std::unordered_map<const TypeVar*, TypeRef> fresh;
  for (const TypeVarRef& var : scheme->type_params())
    fresh.emplace(var.get(), solver.fresh(var->kind()));
  TypeRef body =
      FuncType::make({scheme->params().begin(), scheme->params().end()}, scheme->result());
  TypeRef pattern = substitute(body, [&](const TypeVar* var) -> TypeRef {
    auto found = fresh.find(var);
    return found == fresh.end() ? TypeRef() : found->second;
  });
  Substitution types;
  if (!solver.unify(pattern, instance)) return types;
  solver.settle_any();
  for (const TypeVarRef& var : scheme->type_params()) {
    if (which.count(var.get()) == 0) continue;
    TypeRef known = solver.zonk(fresh[var.get()]);
    if (!known->has_incomplete()) types.emplace_back(var, known);
  }
  return types;
}

Substitution without_names(Substitution types, const Function* function) {
  const std::function<TypeRef(const TypeRef&)> leaf = [](const TypeRef& t) { return t; };
  const std::function<Dim(Dim)> dim = [](Dim d) { return d.has_symbol() ? Dim::any() : d; };
  Substitution result;
  for (auto& [var, type] : types) {
    if (const auto* extent = type->as<DimType>(); extent != nullptr && !extent->dim().is_int()) {
      const auto& declared = function->type_params();
      if (std::find(declared.begin(), declared.end(), var) != declared.end()) continue;
    }
    result.emplace_back(var, type->has_symbolic_dim() ? map_type(type, leaf, dim) : type);
  }
  return result;
}

FunctionRef instantiate_function(const Function* function, const FuncType* scheme,
                                 const Substitution& types, bool annotate_result) {
  auto replace = replacer(types);
  std::function<TypeRef(const TypeRef&)> map = [&](const TypeRef& type) {
    return substitute(type, replace);
  };
  std::unordered_map<const Var*, ExprRef> renamed;
  std::vector<VarRef> params;
  for (size_t i = 0; i < function->params().size(); ++i) {
    const VarRef& param = function->params()[i];
    VarRef var = make_var(param->name(), map(scheme->params()[i]), param->span());
    renamed.emplace(param.get(), var);
    params.push_back(std::move(var));
  }
  TypeRef result = function->ret_type();
  if (annotate_result) result = scheme->result();
  if (result) result = map(result);
  // Parameters that stay open are declared, so that annotations may mention them.
  std::vector<TypeVarRef> type_params;
  for (const TypeVarRef& var : scheme->type_params()) {
    bool put = std::any_of(types.begin(), types.end(),
                           [&](const auto& entry) { return entry.first == var; });
    if (put) continue;
    auto mentions = [&](const TypeRef& type) {
      auto vars = free_type_vars(type);
      return std::find(vars.begin(), vars.end(), var) != vars.end();
    };
    bool used = result && mentions(result);
    for (const VarRef& param : params) used = used || mentions(param->annotation());
    bool declared = std::find(function->type_params().begin(), function->type_params().end(),
                              var) != function->type_params().end();
    if (used || declared) type_params.push_back(var);
  }
  std::vector<RelationTypeRef> constraints;
  for (const RelationTypeRef& relation : function->constraints()) {
    TypeRef mapped = map(TypeRef(relation));
    constraints.emplace_back(mapped->as<RelationType>());
  }
  FunctionRef annotated = make_function(
      std::move(params), relay::substitute(function->body(), renamed), result,
      std::move(type_params), std::move(constraints), function->attrs(), function->span());
  ExprRef copy = fresh_copy(annotated, map);
  return FunctionRef(copy->as<Function>());
}

LocalResult specialize_locals(FunctionRef function, Context& context, const Matters& matters) {
  for (int round = 0; round < kMaxRounds; ++round) {
    // Under a name that nothing mentions, so that calls of itself count as uses.
    Module::FunctionEntry alone{Name(), function};
    const Module::FunctionEntry* group[] = {&alone};
    Inferencer inferencer(context);
    inferencer.infer_group(group, true);
    context.signatures.erase(Name());
    context.sink.throw_if_errors();

    std::unordered_map<const Var*, Candidate> candidates = find_candidates(function.get(), matters);
    LocalResult result{function, {}};
    TypeVarSet local_params;
    for (const auto& [var, candidate] : candidates) {
      if (const FuncType* scheme = scheme_type(var)) {
        for (const TypeVarRef& param : scheme->type_params()) local_params.insert(param.get());
      } else {
        for (const TypeVarRef& param : free_type_vars(TypeRef(var->type()))) {
          local_params.insert(param.get());
        }
      }
    }
    std::map<Place, size_t> uses;
    std::vector<const Occurrence*> local_uses;
    for (const Occurrence& use : inferencer.occurrences()) {
      if (use.callee->is<GlobalVar>()) {
        result.global_uses.push_back(use);
      } else if (candidates.count(static_cast<const Var*>(use.callee)) != 0) {
        local_uses.push_back(&use);
      }
    }
    if (candidates.empty()) return result;
    for (const Occurrence* use : local_uses) {
      const auto* var = static_cast<const Var*>(use->callee);
      Candidate& candidate = candidates[var];
      if (candidate.scheme == nullptr) continue;
      Substitution types = match_scheme(candidate.scheme, use->type, candidate.matters);
      for (const auto& [param, type] : types) {
        for (const TypeVarRef& free : free_type_vars(type)) {
          candidate.blocked |= local_params.count(free.get()) != 0;
        }
      }
      types = without_names(std::move(types),
                            static_cast<const Function*>(candidate.let->value().get()));
      uses[{use->parent, use->operand}] = candidate.instance(types, var->name(), var->span());
    }
    for (auto& [var, candidate] : candidates) {
      // Nothing to put: an instance would be the same again.
      candidate.blocked |= candidate.instances.size() == 1 && candidate.instances[0].empty();
    }
    bool progress = std::any_of(candidates.begin(), candidates.end(),
                                [](const auto& entry) { return !entry.second.blocked; });
    if (!progress) return result;
    ExprRef expanded = Expander(candidates, uses).run(function);
    function = FunctionRef(expanded->as<Function>());
  }
  throw Error("specialisation goes deeper than " + std::to_string(kMaxRounds), function->span());
}

}  // namespace relay::inference
