#include <relay/lower/whole_rows.h>

#include <algorithm>
#include <cstdlib>

#include <relay/lower/prepare.h>
#include <relay/lower/space.h>
#include <relay/lower/templates.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {
namespace {

/// Fewer rows leave workers idle.
constexpr int64_t kLeastRows = 32;

/// The bytes of the points of a row in the largest result; 0 if they are not known.
int64_t bytes_of_row(const te::Computation& computation, const RowGroup& group) {
  int64_t row = 0;
  for (const Member& member : group.members) {
    if (member.extras.empty()) continue;
    Dim points = 1;
    for (const te::Axis& axis : member.extras) points = points * axis.extent;
    if (!points.is_int()) return 0;
    for (const te::TensorInfo& output : computation.stages[member.stage].outputs)
      row = std::max(row, points.as_int() * static_cast<int64_t>(output.dtype.size()));
  }
  return row;
}

/// True if rows share few lines of the cache in what an access touches: its elements lie side by
/// side along the last axis of the row's points, or near each other and those of other rows
/// elsewhere, or there are so few that they stay near, as those of a vector that each line of the
/// row reads. Where the elements of a row lie apart among those of others, each row would read
/// every line again; where they lie apart by themselves, a kernel that turns them is faster.
bool has_own_lines(const Space& space, const Access& access, int64_t row, int64_t line) {
  const int64_t far = line / static_cast<int64_t>(access.dtype.size());
  auto is_far = [&](const std::optional<Dim>& stride) {
    return stride && !(stride->is_int() && std::abs(stride->as_int()) < far);
  };
  Dim elements = 1;
  bool side_by_side = false, apart = false;
  auto go_along = [&](std::span<const te::Axis> axes) {
    for (const te::Axis& axis : axes) {
      const std::optional<Dim> stride = space.stride(access, axis.id);
      if (!stride || !stride->is_int(0)) elements = elements * axis.extent;
      if (axis.id != axes.back().id) continue;
      side_by_side |= stride && (stride->is_int(1) || stride->is_int(-1));
      apart |= is_far(stride);
    }
  };
  go_along(space.group.members[access.member].extras);
  for (const te::ScalarNode* fold : space.folds) go_along(fold->axes);
  if (side_by_side || elements.is_int(1) || (elements.is_int() && elements.as_int() <= row / line))
    return true;
  return !apart &&
         std::all_of(space.group.rows.begin(), space.group.rows.end(), [&](const te::Axis& axis) {
           const std::optional<Dim> stride = space.stride(access, axis.id);
           return stride && (stride->is_int(0) || is_far(stride));
         });
}

}  // namespace

bool runs_by_rows(const te::Computation& computation, const Processor& processor) {
  const te::Computation c = split_long_folds(prepare(computation));
  std::vector<RowGroup> groups = find_groups(c);
  if (groups.size() != 1 || groups[0].members.size() < 2) return false;
  Dim rows = 1;
  for (const te::Axis& axis : groups[0].rows) rows = rows * axis.extent;
  if (!rows.is_int() || rows.as_int() < kLeastRows) return false;
  const int64_t row = bytes_of_row(c, groups[0]);
  if (row == 0 || row > processor.second_bytes / 2 ||
      row <= processor.second_bytes / 2 / rows.as_int())
    return false;
  const Space space(c, std::move(groups[0]));
  return space.has_folds() &&
         std::all_of(space.accesses.begin(), space.accesses.end(), [&](const Access& access) {
           return has_own_lines(space, access, row, processor.line_bytes);
         });
}

}  // namespace relay::lower
