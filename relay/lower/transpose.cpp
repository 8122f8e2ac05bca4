// Transposes: tiles that are read along one axis and written along another.
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
  return stride && !(stride->is_int() && std::abs(stride->as_int()) < 8);
}

/// How an axis is cut. The last tile has the rest too, so that none is shorter than a vector.
struct Tiling {
  Axis tiles;
  int64_t size = 0;     // of a tile but the last
  int64_t longest = 0;  // at most
  bool even = false;    // all are alike

  Tiling(Draft& draft, const Axis& axis, int64_t wanted) : size(wanted), longest(2 * wanted - 1) {
    Dim count = max(floor_div(axis.extent, Dim(wanted)), Dim(1));
    if (axis.extent.is_int()) {
      int64_t extent = axis.extent.as_int();
      if (count.is_int(1)) size = extent;
      even = extent % size == 0;
      longest = size + extent % size;
    }
    tiles = draft.new_axis(count);
  }
};

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
  const bool is_copy =
      member.values.size() == 1 && turned.size() == 1 && member.values[0].get() == turned[0];
  // As narrow as a vector, and long in the direction of the stores.
  Tiling tiles_to(draft, *to, is_copy ? 256 : 128), tiles_from(draft, *from, 16);
  std::vector<Axis> outer;
  for (const Axis& axis : group.rows) {
    if (axis.id != to->id && axis.id != from->id) outer.push_back(axis);
  }
  outer.push_back(tiles_to.tiles);
  outer.push_back(tiles_from.tiles);
  OuterLoops loops(draft, outer,
                   space.work() * static_cast<double>(tiles_to.size * tiles_from.size));
  Block body;
  auto range = [&](const Axis& axis, const Tiling& tiling, ScalarRef& begin, ScalarRef& end) {
    uint32_t first = draft.new_var();
    Scalar tile = loops.name(tiling.tiles);
    body.push_back(let(first, (tile * tiling.size).ref()));
    begin = te::placeholder(first, kInt64).ref();
    Scalar past = Scalar(begin) + tiling.size;
    if (!tiling.even) {
      past = te::select(tile < te::from_dim(tiling.tiles.extent - Dim(1)), past,
                        te::from_dim(axis.extent));
    }
    end = past.ref();
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
  // In a tile as in the result.
  auto place = [&]() {
    Scalar row = te::index_of(*from) - Scalar(from_begin);
    Scalar column = te::index_of(*to) - Scalar(to_begin);
    return std::vector<ScalarRef>{(row * tiles_to.longest + column).ref()};
  };
  auto turn = [&](const ScalarNode* load, int32_t buffer, std::vector<ScalarRef> at) {
    For rows = along(LoopKind::kTurned, *to, to_begin, to_end);
    For fill = along(LoopKind::kVector, *from, from_begin, from_end);
    std::vector<ScalarRef> one{ScalarRef(load)};
    fill.body.push_back(
        store(buffer, std::move(at), draft.bind(one, space.math(), loops.names)[0]));
    rows.body.push_back({std::move(fill)});
    body.push_back({std::move(rows)});
  };
  auto output = [&](size_t k) {
    return draft.buffer({static_cast<int32_t>(member.stage), static_cast<int32_t>(k)},
                        Buffer::Role::kOutput, true);
  };
  std::vector<ScalarRef> point = draft.bind(member.point, space.math(), loops.names);
  std::vector<Dim> index;
  for (const ScalarRef& at : point) index.push_back(space.math().poly(at));
  auto position = [&](size_t k) {
    return space.math().scalar(space.math().recombine(
        IndexMath::linearise(index, c.stages[member.stage].outputs[k].dims)));
  };
  if (is_copy) {
    turn(turned[0], output(0), {position(0)});
    loops.close(std::move(body));
    return draft.finish(job.name, "transpose", flops);
  }

  std::unordered_map<const ScalarNode*, int32_t> tiles;
  for (const ScalarNode* load : turned) {
    int32_t tile = draft.scratch("tile", load->dtype, {Dim(tiles_to.longest * tiles_from.longest)});
    turn(load, tile, place());
    tiles.emplace(load, tile);
  }
  For columns = along(LoopKind::kSerial, *from, from_begin, from_end);
  For drain = along(LoopKind::kVector, *to, to_begin, to_end);
  draft.intercept = [&](const ScalarNode& load, const std::vector<ScalarRef>&) -> ScalarRef {
    auto tile = tiles.find(&load);
    return tile == tiles.end() ? ScalarRef() : draft.load(tile->second, place());
  };
  std::vector<ScalarRef> values = draft.bind(member.values, space.math(), loops.names);
  draft.intercept = nullptr;
  for (size_t k = 0; k < values.size(); ++k) {
    drain.body.push_back(store(output(k), {position(k)}, values[k]));
  }
  columns.body.push_back({std::move(drain)});
  body.push_back({std::move(columns)});
  loops.close(std::move(body));
  return draft.finish(job.name, "transpose", flops);
}

}  // namespace relay::lower
