// The driver: nodes in post-order, each until no rule applies, and again what has changed.
#include <relay/pattern/driver.h>

#include <algorithm>
#include <optional>

#include <relay/ir/equal.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/pattern/history.h>
#include <relay/pattern/written.h>
#include <relay/program/operators.h>
#include <relay/support/error.h>
#include <relay/support/stop.h>

namespace relay::pattern {

namespace {

constexpr int kMostWalks = 16;
constexpr int kMostAtOnePlace = 16;      // rules that are not refused
constexpr uint64_t kFewFirings = 10000;  // always allowed

bool is_primitive_function(const Expr* expr) {
  const auto* function = expr->as<Function>();
  return function != nullptr && function->attrs() &&
         dict_attr(function->attrs(), "Primitive") == AttrValue(int64_t{1});
}

bool is_float(const Type* type) {
  const auto* tensor = type->as<TensorType>();
  return tensor != nullptr && tensor->has_dtype() && tensor->dtype().is_float();
}

using Uses = PointerMap<Expr, uint32_t>;

/// How often each node is an operand.
Uses count_uses(const Function* function) {
  Uses uses;
  post_order(function, [&](const Expr* expr) {
    for (const ExprRef& operand : expr->operands()) ++uses[operand.get()];
  });
  return uses;
}

uint32_t uses_in(const Uses& uses, const Expr* expr) {
  const uint32_t* found = uses.find(expr);
  return found == nullptr ? 0 : *found;
}

/// One walk over a function.
class Walk final : public Rewriter {
 public:
  Walk(const FunctionRef& function, const RuleSet& rules, const DriverOptions& options,
       History& history, PointerSet<Expr>* again)
      : rules_(rules),
        options_(options),
        history_(history),
        again_(again),
        around_(function),
        matcher_(around_),
        uses_of_([this](const Expr* expr) { return uses(expr); }),
        uses_(count_uses(function.get())) {}
  bool changed() const { return changed_; }
  /// Nodes at which a rule may apply now that others have gone.
  PointerSet<Expr>& postponed() { return postponed_; }

 private:
  ExprRef enter(const Expr* expr) override {
    return is_primitive_function(expr) ? ExprRef(expr) : ExprRef();
  }

  ExprRef rewrite(const Expr* expr, std::span<const ExprRef> operands) override {
    ExprRef result = rebuild(expr, operands);
    if (result.get() == expr && again_ != nullptr && !again_->contains(expr)) return result;
    if (!acts(expr)) {
      result = settled(result, 0);
    } else if (options_.refused) {
      refuse_effect(result);
    }
    if (result.get() != expr) {
      // It is used where the node was.
      uses_[result.get()] += uses(expr);
      kept_.push_back(result);
    }
    return result;
  }

  bool acts(const Expr* expr) {
    if (!options_.effects || !options_.effects().any()) return false;
    if (!effectful_) effectful_ = options_.effects().effectful_nodes(around_.root().get());
    return effectful_->count(expr) != 0;
  }

  uint32_t uses(const Expr* expr) const { return uses_in(uses_, expr); }

  // The expression that is left when no rule applies any more, here and in what rules have written.
  // Rules that write on top of each other nest calls, as often as they may.
  ExprRef settled(ExprRef expr, int nested) {
    for (int steps = 0; options_.refuse_endless || steps + nested < kMostAtOnePlace; ++steps) {
      std::optional<Fired> fired = once(expr);
      if (!fired) break;
      changed_ = true;
      kept_.push_back(expr);
      expr = settled_inside(fired->after, fired->fresh, nested);
    }
    return expr;
  }

  struct Fired {
    ExprRef after;
    std::vector<ExprRef> fresh;  // the nodes that the rule has made, operands before users
  };

  ExprRef settled_inside(const ExprRef& after, const std::vector<ExprRef>& fresh, int nested) {
    if (fresh.size() < 2) return after;
    std::vector<std::pair<const Expr*, ExprRef>> made;
    auto now = [&](const ExprRef& expr) {
      for (const auto& [old, result] : made) {
        if (old == expr.get()) return result;
      }
      return expr;
    };
    for (const ExprRef& expr : fresh) {
      std::vector<ExprRef> operands;
      for (const ExprRef& operand : expr->operands()) operands.push_back(now(operand));
      ExprRef result = rebuild(expr.get(), operands);
      if (result != expr) history_.replace(expr.get(), result);
      bool root = expr == after;
      if (!root) result = settled(result, nested + 1);
      if (result != expr) {
        uses_[result.get()] += uses(expr.get());
        kept_.push_back(result);
        made.emplace_back(expr.get(), result);
      }
    }
    return now(after);
  }

  // The result of one rule on the node.
  std::optional<Fired> once(const ExprRef& expr) {
    if (options_.go_on && !options_.go_on()) return std::nullopt;
    rules_.automaton().find(expr.get(), found_);
    if (found_.empty() || expr->type() == nullptr) return std::nullopt;
    for (uint32_t i : std::vector<uint32_t>(found_)) {
      const ReadyRule& rule = rules_.rules()[i];
      if (options_.exact && rule.inexact && is_float(expr->type())) continue;
      if (!matcher_.match(rules_.pattern(i), expr.get())) continue;
      std::string why;
      std::optional<Fired> fired = apply(rule, expr, why);
      if (!fired) {
        if (options_.refused && !why.empty()) options_.refused({rule, expr, std::move(why)});
        continue;
      }
      stop_if_asked();
      if (options_.trace) options_.trace({rule, expr, fired->after});
      FiringWatch::tell({rule, expr, fired->after});
      history_.note(rule, expr, fired->after, fired->fresh);
      return fired;
    }
    return std::nullopt;
  }

  // Tells of the rules whose patterns fit a node with an effect.
  void refuse_effect(const ExprRef& expr) {
    rules_.automaton().find(expr.get(), found_);
    for (uint32_t i : std::vector<uint32_t>(found_)) {
      if (expr->type() == nullptr || !matcher_.match(rules_.pattern(i), expr.get())) continue;
      options_.refused({rules_.rules()[i], expr, "what has an effect is not replaced"});
    }
  }

  // `why` gets the reason where the rule does not apply, as far as one is asked for.
  std::optional<Fired> apply(const ReadyRule& rule, const ExprRef& expr, std::string& why) {
    auto refuse = [&](const char* text) {
      if (options_.refused) why = text;
      return std::nullopt;
    };
    try {
      const Place place{expr, matcher_, uses_of_};
      ExprRef after = rule.apply(place);
      if (!after) {
        if (options_.refused && rule.why_not) why = rule.why_not(place);
        return std::nullopt;
      }
      WrittenTypes types(expr->span(), options_.fold);
      after = types.typed(after);
      if (!after) return refuse("what it writes has no type here");
      if (after == expr) return refuse("it would write what is there");
      if (after->type() != expr->type()) {
        if (options_.refused)
          why = "the type would change from " + expr->type()->str() + " to " + after->type()->str();
        return std::nullopt;
      }
      if (options_.devices && !follows_tensor(after.get()))
        return refuse("what it writes would not be where the tensors are");
      if (!keeps_scopes(after, types))
        return refuse("a variable would be left without what binds it");
      if (types.calls() > 1 && !replaces_all(expr, types)) {
        postponed_.insert(expr.get());
        kept_.push_back(expr);
        return refuse("a call in it is used elsewhere too, so it would be computed twice");
      }
      Fired fired{after, types.made()};
      for (const ExprRef& made : fired.fresh) {
        kept_.push_back(made);
        for (const ExprRef& operand : made->operands()) ++uses_[operand.get()];
      }
      // An expression that is written takes over the users of the node, which are counted when it
      // is settled.
      ++uses_[after.get()];
      release(expr);
      --uses_[after.get()];
      return fired;
    } catch (const Error& error) {  // what is written would be wrong here
      return refuse(error.what());
    }
  }

  // False if a variable could be left without what binds it: where a let or function that the
  // pattern fits goes, nothing may mention its variables.
  bool keeps_scopes(const ExprRef& after, const WrittenTypes& types) const {
    PointerSet<Expr> kept;
    bool any = false;
    for (const Binding& binding : matcher_.bindings())
      any |= binding.expr->is<Let>() || binding.expr->is<Function>();
    if (!any) return true;
    kept.insert(after.get());
    for (const ExprRef& made : types.made()) {
      for (const ExprRef& operand : made->operands()) kept.insert(operand.get());
    }
    auto gone = [&](const VarRef& var) {
      return uses(var.get()) == 0 && !kept.contains(var.get());
    };
    for (const Binding& binding : matcher_.bindings()) {
      if (kept.contains(binding.expr)) continue;
      const auto* let = binding.expr->as<Let>();
      if (let != nullptr && !gone(let->var())) return false;
      const auto* function = binding.expr->as<Function>();
      if (function == nullptr) continue;
      if (!std::all_of(function->params().begin(), function->params().end(), gone)) return false;
    }
    return true;
  }

  // The node goes: what it used is used once less.
  void release(const ExprRef& root) {
    std::vector<const Expr*> stack{root.get()};
    while (!stack.empty()) {
      const Expr* expr = stack.back();
      stack.pop_back();
      for (const ExprRef& operand : expr->operands()) {
        uint32_t* count = uses_.find(operand.get());
        if (count != nullptr && *count > 0 && --*count == 0) stack.push_back(operand.get());
      }
    }
  }

  // True if all calls that the pattern fits go: none is used elsewhere, so that nothing is computed
  // twice.
  bool replaces_all(const ExprRef& root, const WrittenTypes& types) {
    PointerSet<Expr> needed;
    for (const ExprRef& made : types.made()) {
      for (const ExprRef& operand : made->operands()) needed.insert(operand.get());
    }
    constexpr int kMost = 64;
    int visited = 0;
    std::vector<const Expr*> stack = {root.get()};
    while (!stack.empty()) {
      const Expr* expr = stack.back();
      stack.pop_back();
      if (++visited > kMost) return false;
      for (const ExprRef& operand : expr->operands()) {
        const auto* call = operand->as<Call>();
        if (call == nullptr || needed.contains(operand.get()) || !call->callee()->is<Op>())
          continue;
        if (uses(operand.get()) > 1) return false;
        stack.push_back(operand.get());
      }
    }
    return true;
  }

  const RuleSet& rules_;
  const DriverOptions& options_;
  History& history_;
  PointerSet<Expr>* again_;  // those to look at; all if null
  Surroundings around_;
  Matcher matcher_;
  std::function<uint32_t(const Expr*)> uses_of_;
  bool changed_ = false;
  Uses uses_;
  std::vector<ExprRef> kept_;  // so that no new node stands where a replaced one stood
  std::vector<uint32_t> found_;
  PointerSet<Expr> postponed_;
  std::optional<std::unordered_set<const Expr*>> effectful_;
};

/// True if the function has all operators that some rule needs to fit anything.
bool has_operators(const Function* function, const RuleSet& rules) {
  const PointerSet<Operator> called = operators_of(function);
  for (size_t i = 0; i < rules.rules().size(); ++i) {
    auto needs = rules.needs(i);
    if (std::all_of(needs.begin(), needs.end(),
                    [&](const Operator* op) { return called.contains(op); }))
      return true;
  }
  return false;
}

/// True if some rule may apply somewhere: a look that builds nothing, and counts users only where a
/// rule that fits asks for them.
bool may_apply(const FunctionRef& function, const RuleSet& rules, const DriverOptions& options) {
  Surroundings around(function);
  Matcher matcher(around);
  std::vector<uint32_t> found;
  std::optional<Uses> counted;
  const std::function<uint32_t(const Expr*)> uses = [&](const Expr* expr) {
    if (!counted) counted = count_uses(function.get());
    return uses_in(*counted, expr);
  };
  auto fits = [&](const Expr* expr) {
    rules.automaton().find(expr, found);
    if (found.empty() || expr->type() == nullptr) return false;
    for (uint32_t i : found) {
      const ReadyRule& rule = rules.rules()[i];
      if (options.exact && rule.inexact && is_float(expr->type())) continue;
      if (!matcher.match(rules.pattern(i), expr)) continue;
      try {
        if (rule.apply({ExprRef(expr), matcher, uses})) return true;
      } catch (const Error&) {  // it does not
      }
    }
    return false;
  };
  bool any = false;
  visit_each(function.get(), [&](const Expr* expr) {
    any = fits(expr);
    return !any;
  });
  return any;
}

thread_local FiringWatch* watch = nullptr;

}  // namespace

FiringWatch::FiringWatch(std::function<void(const Firing&)> told)
    : told_(std::move(told)), outer_(watch) {
  watch = this;
}
FiringWatch::~FiringWatch() { watch = outer_; }
void FiringWatch::tell(const Firing& firing) {
  if (watch != nullptr) watch->told_(firing);
}

FunctionRef apply_rules(const FunctionRef& function, const RuleSet& rules,
                        const DriverOptions& options) {
  if (!has_operators(function.get(), rules)) return function;
  if (!options.refused && !may_apply(function, rules, options)) return function;
  size_t nodes = options.refuse_endless ? count_nodes(function.get()) : 0;
  History history(options.refuse_endless,
                  std::max<uint64_t>(kFewFirings, options.most_firings * nodes));
  FunctionRef result = function;
  PointerSet<Expr> again;
  for (int walk = 0; walk < kMostWalks; ++walk) {
    Walk step(result, rules, options, history, walk == 0 ? nullptr : &again);
    ExprRef next = step.run(result);
    if (!step.changed()) break;
    result = FunctionRef(next->as<Function>());
    history.keep(next);
    if (step.postponed().empty()) break;
    again = std::move(step.postponed());
  }
  return result;
}

}  // namespace relay::pattern
