// Groups of Maps: row by row, or point by point.
#include <algorithm>

#include <relay/lower/templates.h>
#include <relay/support/error.h>

namespace relay::lower {

using te::Axis;
using te::Scalar;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;
using te::TensorId;

namespace {

/// A store of result `k` of a stage, at an index in the results.
Stmt store_result(Draft& draft, IndexMath& math, size_t stage, size_t k, std::span<const Dim> index,
                  const ScalarRef& value) {
  int32_t out = draft.buffer({static_cast<int32_t>(stage), static_cast<int32_t>(k)},
                             Buffer::Role::kOutput, true);
  const std::vector<Dim>& dims = draft.computation().stages[stage].outputs[k].dims;
  return store(out, {math.scalar(math.recombine(IndexMath::linearise(index, dims)))}, value);
}

}  // namespace

std::vector<Stmt> store_results(Draft& draft, IndexMath& math, const Member& member,
                                std::span<const ScalarRef> values,
                                const std::unordered_map<uint32_t, ScalarRef>& names) {
  std::vector<Dim> index;
  for (const ScalarRef& at : draft.bind(member.point, math, names)) index.push_back(math.poly(at));
  std::vector<Stmt> stores;
  for (size_t k = 0; k < values.size(); ++k) {
    stores.push_back(store_result(draft, math, member.stage, k, index, values[k]));
  }
  return stores;
}

OuterLoops::OuterLoops(Draft& draft, std::vector<Axis> axes, double work_inside)
    : draft_(draft), axes_(std::move(axes)) {
  double points = 1;
  bool symbolic = false;
  for (const Axis& axis : axes_) {
    points *= guess(axis.extent);
    symbolic |= !axis.extent.is_int();
  }
  if (axes_.empty() || (!symbolic && points * work_inside < kWorthSharing)) return;
  // As many axes as it takes for pieces of any number of workers.
  double pieces = 1;
  Dim total = 1;
  do {
    pieces *= axes_[joined_].extent.is_int() ? guess(axes_[joined_].extent) : 1;
    total = total * axes_[joined_].extent;
    ++joined_;
  } while (joined_ < axes_.size() && pieces < 512);
  if (joined_ == 1) {
    shared_ = axes_[0];
    return;
  }
  shared_ = draft_.new_axis(total);
  Scalar rest = te::index_of(shared_);
  for (size_t i = 0; i < joined_; ++i) {
    // From the inside out: axis = rest mod extent, rest = rest div extent.
    const Axis& axis = axes_[joined_ - 1 - i];
    if (i + 1 == joined_) {
      names.emplace(axis.id, rest.ref());
      break;
    }
    uint32_t var = draft_.new_var();
    lets_.push_back(let(var, te::floor_mod(rest, te::from_dim(axis.extent)).ref()));
    names.emplace(axis.id, te::placeholder(var, kInt64).ref());
    {
      uint32_t quotient = draft_.new_var();
      lets_.push_back(let(quotient, te::floor_div(rest, te::from_dim(axis.extent)).ref()));
      rest = te::placeholder(quotient, kInt64);
    }
  }
}

void OuterLoops::close(Block body) {
  for (size_t i = axes_.size(); i-- > joined_;) enclose(body, loop(LoopKind::kSerial, axes_[i]));
  if (joined_ > 0) {
    For one = loop(LoopKind::kParallel, shared_);
    one.body = std::move(lets_);
    for (Stmt& stmt : body) one.body.push_back(std::move(stmt));
    body.clear();
    body.push_back({std::move(one)});
  }
  for (Stmt& stmt : body) draft_.body().push_back(std::move(stmt));
}

ScalarRef OuterLoops::name(const Axis& axis) const {
  auto found = names.find(axis.id);
  return found == names.end() ? te::index_of(axis).ref() : found->second;
}

int lanes_of(const Space& space, const LowerOptions& options) {
  size_t widest = 1;
  for (const Access& access : space.accesses) widest = std::max(widest, access.dtype.size());
  return static_cast<int>(
      std::max<int64_t>(options.processor.lanes(static_cast<int64_t>(widest)), 1));
}

void name_shared(Draft& draft, std::vector<ScalarRef>& roots, Block& block) {
  if (roots.size() < 2) return;
  std::unordered_map<const ScalarNode*, int> users;
  for (const ScalarRef& root : roots) {
    std::vector<ScalarRef> one{root};
    // Only what is evaluated whatever the selects decide.
    std::vector<const ScalarNode*> stack{root.get()}, seen;
    while (!stack.empty()) {
      const ScalarNode* node = stack.back();
      stack.pop_back();
      if (std::find(seen.begin(), seen.end(), node) != seen.end()) continue;
      seen.push_back(node);
      ++users[node];
      if (node->kind == ScalarKind::kLoad) continue;
      size_t strict = node->kind == ScalarKind::kSelect || node->kind == ScalarKind::kFail
                          ? 1
                          : node->args.size();
      for (size_t i = 0; i < strict; ++i) stack.push_back(node->args[i].get());
    }
  }
  ScalarRewriter rewrite(
      [&](const ScalarRef& node, const std::vector<ScalarRef>& args) -> ScalarRef {
        bool worth = node->kind == ScalarKind::kUnary || node->kind == ScalarKind::kBinary ||
                     node->kind == ScalarKind::kLoad || node->kind == ScalarKind::kCast;
        auto found = users.find(node.get());
        if (!worth || found == users.end() || found->second < 2) return {};
        ScalarRef value;
        if (node->kind == ScalarKind::kLoad) {
          Ref<ScalarNode> copy = copy_node(*node);
          copy->args = args;
          value = copy;
        } else {
          value = with_args(node, args);
        }
        uint32_t var = draft.new_var();
        block.push_back(let(var, value));
        return te::placeholder(var, node->dtype).ref();
      });
  for (ScalarRef& root : roots) root = rewrite(root);
}

namespace {

// ---- Where lanes run ----------------------------------------------------------------------------

/// Lanes along an axis of the rows, or inside: along folds and the points of a row.
struct RowLanes {
  std::optional<size_t> along;
  std::optional<Space::InnerLanes> inside;
};

RowLanes choose_lanes(const Space& space, const LowerOptions& options) {
  const RowGroup& group = space.group;
  int lanes = lanes_of(space, options);
  RowLanes result;
  double best = 0;
  for (size_t a = group.rows.size(); a-- > 0;) {
    double cost = space.lane_cost(group.rows[a], lanes);
    if (!result.along || cost < best) {
      result.along = a;
      best = cost;
    }
  }
  bool has_inner = space.has_folds();
  for (const Member& member : group.members) has_inner |= !member.extras.empty();
  std::optional<Space::InnerLanes> inner = space.inner_lanes(lanes);
  if (inner && (!result.along || (has_inner && inner->cost < best))) {
    result.along.reset();
    result.inside = std::move(inner);
  }
  return result;
}

/// Templates that lanes along this axis of the rows are better served by.
std::optional<DraftKernel> lower_special(const Job& job, Space& space, size_t along, Dim flops) {
  if (!space.has_folds()) return lower_transpose(job, space, flops);
  if (auto window = lower_window(job, space, along, flops)) return window;
  return lower_columns(job, space, along, flops);
}

/// Windows whose lanes would run along the window: along the results, over a copy in scratch, where
/// steps of two cost nothing, there are more lanes at work (or as many) and none to be joined.
std::optional<DraftKernel> lower_long_window(const Job& job, Space& space, const RowLanes& lanes,
                                             Dim flops) {
  const RowGroup& group = space.group;
  const bool one_fold = lanes.inside && space.folds.size() == 1;
  if (!one_fold || group.members.size() != 1 || !group.members[0].extras.empty())
    return std::nullopt;
  int64_t enough = 2 * lanes_of(space, job.options);
  if (const int along = lanes.inside->of_fold[0]; along >= 0) {
    const Dim taps = space.folds[0]->axes[static_cast<size_t>(along)].extent;
    if (taps.is_int()) enough = std::min(enough, taps.as_int());
  }
  for (const Axis& axis : group.rows) {
    if (axis.extent.is_int() && axis.extent.as_int() < enough) continue;
    if (auto window = lower_padded(job, space, axis, flops)) return window;
  }
  return std::nullopt;
}

// ---- The loops around a row ---------------------------------------------------------------------

/// The axis of the rows along which a large tensor's short lines are neighbours, if the innermost
/// of the loops around lines jumps from page to page of it: a permutation of weights, say. By
/// itself such a loop takes a piece of a line of the cache here and there, and comes back when it
/// is gone.
std::optional<size_t> neighbour_axis(const Space& space, size_t along, int64_t second_bytes) {
  constexpr int64_t kShort = 256, kNear = 256, kFar = 1024;  // bytes
  const std::vector<Axis>& rows = space.group.rows;
  if (space.has_folds() || rows.size() < 3 || !rows[along].extent.is_int()) return std::nullopt;
  const size_t inner = along + 1 == rows.size() ? along - 1 : rows.size() - 1;
  auto bytes_apart = [&](const Access& access, size_t axis) -> int64_t {
    const std::optional<Dim> stride = space.stride(access, rows[axis].id);
    if (!stride || !stride->is_int()) return 0;
    return std::abs(stride->as_int()) * static_cast<int64_t>(access.dtype.size());
  };
  for (const Access& access : space.accesses) {
    if (access.load == nullptr || !access.flat) continue;
    const auto size = static_cast<int64_t>(access.dtype.size());
    if (rows[along].extent.as_int() * size > kShort || bytes_apart(access, along) != size) continue;
    if (bytes_apart(access, inner) < kFar) continue;
    double bytes = static_cast<double>(size);
    for (size_t a = 0; a < rows.size(); ++a)
      if (bytes_apart(access, a) > 0) bytes *= guess(rows[a].extent);
    if (bytes <= static_cast<double>(second_bytes) / 2) continue;
    for (size_t a = 0; a < rows.size(); ++a) {
      const int64_t apart = bytes_apart(access, a);
      if (a != along && a != inner && apart > 0 && apart <= kNear) return a;
    }
  }
  return std::nullopt;
}

/// The axis of the rows along which results lie side by side, if those that lanes along the best
/// axis for the loads would store lie pages apart: each would take a line of the cache of its own,
/// most of which fall on few sets, and which is gone before its other elements are stored.
std::optional<size_t> store_axis(const Space& space, size_t along, int64_t lanes) {
  constexpr int64_t kPage = 4096;  // bytes
  const std::vector<Axis>& rows = space.group.rows;
  if (space.has_folds()) return std::nullopt;
  std::optional<size_t> beside;
  for (const Access& access : space.accesses) {
    if (access.load != nullptr) continue;
    const std::optional<Dim> apart = space.stride(access, rows[along].id);
    if (!apart || !apart->is_int() ||
        std::abs(apart->as_int()) * static_cast<int64_t>(access.dtype.size()) < kPage)
      return std::nullopt;
    std::optional<size_t> here;
    for (size_t a = 0; a < rows.size(); ++a) {
      const std::optional<Dim> stride = space.stride(access, rows[a].id);
      if (stride && stride->is_int(1)) here = a;
    }
    if (!here || (beside && beside != here)) return std::nullopt;
    beside = here;
  }
  if (!beside || (rows[*beside].extent.is_int() && rows[*beside].extent.as_int() * 2 < lanes))
    return std::nullopt;
  return beside;
}

/// The loops over rows; the innermost one is that of the lanes, if they run along the rows.
class RowLoops {
 public:
  RowLoops(Draft& draft, const Space& space, std::optional<size_t> along,
           const LowerOptions& options) {
    std::vector<Axis> outer;
    const std::optional<size_t> beside =
        along ? store_axis(space, *along, lanes_of(space, options)) : std::nullopt;
    if (beside) {
      tile(draft, space, *beside, *along, true);
      return;
    }
    const std::optional<size_t> near =
        along ? neighbour_axis(space, *along, options.processor.second_bytes) : std::nullopt;
    if (near) {
      tile(draft, space, *near, *along, false);
      return;
    }
    for (size_t a = 0; a < space.group.rows.size(); ++a) {
      if (a != along) outer.push_back(space.group.rows[a]);
    }
    double work = space.work();
    if (!along) {
      loops_.emplace(draft, outer, work);
      return;
    }
    const Axis& axis = space.group.rows[*along];
    lanes_ = loop(LoopKind::kVector, axis);
    // A long row is cut, by its length alone, so that there is something to share.
    double rows = 1;
    for (const Axis& one : outer) rows *= one.extent.is_int() ? guess(one.extent) : 1;
    int64_t piece = 64 * std::max<int64_t>(16, static_cast<int64_t>(65536 / work) / 64);
    if (work > 4096) piece = 64;
    bool is_long = axis.extent.is_int() ? axis.extent.as_int() >= 2 * piece : outer.empty();
    if (rows >= 64 || !is_long) {
      loops_.emplace(draft, outer, work * guess(axis.extent));
      return;
    }
    Axis pieces = draft.new_axis(ceil_div(axis.extent, Dim(piece)));
    outer.push_back(pieces);
    loops_.emplace(draft, outer, work * static_cast<double>(piece));
    Scalar begin = Scalar(loops_->name(pieces)) * piece;
    lanes_->begin = begin.ref();
    lanes_->end = te::min(begin + piece, te::from_dim(axis.extent)).ref();
  }

  const std::unordered_map<uint32_t, ScalarRef>& names() const { return loops_->names; }

  void close(Block body) {
    if (lanes_) enclose(body, std::move(*lanes_));
    if (near_) enclose(body, std::move(*near_));
    loops_->close(std::move(body));
  }

 private:
  /// A few lines along `near` for each turn of the loops around; lanes across these lines, or along
  /// each.
  void tile(Draft& draft, const Space& space, size_t near, size_t along, bool across) {
    constexpr int64_t kLines = 16;
    const std::vector<Axis>& rows = space.group.rows;
    std::vector<Axis> outer;
    for (size_t a = 0; a < rows.size(); ++a)
      if (a != along && a != near) outer.push_back(rows[a]);
    const Axis tiles = draft.new_axis(ceil_div(rows[near].extent, Dim(kLines)));
    outer.insert(outer.end() - (outer.empty() ? 0 : 1), tiles);
    loops_.emplace(draft, outer, space.work() * guess(rows[along].extent) * kLines);
    For lines = loop(across ? LoopKind::kVector : LoopKind::kSerial, rows[near]);
    For line = loop(across ? LoopKind::kSerial : LoopKind::kVector, rows[along]);
    const Scalar begin = Scalar(loops_->name(tiles)) * kLines;
    lines.begin = begin.ref();
    lines.end = te::min(begin + kLines, te::from_dim(rows[near].extent)).ref();
    lanes_ = across ? std::move(lines) : std::move(line);
    near_ = across ? std::move(line) : std::move(lines);
  }

  std::optional<OuterLoops> loops_;
  std::optional<For> near_;
  std::optional<For> lanes_;
};

// ---- The members of a row -----------------------------------------------------------------------

/// Writes what a group's members do for one row, one after the other.
class RowWriter {
 public:
  RowWriter(Draft& draft, Space& space, const RowLanes& lanes, const RowLoops& loops)
      : draft_(draft), space_(space), lanes_(lanes), names_(loops.names()) {
    for (size_t f = 0; lanes.inside && f < space.folds.size(); ++f) {
      if (space.folds[f]->axes.empty()) continue;
      lanes_of_fold_.emplace(space.folds[f]->axes[0].id, lanes.inside->of_fold[f]);
    }
    draft.intercept = [this](const ScalarNode& load, const std::vector<ScalarRef>& args) {
      return load_kept(load, args);
    };
  }

  void write(size_t number, Block& body) {
    const Member& member = space_.group.members[number];
    const bool has_points = !member.extras.empty();
    Flattener flatten(draft_, lanes_.along || has_points);
    flatten.choose = [&](const ScalarNode& fold) { return loops_of(fold); };
    Block point;
    Block& into = has_points ? point : body;
    std::vector<ScalarRef> values = draft_.bind(member.values, space_.math(), names_);
    std::vector<ScalarRef> at = draft_.bind(member.point, space_.math(), names_);
    for (ScalarRef& value : values) value = flatten.value(value, into);
    name_shared(draft_, values, into);
    store_values(member, std::move(values), at, into);
    if (!has_points) return;
    enclose_points(member, lanes_.inside ? lanes_.inside->of_member[number] : -1, point);
    for (Stmt& stmt : point) body.push_back(std::move(stmt));
  }

 private:
  FoldLoops loops_of(const ScalarNode& fold) const {
    if (fold.axes.empty()) return {};
    auto found = lanes_of_fold_.find(fold.axes[0].id);
    return found == lanes_of_fold_.end() ? FoldLoops{} : FoldLoops{found->second, 4};
  }

  /// Values at a point: in registers, in the row's scratch, in the results.
  void store_values(const Member& member, std::vector<ScalarRef> values,
                    std::span<const ScalarRef> point, Block& into) {
    const bool has_points = !member.extras.empty();
    std::vector<Dim> index;
    for (const ScalarRef& at : point) index.push_back(space_.math().poly(at));
    for (size_t k = 0; k < values.size(); ++k) {
      put_in_registers(member, k, values[k], into);
      if (!member.stored[k] && !has_points) continue;
      if (member.stored[k] || !lanes_.inside) {
        into.push_back(store_result(draft_, space_.math(), member.stage, k, index, values[k]));
      } else {
        keep(member, k, point, values, into);
      }
    }
  }

  void put_in_registers(const Member& member, size_t k, ScalarRef& value, Block& into) const {
    TensorId id{static_cast<int32_t>(member.stage), static_cast<int32_t>(k)};
    for (size_t r = 0; r < space_.group.registers.size(); ++r) {
      if (space_.group.registers[r] != id) continue;
      uint32_t var = draft_.computation().num_vars + static_cast<uint32_t>(r);
      into.push_back(let(var, value));
      value = te::placeholder(var, value->dtype).ref();
    }
  }

  // Values of a row that are not wanted outside stay in scratch, for the members that follow.

  void keep(const Member& member, size_t k, std::span<const ScalarRef> point,
            std::span<const ScalarRef> values, Block& into) {
    std::vector<int32_t>& rows = kept_[member.stage];
    rows.resize(values.size(), -1);
    Dim size = 1;
    for (size_t d : member.extra_dims) size = size * stage_of(member).outputs[k].dims[d];
    rows[k] = draft_.scratch("row", values[k]->dtype, {size});
    into.push_back(store(rows[k], {position_in_row(member, point)}, values[k]));
  }

  ScalarRef load_kept(const ScalarNode& load, const std::vector<ScalarRef>& args) {
    if (load.tensor.is_input()) return {};
    auto found = kept_.find(static_cast<size_t>(load.tensor.stage));
    if (found == kept_.end()) return {};
    int32_t buffer = found->second[static_cast<size_t>(load.tensor.index)];
    if (buffer < 0) return {};
    for (const Member& member : space_.group.members) {
      if (member.stage != found->first) continue;
      return draft_.load(buffer, {position_in_row(member, args)});
    }
    return {};
  }

  ScalarRef position_in_row(const Member& member, std::span<const ScalarRef> point) {
    std::vector<Dim> index, extents;
    for (size_t d : member.extra_dims) {
      index.push_back(space_.math().poly(point[d]));
      extents.push_back(stage_of(member).outputs[0].dims[d]);
    }
    return space_.math().scalar(space_.math().recombine(IndexMath::linearise(index, extents)));
  }

  const te::Stage& stage_of(const Member& member) const {
    return draft_.computation().stages[member.stage];
  }

  /// The loops over the points of a row; that of the lanes (-1: none) is the innermost one.
  static void enclose_points(const Member& member, int lane_axis, Block& point) {
    const std::vector<Axis>& axes = member.extras;
    if (lane_axis >= 0) {
      enclose(point, loop(LoopKind::kVector, axes[static_cast<size_t>(lane_axis)]));
    }
    for (size_t a = axes.size(); a-- > 0;) {
      if (static_cast<int>(a) != lane_axis) enclose(point, loop(LoopKind::kSerial, axes[a]));
    }
  }

  Draft& draft_;
  Space& space_;
  const RowLanes& lanes_;
  const std::unordered_map<uint32_t, ScalarRef>& names_;   // of the rows' axes
  std::unordered_map<uint32_t, int> lanes_of_fold_;        // by its first axis
  std::unordered_map<size_t, std::vector<int32_t>> kept_;  // scratch, by stage
};

Dim group_flops(const RowGroup& group) {
  Dim rows = 1, flops = 0;
  for (const Axis& axis : group.rows) rows = rows * axis.extent;
  for (const Member& member : group.members) {
    Dim points = rows;
    for (const Axis& axis : member.extras) points = points * axis.extent;
    flops = flops + points * flops_of(member.values);
  }
  return flops;
}

// ---- Pieces -------------------------------------------------------------------------------------

/// Loops of several pieces one after the other, shared by workers as one: tasks of the first piece,
/// then those of the next.
class PieceLoops {
 public:
  explicit PieceLoops(Draft& draft) : draft_(draft) {}

  /// Takes the loops that the draft has now.
  void take() {
    pieces_.push_back({std::move(draft_.body()), tasks_});
    draft_.body().clear();
    tasks_ = tasks_ + tasks_of(pieces_.back().block);
  }

  void close() {
    Axis task = draft_.new_axis(tasks_);
    For all = loop(LoopKind::kParallel, task);
    for (size_t k = pieces_.size(); k-- > 0;) {
      Piece& piece = pieces_[k];
      if (auto* shared = shared_loop(piece.block)) {
        Scalar at = te::index_of(task) - te::from_dim(piece.first);
        shared->kind = LoopKind::kSerial;
        shared->begin = at.ref();
        shared->end = (at + 1).ref();
      }
      if (k + 1 == pieces_.size()) {
        all.body = std::move(piece.block);
        continue;
      }
      If here;
      here.condition = (te::index_of(task) < te::from_dim(pieces_[k + 1].first)).ref();
      here.then_block = std::move(piece.block);
      here.else_block = std::move(all.body);
      all.body.clear();
      all.body.push_back({std::move(here)});
    }
    draft_.body().push_back({std::move(all)});
  }

 private:
  struct Piece {
    Block block;
    Dim first;  // task
  };

  static For* shared_loop(Block& block) {
    auto* one = block.size() == 1 ? std::get_if<For>(&block[0].node) : nullptr;
    return one != nullptr && one->kind == LoopKind::kParallel ? one : nullptr;
  }

  static Dim tasks_of(Block& block) {
    const For* shared = shared_loop(block);
    if (shared == nullptr) return 1;
    const ScalarNode& end = *shared->end;
    return end.kind == ScalarKind::kConst ? Dim(end.value.i) : end.dim;
  }

  Draft& draft_;
  Dim tasks_ = 0;
  std::vector<Piece> pieces_;
};

/// Concatenations along the lanes: each part by loops of its own.
std::optional<DraftKernel> lower_pieces(const Job& job, const Space& whole, size_t along,
                                        Dim flops) {
  if (whole.has_folds()) return std::nullopt;
  Draft draft(job.computation);
  draft.reserve_vars(whole.group.registers.size());
  std::vector<RowGroup> pieces =
      cut_at_choices(draft, whole, whole.group.rows[along], 2 * lanes_of(whole, job.options));
  if (pieces.empty()) return std::nullopt;
  PieceLoops all(draft);
  for (RowGroup& piece : pieces) {
    Space space(job.computation, std::move(piece));
    const RowLanes lanes = choose_lanes(space, job.options);
    if (lanes.along && lower_transpose(job, space, flops)) return std::nullopt;
    RowLoops loops(draft, space, lanes.along, job.options);
    Block body;
    RowWriter(draft, space, lanes, loops).write(0, body);
    loops.close(std::move(body));
    all.take();
  }
  all.close();
  draft.intercept = nullptr;
  return draft.finish(job.name, "pointwise", flops);
}

}  // namespace

DraftKernel lower_rows(const Job& job, RowGroup given) {
  const Dim flops = group_flops(given);
  Space space(job.computation, std::move(given));
  const RowGroup& group = space.group;
  if (auto phases = lower_phases(job, space, flops)) return std::move(*phases);
  const RowLanes lanes = choose_lanes(space, job.options);
  if (lanes.along) {
    if (auto special = lower_special(job, space, *lanes.along, flops)) return std::move(*special);
    if (auto pieces = lower_pieces(job, space, *lanes.along, flops)) return std::move(*pieces);
  } else if (auto window = lower_long_window(job, space, lanes, flops)) {
    return std::move(*window);
  }

  Draft draft(job.computation);
  draft.reserve_vars(group.registers.size());
  RowLoops loops(draft, space, lanes.along, job.options);
  RowWriter writer(draft, space, lanes, loops);
  Block body;
  for (size_t m = 0; m < group.members.size(); ++m) writer.write(m, body);
  loops.close(std::move(body));
  draft.stores_apart();
  const char* implementation = !space.has_folds()          ? "pointwise"
                               : group.members.size() == 1 ? "reduce"
                                                           : "row";
  return draft.finish(job.name, implementation, flops);
}

}  // namespace relay::lower
