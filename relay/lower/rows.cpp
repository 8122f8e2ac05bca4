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

std::vector<Stmt> store_results(Draft& draft, IndexMath& math, const Member& member,
                                std::span<const ScalarRef> values,
                                const std::unordered_map<uint32_t, ScalarRef>& names) {
  std::vector<Dim> index;
  for (const ScalarRef& at : draft.bind(member.point, math, names)) index.push_back(math.poly(at));
  const te::Stage& stage = draft.computation().stages[member.stage];
  std::vector<Stmt> stores;
  for (size_t k = 0; k < values.size(); ++k) {
    int32_t out = draft.buffer({static_cast<int32_t>(member.stage), static_cast<int32_t>(k)},
                               Buffer::Role::kOutput, true);
    ScalarRef at = math.scalar(math.recombine(IndexMath::linearise(index, stage.outputs[k].dims)));
    stores.push_back(store(out, {at}, values[k]));
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
  for (size_t i = axes_.size(); i-- > joined_;) {
    For one = loop(LoopKind::kSerial, axes_[i]);
    one.body = std::move(body);
    body.clear();
    body.push_back({std::move(one)});
  }
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

namespace {

int lanes_of(const Space& space, const LowerOptions& options) {
  size_t widest = 1;
  for (const Access& access : space.accesses) widest = std::max(widest, access.dtype.size());
  return static_cast<int>(
      std::max<int64_t>(options.vector_bytes / static_cast<int64_t>(widest), 1));
}

/// Values that several roots share and that are worth a register, given names in `block`.
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

}  // namespace

DraftKernel lower_rows(const Job& job, RowGroup given) {
  const te::Computation& c = job.computation;
  bool alone = given.members.size() == 1;
  size_t num_registers = given.registers.size();
  Dim flops = 0;
  {
    Dim rows = 1;
    for (const Axis& axis : given.rows) rows = rows * axis.extent;
    for (const Member& member : given.members) {
      Dim points = rows;
      for (const Axis& axis : member.extras) points = points * axis.extent;
      flops = flops + points * flops_of(member.values);
    }
  }
  Space space(c, std::move(given));
  const RowGroup& group = space.group;
  int lanes = lanes_of(space, job.options);

  // Lanes along an axis of the rows, or along folds and the points of a row.
  int along = -1;
  double best = 0;
  for (size_t a = group.rows.size(); a-- > 0;) {
    double cost = space.lane_cost(group.rows[a], lanes);
    if (along < 0 || cost < best) {
      along = static_cast<int>(a);
      best = cost;
    }
  }
  bool has_inner = space.has_folds();
  for (const Member& member : group.members) has_inner |= !member.extras.empty();
  std::optional<Space::InnerLanes> inner = space.inner_lanes(lanes);
  bool inside = inner && (along < 0 || (has_inner && inner->cost < best));
  if (inside) along = -1;
  if (along >= 0 && !space.has_folds()) {
    if (auto tiled = lower_transpose(job, space, flops)) return std::move(*tiled);
  }
  if (along >= 0 && space.has_folds()) {
    if (auto window = lower_window(job, space, static_cast<size_t>(along), flops)) {
      return std::move(*window);
    }
    if (auto columns = lower_columns(job, space, static_cast<size_t>(along), flops)) {
      return std::move(*columns);
    }
  }

  Draft draft(c);
  draft.reserve_vars(num_registers);
  std::vector<Axis> outer;
  for (size_t a = 0; a < group.rows.size(); ++a) {
    if (static_cast<int>(a) != along) outer.push_back(group.rows[a]);
  }
  double work = space.work();
  For vector;
  std::optional<Axis> pieces;
  int64_t piece = 0;
  if (along >= 0) {
    const Axis& axis = group.rows[static_cast<size_t>(along)];
    vector = loop(LoopKind::kVector, axis);
    // A long row is cut, by its length alone, so that there is something to share.
    double rows = 1;
    for (const Axis& one : outer) rows *= one.extent.is_int() ? guess(one.extent) : 1;
    piece = 64 * std::max<int64_t>(16, static_cast<int64_t>(65536 / work) / 64);
    if (work > 4096) piece = 64;
    bool is_long = axis.extent.is_int() ? axis.extent.as_int() >= 2 * piece : outer.empty();
    if (rows < 64 && is_long) {
      pieces = draft.new_axis(ceil_div(axis.extent, Dim(piece)));
      outer.push_back(*pieces);
      work *= static_cast<double>(piece);
    } else {
      work *= guess(axis.extent);
    }
  }
  OuterLoops loops(draft, outer, work);
  if (pieces) {
    Scalar begin = Scalar(loops.name(*pieces)) * piece;
    vector.begin = begin.ref();
    vector.end =
        te::min(begin + piece, te::from_dim(group.rows[static_cast<size_t>(along)].extent)).ref();
  }

  // Where the values of a row stay that are not wanted outside.
  std::unordered_map<size_t, std::vector<int32_t>> scratch;  // by stage
  auto position_in_row = [&](size_t stage, std::span<const ScalarRef> point,
                             std::span<const size_t> dims) {
    std::vector<Dim> index, extents;
    for (size_t d : dims) {
      index.push_back(space.math().poly(point[d]));
      extents.push_back(c.stages[stage].outputs[0].dims[d]);
    }
    return space.math().scalar(space.math().recombine(IndexMath::linearise(index, extents)));
  };
  draft.intercept = [&](const ScalarNode& load, const std::vector<ScalarRef>& args) -> ScalarRef {
    if (load.tensor.is_input()) return {};
    auto found = scratch.find(static_cast<size_t>(load.tensor.stage));
    if (found == scratch.end()) return {};
    int32_t buffer = found->second[static_cast<size_t>(load.tensor.index)];
    if (buffer < 0) return {};
    for (const Member& member : group.members) {
      if (member.stage != found->first) continue;
      return draft.load(buffer, {position_in_row(member.stage, args, member.extra_dims)});
    }
    return {};
  };

  Block body;
  std::unordered_map<uint32_t, int> chosen;  // by a fold's first axis
  for (size_t f = 0; inside && f < space.folds.size(); ++f) {
    if (!space.folds[f]->axes.empty()) {
      chosen.emplace(space.folds[f]->axes[0].id, inner->of_fold[f]);
    }
  }
  for (size_t m = 0; m < group.members.size(); ++m) {
    const Member& member = group.members[m];
    const te::Stage& stage = c.stages[member.stage];
    bool has_points = !member.extras.empty();
    Flattener flatten(draft, along >= 0 || has_points);
    flatten.choose = [&](const ScalarNode& fold) -> FoldLoops {
      if (fold.axes.empty()) return {};
      auto found = chosen.find(fold.axes[0].id);
      return found == chosen.end() ? FoldLoops{} : FoldLoops{found->second, 4};
    };
    Block inner_block;
    Block& into = has_points ? inner_block : body;
    std::vector<ScalarRef> values = draft.bind(member.values, space.math(), loops.names);
    std::vector<ScalarRef> point = draft.bind(member.point, space.math(), loops.names);
    for (ScalarRef& value : values) value = flatten.value(value, into);
    name_shared(draft, values, into);
    std::vector<Dim> index;
    for (const ScalarRef& at : point) index.push_back(space.math().poly(at));
    for (size_t k = 0; k < values.size(); ++k) {
      TensorId id{static_cast<int32_t>(member.stage), static_cast<int32_t>(k)};
      for (size_t r = 0; r < group.registers.size(); ++r) {
        if (group.registers[r] != id) continue;
        uint32_t var = c.num_vars + static_cast<uint32_t>(r);
        into.push_back(let(var, values[k]));
        values[k] = te::placeholder(var, values[k]->dtype).ref();
      }
      if (has_points && !member.stored[k] && inside) {
        std::vector<int32_t>& rows = scratch[member.stage];
        rows.resize(values.size(), -1);
        Dim size = 1;
        for (size_t d : member.extra_dims) size = size * stage.outputs[k].dims[d];
        rows[k] = draft.scratch("row", values[k]->dtype, {size});
        into.push_back(
            store(rows[k], {position_in_row(member.stage, point, member.extra_dims)}, values[k]));
        continue;
      }
      if (!member.stored[k] && !has_points) continue;
      int32_t out = draft.buffer(id, Buffer::Role::kOutput, true);
      ScalarRef at = space.math().scalar(
          space.math().recombine(IndexMath::linearise(index, stage.outputs[k].dims)));
      into.push_back(store(out, {at}, values[k]));
    }
    if (!has_points) continue;
    int lane_axis = inside ? inner->of_member[m] : -1;
    for (size_t a = member.extras.size(); a-- > 0;) {
      if (static_cast<int>(a) == lane_axis) continue;
      if (lane_axis >= 0) continue;  // outside of the lanes, below
      For one = loop(LoopKind::kSerial, member.extras[a]);
      one.body = std::move(inner_block);
      inner_block.clear();
      inner_block.push_back({std::move(one)});
    }
    if (lane_axis >= 0) {
      For lanes_loop = loop(LoopKind::kVector, member.extras[static_cast<size_t>(lane_axis)]);
      lanes_loop.body = std::move(inner_block);
      inner_block.clear();
      inner_block.push_back({std::move(lanes_loop)});
      for (size_t a = member.extras.size(); a-- > 0;) {
        if (static_cast<int>(a) == lane_axis) continue;
        For one = loop(LoopKind::kSerial, member.extras[a]);
        one.body = std::move(inner_block);
        inner_block.clear();
        inner_block.push_back({std::move(one)});
      }
    }
    for (Stmt& stmt : inner_block) body.push_back(std::move(stmt));
  }
  if (along >= 0) {
    vector.body = std::move(body);
    body.clear();
    body.push_back({std::move(vector)});
  }
  loops.close(std::move(body));
  const char* implementation = !space.has_folds() ? "pointwise" : alone ? "reduce" : "row";
  return draft.finish(job.name, implementation, flops);
}

}  // namespace relay::lower
