// Decides which values are computed before a node, and which only under a condition.
#include <relay/codegen/llvm/scalar_emitter.h>

namespace relay::codegen {

using te::ScalarKind;
using te::ScalarNode;

namespace {

/// Arms that can do no harm and cost no more than this are computed for all lanes.
constexpr uint32_t kCheapArms = 60;

}  // namespace

std::span<const te::ScalarRef> ScalarEmitter::value_args(const ScalarNode* node) {
  std::span<const te::ScalarRef> args = node->args;
  return node->kind == ScalarKind::kFail ? args.first(2) : args;
}

bool ScalarEmitter::has_arms(const ScalarNode* node) const {
  if (node->kind == ScalarKind::kFail) return facts(node->args[1].get()).unsafe;
  if (node->kind != ScalarKind::kSelect) return false;
  const Facts& then_value = facts(node->args[1].get());
  const Facts& else_value = facts(node->args[2].get());
  if (then_value.unsafe || else_value.unsafe) return true;
  return then_value.cost + else_value.cost > kCheapArms &&
         costs_more(std::span(node->args).subspan(1), kCheapArms);
}

bool ScalarEmitter::costs_more(std::span<const te::ScalarRef> nodes, uint32_t limit) const {
  std::vector<const ScalarNode*> stack;
  NodeSet seen;
  auto push = [&](const te::ScalarRef& node) {
    if (seen.insert(node.get()).second) stack.push_back(node.get());
  };
  for (const te::ScalarRef& node : nodes) push(node);
  uint32_t cost = 0;
  while (!stack.empty() && cost <= limit) {
    const ScalarNode* node = stack.back();
    stack.pop_back();
    cost += facts(node).own_cost;
    for (const te::ScalarRef& child : value_args(node)) push(child);
    if (node->kind != ScalarKind::kVar) continue;
    if (auto alias = aliases_.find(node->id); alias != aliases_.end()) push(alias->second);
  }
  return cost > limit;
}

std::span<const te::ScalarRef> ScalarEmitter::certain_args(const ScalarNode* node) const {
  std::span<const te::ScalarRef> args = value_args(node);
  if (node->kind == ScalarKind::kVar) {
    auto alias = aliases_.find(node->id);
    return alias == aliases_.end() ? std::span<const te::ScalarRef>()
                                   : std::span<const te::ScalarRef>(&alias->second, 1);
  }
  return is_lazy(node) ? args.first(1) : args;
}

std::span<const te::ScalarRef> ScalarEmitter::lazy_args(const ScalarNode* node) const {
  return is_lazy(node) ? value_args(node).subspan(1) : std::span<const te::ScalarRef>();
}

ScalarEmitter::NodeSet ScalarEmitter::certain_below(const ScalarNode* root) const {
  NodeSet seen{root};
  std::vector<const ScalarNode*> stack{root};
  while (!stack.empty()) {
    const ScalarNode* node = stack.back();
    stack.pop_back();
    for (const te::ScalarRef& child : certain_args(node)) {
      if (!is_leaf(child.get()) && seen.insert(child.get()).second) stack.push_back(child.get());
    }
  }
  return seen;
}

/// The certain operands, and those of the others that are better computed before: values that are
/// wanted in any case (by `certain` or by both arms), and harmless nodes of both arms. Without
/// this, nodes below arms would be written once for each arm, and so on for arms in arms.
std::vector<const ScalarNode*> ScalarEmitter::operands(const ScalarNode* node, size_t region,
                                                       const NodeSet& certain) const {
  std::vector<const ScalarNode*> result;
  for (const te::ScalarRef& child : certain_args(node)) result.push_back(child.get());
  std::span<const te::ScalarRef> arms = lazy_args(node);
  if (arms.empty()) return result;
  std::vector<NodeSet> reached(arms.size());
  std::vector<const ScalarNode*> in_first;  // reached[0] in a fixed order
  for (size_t k = 0; k < arms.size(); ++k) {
    std::vector<const ScalarNode*> stack;
    auto visit = [&](const ScalarNode* below) {
      if (is_leaf(below) || find(below, region) || !reached[k].insert(below).second) return;
      if (k == 0) in_first.push_back(below);
      if (certain.contains(below)) {
        result.push_back(below);
      } else {
        stack.push_back(below);
      }
    };
    visit(arms[k].get());
    while (!stack.empty()) {
      const ScalarNode* below = stack.back();
      stack.pop_back();
      if (below->kind == ScalarKind::kVar) visit(alias_of(below));
      for (const te::ScalarRef& child : value_args(below)) visit(child.get());
    }
  }
  if (arms.size() < 2) return result;
  NodeSet both[2];
  bool known = false;
  for (const ScalarNode* below : in_first) {
    if (!reached[1].contains(below)) continue;
    if (!facts(below).unsafe) {
      result.push_back(below);
      continue;
    }
    if (!known) {
      both[0] = certain_below(arms[0].get());
      both[1] = certain_below(arms[1].get());
      known = true;
    }
    if (both[0].contains(below) && both[1].contains(below)) result.push_back(below);
  }
  return result;
}

}  // namespace relay::codegen
