// Attributes of operators that rearrange, select and create tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <relay/ir/attrs.h>

namespace relay {

/// No extent, count or step that an operator is given is larger: a `Dim` holds less than int64_t
/// does.
inline constexpr int64_t kLargestExtent = int64_t{1} << 60;

struct ReshapeAttrs {
  Required<std::vector<int64_t>> newshape;
  bool allowzero = false;
  RELAY_ATTRS(ReshapeAttrs,
              (newshape,
               "New extents; 0 copies an axis, -1 is inferred, -2 copies the rest, -3 merges two "
               "axes, -4 splits one into the two extents that follow."),
              (allowzero, "0 means an extent of 0."))
};
struct ReshapeLikeAttrs {
  int64_t lhs_begin = 0;
  std::optional<int64_t> lhs_end;
  int64_t rhs_begin = 0;
  std::optional<int64_t> rhs_end;
  RELAY_ATTRS(ReshapeLikeAttrs, (lhs_begin, "First axis of data to replace."),
              (lhs_end, "Axis of data to stop before; the rank by default."),
              (rhs_begin, "First axis of shape_like to put there."),
              (rhs_end, "Axis of shape_like to stop before; the rank by default."))
};
struct TransposeAttrs {
  std::optional<std::vector<int64_t>> axes;
  RELAY_ATTRS(TransposeAttrs, (axes, "Result axis i is data axis axes[i]; reversed by default."))
};
struct SqueezeAttrs {
  std::optional<std::vector<int64_t>> axis;
  RELAY_ATTRS(SqueezeAttrs, (axis, "Axes of extent 1 to drop; by default all of them."))
};
struct ExpandDimsAttrs {
  Required<int64_t> axis;
  int64_t num_newaxis = 1;
  RELAY_ATTRS(ExpandDimsAttrs,
              (axis, "Where the new axes go; negative counts from the end of the result."),
              (num_newaxis, "How many axes of extent 1."))
};
struct ConcatenateAttrs {
  int64_t axis = 0;
  RELAY_ATTRS(ConcatenateAttrs, (axis, "Axis to join along."))
};
struct StackAttrs {
  int64_t axis = 0;
  RELAY_ATTRS(StackAttrs, (axis, "Where the new axis goes."))
};
struct SplitAttrs {
  AttrValue indices_or_sections;
  int64_t axis = 0;
  RELAY_ATTRS(SplitAttrs,
              (indices_or_sections, "Number of equal parts, or the rising indices to cut before."),
              (axis, "Axis to cut."))
};
struct StridedSliceAttrs {
  Required<std::vector<int64_t>> begin;
  Required<std::vector<int64_t>> end;
  std::optional<std::vector<int64_t>> strides;
  std::string slice_mode = "end";
  std::optional<std::vector<int64_t>> axes;
  RELAY_ATTRS(StridedSliceAttrs, (begin, "First index on each axis; negative counts from the end."),
              (end, "Index to stop before, or the number of elements in mode \"size\"."),
              (strides, "Step on each axis; 1 where not given."),
              (slice_mode, "\"end\" or \"size\"; with \"size\", -1 takes the rest."),
              (axes, "Axes that begin, end and strides speak of; the first ones by default."))
};
struct SliceLikeAttrs {
  std::optional<std::vector<int64_t>> axes;
  RELAY_ATTRS(SliceLikeAttrs, (axes, "Axes to cut to the extents of shape_like; all by default."))
};
struct TileAttrs {
  Required<std::vector<int64_t>> reps;
  RELAY_ATTRS(TileAttrs, (reps, "Repetitions of the whole, aligned at the last axis."))
};
struct RepeatAttrs {
  Required<int64_t> repeats;
  std::optional<int64_t> axis;
  RELAY_ATTRS(RepeatAttrs, (repeats, "Repetitions of each element."),
              (axis, "Axis; by default the data is flattened."))
};
struct ReverseAttrs {
  std::optional<int64_t> axis;
  RELAY_ATTRS(ReverseAttrs, (axis, "Axis to reverse; all of them by default."))
};
struct TakeAttrs {
  int64_t batch_dims = 0;
  std::optional<int64_t> axis;
  std::string mode = "clip";
  RELAY_ATTRS(TakeAttrs, (batch_dims, "Leading axes that data and indices share."),
              (axis, "Axis to take along; by default the data is flattened."),
              (mode,
               "Indices outside: \"clip\" to the nearest, \"wrap\" around, \"fast\": an error."))
};
struct GatherAttrs {
  Required<int64_t> axis;
  RELAY_ATTRS(GatherAttrs, (axis, "Axis that the indices speak of."))
};
struct GatherNDAttrs {
  int64_t batch_dims = 0;
  std::optional<int64_t> index_rank;
  RELAY_ATTRS(GatherNDAttrs, (batch_dims, "Leading axes that data and the index's rest share."),
              (index_rank, "Number of coordinates, where the index's first extent is unknown."))
};
struct ScatterNDAttrs {
  std::string mode = "update";
  RELAY_ATTRS(ScatterNDAttrs, (mode, "\"update\", \"add\", \"mul\", \"min\" or \"max\"."))
};
struct ScatterElementsAttrs {
  int64_t axis = 0;
  std::string reduction = "update";
  RELAY_ATTRS(ScatterElementsAttrs, (axis, "Axis that the indices speak of."),
              (reduction, "\"update\", \"add\", \"mul\", \"mean\", \"min\" or \"max\"."))
};
struct OneHotAttrs {
  int64_t depth = 1;
  int64_t axis = -1;
  std::optional<DType> dtype;
  RELAY_ATTRS(OneHotAttrs, (depth, "Number of classes."), (axis, "Where the class axis goes."),
              (dtype, "Dtype of the result; that of on_value by default."))
};
struct InitOpAttrs {
  std::optional<std::vector<int64_t>> shape;
  std::optional<DType> dtype;
  RELAY_ATTRS(InitOpAttrs, (shape, "Extents of the result."), (dtype, "Dtype of the result."))
};
struct ArangeAttrs {
  AttrValue start;
  AttrValue stop;
  AttrValue step;
  std::optional<DType> dtype;
  RELAY_ATTRS(ArangeAttrs, (start, "Repeats the argument, in programs that TVM printed."),
              (stop, "Repeats the argument."), (step, "Repeats the argument."),
              (dtype, "Dtype of the result; that of the arguments by default."))
};
struct CastAttrs {
  Required<DType> dtype;
  RELAY_ATTRS(CastAttrs, (dtype, "Dtype of the result."))
};
struct ClipAttrs {
  Required<double> a_min;
  Required<double> a_max;
  RELAY_ATTRS(ClipAttrs, (a_min, "Lower bound."), (a_max, "Upper bound."))
};

}  // namespace relay
