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

/// The axis along which the result lies in memory, another along which loads do, and those loads.
struct Turned {
  Axis to, from;
  std::vector<const ScalarNode*> loads;
};

std::optional<Turned> find_turned(const Space& space) {
  const RowGroup& group = space.group;
  if (group.members.size() != 1 || !group.members[0].extras.empty() || group.rows.size() < 2) {
    return std::nullopt;
  }
  const Axis* to = nullptr;
  const Axis* from = nullptr;
  for (const Axis& axis : group.rows) {
    for (const Access& access : space.accesses) {
      if (access.load == nullptr && steps_by_one(space, access, axis)) to = &axis;
    }
  }
  if (to == nullptr || !is_long(*to)) return std::nullopt;
  std::vector<const ScalarNode*> loads;
  for (const Axis& axis : group.rows) {
    if (&axis == to || !is_long(axis) || from != nullptr) continue;
    for (const Access& access : space.accesses) {
      if (access.load == nullptr || !access.flat || !steps_by_one(space, access, axis) ||
          !jumps(space, access, *to)) {
        continue;
      }
      from = &axis;
      loads.push_back(access.load);
    }
  }
  if (from == nullptr) return std::nullopt;
  // Loads under a select are not always in range.
  for (const ScalarNode* node : te::post_order(group.members[0].values)) {
    if (node->kind == ScalarKind::kSelect || node->kind == ScalarKind::kFail) return std::nullopt;
  }
  return Turned{*to, *from, std::move(loads)};
}

/// The cuts of an axis. The last tile has the rest too, so that none is shorter than a vector.
struct Tiling {
  Axis axis;
  Axis tiles;
  int64_t size = 0;      // of a tile but the last
  int64_t longest = 0;   // at most
  bool even = false;     // all are alike
  ScalarRef begin, end;  // of the tile at hand

  Tiling(Draft& draft, const Axis& cut, int64_t wanted)
      : axis(cut), size(wanted), longest(2 * wanted - 1) {
    Dim count = max(floor_div(axis.extent, Dim(wanted)), Dim(1));
    if (axis.extent.is_int()) {
      int64_t extent = axis.extent.as_int();
      if (count.is_int(1)) size = extent;
      even = extent % size == 0;
      longest = size + extent % size;
    }
    tiles = draft.new_axis(count);
  }

  /// Finds the tile at hand, in the body of the loops over tiles.
  void enter(Draft& draft, const OuterLoops& loops, Block& body) {
    uint32_t first = draft.new_var();
    Scalar tile = loops.name(tiles);
    body.push_back(let(first, (tile * size).ref()));
    begin = te::placeholder(first, kInt64).ref();
    Scalar past = Scalar(begin) + size;
    if (!even) {
      past =
          te::select(tile < te::from_dim(tiles.extent - Dim(1)), past, te::from_dim(axis.extent));
    }
    end = past.ref();
  }

  /// A loop over the axis within the tile at hand.
  For within(LoopKind kind) const {
    For one = loop(kind, axis);
    one.begin = begin;
    one.end = end;
    return one;
  }
};

class Transpose {
 public:
  Transpose(const Job& job, Space& space, Turned turned)
      : draft_(job.computation),
        space_(space),
        member_(space.group.members[0]),
        turned_(std::move(turned)),
        is_copy_(member_.values.size() == 1 && turned_.loads.size() == 1 &&
                 member_.values[0].get() == turned_.loads[0]),
        // As narrow as a vector, and long in the direction of the stores.
        to_(draft_, turned_.to, is_copy_ ? 256 : 128),
        from_(draft_, turned_.from, 16),
        loops_(draft_, outer_axes(), space.work() * static_cast<double>(to_.size * from_.size)) {}

  DraftKernel run(const std::string& name, Dim flops) {
    Block body;
    to_.enter(draft_, loops_, body);
    from_.enter(draft_, loops_, body);
    for (const ScalarRef& at : draft_.bind(member_.point, space_.math(), loops_.names)) {
      index_.push_back(space_.math().poly(at));
    }
    if (is_copy_) {
      turn(turned_.loads[0], output(0), {position(0)}, body);
    } else {
      fill_tiles(body);
      drain_tiles(body);
    }
    loops_.close(std::move(body));
    return draft_.finish(name, "transpose", flops);
  }

 private:
  std::vector<Axis> outer_axes() const {
    std::vector<Axis> outer;
    for (const Axis& axis : space_.group.rows) {
      if (axis.id != to_.axis.id && axis.id != from_.axis.id) outer.push_back(axis);
    }
    outer.push_back(to_.tiles);
    outer.push_back(from_.tiles);
    return outer;
  }

  int32_t output(size_t k) {
    return draft_.buffer({static_cast<int32_t>(member_.stage), static_cast<int32_t>(k)},
                         Buffer::Role::kOutput, true);
  }
  ScalarRef position(size_t k) {
    const te::Stage& stage = draft_.computation().stages[member_.stage];
    return space_.math().scalar(
        space_.math().recombine(IndexMath::linearise(index_, stage.outputs[k].dims)));
  }
  /// In a tile as in the result.
  std::vector<ScalarRef> place() const {
    Scalar row = te::index_of(from_.axis) - Scalar(from_.begin);
    Scalar column = te::index_of(to_.axis) - Scalar(to_.begin);
    return {(row * to_.longest + column).ref()};
  }

  /// Copies the elements of a load in the current tile to the places where the stores want them.
  void turn(const ScalarNode* load, int32_t buffer, std::vector<ScalarRef> at, Block& body) {
    For rows = to_.within(LoopKind::kTurned);
    For fill = from_.within(LoopKind::kVector);
    std::vector<ScalarRef> one{ScalarRef(load)};
    fill.body.push_back(
        store(buffer, std::move(at), draft_.bind(one, space_.math(), loops_.names)[0]));
    rows.body.push_back({std::move(fill)});
    body.push_back({std::move(rows)});
  }

  void fill_tiles(Block& body) {
    for (const ScalarNode* load : turned_.loads) {
      int32_t tile = draft_.scratch("tile", load->dtype, {Dim(to_.longest * from_.longest)});
      turn(load, tile, place(), body);
      tiles_.emplace(load, tile);
    }
  }

  void drain_tiles(Block& body) {
    draft_.intercept = [&](const ScalarNode& load, const std::vector<ScalarRef>&) -> ScalarRef {
      auto tile = tiles_.find(&load);
      return tile == tiles_.end() ? ScalarRef() : draft_.load(tile->second, place());
    };
    std::vector<ScalarRef> values = draft_.bind(member_.values, space_.math(), loops_.names);
    draft_.intercept = nullptr;
    For columns = from_.within(LoopKind::kSerial);
    For drain = to_.within(LoopKind::kVector);
    for (size_t k = 0; k < values.size(); ++k) {
      drain.body.push_back(store(output(k), {position(k)}, values[k]));
    }
    columns.body.push_back({std::move(drain)});
    body.push_back({std::move(columns)});
  }

  Draft draft_;
  Space& space_;
  const Member& member_;
  const Turned turned_;
  const bool is_copy_;
  Tiling to_, from_;
  OuterLoops loops_;
  std::vector<Dim> index_;                                // of the result
  std::unordered_map<const ScalarNode*, int32_t> tiles_;  // of each load: scratch
};

}  // namespace

std::optional<DraftKernel> lower_transpose(const Job& job, Space& space, Dim flops) {
  std::optional<Turned> turned = find_turned(space);
  if (!turned) return std::nullopt;
  return Transpose(job, space, std::move(*turned)).run(job.name, flops);
}

}  // namespace relay::lower
