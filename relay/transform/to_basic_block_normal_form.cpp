// ToBasicBlockNormalForm: what several regions share has a name.
#include <algorithm>

#include <relay/transform/bind_nodes.h>
#include <relay/transform/lazy_effects.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

// Nodes with a use in another region than the one they run in.
std::vector<bool> crossing_nodes(const Regions& regions) {
  size_t count = regions.num_nodes();
  const std::vector<uint32_t> stands_for = ends_of_chains(regions);
  std::vector<bool> crossing(count);
  for (uint32_t id : regions.post_order()) {
    for (size_t i = 0; i < regions.num_operands(id); ++i) {
      uint32_t operand = regions.operand(id, i);
      if (operand == Regions::kNone) continue;
      operand = stands_for[operand];
      uint32_t inner = regions.region_of(id, i);
      uint32_t place = inner == Regions::kNone ? regions.home(id) : inner;
      bool leaf = regions.num_operands(operand) == 0;
      if (place != regions.home(operand) && !leaf) crossing[operand] = true;
    }
  }
  return crossing;
}

// True if a let in an argument or in a value will move to its region, past nodes that are evaluated
// before it there.
bool flattens(const Regions& regions) {
  for (uint32_t id : regions.post_order()) {
    uint32_t user = regions.user(id);
    if (regions.kind(id) != ExprKind::kLet || user == Regions::kNone) continue;
    uint32_t operand = regions.user_operand(id);
    bool chained =
        regions.uses(id) == 1 && (regions.region_of(user, operand) != Regions::kNone ||
                                  (regions.kind(user) == ExprKind::kLet && operand == 1));
    if (!chained) return true;
  }
  return false;
}

// True if a let's value is used elsewhere as well: the let's variable then replaces it.
bool names_shared_values(const Regions& regions) {
  for (uint32_t id : regions.post_order()) {
    if (regions.kind(id) != ExprKind::kLet) continue;
    uint32_t value = regions.operand(id, 0);
    if (value != Regions::kNone && regions.uses(value) > 1) return true;
  }
  return false;
}

FunctionTransform prepare(const Module& module, const PassContext&) {
  return [effects = LazyEffects(module)](const FunctionRef& old) {
    FunctionRef function = without_waiting_nodes(effects.program(), old);
    const View& view = effects.program().view(function);
    const Regions& regions = view.scopes().regions();
    std::vector<bool> bound = crossing_nodes(regions);
    bool flat = !flattens(regions);
    bool any = std::find(bound.begin(), bound.end(), true) != bound.end();
    if (flat && !any && !names_shared_values(regions)) return function;
    if (!flat) {
      // Then effects keep their order by being named, too.
      auto effectful = effects.get().effectful_nodes(function.get());
      for (uint32_t id = 0; id < bound.size(); ++id) {
        if (effectful.count(regions.expr(id)) != 0) bound[id] = true;
      }
    }
    return bind_nodes(view, [&](uint32_t id) { return bound[id]; });
  };
}

RELAY_REGISTER_PASS({
    {"ToBasicBlockNormalForm",
     1,
     {},
     "Binds each value that several regions (branches, clauses, closures) use by a let, in the "
     "lowest region common to the uses, so that each region is a graph of its own."},
    {},
    [](const PassInfo& info, const PassOptions&) {
      return make_prepared_function_pass(info, prepare);
    },
});

}  // namespace
}  // namespace relay
