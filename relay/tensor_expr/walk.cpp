#include <relay/tensor_expr/walk.h>

#include <algorithm>

namespace relay::te {
namespace {

void unite(FreeSet& into, const FreeSet& from) {
  if (from.empty()) return;
  if (into.empty()) {
    into = from;
    return;
  }
  if (std::includes(into.begin(), into.end(), from.begin(), from.end())) return;
  FreeSet merged;
  merged.reserve(into.size() + from.size());
  std::set_union(into.begin(), into.end(), from.begin(), from.end(), std::back_inserter(merged));
  into = std::move(merged);
}

}  // namespace

std::vector<const ScalarNode*> post_order(std::span<const ScalarRef> roots) {
  struct Frame {
    const ScalarNode* node;
    size_t next;
  };
  std::vector<const ScalarNode*> order;
  PointerSet<ScalarNode> seen;
  std::vector<Frame> stack;
  for (const ScalarRef& root : roots) {
    if (!seen.insert(root.get())) continue;
    stack.push_back({root.get(), 0});
    while (!stack.empty()) {
      Frame& frame = stack.back();
      if (frame.next == frame.node->args.size()) {
        order.push_back(frame.node);
        stack.pop_back();
        continue;
      }
      const ScalarNode* arg = frame.node->args[frame.next++].get();
      if (seen.insert(arg)) stack.push_back({arg, 0});
    }
  }
  return order;
}

NodeNumbers number_nodes(std::span<const ScalarNode* const> nodes) {
  NodeNumbers numbers;
  for (size_t i = 0; i < nodes.size(); ++i) numbers[nodes[i]] = static_cast<uint32_t>(i);
  return numbers;
}

std::vector<FreeSet> free_sets(std::span<const ScalarNode* const> nodes,
                               const NodeNumbers& numbers) {
  std::vector<FreeSet> sets(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const ScalarNode* node = nodes[i];
    FreeSet& set = sets[i];
    if (node->kind == ScalarKind::kIndex) set.push_back(node->axis);
    if (node->kind == ScalarKind::kVar) set.push_back(node->id | kVarFlag);
    for (const ScalarRef& arg : node->args) unite(set, sets[numbers.at(arg.get())]);
    if (node->kind == ScalarKind::kFold) {
      std::erase_if(set, [&](uint32_t id) {
        return std::any_of(node->axes.begin(), node->axes.end(),
                           [&](const Axis& axis) { return axis.id == id; });
      });
    }
  }
  return sets;
}

bool can_fail(const ScalarNode& node) {
  // A tensor that has no elements has no indices: extents may be divisors.
  bool divides = is_integer_division(node) && node.args[1]->kind != ScalarKind::kFromDim &&
                 (node.args[1]->kind != ScalarKind::kConst || node.args[1]->value.i == 0);
  return node.kind == ScalarKind::kFail || divides ||
         (node.kind == ScalarKind::kLoad && may_miss(node.bounds)) ||
         (node.kind == ScalarKind::kFold && node.combiner->needs_element);
}

std::vector<ScalarRef> stage_roots(const Stage& stage) {
  std::vector<ScalarRef> roots;
  if (const auto* map = std::get_if<Map>(&stage.body)) {
    roots = map->values;
  } else if (const auto* scan = std::get_if<Scan>(&stage.body)) {
    roots = scan->init;
    roots.insert(roots.end(), scan->step.begin(), scan->step.end());
  } else if (const auto* update = std::get_if<Update>(&stage.body)) {
    roots = update->at;
    roots.push_back(update->value);
  }
  return roots;
}

bool can_fail(const Stage& stage) {
  if (std::holds_alternative<Library>(stage.body)) return true;
  const auto* update = std::get_if<Update>(&stage.body);
  if (update != nullptr && update->bounds == Bounds::kFail) return true;
  const std::vector<ScalarRef> roots = stage_roots(stage);
  const std::vector<const ScalarNode*> nodes = post_order(roots);
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const ScalarNode* node) { return can_fail(*node); });
}

std::span<const Axis> stage_axes(const Stage& stage) {
  if (const auto* map = std::get_if<Map>(&stage.body)) return map->axes;
  if (const auto* scan = std::get_if<Scan>(&stage.body)) return scan->axes;
  if (const auto* update = std::get_if<Update>(&stage.body)) return update->axes;
  return {};
}

std::vector<TensorId> stage_reads(const Stage& stage) {
  std::vector<TensorId> reads;
  auto add = [&](TensorId id) {
    if (std::find(reads.begin(), reads.end(), id) == reads.end()) reads.push_back(id);
  };
  if (const auto* update = std::get_if<Update>(&stage.body)) add(update->base);
  if (const auto* view = std::get_if<View>(&stage.body)) add(view->source);
  if (const auto* library = std::get_if<Library>(&stage.body)) {
    for (TensorId id : library->inputs) add(id);
  }
  std::vector<ScalarRef> roots = stage_roots(stage);
  for (const ScalarNode* node : post_order(roots)) {
    if (node->kind == ScalarKind::kLoad) add(node->tensor);
  }
  return reads;
}

NeededTensors needed_tensors(const Computation& computation) {
  NeededTensors needed{std::vector<bool>(computation.inputs.size()),
                       std::vector<bool>(computation.stages.size())};
  auto need = [&](TensorId id) {
    if (id.is_input()) {
      needed.inputs[static_cast<size_t>(id.index)] = true;
    } else {
      needed.stages[static_cast<size_t>(id.stage)] = true;
    }
  };
  for (const Output& output : computation.outputs) need(output.tensor);
  for (size_t s = computation.stages.size(); s-- > 0;) {
    if (!needed.stages[s]) continue;
    for (TensorId id : stage_reads(computation.stages[s])) need(id);
  }
  return needed;
}

}  // namespace relay::te
