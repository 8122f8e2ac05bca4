// Works that compute point by point over the same points become one work with several results, if
// they read each other or the same tensors: these then go through memory once. So do small ones
// that have nothing in common, since a call of a kernel takes as long as they.
#include <algorithm>
#include <map>

#include <relay/graph/rewrite.h>
#include <relay/graph/units.h>
#include <relay/tensor_expr/walk.h>

namespace relay::graph {
namespace {

/// Tensors that a work may read and write, as many as stay in registers.
constexpr size_t kMostTensors = 16;
/// Nodes of the expressions of a work.
constexpr size_t kMostSteps = 400;
/// So few elements take no longer than the call of a kernel.
constexpr int64_t kFewPoints = 2048;

/// Extents without those of 1, which have no say in the order of elements.
std::vector<Dim> points_of(std::span<const Dim> dims) {
  std::vector<Dim> points;
  for (Dim dim : dims)
    if (!dim.is_int(1)) points.push_back(dim);
  return points;
}

std::vector<Dim> points_of(std::span<const te::Axis> axes) {
  std::vector<Dim> points;
  for (const te::Axis& axis : axes)
    if (!axis.extent.is_int(1)) points.push_back(axis.extent);
  return points;
}

/// True if a view has the elements from the first on, in their order.
bool is_reshape(const te::View& view) {
  Dim stride = 1;
  for (size_t d = view.extents.size(); d-- > 0;) {
    if (!view.extents[d].is_int(1) && !(view.strides[d] == stride)) return false;
    stride = stride * view.extents[d];
  }
  return view.offset.is_int(0);
}

/// The facts about a work that decide if it may be joined.
struct PointFacts {
  bool points = false;    // it computes each element from those at the same point
  std::vector<bool> own;  // inputs that it reads at the point alone
  size_t steps = 0;
};

class PointFactFinder {
 public:
  explicit PointFactFinder(const Work& work) : computation_(work.computation()) {
    facts_.own.assign(computation_.inputs.size(), true);
    facts_.points = !work.prepared && work.elements.empty() && !computation_.outputs.empty();
    for (const te::Output& output : computation_.outputs)
      facts_.points = facts_.points && !output.tensor.is_input();
    if (!facts_.points) return;
    points_ = points_of(computation_.outputs[0].dims);
    for (const te::Output& output : computation_.outputs)
      facts_.points = facts_.points && points_of(output.dims) == points_;
    for (size_t k = 0; k < computation_.inputs.size(); ++k)
      facts_.own[k] = points_of(computation_.inputs[k].dims) == points_;
    for (const te::Stage& stage : computation_.stages) facts_.points = facts_.points && fits(stage);
  }

  PointFacts found() && { return std::move(facts_); }

 private:
  bool fits(const te::Stage& stage) {
    if (const auto* view = std::get_if<te::View>(&stage.body))
      return is_reshape(*view) && points_of(view->extents) == points_ &&
             points_of(computation_.info(view->source).dims) == points_;
    const auto* map = std::get_if<te::Map>(&stage.body);
    if (map == nullptr || points_of(map->axes) != points_) return false;
    std::vector<uint32_t> axes;  // of the points
    for (const te::Axis& axis : map->axes)
      if (!axis.extent.is_int(1)) axes.push_back(axis.id);
    for (const te::ScalarNode* node : te::post_order(te::stage_roots(stage))) {
      ++facts_.steps;
      if (node->kind == te::ScalarKind::kFold || te::can_fail(*node)) return false;
      if (node->kind == te::ScalarKind::kLoad && !fits(*node, axes)) return false;
    }
    return true;
  }

  // Others are read along the points, or less often.
  bool fits(const te::ScalarNode& load, std::span<const uint32_t> axes) {
    if (load.bounds != te::Bounds::kProven) return false;
    const std::vector<Dim>& dims = computation_.info(load.tensor).dims;
    bool at_point = points_of(dims) == points_;
    size_t next = 0;
    for (size_t d = 0; d < load.args.size(); ++d) {
      const te::ScalarNode* at = load.args[d].get();
      const bool moved = at->kind == te::ScalarKind::kBinary && at->binary == te::BinaryOp::kAdd &&
                         at->args[1]->kind == te::ScalarKind::kConst;
      if (moved) at = at->args[0].get();
      if (at->kind == te::ScalarKind::kConst || dims[d].is_int(1)) continue;
      if (at->kind != te::ScalarKind::kIndex) return false;
      auto axis = std::find(axes.begin() + static_cast<std::ptrdiff_t>(next), axes.end(), at->axis);
      if (axis == axes.end()) return false;
      const auto place = static_cast<size_t>(axis - axes.begin());
      at_point = at_point && !moved && place == next;
      next = place + 1;
    }
    at_point = at_point && next == axes.size();
    if (!load.tensor.is_input()) return at_point;
    auto own = facts_.own.begin() + load.tensor.index;
    *own = *own && at_point;
    return true;
  }

  const te::Computation& computation_;
  std::vector<Dim> points_;
  PointFacts facts_;
};

/// Joins nodes of one graph.
class PointJoiner {
 public:
  PointJoiner(Graph& graph, NodeJoiner& joiner, std::map<WorkRef, PointFacts>& facts,
              size_t most_operators)
      : graph_(graph),
        joiner_(joiner),
        facts_(facts),
        most_operators_(most_operators),
        units_(graph) {}

  bool run() {
    const size_t count = graph_.nodes.size();
    whole_.assign(count, false);
    for (size_t i = 0; i < count; ++i)
      if (joins(i)) follow_product(i);
    for (size_t i = 0; i < count; ++i)
      if (joins(i)) join_unit(i);
    return units_.write(joiner_);
  }

 private:
  struct Place {  // what nodes of one unit have in common
    std::vector<Dim> points;
    Device device;
    bool operator==(const Place&) const = default;
  };

  const PointFacts& facts(size_t node) {
    const WorkRef& work = graph_.nodes[node].work;
    auto [entry, added] = facts_.try_emplace(work);
    if (added) entry->second = PointFactFinder(*work).found();
    return entry->second;
  }

  bool is_free(size_t node) const { return !whole_[units_.of(node)] && !units_.is_placed(node); }

  bool joins(size_t node) { return facts(node).points && is_free(node); }

  // Work that nobody but a product gives to reads its sums where they are: one kernel.
  void follow_product(size_t node) {
    const Node& at = graph_.nodes[node];
    if (at.outputs.size() != 1) return;
    const std::vector<bool>& own = facts(node).own;
    for (size_t k = 0; k < at.inputs.size(); ++k) {
      const size_t maker = units_.producer(at.inputs[k]);
      if (!own[k] || maker == Units::kNone || !is_product(maker) || !is_free(maker)) continue;
      const size_t a = units_.of(maker), b = units_.of(node);
      const size_t both[] = {a, b};
      if (!(place_of(maker) == place_of(node)) || units_.results(both).size() != 1 ||
          !is_small(a, b) || units_.leads_to(a, b))
        continue;
      units_.join(a, b);
      whole_[a] = true;
      return;
    }
  }

  // True for one sum of products, with what follows it.
  bool is_product(size_t node) const {
    const Work& work = *graph_.nodes[node].work;
    const te::Computation& computation = work.computation();
    if (work.prepared || !work.elements.empty() || computation.outputs.size() != 1) return false;
    size_t products = 0;
    for (const te::Stage& stage : computation.stages) {
      if (!std::holds_alternative<te::Map>(stage.body) &&
          !std::holds_alternative<te::View>(stage.body))
        return false;
      for (const te::ScalarNode* each : te::post_order(te::stage_roots(stage))) {
        if (te::can_fail(*each)) return false;
        if (each->kind != te::ScalarKind::kFold) continue;
        if (each->combiner->kind != te::Combiner::Kind::kSum ||
            each->args[0]->kind != te::ScalarKind::kBinary ||
            each->args[0]->binary != te::BinaryOp::kMul)
          return false;
        ++products;
      }
    }
    return products == 1;
  }

  Place place_of(size_t node) const {
    const Tensor& tensor = graph_.tensors[graph_.nodes[node].outputs[0]];
    return {points_of(tensor.info.dims), tensor.device};
  }

  // Joins the unit of a node with those of nodes before it.
  void join_unit(size_t node) {
    const Place place = place_of(node);
    const Node& at = graph_.nodes[node];
    const std::vector<bool>& own = facts(node).own;
    for (size_t k = 0; k < at.inputs.size(); ++k) {
      if (!own[k]) continue;
      const uint32_t input = at.inputs[k];
      if (const size_t maker = units_.producer(input);
          maker != Units::kNone && joins(maker) && place_of(maker) == place)
        try_join(maker, node);
      auto [reader, first] = reader_of_.try_emplace(input, node);
      if (first) continue;
      if (place_of(reader->second) == place) try_join(reader->second, node);
      reader->second = node;
    }
    const Dim count = product(place.points);
    if (!count.is_int() || count.as_int() > kFewPoints) return;
    for (auto& [others, last] : small_) {
      if (!(others == place)) continue;
      try_join(last, node);
      last = node;
      return;
    }
    small_.emplace_back(place, node);
  }

  void try_join(size_t before, size_t node) {
    const size_t a = units_.of(before), b = units_.of(node);
    if (a == b || !is_small(a, b) || units_.leads_to(a, b) || units_.leads_to(b, a)) return;
    if (reads_moved(a, b) || reads_moved(b, a)) return;
    units_.join(a, b);
  }

  bool is_small(size_t a, size_t b) {
    size_t steps = 0;
    size_t operators = 0;
    const size_t both[] = {a, b};
    for (size_t unit : both) {
      for (size_t node : units_.nodes(unit)) {
        steps += facts(node).steps;
        operators += std::max<size_t>(graph_.nodes[node].origins.size(), 1);
      }
    }
    return steps <= kMostSteps && operators <= most_operators_ &&
           units_.tensors(both).size() <= kMostTensors;
  }

  // True if a unit reads results of the other one elsewhere than at the point.
  bool reads_moved(size_t reader, size_t maker) {
    for (size_t node : units_.nodes(reader)) {
      const Node& at = graph_.nodes[node];
      for (size_t k = 0; k < at.inputs.size(); ++k) {
        const size_t made = units_.producer(at.inputs[k]);
        if (made != Units::kNone && units_.of(made) == maker && !facts(node).own[k]) return true;
      }
    }
    return false;
  }

  Graph& graph_;
  NodeJoiner& joiner_;
  std::map<WorkRef, PointFacts>& facts_;
  const size_t most_operators_;
  Units units_;
  std::map<uint32_t, size_t> reader_of_;  // of each tensor: the last node that reads it
  std::vector<std::pair<Place, size_t>> small_;
  std::vector<bool> whole_;  // units that take no other node
};

}  // namespace

bool join_points(Rewriting& program) {
  if (!program.options().runs_in_blocks) return false;
  NodeJoiner joiner;
  std::map<WorkRef, PointFacts> facts;
  bool changed = false;
  for (Graph& graph : program.graphs())
    changed = PointJoiner(graph, joiner, facts, program.options().most_operators).run() || changed;
  return changed;
}

}  // namespace relay::graph
