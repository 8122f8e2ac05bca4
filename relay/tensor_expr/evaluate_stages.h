// Internal: runs the stages of a computation directly, one function for each kind.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <relay/runtime/ndarray.h>
#include <relay/support/stop.h>
#include <relay/tensor_expr/computation.h>
#include <relay/tensor_expr/program.h>

namespace relay::te {

std::vector<NDArray> run_stage(const Environment& env, const Stage& stage, const Map& map);
std::vector<NDArray> run_stage(const Environment& env, const Stage& stage, const Scan& scan);
std::vector<NDArray> run_stage(const Environment& env, const Stage& stage, const Update& update);
std::vector<NDArray> run_stage(const Environment& env, const Stage& stage, const View& view);
std::vector<NDArray> run_stage(const Environment& env, const Stage& stage, const Library& library);

/// Takes the bytes of a tensor and a point for each of its elements from the `EvaluationLimit`.
void take_tensor(ShapeView shape, DType dtype);
Shape shape_of(const Environment& env, std::span<const Dim> dims);
std::vector<LoopAxis> loop_axes(const Environment& env, std::span<const Axis> axes);

inline std::byte* element(const NDArray& array, int64_t position) {
  return static_cast<std::byte*>(array.raw()) +
         position * static_cast<int64_t>(array.dtype().size());
}

/// Calls `f` for each point of a box with the program's indices set.
template <class F>
void for_each_point(Program& program, std::span<const LoopAxis> axes, F&& f) {
  int64_t total = 1;
  for (const LoopAxis& axis : axes) {
    total *= axis.extent;
    program.set_index(axis.id, 0);
  }
  std::vector<int64_t> index(axes.size());
  for (int64_t point = 0; point < total; ++point) {
    stop_if_asked();
    f(std::span<const int64_t>(index));
    for (size_t a = axes.size(); a-- > 0;) {
      if (++index[a] == axes[a].extent) index[a] = 0;
      program.set_index(axes[a].id, index[a]);
      if (index[a] != 0) break;
    }
  }
}

}  // namespace relay::te
