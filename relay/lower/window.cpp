// Windows: folds over padded neighbourhoods (pooling, depthwise convolution), borders apart.
#include <algorithm>

#include <relay/lower/templates.h>
#include <relay/lower/window_fill.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {

using te::Axis;
using te::Scalar;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;

namespace {

struct Window {
  std::unordered_map<uint32_t, std::pair<Dim, Dim>> clips;  // fold axis: begin, end as polynomials
  Dim low = 0, high;                                        // the lane axis where all is inside
  std::vector<ScalarRef> inside;                            // the values there
};

/// The smallest q with q·d >= a.
Dim ceil_quotient(IndexMath& math, Dim a, int64_t d) {
  return d == 1 ? a : math.div(a + Dim(d - 1), Dim(d));
}

std::optional<Window> find_window(Space& space, const te::Computation& c, const Axis& lane) {
  IndexMath& math = space.math();
  Window window;
  window.high = lane.extent;
  bool wide_steps = false;  // side by side, masks cost less than borders
  std::vector<const ScalarNode*> proven;
  for (const Access& access : space.accesses) {
    if (access.load == nullptr || access.flat) continue;
    if (access.load->bounds != te::Bounds::kFill || access.fold == nullptr) return std::nullopt;
    const std::vector<Dim>& extents = c.info(access.load->tensor).dims;
    for (size_t d = 0; d < access.index.size(); ++d) {
      Dim index = access.index[d];
      if (math.in_range(index, extents[d])) continue;
      // stride · lane + rest, or rest + step · tap.
      std::optional<Dim> stride = math.coefficient(index, lane.id);
      if (!stride || !math.is_polynomial(index)) return std::nullopt;
      if (!stride->is_int(0)) {
        if (!stride->is_int() || stride->as_int() < 0) return std::nullopt;
        // The other axes from their least to their greatest values.
        Dim rest = math.without(index, lane.id);
        std::optional<Dim> least = math.least(rest), greatest = math.greatest(rest);
        if (!least || !greatest) return std::nullopt;
        int64_t s = stride->as_int();
        wide_steps |= s > 1;
        window.low = max(window.low, ceil_quotient(math, Dim(0) - *least, s));
        window.high = min(window.high, ceil_quotient(math, extents[d] - *greatest, s));
        continue;
      }
      const Axis* tap = nullptr;
      Dim step = 0;
      for (const Axis& axis : access.fold->axes) {
        std::optional<Dim> coefficient = math.coefficient(index, axis.id);
        if (!coefficient || coefficient->is_int(0)) continue;
        if (tap != nullptr || !coefficient->is_int() || coefficient->as_int() < 0) {
          return std::nullopt;
        }
        tap = &axis;
        step = *coefficient;
      }
      if (tap == nullptr || window.clips.contains(tap->id) ||
          !fill_is_identity(*access.fold, access.load)) {
        return std::nullopt;
      }
      // The rest is the same for all lanes: taps outside are left out.
      Dim rest = math.without(index, tap->id);
      window.clips.emplace(tap->id,
                           std::pair(ceil_quotient(math, Dim(0) - rest, step.as_int()),
                                     ceil_quotient(math, extents[d] - rest, step.as_int())));
    }
    proven.push_back(access.load);
  }
  if (proven.empty() || !wide_steps) return std::nullopt;
  ScalarRewriter rewrite(
      [&](const ScalarRef& node, const std::vector<ScalarRef>& args) -> ScalarRef {
        if (std::find(proven.begin(), proven.end(), node.get()) == proven.end()) return {};
        Ref<ScalarNode> copy = copy_node(*node);
        copy->args = args;
        copy->bounds = te::Bounds::kProven;
        copy->fill = {};
        return copy;
      });
  window.inside = rewrite(space.group.members[0].values);
  return window;
}

/// The row axis along which neighbouring results share elements, stepping by one; null if none
/// does.
const Axis* overlapping_rows(const Space& space, const Axis& lane) {
  if (space.folds.size() != 1) return nullptr;
  const ScalarNode& fold = *space.folds[0];
  int64_t taps = 1;
  for (const Axis& axis : fold.axes) {
    taps *= axis.extent.is_int() ? axis.extent.as_int() : 0;
  }
  if (taps < 4 || taps > 32) return nullptr;
  for (const Access& access : space.accesses) {
    if (access.load == nullptr || access.fold == nullptr) continue;
    for (Dim index : access.index) {
      for (const Axis& row : space.group.rows) {
        if (row.id == lane.id || !row.extent.is_int() || row.extent.as_int() % 2 != 0) continue;
        std::optional<Dim> by_row = space.coefficient(index, row.id);
        if (!by_row || !by_row->is_int(1)) continue;
        for (const Axis& tap : fold.axes) {
          std::optional<Dim> by_tap = space.coefficient(index, tap.id);
          if (by_tap && by_tap->is_int(1)) return &row;
        }
      }
    }
  }
  return nullptr;
}

/// Several rows of results at a time, so that what they share is read once.
std::optional<DraftKernel> lower_overlapping(const Job& job, Space& space, const Axis& lane,
                                             Dim flops) {
  const Axis* row = overlapping_rows(space, lane);
  if (row == nullptr) return std::nullopt;
  const te::Computation& c = job.computation;
  const RowGroup& group = space.group;
  const Member& member = group.members[0];
  int64_t together = row->extent.as_int() % 4 == 0 ? 4 : 2;
  Draft draft(c);
  Axis bands = draft.new_axis(Dim(row->extent.as_int() / together));
  std::vector<Axis> outer;
  for (const Axis& axis : group.rows) {
    if (axis.id != lane.id) outer.push_back(axis.id == row->id ? bands : axis);
  }
  OuterLoops loops(draft, outer, space.work() * guess(lane.extent) * static_cast<double>(together));
  For vector = loop(LoopKind::kVector, lane);
  Flattener flatten(draft, true);
  std::vector<Stmt> stores;
  for (int64_t r = 0; r < together; ++r) {
    std::unordered_map<uint32_t, ScalarRef> names = loops.names;
    names.emplace(row->id, (Scalar(loops.name(bands)) * together + r).ref());
    std::vector<ScalarRef> values = draft.bind(member.values, space.math(), names);
    for (ScalarRef& value : values) value = flatten.value(value, vector.body);
    for (Stmt& stmt : store_results(draft, space.math(), member, values, names))
      stores.push_back(std::move(stmt));
  }
  for (Stmt& stmt : stores) vector.body.push_back(std::move(stmt));
  Block body;
  body.push_back({std::move(vector)});
  loops.close(std::move(body));
  return draft.finish(job.name, "window", flops);
}

}  // namespace

std::optional<DraftKernel> lower_window(const Job& job, Space& space, size_t along, Dim flops) {
  const te::Computation& c = job.computation;
  const RowGroup& group = space.group;
  if (group.members.size() != 1 || !group.members[0].extras.empty()) return std::nullopt;
  const Member& member = group.members[0];
  const Axis lane = group.rows[along];
  if (auto padded = lower_padded(job, space, lane, flops)) return padded;
  std::optional<Window> window = find_window(space, c, lane);
  if (!window) return lower_overlapping(job, space, lane, flops);

  Draft draft(c);
  std::vector<Axis> outer;
  for (size_t a = 0; a < group.rows.size(); ++a) {
    if (a != along) outer.push_back(group.rows[a]);
  }
  OuterLoops loops(draft, outer, space.work() * guess(lane.extent));
  std::unordered_map<uint32_t, ScalarRef> names = loops.names;
  auto bound = [&](Dim poly) {
    std::vector<ScalarRef> one{space.math().scalar(poly)};
    return Scalar(draft.bind(one, space.math(), names)[0]);
  };
  Block body;
  auto in_register = [&](const Scalar& value) {
    if (value.node()->kind == ScalarKind::kConst) return value;
    uint32_t var = draft.new_var();
    body.push_back(let(var, value.ref()));
    return te::placeholder(var, kInt64);
  };
  std::unordered_map<uint32_t, std::pair<ScalarRef, ScalarRef>> clips;
  for (const Access& access : space.accesses) {
    if (access.fold == nullptr) continue;
    for (const Axis& axis : access.fold->axes) {
      auto clip = window->clips.find(axis.id);
      if (clip == window->clips.end() || clips.contains(axis.id)) continue;
      Scalar begin = te::max(bound(clip->second.first), te::index_constant(0));
      Scalar end = te::min(bound(clip->second.second), te::from_dim(axis.extent));
      begin = in_register(begin);
      clips.emplace(axis.id, std::pair(begin.ref(), in_register(te::max(end, begin)).ref()));
    }
  }
  Scalar extent = te::from_dim(lane.extent);
  Scalar low = te::min(te::from_dim(window->low), extent);
  if (window->low.is_int() && lane.extent.is_int()) {
    low = te::index_constant(std::min(window->low.as_int(), lane.extent.as_int()));
  }
  Scalar high = te::max(te::from_dim(window->high), low);

  auto part = [&](LoopKind kind, const Scalar& begin, const Scalar& end,
                  std::span<const ScalarRef> roots, bool clipped) {
    if (begin.node()->kind == ScalarKind::kConst && end.node()->kind == ScalarKind::kConst &&
        begin.node()->value.i >= end.node()->value.i) {
      return;
    }
    For one = loop(kind, lane);
    one.begin = begin.ref();
    one.end = end.ref();
    Flattener flatten(draft, kind == LoopKind::kVector);
    if (clipped) flatten.clips = clips;
    std::vector<ScalarRef> values = draft.bind(roots, space.math(), names);
    for (ScalarRef& value : values) value = flatten.value(value, one.body);
    for (Stmt& stmt : store_results(draft, space.math(), member, values, names))
      one.body.push_back(std::move(stmt));
    body.push_back({std::move(one)});
  };
  part(LoopKind::kSerial, te::index_constant(0), low, member.values, false);
  part(LoopKind::kVector, low, high, window->inside, true);
  part(LoopKind::kSerial, high, extent, member.values, false);
  loops.close(std::move(body));
  return draft.finish(job.name, "window", flops);
}

}  // namespace relay::lower
