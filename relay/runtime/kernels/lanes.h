// The lanes of a tensor along an axis, for kernels that order each of them.
#pragma once

#include <relay/runtime/library_kernel.h>
#include <relay/support/error.h>

#include <algorithm>
#include <cstdint>

namespace relay {

/// Lanes of a dense tensor: lane l begins at start(l), its elements are `inner` apart.
struct Lanes {
  int64_t count = 1;   // how many
  int64_t extent = 0;  // elements of each
  int64_t inner = 1;   // elements below the axis

  Lanes(ShapeView shape, size_t axis) : extent(shape[axis]) {
    for (size_t d = axis + 1; d < shape.size(); ++d) inner *= shape[d];
    for (size_t d = 0; d < axis; ++d) count *= shape[d];
    count *= inner;
  }
  int64_t start(int64_t lane) const { return lane / inner * inner * extent + lane % inner; }
};

/// The axis of a kernel with this parameter.
inline size_t axis_of(const LibraryCall& call) {
  int64_t axis = call.integer("axis");
  RELAY_CHECK(axis >= 0 && axis < static_cast<int64_t>(call.inputs[0].rank()),
              "the axis of a kernel");
  return static_cast<size_t>(axis);
}

/// Calls `body(begin, end)` for groups of lanes, on several threads if there is enough to do.
/// Neighbouring lanes below an inner axis share cache lines, so they stay together.
template <class F>
void for_lane_groups(LibraryCall& call, const Lanes& lanes, F&& body) {
  constexpr int64_t kElements = 1 << 14;  // of a task
  constexpr int64_t kTogether = 16;       // lanes
  int64_t group = std::max<int64_t>(1, kElements / std::max<int64_t>(1, lanes.extent));
  if (lanes.inner > 1) group = (group + kTogether - 1) / kTogether * kTogether;
  int64_t tasks = (lanes.count + group - 1) / group;
  call.parallel(
      tasks, [&](int64_t task) { body(task * group, std::min(lanes.count, (task + 1) * group)); });
}

}  // namespace relay
