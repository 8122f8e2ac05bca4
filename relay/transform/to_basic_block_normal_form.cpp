// ToBasicBlockNormalForm: what several regions share has a name.
#include <relay/transform/bind_nodes.h>
#include <relay/transform/lazy_effects.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

bool is_leaf(const Expr* expr) { return expr->operands().empty(); }

// Nodes with a use in another region than the one they run in.
std::vector<bool> crossing_nodes(const Regions& regions) {
  size_t count = regions.nodes().size();
  std::vector<uint32_t> stands_for(count);  // a let stands for the end of its chain
  std::vector<bool> crossing(count);
  for (uint32_t id : regions.post_order()) {
    const Expr* expr = regions.expr(id);
    uint32_t body = expr->is<Let>() ? regions.operand(id, 1) : Regions::kNone;
    stands_for[id] = body == Regions::kNone ? id : stands_for[body];
    for (size_t i = 0; i < expr->operands().size(); ++i) {
      uint32_t operand = regions.operand(id, i);
      if (operand == Regions::kNone) continue;
      operand = stands_for[operand];
      uint32_t inner = regions.region_of(id, i);
      uint32_t place = inner == Regions::kNone ? regions.node(id).home : inner;
      if (place != regions.node(operand).home && !is_leaf(regions.expr(operand))) {
        crossing[operand] = true;
      }
    }
  }
  return crossing;
}

// Whether a let in an argument or in a value will move to its region, past what is evaluated before
// it there.
bool flattens(const Regions& regions) {
  for (uint32_t id : regions.post_order()) {
    const Regions::Node& node = regions.node(id);
    if (!node.expr->is<Let>() || node.user == Regions::kNone) continue;
    bool chained =
        node.uses == 1 && (regions.region_of(node.user, node.user_operand) != Regions::kNone ||
                           (regions.expr(node.user)->is<Let>() && node.user_operand == 1));
    if (!chained) return true;
  }
  return false;
}

FunctionTransform prepare(const Module& module, const PassContext&) {
  return [effects = LazyEffects(module)](const FunctionRef& old) {
    FunctionRef function = without_waiting_nodes(old);
    Regions regions(function.get());
    std::vector<bool> bound = crossing_nodes(regions);
    if (flattens(regions)) {
      // Then effects keep their order by being named, too.
      auto effectful = effects.get().effectful_nodes(function.get());
      for (uint32_t id = 0; id < bound.size(); ++id) {
        if (effectful.count(regions.expr(id)) != 0) bound[id] = true;
      }
    }
    return bind_nodes(regions, [&](uint32_t id) { return bound[id]; });
  };
}

RELAY_REGISTER_PASS({
    {"ToBasicBlockNormalForm",
     1,
     {},
     "Binds by a let what is used in several regions (branches, clauses, closures), in the lowest "
     "region common to the "
     "uses, so that each region is a graph of its own."},
    {},
    [](const PassInfo& info, const PassOptions&) {
      return make_prepared_function_pass(info, prepare);
    },
});

}  // namespace
}  // namespace relay
