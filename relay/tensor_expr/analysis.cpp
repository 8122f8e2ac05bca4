#include <relay/tensor_expr/analysis.h>

#include <algorithm>
#include <iterator>

#include <relay/tensor_expr/walk.h>

namespace relay::te {
namespace {

/// The axis that an index is: plainly, or where a dimension of unknown extent may have to be read
/// at 0.
const ScalarNode* plain_axis(const ScalarNode& index) {
  if (index.kind == ScalarKind::kIndex) return &index;
  if (index.kind != ScalarKind::kSelect) return nullptr;
  const ScalarNode& condition = *index.args[0];
  bool asks_extent = condition.kind == ScalarKind::kBinary && condition.binary == BinaryOp::kEq &&
                     condition.args[0]->kind == ScalarKind::kFromDim &&
                     condition.args[1]->kind == ScalarKind::kConst;
  bool reads_first = index.args[1]->kind == ScalarKind::kConst && index.args[1]->value.i == 0;
  return asks_extent && reads_first && index.args[2]->kind == ScalarKind::kIndex
             ? index.args[2].get()
             : nullptr;
}

struct StageWalk {
  std::span<const Axis> axes;
  std::vector<const ScalarNode*> nodes;
  NodeNumbers numbers;
  std::vector<FreeSet> free;
  std::vector<char> loads;  // whether a value depends on loaded ones

  explicit StageWalk(const Stage& stage) : axes(stage_axes(stage)) {
    nodes = post_order(stage_roots(stage));
    numbers = number_nodes(nodes);
    free = free_sets(nodes, numbers);
    loads.resize(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) {
      loads[i] = nodes[i]->kind == ScalarKind::kLoad;
      for (const ScalarRef& arg : nodes[i]->args) loads[i] |= loads[numbers.at(arg.get())];
    }
  }

  /// Place of an axis in the domain, or -1.
  int64_t place(uint32_t id) const {
    for (size_t a = 0; a < axes.size(); ++a) {
      if (axes[a].id == id) return static_cast<int64_t>(a);
    }
    return -1;
  }

  bool reads_data(const ScalarNode& load) const {
    return std::any_of(load.args.begin(), load.args.end(),
                       [&](const ScalarRef& arg) { return loads[numbers.at(arg.get())] != 0; });
  }

  bool in_fold(const ScalarNode& load) const {
    const FreeSet& ids = free[numbers.at(&load)];
    return std::any_of(ids.begin(), ids.end(),
                       [&](uint32_t id) { return (id & kVarFlag) == 0 && place(id) < 0; });
  }

  IndexMap classify(const Computation& computation, const ScalarNode& load) const {
    if (reads_data(load)) return IndexMap::kData;
    if (in_fold(load)) return IndexMap::kFolded;
    const TensorInfo& info = computation.info(load.tensor);
    bool identity = info.rank() == axes.size(), increasing = true;
    std::vector<int64_t> places;
    for (size_t d = 0; d < load.args.size(); ++d) {
      const ScalarNode& index = *load.args[d];
      if (index.kind == ScalarKind::kConst && index.value.i == 0 && info.dims[d].is_int(1)) {
        identity &= d < axes.size() && axes[d].extent.is_int(1);
        continue;
      }
      const ScalarNode* axis = plain_axis(index);
      if (axis == nullptr) return IndexMap::kInjective;
      int64_t at = place(axis->axis);
      identity &= axis == &index && at == static_cast<int64_t>(d);
      increasing &= places.empty() || places.back() < at;
      places.push_back(at);
    }
    // A load may reach beyond a smaller tensor: then it is a slice or a pad, if not a broadcast.
    for (size_t d = 0; d < load.args.size() && d < axes.size() && identity; ++d) {
      identity = dims_equal(info.dims[d], axes[d].extent) != Truth::kNo;
    }
    if (identity) return IndexMap::kIdentity;
    bool same_extents = true;
    for (size_t d = 0; d < load.args.size(); ++d) {
      const ScalarNode* axis = plain_axis(*load.args[d]);
      if (axis == nullptr) continue;
      Dim extent = axes[static_cast<size_t>(place(axis->axis))].extent;
      same_extents &= dims_equal(info.dims[d], extent) != Truth::kNo;
    }
    if (increasing && same_extents) return IndexMap::kBroadcast;
    std::vector<int64_t> sorted = places;
    std::sort(sorted.begin(), sorted.end());
    bool distinct = std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
    bool all = distinct && sorted.size() == axes.size() && load.args.size() == axes.size();
    return all && same_extents ? IndexMap::kPermutation : IndexMap::kInjective;
  }

  bool partitions(const ScalarNode& load) const {
    std::vector<char> used(axes.size());
    for (const ScalarRef& arg : load.args) {
      if (arg->kind == ScalarKind::kConst) continue;
      const ScalarNode* axis = plain_axis(*arg);
      if (axis == nullptr) return false;
      int64_t at = place(axis->axis);
      if (at >= 0) used[static_cast<size_t>(at)] = 1;
    }
    for (size_t a = 0; a < axes.size(); ++a) {
      if (used[a] == 0 && !axes[a].extent.is_int(1)) return false;
    }
    return true;
  }
};

FusionKind kind_of(IndexMap map) {
  switch (map) {
    case IndexMap::kIdentity:
      return FusionKind::kElementwise;
    case IndexMap::kBroadcast:
      return FusionKind::kBroadcast;
    default:
      return FusionKind::kInjective;
  }
}

FusionKind stage_kind(const Computation& computation, const Stage& stage) {
  if (std::holds_alternative<View>(stage.body)) return FusionKind::kInjective;
  if (!std::holds_alternative<Map>(stage.body)) return FusionKind::kOpaque;
  StageWalk walk(stage);
  bool folds = false, nested = false, partition = true;
  for (size_t i = 0; i < walk.nodes.size(); ++i) {
    const ScalarNode& node = *walk.nodes[i];
    if (node.kind != ScalarKind::kFold) continue;
    folds = true;
    std::vector<const ScalarNode*> below = post_order(node.args);
    nested |= std::any_of(below.begin(), below.end(),
                          [](const ScalarNode* inner) { return inner->kind == ScalarKind::kFold; });
    for (const ScalarNode* inner : below) {
      if (inner->kind == ScalarKind::kLoad) {
        partition &= !walk.reads_data(*inner) && walk.partitions(*inner);
      }
    }
  }
  if (nested) return FusionKind::kOpaque;
  if (folds) return partition ? FusionKind::kReduction : FusionKind::kOutElementwise;
  FusionKind kind = FusionKind::kElementwise;
  for (const ScalarNode* node : walk.nodes) {
    if (node->kind == ScalarKind::kLoad)
      kind = std::max(kind, kind_of(walk.classify(computation, *node)));
  }
  return kind;
}

bool folds(FusionKind kind) {
  return kind == FusionKind::kReduction || kind == FusionKind::kOutElementwise;
}

}  // namespace

std::string_view fusion_kind_name(FusionKind kind) {
  constexpr std::string_view kNames[] = {
      "elementwise", "broadcast", "injective", "reduction", "out-elementwise-fusable",
      "row-program", "opaque"};
  static_assert(std::size(kNames) == static_cast<size_t>(FusionKind::kOpaque) + 1);
  return kNames[static_cast<size_t>(kind)];
}

std::vector<LoadMap> load_maps(const Computation& computation, const Stage& stage) {
  StageWalk walk(stage);
  std::vector<LoadMap> maps;
  for (const ScalarNode* node : walk.nodes) {
    if (node->kind != ScalarKind::kLoad) continue;
    maps.push_back({node, walk.classify(computation, *node),
                    !walk.reads_data(*node) && walk.partitions(*node)});
  }
  return maps;
}

FusionKind fusion_kind(const Computation& computation) {
  bool maps = std::all_of(computation.stages.begin(), computation.stages.end(),
                          [](const Stage& s) { return std::holds_alternative<Map>(s.body); });
  FusionKind several = maps ? FusionKind::kRowProgram : FusionKind::kOpaque;
  // Work before a fold is part of it; after it only elementwise work may follow.
  FusionKind kind = FusionKind::kElementwise;
  for (const Stage& stage : computation.stages) {
    FusionKind next = stage_kind(computation, stage);
    if (next == FusionKind::kOpaque) return several;
    if (folds(kind) && next != FusionKind::kElementwise) return several;
    kind = std::max(kind, next);
  }
  return kind;
}

}  // namespace relay::te
