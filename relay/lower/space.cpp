#include <relay/lower/space.h>

#include <algorithm>
#include <unordered_set>

#include <relay/lower/scalars.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {

using te::Axis;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;

double guess(Dim extent) { return extent.is_int() ? static_cast<double>(extent.as_int()) : 64; }

Space::Space(const te::Computation& computation, RowGroup given)
    : group(std::move(given)), computation_(computation) {
  drop_single();
  collect();
  while (join_axes()) collect();
}

void Space::for_each_root(const std::function<void(ScalarRef&)>& change) {
  for (Member& member : group.members) {
    for (ScalarRef& value : member.values) change(value);
    for (ScalarRef& index : member.point) change(index);
  }
}

/// Axes of one point.
void Space::drop_single() {
  std::unordered_map<uint32_t, ScalarRef> single;
  auto drop = [&](const Axis& axis) {
    if (!axis.extent.is_int(1)) return false;
    single.emplace(axis.id, te::index_constant(0).ref());
    return true;
  };
  std::erase_if(group.rows, drop);
  for (Member& member : group.members) {
    std::erase_if(member.extras, drop);
    for (const ScalarNode* node : te::post_order(member.values)) {
      if (node->kind != ScalarKind::kFold || node->axes.size() == 1) continue;
      for (const Axis& axis : node->axes) drop(axis);
    }
  }
  ScalarRewriter rewrite(
      [&](const ScalarRef& node, const std::vector<ScalarRef>& args) -> ScalarRef {
        if (node->kind == ScalarKind::kIndex) {
          auto found = single.find(node->axis);
          return found == single.end() ? ScalarRef() : found->second;
        }
        if (node->kind == ScalarKind::kFold) {
          bool ones = std::any_of(node->axes.begin(), node->axes.end(),
                                  [](const Axis& axis) { return axis.extent.is_int(1); });
          if (!ones || node->axes.size() == 1) return {};
          Ref<ScalarNode> copy = copy_node(*node);
          copy->args = args;
          std::erase_if(copy->axes, [](const Axis& axis) { return axis.extent.is_int(1); });
          return copy;
        }
        return {};
      });
  for_each_root([&](ScalarRef& root) { root = rewrite(root); });
}

void Space::collect() {
  math_ = IndexMath(group.rows);
  usual_math_ = IndexMath::without_broadcasts();
  usual_math_.add_axes(group.rows);
  accesses.clear();
  folds.clear();
  bare_.clear();
  for (size_t m = 0; m < group.members.size(); ++m) {
    const Member& member = group.members[m];
    math_.add_axes(member.extras);
    math_.add_folds(member.values);
    usual_math_.add_axes(member.extras);
    usual_math_.add_folds(member.values);
    std::vector<const ScalarNode*> order = te::post_order(member.values);
    // How often each node is evaluated, and in which fold: from the users down.
    struct Place {
      double times = 0;
      const ScalarNode* fold = nullptr;
    };
    std::unordered_map<const ScalarNode*, Place> places;
    std::unordered_set<const ScalarNode*> bare;  // reached other than through positions of loads
    auto reach = [&](const ScalarNode* node, Place place) {
      Place& now = places[node];
      if (place.times > now.times) now = place;
    };
    double points = 1;
    for (const Axis& axis : member.extras) points *= std::max(guess(axis.extent), 1.0);
    for (const ScalarRef& root : member.values) {
      reach(root.get(), {points, nullptr});
      bare.insert(root.get());
    }
    for (size_t i = order.size(); i-- > 0;) {
      const ScalarNode* node = order[i];
      Place place = places[node];
      bool is_bare = bare.contains(node);
      if (node->kind == ScalarKind::kFold) {
        folds.push_back(node);
        for (const Axis& axis : node->axes) place.times *= std::max(guess(axis.extent), 1.0);
        place.fold = node;
      }
      if (node->kind == ScalarKind::kIndex && is_bare) bare_.push_back(node->axis);
      bool position = node->kind == ScalarKind::kLoad && node->bounds == te::Bounds::kProven;
      for (const ScalarRef& arg : node->args) {
        reach(arg.get(), place);
        if (is_bare && !position) bare.insert(arg.get());
      }
      if (node->kind == ScalarKind::kLoad) {
        Access access;
        access.load = node;
        access.member = m;
        access.dtype = node->dtype;
        access.times = place.times;
        access.fold = place.fold;
        for (const ScalarRef& arg : node->args) {
          access.index.push_back(math_.poly(arg));
          access.usual_index.push_back(usual_math_.poly(arg));
        }
        if (position) {
          std::span<const Dim> dims = computation_.info(node->tensor).dims;
          access.flat = math_.recombine(IndexMath::linearise(access.index, dims));
          access.usual_flat = usual_math_.recombine(IndexMath::linearise(access.usual_index, dims));
        }
        accesses.push_back(std::move(access));
      }
    }
    const te::Stage& stage = computation_.stages[member.stage];
    for (size_t k = 0; k < member.values.size(); ++k) {
      Access access;
      access.member = m;
      access.dtype = member.values[k]->dtype;
      access.times = points;
      for (const ScalarRef& index : member.point) access.index.push_back(math_.poly(index));
      access.flat = IndexMath::linearise(access.index, stage.outputs[k].dims);
      access.usual_index = access.index;
      access.usual_flat = access.flat;
      accesses.push_back(std::move(access));
    }
  }
}

bool Space::joinable(const Axis& a, const Axis& b) const {
  for (uint32_t axis : bare_) {
    if (axis == a.id || axis == b.id) return false;
  }
  for (const Access& access : accesses) {
    if (!access.flat) {
      for (Dim index : access.index) {
        if (math_.mentions(index, a.id) || math_.mentions(index, b.id)) return false;
      }
      continue;
    }
    std::optional<Dim> outer = math_.coefficient(*access.flat, a.id);
    std::optional<Dim> inner = math_.coefficient(*access.flat, b.id);
    if (!outer || !inner || *outer != *inner * b.extent) return false;
  }
  return true;
}

bool Space::join_axes() {
  auto join_in = [&](std::vector<Axis>& axes) {
    for (size_t i = 0; i + 1 < axes.size(); ++i) {
      if (!joinable(axes[i], axes[i + 1])) continue;
      std::unordered_map<uint32_t, ScalarRef> zero{{axes[i].id, te::index_constant(0).ref()}};
      axes[i + 1].extent = axes[i].extent * axes[i + 1].extent;
      axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(i));
      for_each_root([&](ScalarRef& root) { root = substitute(root, zero); });
      return true;
    }
    return false;
  };
  if (join_in(group.rows)) return true;
  for (Member& member : group.members) {
    if (join_in(member.extras)) return true;
  }
  for (const ScalarNode* fold : folds) {
    for (size_t i = 0; i + 1 < fold->axes.size(); ++i) {
      Axis a = fold->axes[i], b = fold->axes[i + 1];
      if (!joinable(a, b)) continue;
      ScalarRewriter rewrite(
          [&](const ScalarRef& node, const std::vector<ScalarRef>& args) -> ScalarRef {
            if (node->kind == ScalarKind::kIndex && node->axis == a.id) {
              return te::index_constant(0).ref();
            }
            if (node->kind != ScalarKind::kFold) return {};
            Ref<ScalarNode> copy = copy_node(*node);
            copy->args = args;
            bool has_b = false;
            for (Axis& axis : copy->axes) {
              if (axis.id != b.id) continue;
              axis.extent = a.extent * b.extent;
              has_b = true;
            }
            if (has_b) std::erase_if(copy->axes, [&](const Axis& axis) { return axis.id == a.id; });
            return copy;
          });
      for_each_root([&](ScalarRef& root) { root = rewrite(root); });
      return true;
    }
  }
  return false;
}

namespace {
std::optional<Dim> stride_of(const IndexMath& math, const std::optional<Dim>& flat,
                             std::span<const Dim> index, uint32_t axis) {
  if (flat) return math.coefficient(*flat, axis);
  std::optional<Dim> total = Dim(0);
  for (size_t d = index.size(); d-- > 0;) {
    std::optional<Dim> c = math.coefficient(index[d], axis);
    if (!c) return std::nullopt;
    // The extents do not matter here: zero, one or something else.
    if (!c->is_int(0)) total = d + 1 == index.size() ? *c : Dim(1 << 20);
  }
  return total;
}
}  // namespace

std::optional<Dim> Space::stride(const Access& access, uint32_t axis) const {
  return stride_of(math_, access.flat, access.index, axis);
}

std::optional<Dim> Space::usual_stride(const Access& access, uint32_t axis) const {
  return stride_of(usual_math_, access.usual_flat, access.usual_index, axis);
}

namespace {
double stride_cost(const std::optional<Dim>& stride) {
  if (!stride || !stride->is_int()) return 12;
  int64_t step = std::abs(stride->as_int());
  return step == 0 ? 0.1 : step == 1 ? 1 : step <= 4 ? 3 : step <= 16 ? 8 : 12;
}
double lane_use(Dim extent, int lanes) {
  if (!extent.is_int()) return 1;
  double n = static_cast<double>(std::max<int64_t>(extent.as_int(), 1)), l = lanes;
  double vectors = static_cast<double>((extent.as_int() + lanes - 1) / lanes);
  return n / (std::max(vectors, 1.0) * l);
}
}  // namespace

double Space::lane_cost(const Axis& axis, int lanes) const {
  double cost = 0;
  for (const Access& access : accesses) {
    cost += access.times * stride_cost(usual_stride(access, axis.id));
  }
  return cost / lane_use(axis.extent, lanes);
}

std::optional<Space::InnerLanes> Space::inner_lanes(int lanes) const {
  InnerLanes result;
  result.of_fold.assign(folds.size(), -1);
  result.of_member.assign(group.members.size(), -1);
  // The best of some axes for the accesses that `counts` says, each loop costing `overhead`.
  auto choose = [&](std::span<const Axis> axes, const auto& counts, double overhead,
                    int& choice) -> double {
    double best = 0, points = 1;
    for (const Axis& axis : axes) points *= std::max(guess(axis.extent), 1.0);
    for (size_t a = 0; a < axes.size(); ++a) {
      double sum = 0;
      for (const Access& access : accesses) {
        if (counts(access)) sum += access.times * stride_cost(usual_stride(access, axes[a].id));
      }
      sum = sum / lane_use(axes[a].extent, lanes) +
            points / std::max(guess(axes[a].extent), 1.0) * overhead;
      if (choice < 0 || sum <= best) {
        best = sum;
        choice = static_cast<int>(a);
      }
    }
    return best;
  };
  for (size_t m = 0; m < group.members.size(); ++m) {
    const Member& member = group.members[m];
    if (member.extras.empty()) continue;
    result.cost += choose(
        member.extras, [&](const Access& access) { return access.member == m; }, 1,
        result.of_member[m]);
  }
  for (size_t f = 0; f < folds.size(); ++f) {
    const ScalarNode* fold = folds[f];
    bool in_lanes = false;  // of a member's points
    for (const Access& access : accesses) {
      in_lanes |= access.fold == fold && !group.members[access.member].extras.empty();
    }
    if (in_lanes || fold->axes.empty()) continue;
    if (!is_commutative(*fold->combiner)) return std::nullopt;
    for (const ScalarNode* node : te::post_order(fold->args)) {
      if (node->kind == ScalarKind::kFold) return std::nullopt;
    }
    // The lanes are joined each time that the loop along the axis has run.
    result.cost += choose(
        fold->axes, [&](const Access& access) { return access.fold == fold; }, lanes * 0.5,
        result.of_fold[f]);
  }
  for (const Access& access : accesses) {
    if (access.fold == nullptr && group.members[access.member].extras.empty()) {
      result.cost += lanes * 0.5;
    }
  }
  return result;
}

double Space::work() const {
  double total = 0;
  for (size_t m = 0; m < group.members.size(); ++m) {
    double most = 1, operations = 0;
    for (const Access& access : accesses) {
      if (access.member != m) continue;
      most = std::max(most, access.times);
      total += access.times;
    }
    for (const ScalarNode* node : te::post_order(group.members[m].values)) {
      if (node->kind == ScalarKind::kUnary) operations += 8;
      if (node->kind == ScalarKind::kBinary) operations += 1;
    }
    total += operations * most;
  }
  return total;
}

}  // namespace relay::lower
