// Folds whose positions are quotients and remainders of the result's, as those of transposed
// convolutions, and choices by remainders, as gradients of pools: results of one remainder are
// plain windows, so all remainders are computed side by side, with lanes along quotients.
#include <algorithm>
#include <bit>
#include <map>
#include <unordered_set>

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

constexpr int64_t kMostSteps = 8;    // along an axis
constexpr int64_t kMostPhases = 32;  // each is written out

/// By what each axis is divided; nothing if some axis is divided in several ways, or cannot be.
std::optional<std::map<uint32_t, int64_t>> divisors_of(const ScalarRef& value,
                                                       std::span<const Axis> rows) {
  std::map<uint32_t, int64_t> divisors;
  for (const ScalarNode* node : te::post_order({&value, 1})) {
    const bool divides =
        node->kind == ScalarKind::kBinary && node->dtype == kInt64 &&
        (node->binary == te::BinaryOp::kFloorDiv || node->binary == te::BinaryOp::kFloorMod);
    if (!divides) continue;
    const te::Affine sum = te::affine(node->args[0]);
    for (const te::Affine::Term& term : sum.terms) {
      auto row = std::find_if(rows.begin(), rows.end(),
                              [&](const Axis& axis) { return axis.id == term.axis; });
      if (row == rows.end()) continue;
      const Dim by = te::divisor(*node);
      const bool fits = sum.terms.size() == 1 && sum.others.empty() && sum.constant.is_int() &&
                        term.coefficient.is_int(1) && by.is_int() && by.as_int() >= 2 &&
                        by.as_int() <= kMostSteps;
      if (!fits || floor_div(row->extent, by) * by != row->extent) return std::nullopt;
      auto [known, fresh] = divisors.emplace(term.axis, by.as_int());
      if (!fresh && known->second != by.as_int()) return std::nullopt;
    }
  }
  return divisors;
}

/// True if a condition counts with quotients or remainders of axes other than in the positions of
/// loads: neighbouring results then choose differently, and those of one remainder alike.
bool chooses_by_remainder(const ScalarRef& value) {
  std::vector<const ScalarNode*> waiting;
  for (const ScalarNode* node : te::post_order({&value, 1})) {
    if (node->kind == ScalarKind::kSelect) waiting.push_back(node->args[0].get());
  }
  std::unordered_set<const ScalarNode*> seen;
  while (!waiting.empty()) {
    const ScalarNode* node = waiting.back();
    waiting.pop_back();
    if (node->kind == ScalarKind::kLoad || !seen.insert(node).second) continue;
    const bool divides =
        node->kind == ScalarKind::kBinary && node->dtype == kInt64 &&
        (node->binary == te::BinaryOp::kFloorDiv || node->binary == te::BinaryOp::kFloorMod);
    if (divides) return true;
    for (const ScalarRef& arg : node->args) waiting.push_back(arg.get());
  }
  return false;
}

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
    std::vector<int64_t> rest(axes_.size(), 0);  // the remainder of each axis
    do {
      body.push_back({line(loops, rest)});
    } while (next(rest));
    loops.close(std::move(body));
    return draft_.finish(name, folds ? "window" : "pointwise", flops);
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

  /// Results of a line: of each lane those of all remainders, side by side.
  For line(const OuterLoops& loops, std::vector<int64_t> rest) {
    For vector = loop(LoopKind::kVector, axes_.back());
    Flattener flatten(draft_, true);
    std::vector<Stmt> stores;
    for (int64_t phase = 0; phase < steps(axes_.size() - 1); ++phase) {
      rest.back() = phase;
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
      for (ScalarRef& value : results) value = flatten.value(value, vector.body);
      for (Stmt& stmt : store_results(draft_, math_, member, results, loops.names))
        stores.push_back(std::move(stmt));
    }
    for (Stmt& stmt : stores) vector.body.push_back(std::move(stmt));
    return vector;
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
  if (!space.has_folds() && !chooses_by_remainder(group.members[0].values[0])) return std::nullopt;
  const ScalarNode& last = *group.members[0].point.back();
  if (last.kind != ScalarKind::kIndex || last.axis != group.rows.back().id) return std::nullopt;
  auto divisors = divisors_of(group.members[0].values[0], group.rows);
  if (!divisors || !divisors->contains(group.rows.back().id)) return std::nullopt;
  int64_t phases = 1;
  for (const auto& [axis, by] : *divisors) phases *= by;
  const auto steps = static_cast<uint64_t>(divisors->at(group.rows.back().id));
  if (phases > kMostPhases || !std::has_single_bit(steps)) return std::nullopt;
  return Phases(job, group, std::move(*divisors)).run(job.name, flops, space.has_folds());
}

}  // namespace relay::lower
