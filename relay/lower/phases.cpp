// Folds whose positions are quotients and remainders of the result's, as those of transposed
// convolutions, and choices by remainders, as gradients of pools: results of one remainder are
// plain windows, so all remainders are computed side by side, with lanes along quotients.
#include <algorithm>
#include <bit>
#include <map>
#include <unordered_set>

#include <relay/lower/remainders.h>
#include <relay/lower/scalars.h>
#include <relay/lower/templates.h>
#include <relay/tensor_expr/affine.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {

using te::Axis;
using te::Scalar;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;

namespace {

constexpr int64_t kMostBeside = 16;  // results of a lane that are turned in registers

class Phases {
 public:
  Phases(const Job& job, const RowGroup& group, std::map<uint32_t, int64_t> divisors)
      : draft_(job.computation), group_(group), divisors_(std::move(divisors)) {
    for (const Axis& axis : group.rows) {
      auto by = divisors_.find(axis.id);
      Dim extent = by == divisors_.end() ? axis.extent : floor_div(axis.extent, Dim(by->second));
      axes_.push_back(by == divisors_.end() ? axis : draft_.new_axis(extent));
    }
    math_ = IndexMath(axes_);
    math_.add_folds(group.members[0].values);
  }

  DraftKernel run(const std::string& name, Dim flops, bool folds) {
    const Axis& lane = axes_.back();
    double work = guess(lane.extent) * static_cast<double>(te::post_order(values()).size());
    for (const auto& [axis, by] : divisors_) work *= static_cast<double>(by);
    OuterLoops loops(draft_, {axes_.begin(), axes_.end() - 1}, work);
    Block body;
    std::vector<std::vector<int64_t>> rests(1, std::vector<int64_t>(axes_.size(), 0));
    for (std::vector<int64_t> rest = rests[0]; next(rest);) rests.push_back(rest);
    if (folds) {
      for (std::vector<int64_t>& rest : rests) body.push_back({line(loops, {&rest, 1})});
    } else {
      // In one loop, which finds once what the results of a quotient share.
      body.push_back({line(loops, rests)});
    }
    loops.close(std::move(body));
    return draft_.finish(name, folds ? "window" : "pointwise", flops);
  }

  /// Lines that leave vectors nearly empty: lanes along lines instead, each with its results side
  /// by side, which are turned in registers where they are stored. Nothing if lines are long
  /// enough, hold too many results, or lie apart.
  std::optional<DraftKernel> run_across(const std::string& name, Dim flops, int lanes) {
    const size_t last = axes_.size() - 1;
    const Dim line = axes_[last].extent;
    if (last == 0 || !line.is_int() || line.as_int() * 2 > lanes) return std::nullopt;
    const int64_t beside = line.as_int() * steps(last) * steps(last - 1);
    if (beside > kMostBeside || !std::has_single_bit(static_cast<uint64_t>(beside)))
      return std::nullopt;
    for (size_t k = 0; k < last; ++k)
      if ((k + 1 < last && steps(k) != 1) || (k > 0 && !axes_[k].extent.is_int()))
        return std::nullopt;
    Dim count = 1;
    for (size_t k = 0; k < last; ++k) count = count * axes_[k].extent;
    if (count.is_int() && count.as_int() < lanes) return std::nullopt;
    const Axis lane = draft_.new_axis(count);
    math_.add_axes({&lane, 1});
    For vector = loop(LoopKind::kVector, lane);
    std::optional<std::vector<Stmt>> stores = across(lane, beside, lanes, vector.body);
    if (!stores) return std::nullopt;
    for (Stmt& stmt : *stores) vector.body.push_back(std::move(stmt));
    const double work = static_cast<double>(te::post_order(values()).size() * beside);
    constexpr int64_t kPiece = 512;
    const Axis pieces = draft_.new_axis(ceil_div(count, Dim(kPiece)));
    OuterLoops loops(draft_, {pieces}, work * kPiece);
    const Scalar begin = Scalar(loops.name(pieces)) * kPiece;
    vector.begin = begin.ref();
    vector.end = te::min(begin + kPiece, te::from_dim(count)).ref();
    Block body;
    body.push_back({std::move(vector)});
    loops.close(std::move(body));
    return draft_.finish(name, "pointwise", flops);
  }

 private:
  std::span<const ScalarRef> values() const { return group_.members[0].values; }
  int64_t steps(size_t axis) const {
    auto by = divisors_.find(group_.rows[axis].id);
    return by == divisors_.end() ? 1 : by->second;
  }

  /// The next remainders of all axes but the last one.
  bool next(std::vector<int64_t>& rest) const {
    for (size_t axis = axes_.size() - 1; axis-- > 0;) {
      if (++rest[axis] < steps(axis)) return true;
      rest[axis] = 0;
    }
    return false;
  }

  /// The results of each lane, a line with all its remainders; nothing if they lie apart.
  std::optional<std::vector<Stmt>> across(const Axis& lane, int64_t beside, int lanes,
                                          Block& body) {
    const size_t last = axes_.size() - 1;
    const int64_t line = axes_[last].extent.as_int() * steps(last);
    Flattener flatten(draft_, true);
    std::vector<Stmt> stores;
    for (int64_t place = 0; place < beside; ++place) {
      std::unordered_map<uint32_t, ScalarRef> names;
      names.emplace(group_.rows[last].id, te::index_constant(place % line).ref());
      Scalar rest = te::index_of(lane);
      for (size_t k = last; k-- > 0;) {
        Scalar index = rest;
        if (k > 0) {
          index = te::floor_mod(rest, te::from_dim(axes_[k].extent));
          rest = te::floor_div(rest, te::from_dim(axes_[k].extent));
        }
        if (k + 1 == last) index = index * steps(k) + place / line;
        names.emplace(group_.rows[k].id, index.ref());
      }
      Member member = group_.members[0];
      member.values[0] = simplify_indices(substitute(member.values[0], names), math_);
      for (ScalarRef& index : member.point) index = math_.simplify(substitute(index, names));
      std::vector<ScalarRef> results = draft_.bind(member.values, math_, {});
      if (divides(results[0]) || reads_apart(results[0], lane, lanes)) return std::nullopt;
      results[0] = flatten.value(results[0], body);
      for (Stmt& stmt : store_results(draft_, math_, member, results, {})) {
        const auto* store = std::get_if<Store>(&stmt.node);
        if (store == nullptr || store->indices.size() != 1) return std::nullopt;
        const te::Affine at = te::affine(store->indices[0]);
        if (!at.others.empty() || at.terms.size() != 1 || !at.constant.is_int(place) ||
            !at.coefficient(lane.id).is_int(beside))
          return std::nullopt;
        stores.push_back(std::move(stmt));
      }
    }
    share_values(stores);
    return stores;
  }

  /// Equal parts of results are one, which is computed once.
  static void share_values(std::vector<Stmt>& stores) {
    std::vector<ScalarRef> values;
    for (Stmt& stmt : stores) values.push_back(std::get<Store>(stmt.node).value);
    values = share_equal(values);
    for (size_t k = 0; k < stores.size(); ++k)
      std::get<Store>(stores[k].node).value = std::move(values[k]);
  }

  static bool divides(const ScalarRef& value) {
    for (const ScalarNode* node : te::post_order({&value, 1}))
      if (is_division(*node)) return true;
    return false;
  }

  /// True if neighbouring lanes read elements that are far apart, which are loaded one by one.
  /// Loads under a condition that may leave the tensor have masks: those may be two apart, since
  /// each result takes as many loads.
  bool reads_apart(const ScalarRef& value, const Axis& lane, int lanes) {
    constexpr int64_t kNear = 8, kNearWithMasks = 2;
    std::vector<ScalarRef> arms;
    for (const ScalarNode* node : te::post_order({&value, 1})) {
      if (node->kind != ScalarKind::kSelect) continue;
      arms.insert(arms.end(), node->args.begin() + 1, node->args.end());
    }
    std::unordered_set<const ScalarNode*> below_arms;
    for (const ScalarNode* node : te::post_order(arms)) below_arms.insert(node);
    for (const ScalarNode* node : te::post_order({&value, 1})) {
      if (node->kind != ScalarKind::kLoad || node->args.empty()) continue;
      const Dim step = te::affine(node->args.back()).coefficient(lane.id);
      const bool masks = below_arms.contains(node) && !is_inside(*node);
      // Whole blocks of a power of two are loaded and taken apart in registers.
      const bool blocks = step.is_int() && step.as_int() <= std::min<int64_t>(lanes, kMostBeside) &&
                          step.as_int() > 0 &&
                          std::has_single_bit(static_cast<uint64_t>(step.as_int()));
      const int64_t most = masks ? kNearWithMasks : blocks ? kMostBeside : kNear;
      if (!step.is_int() || step.as_int() > most) return true;
    }
    return false;
  }

  /// True if the load is inside of its buffer whatever any condition says.
  bool is_inside(const ScalarNode& load) {
    const std::vector<Dim>& dims = draft_.buffers()[static_cast<size_t>(load.tensor.index)].dims;
    for (size_t d = 0; d < dims.size(); ++d)
      if (!math_.in_range(math_.poly(load.args[d]), dims[d])) return false;
    return true;
  }

  /// Results of lines, one for each of `rests`, the remainders of all axes but the last one: of
  /// each lane those of all its remainders, side by side.
  For line(const OuterLoops& loops, std::span<std::vector<int64_t>> rests) {
    For vector = loop(LoopKind::kVector, axes_.back());
    Flattener flatten(draft_, true);
    std::vector<Stmt> stores;
    for (std::vector<int64_t>& rest : rests)
      for (rest.back() = 0; rest.back() < steps(axes_.size() - 1); ++rest.back())
        result(loops, rest, flatten, vector.body, stores);
    share_values(stores);
    for (Stmt& stmt : stores) vector.body.push_back(std::move(stmt));
    return vector;
  }

  /// One result of a lane: statements before it go to `body`, its stores to `stores`.
  void result(const OuterLoops& loops, std::span<const int64_t> rest, Flattener& flatten,
              Block& body, std::vector<Stmt>& stores) {
    std::unordered_map<uint32_t, ScalarRef> names;
    for (size_t k = 0; k < axes_.size(); ++k) {
      if (steps(k) == 1) continue;
      names.emplace(group_.rows[k].id, (te::index_of(axes_[k]) * steps(k) + rest[k]).ref());
    }
    Member member = group_.members[0];
    for (ScalarRef& value : member.values) {
      value = simplify_indices(substitute(value, names), math_);
    }
    for (ScalarRef& index : member.point) index = math_.simplify(substitute(index, names));
    std::vector<ScalarRef> results = draft_.bind(member.values, math_, loops.names);
    for (ScalarRef& value : results) value = flatten.value(value, body);
    for (Stmt& stmt : store_results(draft_, math_, member, results, loops.names))
      stores.push_back(std::move(stmt));
  }

  Draft draft_;
  const RowGroup& group_;
  std::map<uint32_t, int64_t> divisors_;  // by axis of the group
  std::vector<Axis> axes_;                // quotients
  IndexMath math_;
};

}  // namespace

std::optional<DraftKernel> lower_phases(const Job& job, const Space& space, Dim flops) {
  const RowGroup& group = space.group;
  if (group.rows.empty() || group.members.size() != 1 || !group.members[0].extras.empty() ||
      group.members[0].values.size() != 1) {
    return std::nullopt;
  }
  const ScalarRef& value = group.members[0].values[0];
  const bool chooses = space.has_folds() || chooses_by_remainder(value);
  if (!chooses && !interleaves(value, group.rows.back())) return std::nullopt;
  const ScalarNode& last = *group.members[0].point.back();
  if (last.kind != ScalarKind::kIndex || last.axis != group.rows.back().id) return std::nullopt;
  auto divisors = divisors_of(value, group.rows);
  if (!divisors || !divisors->contains(group.rows.back().id)) return std::nullopt;
  const auto steps = static_cast<uint64_t>(divisors->at(group.rows.back().id));
  if (phases_of(*divisors) > kMostPhases || !std::has_single_bit(steps)) return std::nullopt;
  const int lanes = lanes_of(space, job.options);
  if (!chooses) {
    // Short lines are turned in registers with their neighbours, where nothing else is to be done.
    const Dim line = floor_div(group.rows.back().extent, Dim(static_cast<int64_t>(steps)));
    if (line.is_int() && line.as_int() < lanes) return std::nullopt;
  } else if (!space.has_folds()) {
    if (auto across = Phases(job, group, *divisors).run_across(job.name, flops, lanes))
      return across;
  }
  return Phases(job, group, std::move(*divisors)).run(job.name, flops, space.has_folds());
}

}  // namespace relay::lower
