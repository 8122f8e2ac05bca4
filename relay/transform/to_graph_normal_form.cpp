// ToGraphNormalForm: lets become shared nodes of the graph.
#include <relay/transform/lazy_effects.h>
#include <relay/transform/lets.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

FunctionRef to_graph(const FunctionRef& function, const LazyEffects& effects) {
  Lets lets(function.get());
  if (lets.all().empty()) return function;
  PointerSet<Var> kept;
  if (lets.closures()) kept = used_in_closures_only(function.get());
  auto effectful = effects.get().effectful_nodes(function.get());

  PointerSet<Let> removed;
  for (const Let* let : lets.all()) {
    const Expr* value = let->value().get();
    const Var* var = let->var().get();
    if (effectful.count(value) != 0) continue;
    if (lets.uses(var) == 0) {
      if (!lets.literals()) removed.insert(let);
      continue;
    }
    if (!keeps_type(let)) continue;
    bool free_to_repeat = value->operands().empty();
    if (!free_to_repeat) {
      if (is_polymorphic(var) || kept.contains(var) || lets.recursive(let)) continue;
    }
    removed.insert(let);
  }
  return without_lets(function, removed);
}

RELAY_REGISTER_PASS({
    {"ToGraphNormalForm", 1, {ProgramState::kTyped},
     "Replaces lets by shared nodes of the dataflow graph. A let stays where that would change something: its value "
     "has an effect, is polymorphic or recursive, is converted by an annotation, or would be computed again in "
     "each call of a closure."},
    {},
    [](const PassInfo& info, const PassOptions&) {
      return make_prepared_function_pass(info, [](const Module& module, const PassContext&) {
        return [effects = LazyEffects(module)](const FunctionRef& function) {
          return to_graph(function, effects);
        };
      });
    },
});

}  // namespace
}  // namespace relay
