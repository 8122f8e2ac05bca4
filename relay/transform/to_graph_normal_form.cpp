// ToGraphNormalForm: lets become shared nodes of the graph.
#include <relay/transform/lazy_effects.h>
#include <relay/transform/lets.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

FunctionRef to_graph(const FunctionRef& old, const Module& module, const LazyEffects& effects) {
  bool acts = effects.get().any();
  std::unordered_set<const Expr*> effectful;
  if (acts) effectful = effects.get().effectful_nodes(old.get());
  // Uses in dead code do not count.
  FunctionRef function = without_lets(old, dead_lets(old.get(), effectful));
  if (acts && !(function == old)) {
    effectful = Effects(module, function.get()).effectful_nodes(function.get());
  }
  Lets lets(function.get());
  if (lets.all().empty()) return function;
  PointerSet<Var> kept;
  if (lets.closures()) kept = used_in_closures_only(function.get());

  PointerSet<Let> removed;
  for (const Let* let : lets.all()) {
    const Expr* value = let->value().get();
    const Var* var = let->var().get();
    if (effectful.count(value) != 0) continue;
    if (lets.uses(var) == 0 || !keeps_type(let)) continue;
    bool free_to_repeat = value->operands().empty();
    if (!free_to_repeat) {
      if (is_polymorphic(var) || kept.contains(var) || lets.recursive(let)) continue;
    }
    removed.insert(let);
  }
  return without_lets(function, removed);
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
