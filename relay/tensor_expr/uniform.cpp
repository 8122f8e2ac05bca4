#include <relay/tensor_expr/uniform.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include <relay/tensor_expr/walk.h>

namespace relay::te {
namespace {

// True if a load reads the same element at every point.
bool reads_one(const Environment& env, const ScalarNode& load) {
  const NDArray& tensor = env.tensor(load.tensor);
  bool always_inside = load.bounds != Bounds::kFill && load.bounds != Bounds::kFail;
  return always_inside && (tensor.size() == 1 || tensor.is_uniform());
}

}  // namespace

bool is_uniform(const Environment& env, const Map& map, std::span<const LoopAxis> axes) {
  struct Facts {
    bool varies = false;
    bool fails = false;
  };
  auto moves = [&](uint32_t id) {
    return std::any_of(axes.begin(), axes.end(),
                       [&](const LoopAxis& axis) { return axis.id == id && axis.extent > 1; });
  };
  std::unordered_map<const ScalarNode*, Facts> known;
  for (const ScalarNode* node : post_order(map.values)) {
    Facts facts{node->kind == ScalarKind::kIndex && moves(node->axis), can_fail(*node)};
    for (const ScalarRef& arg : node->args) {
      const Facts& of = known.at(arg.get());
      facts.varies |= of.varies;
      facts.fails |= of.fails;
    }
    if (facts.varies && node->kind == ScalarKind::kLoad && reads_one(env, *node)) {
      facts.varies = std::any_of(node->args.begin(), node->args.end(), [&](const ScalarRef& arg) {
        return known.at(arg.get()).varies && known.at(arg.get()).fails;
      });
    }
    known.emplace(node, facts);
  }
  return std::none_of(map.values.begin(), map.values.end(),
                      [&](const ScalarRef& value) { return known.at(value.get()).varies; });
}

double points_of(const Environment& env, const Map& map, std::span<const LoopAxis> axes) {
  std::vector<const ScalarNode*> nodes = post_order(map.values);
  NodeNumbers numbers = number_nodes(nodes);
  std::vector<FreeSet> free = free_sets(nodes, numbers);
  std::unordered_map<uint32_t, double> extents;
  double points = 1;
  for (const LoopAxis& axis : axes) {
    points *= static_cast<double>(axis.extent);
    extents.emplace(axis.id, static_cast<double>(axis.extent));
  }
  for (const ScalarNode* node : nodes) {
    for (const Axis& axis : node->axes)
      extents.emplace(axis.id, static_cast<double>(env.dim(axis.extent)));
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i]->kind != ScalarKind::kFold) continue;
    double own = 1;
    for (const Axis& axis : nodes[i]->axes) own *= extents.at(axis.id);
    for (uint32_t id : free[i]) {
      auto extent = extents.find(id);
      if (extent != extents.end()) own *= extent->second;
    }
    points += own;
  }
  return points;
}

}  // namespace relay::te
