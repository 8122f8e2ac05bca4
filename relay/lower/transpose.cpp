// Transposes: tiles that are read along one axis and written along another.
#include <algorithm>

#include <relay/lower/templates.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {

using te::Axis;
using te::Scalar;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;

namespace {

bool is_long(const Axis& axis) { return !axis.extent.is_int() || axis.extent.as_int() >= 8; }

bool steps_by_one(const Space& space, const Access& access, const Axis& axis) {
  std::optional<Dim> stride = space.stride(access, axis.id);
  return stride && stride->is_int(1);
}

bool jumps(const Space& space, const Access& access, const Axis& axis) {
  std::optional<Dim> stride = space.stride(access, axis.id);
  return stride && !(stride->is_int() && std::abs(stride->as_int()) <= 16);
}

}  // namespace

std::optional<DraftKernel> lower_transpose(const Job& job, Space& space, Dim flops) {
  const te::Computation& c = job.computation;
  const RowGroup& group = space.group;
  if (group.members.size() != 1 || !group.members[0].extras.empty() || group.rows.size() < 2) {
    return std::nullopt;
  }
  const Member& member = group.members[0];
  // The store's axis, and one along which other loads lie side by side.
  const Axis* to = nullptr;
  const Axis* from = nullptr;
  for (const Axis& axis : group.rows) {
    for (const Access& access : space.accesses) {
      if (access.load == nullptr && steps_by_one(space, access, axis)) to = &axis;
    }
  }
  if (to == nullptr || !is_long(*to)) return std::nullopt;
  std::vector<const ScalarNode*> turned;
  for (const Axis& axis : group.rows) {
    if (&axis == to || !is_long(axis) || from != nullptr) continue;
    for (const Access& access : space.accesses) {
      if (access.load == nullptr || !access.flat || !steps_by_one(space, access, axis) ||
          !jumps(space, access, *to)) {
        continue;
      }
      from = &axis;
      turned.push_back(access.load);
    }
  }
  if (from == nullptr) return std::nullopt;
  // Loads under a select are not always in range.
  for (const ScalarNode* node : te::post_order(member.values)) {
    if (node->kind == ScalarKind::kSelect || node->kind == ScalarKind::kFail) return std::nullopt;
  }

  Draft draft(c);
  constexpr int64_t kTile = 64;
  Axis tiles_to = draft.new_axis(ceil_div(to->extent, Dim(kTile)));
  Axis tiles_from = draft.new_axis(ceil_div(from->extent, Dim(kTile)));
  std::vector<Axis> outer;
  for (const Axis& axis : group.rows) {
    if (axis.id != to->id && axis.id != from->id) outer.push_back(axis);
  }
  outer.push_back(tiles_to);
  outer.push_back(tiles_from);
  OuterLoops loops(draft, outer, space.work() * kTile * kTile);
  Block body;
  auto range = [&](const Axis& axis, const Axis& tiles, ScalarRef& begin, ScalarRef& end) {
    uint32_t first = draft.new_var();
    body.push_back(let(first, (Scalar(loops.name(tiles)) * kTile).ref()));
    begin = te::placeholder(first, kInt64).ref();
    end = te::min(Scalar(begin) + kTile, te::from_dim(axis.extent)).ref();
  };
  ScalarRef to_begin, to_end, from_begin, from_end;
  range(*to, tiles_to, to_begin, to_end);
  range(*from, tiles_from, from_begin, from_end);
  auto along = [&](LoopKind kind, const Axis& axis, const ScalarRef& begin, const ScalarRef& end) {
    For one = loop(kind, axis);
    one.begin = begin;
    one.end = end;
    return one;
  };
  auto place = [&]() {
    // One element beyond the tile, so that a column meets all cache sets.
    Scalar row = te::index_of(*to) - Scalar(to_begin);
    Scalar column = te::index_of(*from) - Scalar(from_begin);
    return std::vector<ScalarRef>{(row * (kTile + 1) + column).ref()};
  };

  std::unordered_map<const ScalarNode*, int32_t> tiles;
  For rows = along(LoopKind::kSerial, *to, to_begin, to_end);
  For fill = along(LoopKind::kVector, *from, from_begin, from_end);
  for (const ScalarNode* load : turned) {
    int32_t tile = draft.scratch("tile", load->dtype, {Dim(kTile * (kTile + 1))});
    std::vector<ScalarRef> one{ScalarRef(load)};
    fill.body.push_back(store(tile, place(), draft.bind(one, space.math(), loops.names)[0]));
    tiles.emplace(load, tile);
  }
  rows.body.push_back({std::move(fill)});
  body.push_back({std::move(rows)});

  For columns = along(LoopKind::kSerial, *from, from_begin, from_end);
  For drain = along(LoopKind::kVector, *to, to_begin, to_end);
  draft.intercept = [&](const ScalarNode& load, const std::vector<ScalarRef>&) -> ScalarRef {
    auto tile = tiles.find(&load);
    return tile == tiles.end() ? ScalarRef() : draft.load(tile->second, place());
  };
  std::vector<ScalarRef> values = draft.bind(member.values, space.math(), loops.names);
  draft.intercept = nullptr;
  std::vector<ScalarRef> point = draft.bind(member.point, space.math(), loops.names);
  std::vector<Dim> index;
  for (const ScalarRef& at : point) index.push_back(space.math().poly(at));
  for (size_t k = 0; k < values.size(); ++k) {
    int32_t out = draft.buffer({static_cast<int32_t>(member.stage), static_cast<int32_t>(k)},
                               Buffer::Role::kOutput, true);
    ScalarRef at = space.math().scalar(space.math().recombine(
        IndexMath::linearise(index, c.stages[member.stage].outputs[k].dims)));
    drain.body.push_back(store(out, {at}, values[k]));
  }
  columns.body.push_back({std::move(drain)});
  body.push_back({std::move(columns)});
  loops.close(std::move(body));
  return draft.finish(job.name, "transpose", flops);
}

}  // namespace relay::lower
