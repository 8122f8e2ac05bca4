// ToGraphNormalForm: lets become shared nodes of the graph.
#include <relay/transform/lazy_effects.h>
#include <relay/transform/lets.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

// Those that may go from a program whose dead lets have gone.
PointerSet<Let> replaceable_lets(const View& view, const NodeEffects* effects) {
  PointerSet<Let> result;
  const Lets lets(view);
  for (const Lets::Entry& entry : lets.all()) {
    if (effects != nullptr && effects->effectful(entry.value)) continue;
    if (lets.uses(entry) == 0 || !keeps_type(entry.let)) continue;
    const bool free_to_repeat = view.operands(entry.value).empty();
    if (!free_to_repeat) {
      if (is_polymorphic(entry.let->var().get()) || lets.recursive(entry)) continue;
      if (lets.used_in_closures_only(entry)) continue;
    }
    result.insert(entry.let);
  }
  return result;
}

FunctionRef to_graph(const FunctionRef& old, const Module& module, const LazyEffects& effects) {
  const bool acts = effects.get().any();
  const Program& program = effects.program();
  const View& view = program.view(old);
  const NodeEffects* known = acts ? &program.node_effects(view) : nullptr;
  // Uses in dead code do not count.
  const PointerSet<Let> dead = dead_lets(view, known);
  if (dead.empty()) return without_lets(old, replaceable_lets(view, known));
  const FunctionRef function = without_lets(old, dead);
  const View rest(function);
  const NodeEffects rest_acts(rest, acts ? Effects(module, function.get()) : Effects());
  return without_lets(function, replaceable_lets(rest, &rest_acts));
}

RELAY_REGISTER_PASS({
    {"ToGraphNormalForm",
     1,
     {ProgramState::kTyped},
     "Replaces lets by shared nodes of the dataflow graph. A let stays where that would change "
     "something: its value "
     "has an effect, is polymorphic or recursive, is converted by an annotation, or would be "
     "computed again in "
     "each call of a closure."},
    {},
    [](const PassInfo& info, const PassOptions&) {
      return make_prepared_function_pass(info, [](const Module& module, const PassContext&) {
        return [&module, effects = LazyEffects(module)](const FunctionRef& function) {
          return to_graph(function, module, effects);
        };
      });
    },
});

}  // namespace
}  // namespace relay
