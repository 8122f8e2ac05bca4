// DeadCodeElimination: lets whose value nobody needs.
#include <relay/transform/lazy_effects.h>
#include <relay/transform/lets.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

PointerSet<Let> lets_used_once(const View& view, const NodeEffects* effects) {
  const Lets lets(view);
  PointerSet<Let> result;
  for (const Lets::Entry& entry : lets.all()) {
    if (lets.uses(entry) != 1 || !keeps_type(entry.let)) continue;
    if (is_polymorphic(entry.let->var().get()) || lets.recursive(entry)) continue;
    if (effects != nullptr && effects->effectful(entry.value)) continue;
    if (!view.operands(entry.value).empty() && lets.used_in_closures_only(entry)) continue;
    result.insert(entry.let);
  }
  return result;
}

struct DeadCodeOptions {
  bool inline_once;
  bool ignore_impurity;
};

FunctionRef eliminate(const FunctionRef& function, const Module& module, const LazyEffects& effects,
                      DeadCodeOptions options) {
  const bool acts = !options.ignore_impurity && effects.get().any();
  const Program& program = effects.program();
  const View& view = program.view(function);
  const NodeEffects* known = acts ? &program.node_effects(view) : nullptr;
  const PointerSet<Let> dead = dead_lets(view, known);
  const FunctionRef result = without_lets(function, dead);
  if (!options.inline_once) return result;
  if (dead.empty()) return without_lets(function, lets_used_once(view, known));
  const View rest(result);
  const NodeEffects rest_acts(rest, acts ? Effects(module, result.get()) : Effects());
  return without_lets(result, lets_used_once(rest, &rest_acts));
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
