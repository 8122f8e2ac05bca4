// DeadCodeElimination: lets whose value nobody needs.
#include <relay/transform/lazy_effects.h>
#include <relay/transform/lets.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

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

struct DeadCodeOptions {
  bool inline_once;
  bool ignore_impurity;
};

FunctionRef eliminate(const FunctionRef& function, const Module& module, const LazyEffects& effects,
                      DeadCodeOptions options) {
  bool acts = !options.ignore_impurity && effects.get().any();
  std::unordered_set<const Expr*> effectful;
  if (acts) effectful = effects.get().effectful_nodes(function.get());
  FunctionRef result = without_lets(function, dead_lets(function.get(), effectful));
  if (!options.inline_once) return result;
  if (acts && !(result == function)) {
    effectful = Effects(module, result.get()).effectful_nodes(result.get());
  }
  return inline_single_uses(result, effectful);
}

RELAY_REGISTER_PASS({
    {"DeadCodeElimination",
     1,
     {ProgramState::kTyped},
     "Removes lets whose variable is not needed and whose value has no effect."},
    {{"inline_once",
      "Also put the value of a variable that is used once in the place of its use, unless that is "
      "in a "
      "closure, which would compute it in each call.",
      false},
     {"ignore_impurity",
      "Treat effects as if they were none; the result may compute something else.", false}},
    [](const PassInfo& info, const PassOptions& options) {
      DeadCodeOptions chosen{option<bool>(options, "inline_once"),
                             option<bool>(options, "ignore_impurity")};
      return make_prepared_function_pass(info, [chosen](const Module& module, const PassContext&) {
        return [&module, effects = LazyEffects(module), chosen](const FunctionRef& function) {
          return eliminate(function, module, effects, chosen);
        };
      });
    },
});

}  // namespace
}  // namespace relay
