#include <relay/infer/specialize/local_instances.h>

#include <algorithm>
#include <map>
#include <optional>

#include <relay/infer/messages.h>
#include <relay/infer/type_walk.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>

namespace relay::inference {

namespace {

/// Rounds of replacing polymorphic lets by instances; each takes one level of their nesting.
constexpr int kMaxRounds = 64;

/// A let whose value is polymorphic.
struct Candidate {
  const Let* let = nullptr;
  const FuncType* scheme = nullptr;  // null: a tuple or a name, put in its place
  TypeVarSet matters;
  bool blocked = false;  // used at types that a function around it leaves open: later
  std::vector<Substitution> instances;
  std::vector<VarRef> vars;  // of the instances
  std::vector<DiagnosticNote> calls;
  InstanceNames names;
  std::optional<TypeVarSet> captured;  // names of dimensions, once asked

  const TypeVarSet& captured_names() {
    if (!captured) captured = captured_dims(static_cast<const Function*>(let->value().get()));
    return *captured;
  }

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
           const std::map<Place, size_t>& uses, Context& context)
      : candidates_(candidates), uses_(uses), context_(context) {}

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
      FunctionRef instance = instantiate_function(
          function, candidate.scheme, candidate.instances[i], true, candidate.captured_names());
      context_.local_calls.emplace(candidate.vars[i], candidate.calls[i]);
      ExprRef bound =
          substitute(ExprRef(instance), {{let->var().get(), ExprRef(candidate.vars[i])}});
      result = make_let(candidate.vars[i], std::move(bound), std::move(result), let->span());
    }
    return result;
  }

  std::unordered_map<const Var*, Candidate>& candidates_;
  const std::map<Place, size_t>& uses_;
  Context& context_;
  std::unordered_map<const Var*, ExprRef> values_;
};

std::unordered_map<const Var*, Candidate> find_candidates(const Function* function,
                                                          const Matters& matters) {
  std::unordered_map<const Var*, Candidate> candidates;
  post_order(function, [&](const Expr* expr) {
    const auto* let = expr->as<Let>();
    if (let == nullptr || !may_have_instances(let)) return;
    Candidate candidate;
    candidate.let = let;
    const Expr* value = let->value().get();
    if (value->is<Function>()) {
      candidate.scheme = scheme_type(let->var().get());
      candidate.matters = matters.of(value, candidate.scheme);
      if (candidate.matters.empty()) return;
    }
    candidates.emplace(let->var().get(), std::move(candidate));
  });
  return candidates;
}

}  // namespace

LocalResult specialize_locals(FunctionRef function, Context& context, const Matters& matters,
                              bool entry) {
  LocalResult last;
  bool names_stay = false;  // dimension names of functions around: none is put any more
  for (int round = 0; round < kMaxRounds; ++round) {
    // Under a name that nothing mentions, so that calls of itself count as uses.
    Module::FunctionEntry alone{Name(), function};
    const Module::FunctionEntry* group[] = {&alone};
    Inferencer inferencer(context, Nodes::kOwn);
    inferencer.infer_group(group, entry);
    context.signatures.erase(Name());
    bool failed = context.sink.has_errors();
    std::vector<Diagnostic> found = context.sink.take();
    if (failed) {
      last.errors = std::move(found);
      return last;
    }

    std::unordered_map<const Var*, Candidate> candidates = find_candidates(function.get(), matters);
    LocalResult result{function, {}, {}};
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
    TypeVarSet declared = declared_dims(function.get());
    std::vector<const Occurrence*> local_uses;
    for (const Occurrence& use : inferencer.occurrences()) {
      if (use.callee->is<GlobalVar>()) {
        result.global_uses.push_back(use);
      } else if (candidates.count(static_cast<const Var*>(use.callee)) != 0) {
        local_uses.push_back(&use);
      }
    }
    if (candidates.empty()) return result;
    last = result;
    bool waits_for_names = false;
    for (const Occurrence* use : local_uses) {
      const auto* var = static_cast<const Var*>(use->callee);
      Candidate& candidate = candidates[var];
      if (candidate.scheme == nullptr) continue;
      Substitution types = match_scheme(candidate.scheme, use->type, candidate.matters);
      for (const auto& [param, type] : types) {
        for (const TypeVarRef& free : free_type_vars(type)) {
          bool name = free->kind() == Kind::kShapeVar;
          bool waits = name && !names_stay && local_params.count(free.get()) != 0;
          candidate.blocked |= !name || waits;
          waits_for_names |= waits;
        }
      }
      types = candidate.names.settle(std::move(types),
                                     static_cast<const Function*>(candidate.let->value().get()),
                                     candidate.scheme, declared, candidate.captured_names());
      size_t instance = candidate.instance(types, var->name(), var->span());
      uses[{use->parent, use->operand}] = instance;
      if (instance == candidate.calls.size()) {
        const auto* bound = static_cast<const Function*>(candidate.let->value().get());
        candidate.calls.push_back(call_note("%" + var->name().str(), bound, types,
                                            use->parent != nullptr ? use->parent->span() : Span()));
      }
    }
    for (auto& [var, candidate] : candidates) {
      // Nothing to replace: an instance would be the same again.
      candidate.blocked |= candidate.instances.size() == 1 && candidate.instances[0].empty();
    }
    bool progress = std::any_of(candidates.begin(), candidates.end(),
                                [](const auto& entry) { return !entry.second.blocked; });
    names_stay = !progress && waits_for_names;
    if (names_stay) continue;
    if (!progress) return result;
    ExprRef expanded = Expander(candidates, uses, context).run(function);
    function = FunctionRef(expanded->as<Function>());
  }
  throw Error("specialisation goes deeper than " + std::to_string(kMaxRounds), function->span());
}

}  // namespace relay::inference
