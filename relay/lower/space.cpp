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

Space::Space(const te::Computation& computation, const te::Map& map)
    : axes(map.axes), roots(map.values) {
  // Axes of one point.
  std::unordered_map<uint32_t, ScalarRef> single;
  auto drop = [&](const Axis& axis) {
    if (!axis.extent.is_int(1)) return false;
    single.emplace(axis.id, te::index_constant(0).ref());
    return true;
  };
  std::erase_if(axes, drop);
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
  for (const ScalarNode* node : te::post_order(roots)) {
    if (node->kind != ScalarKind::kFold || node->axes.size() == 1) continue;
    for (const Axis& axis : node->axes) drop(axis);
  }
  roots = rewrite(roots);
  collect(computation);
  while (join_axes(computation)) collect(computation);
}

void Space::collect(const te::Computation& computation) {
  math_ = IndexMath(axes);
  math_.add_folds(roots);
  accesses.clear();
  folds.clear();
  bare_.clear();
  std::vector<const ScalarNode*> order = te::post_order(roots);
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
  for (const ScalarRef& root : roots) {
    reach(root.get(), {1, nullptr});
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
      access.dtype = node->dtype;
      access.times = place.times;
      access.fold = place.fold;
      for (const ScalarRef& arg : node->args) access.index.push_back(math_.poly(arg));
      if (position) {
        access.flat = math_.recombine(
            IndexMath::linearise(access.index, computation.info(node->tensor).dims));
      }
      accesses.push_back(std::move(access));
    }
  }
  std::vector<Dim> index, dims;
  for (const Axis& axis : axes) {
    index.push_back(IndexMath::axis(axis.id));
    dims.push_back(axis.extent);
  }
  for (const ScalarRef& root : roots) {
    accesses.push_back(
        {nullptr, root->dtype, IndexMath::linearise(index, dims), index, 1, nullptr});
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

bool Space::join_axes(const te::Computation& computation) {
  (void)computation;
  for (size_t i = 0; i + 1 < axes.size(); ++i) {
    if (!joinable(axes[i], axes[i + 1])) continue;
    std::unordered_map<uint32_t, ScalarRef> zero{{axes[i].id, te::index_constant(0).ref()}};
    axes[i + 1].extent = axes[i].extent * axes[i + 1].extent;
    axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(i));
    for (ScalarRef& root : roots) root = substitute(root, zero);
    return true;
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
            for (size_t k = 0; k < copy->axes.size(); ++k) {
              if (copy->axes[k].id == b.id) copy->axes[k].extent = a.extent * b.extent;
            }
            std::erase_if(copy->axes, [&](const Axis& axis) { return axis.id == a.id; });
            return copy;
          });
      roots = rewrite(roots);
      return true;
    }
  }
  return false;
}

std::optional<Dim> Space::stride(const Access& access, uint32_t axis) const {
  if (access.flat) return math_.coefficient(*access.flat, axis);
  std::optional<Dim> total = Dim(0);
  Dim step = 1;
  for (size_t d = access.index.size(); d-- > 0;) {
    std::optional<Dim> c = math_.coefficient(access.index[d], axis);
    if (!c) return std::nullopt;
    // The extents do not matter here: zero, one or something else.
    if (!c->is_int(0)) total = d + 1 == access.index.size() ? *c : Dim(1 << 20);
  }
  (void)step;
  return total;
}

namespace {
double stride_cost(const std::optional<Dim>& stride) {
  if (!stride || !stride->is_int()) return 8;
  int64_t step = std::abs(stride->as_int());
  return step == 0 ? 0.1 : step == 1 ? 1 : step <= 4 ? 3 : 8;
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
    cost += access.times * stride_cost(stride(access, axis.id));
  }
  return cost / lane_use(axis.extent, lanes);
}

std::optional<double> Space::fold_lane_cost(int lanes, std::vector<int>& choice) const {
  choice.assign(folds.size(), -1);
  double cost = 0;
  for (size_t f = 0; f < folds.size(); ++f) {
    const ScalarNode* fold = folds[f];
    if (fold->combiner->kind == te::Combiner::Kind::kCustom) return std::nullopt;
    std::vector<ScalarRef> body = fold->args;
    for (const ScalarNode* node : te::post_order(body)) {
      if (node->kind == ScalarKind::kFold) return std::nullopt;
    }
    double best = 0, times = 1;
    for (const Axis& axis : fold->axes) times *= guess(axis.extent);
    for (size_t a = 0; a < fold->axes.size(); ++a) {
      double sum = 0;
      for (const Access& access : accesses) {
        if (access.fold == fold) {
          sum += access.times * stride_cost(stride(access, fold->axes[a].id));
        }
      }
      double use = lane_use(fold->axes[a].extent, lanes);
      // The lanes are joined each time that the loop along this axis has run.
      double joins = times / std::max(guess(fold->axes[a].extent), 1.0);
      sum = sum / use + joins * lanes * 0.5;
      if (choice[f] < 0 || sum <= best) {
        best = sum;
        choice[f] = static_cast<int>(a);
      }
    }
    cost += best;
  }
  for (const Access& access : accesses) {
    if (access.fold == nullptr) cost += lanes * 0.5;
  }
  return cost;
}

double Space::work() const {
  double total = 0;
  for (const Access& access : accesses) total += access.times;
  std::vector<Dim> ignored;
  Dim flops = 0;
  std::vector<const ScalarNode*> order = te::post_order(roots);
  double operations = 0;
  for (const ScalarNode* node : order) {
    if (node->kind == ScalarKind::kUnary) operations += 8;
    if (node->kind == ScalarKind::kBinary) operations += 1;
  }
  (void)flops;
  double most = 1;
  for (const Access& access : accesses) most = std::max(most, access.times);
  return total + operations * most;
}

}  // namespace relay::lower
