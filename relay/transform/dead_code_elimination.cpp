// DeadCodeElimination: lets whose value nobody needs.
#include <relay/transform/lazy_effects.h>
#include <relay/transform/lets.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

// Marks what is needed, from the root: the value of a let only once its variable is met, unless it acts.
class Liveness {
 public:
  Liveness(const Function* root, const std::unordered_set<const Expr*>& effectful) {
    push(root);
    while (!stack_.empty()) {
      const Expr* expr = stack_.back();
      stack_.pop_back();
      if (const auto* var = expr->as<Var>()) {
        const Let** entry = waiting_.find(var);
        if (entry == nullptr) continue;
        const Expr* value = (*entry)->value().get();
        waiting_.erase(var);
        push(value);
        continue;
      }
      literals_ |= expr->is<Literal>();
      const auto* let = expr->as<Let>();
      if (let == nullptr) {
        for (const ExprRef& operand : expr->operands()) push(operand.get());
        continue;
      }
      if (!effectful.empty() && effectful.count(let->value().get()) != 0) {
        push(let->value().get());
      } else {
        waiting_[let->var().get()] = let;
        waited_.push_back(let);
      }
      push(let->body().get());
    }
  }

  /// The lets of live code that are not needed. (Those inside of dead values go with them.)
  PointerSet<Let> dead() const {
    PointerSet<Let> result;
    if (waiting_.empty()) return result;
    for (const Let* let : waited_) {
      if (waiting_.contains(let->var().get())) result.insert(let);
    }
    return result;
  }
  /// Whether live code has literals of open type; dead code may decide what they are.
  bool literals() const { return literals_; }

 private:
  void push(const Expr* expr) {
    if (expr->is<Op>() || expr->is<Constructor>()) return;
    bool again = !expr->is<Var>() && !expr->has_one_owner() && !seen_.insert(expr);
    if (!again) stack_.push_back(expr);
  }

  std::vector<const Expr*> stack_;
  PointerSet<Expr> seen_;
  PointerMap<Var, const Let*> waiting_;
  std::vector<const Let*> waited_;
  bool literals_ = false;
};

FunctionRef inline_single_uses(const FunctionRef& function,
                               const std::unordered_set<const Expr*>& effectful) {
  Lets lets(function.get());
  PointerSet<Var> kept;
  if (lets.closures()) kept = used_in_closures_only(function.get());
  PointerSet<Let> removed;
  for (const Let* let : lets.all()) {
    const Var* var = let->var().get();
    if (lets.uses(var) != 1 || !keeps_type(let)) continue;
    if (is_polymorphic(var) || lets.recursive(let)) continue;
    if (effectful.count(let->value().get()) != 0) continue;
    if (kept.contains(var) && !let->value()->operands().empty()) continue;
    removed.insert(let);
  }
  return without_lets(function, removed);
}

struct Options {
  bool inline_once;
  bool ignore_impurity;
};

FunctionRef eliminate(const FunctionRef& function, const Module& module,
                      const LazyEffects& effects, Options options) {
  bool acts = !options.ignore_impurity && effects.get().any();
  std::unordered_set<const Expr*> effectful;
  if (acts) effectful = effects.get().effectful_nodes(function.get());
  FunctionRef result = function;
  Liveness liveness(function.get(), effectful);
  if (!liveness.literals()) result = without_lets(function, liveness.dead());
  if (!options.inline_once) return result;
  if (acts && !(result == function)) {
    effectful = Effects(module, result.get()).effectful_nodes(result.get());
  }
  return inline_single_uses(result, effectful);
}

RELAY_REGISTER_PASS({
    {"DeadCodeElimination", 1, {ProgramState::kTyped},
     "Removes lets whose variable is not needed and whose value has no effect."},
    {{"inline_once", "Also put the value of a variable that is used once in the place of its use, unless that is in a "
                     "closure, which would compute it in each call.",
      false},
     {"ignore_impurity", "Treat effects as if they were none; the result may compute something else.", false}},
    [](const PassInfo& info, const PassOptions& options) {
      Options chosen{option<bool>(options, "inline_once"), option<bool>(options, "ignore_impurity")};
      return make_prepared_function_pass(info, [chosen](const Module& module, const PassContext&) {
        return [&module, effects = LazyEffects(module), chosen](const FunctionRef& function) {
          return eliminate(function, module, effects, chosen);
        };
      });
    },
});

}  // namespace
}  // namespace relay
