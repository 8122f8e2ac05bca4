#include <relay/lower/whole_rows.h>

#include <algorithm>

#include <relay/lower/prepare.h>
#include <relay/lower/templates.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {
namespace {

/// Fewer rows leave workers idle.
constexpr int64_t kLeastRows = 32;

/// The elements of the points of a row; 0 if they are not known.
int64_t points_of(const Member& member) {
  Dim points = 1;
  for (const te::Axis& axis : member.extras) points = points * axis.extent;
  return points.is_int() ? points.as_int() : 0;
}

/// True if the points of a row lie side by side at least along the last axis.
bool lies_in_pieces(const te::Stage& stage, const Member& member) {
  const std::vector<Dim>& dims = stage.outputs[0].dims;
  size_t last = dims.size();
  while (last > 0 && dims[last - 1].is_int(1)) --last;
  return !member.extra_dims.empty() && member.extra_dims.back() + 1 == last;
}

}  // namespace

bool runs_by_rows(const te::Computation& computation, const Processor& processor) {
  const te::Computation c = split_long_folds(prepare(computation));
  const std::vector<RowGroup> groups = find_groups(c);
  if (groups.size() != 1 || groups[0].members.size() < 2) return false;
  Dim rows = 1;
  for (const te::Axis& axis : groups[0].rows) rows = rows * axis.extent;
  if (!rows.is_int() || rows.as_int() < kLeastRows) return false;
  bool folds = false;
  int64_t row = 0;  // bytes
  for (const Member& member : groups[0].members) {
    const te::Stage& stage = c.stages[member.stage];
    for (const te::ScalarNode* node : te::post_order(te::stage_roots(stage)))
      folds |= node->kind == te::ScalarKind::kFold;
    if (member.extras.empty()) continue;
    if (!lies_in_pieces(stage, member)) return false;
    for (const te::TensorInfo& output : stage.outputs)
      row = std::max(row, points_of(member) * static_cast<int64_t>(output.dtype.size()));
  }
  return folds && row > 0 && row <= processor.second_bytes / 2 &&
         row > processor.second_bytes / 2 / rows.as_int();
}

}  // namespace relay::lower
