// Attributes of operators that rearrange, select and create tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <relay/ir/attrs.h>

namespace relay {

/// The largest extent, count or step of an operator: a `Dim` holds less than an int64_t.
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
  std::optional<attr::Axes> axes;
  RELAY_ATTRS(TransposeAttrs, (axes, "Result axis i is data axis axes[i]; reversed by default."))
};
struct SqueezeAttrs {
  std::optional<attr::Axes> axis;
  RELAY_ATTRS(SqueezeAttrs, (axis, "Axes of extent 1 to drop; by default all of them."))
};
struct ExpandDimsAttrs {
  Required<attr::NewAxis> axis;
  int64_t num_newaxis = 1;
  RELAY_ATTRS(ExpandDimsAttrs,
              (axis, "Position of the new axes; negative counts from the end of the result."),
              (num_newaxis, "Number of axes of extent 1."))
};
struct ConcatenateAttrs {
  attr::Axis axis = 0;
  RELAY_ATTRS(ConcatenateAttrs, (axis, "Axis to join along."))
};
struct StackAttrs {
  attr::NewAxis axis = 0;
  RELAY_ATTRS(StackAttrs, (axis, "Position of the new axis."))
};
struct SplitAttrs {
  AttrValue indices_or_sections;
  attr::Axis axis = 0;
  RELAY_ATTRS(SplitAttrs,
              (indices_or_sections, "Number of equal parts, or the rising indices to cut before."),
              (axis, "Axis to cut."))
};
RELAY_WORDS(SliceMode, (kEnd, "end", "Indices to stop before."),
            (kSize, "size", "Numbers of elements; -1 takes the rest. Steps are 1."))
struct StridedSliceAttrs {
  Required<std::vector<int64_t>> begin;
  Required<std::vector<int64_t>> end;
  std::optional<std::vector<int64_t>> strides;
  SliceMode slice_mode = SliceMode::kEnd;
  std::optional<attr::Axes> axes;
  RELAY_ATTRS(StridedSliceAttrs, (begin, "First index on each axis; negative counts from the end."),
              (end, "End on each axis, or its size: see slice_mode."),
              (strides, "Step on each axis; 1 where not given."), (slice_mode, "What `end` says."),
              (axes, "Axes that begin, end and strides speak of; the first ones by default."))
};
struct SliceLikeAttrs {
  std::optional<attr::Axes> axes;
  RELAY_ATTRS(SliceLikeAttrs, (axes, "Axes to cut to the extents of shape_like; all by default."))
};
struct TileAttrs {
  Required<std::vector<int64_t>> reps;
  RELAY_ATTRS(TileAttrs, (reps, "Repetitions of the whole, aligned at the last axis."))
};
struct RepeatAttrs {
  Required<int64_t> repeats;
  std::optional<attr::Axis> axis;
  RELAY_ATTRS(RepeatAttrs, (repeats, "Repetitions of each element."),
              (axis, "Axis; by default the data is flattened."))
};
struct ReverseAttrs {
  std::optional<attr::Axis> axis;
  RELAY_ATTRS(ReverseAttrs, (axis, "Axis to reverse; all of them by default."))
};
RELAY_WORDS(IndexMode, (kClip, "clip", "The nearest inside."), (kWrap, "wrap", "They wrap around."),
            (kFast, "fast", "An error."))
struct TakeAttrs {
  int64_t batch_dims = 0;
  std::optional<attr::Axis> axis;
  IndexMode mode = IndexMode::kClip;
  RELAY_ATTRS(TakeAttrs, (batch_dims, "Leading axes that data and indices share."),
              (axis, "Axis to take along; by default the data is flattened."),
              (mode, "Treatment of indices outside."))
};
struct GatherAttrs {
  Required<attr::Axis> axis;
  RELAY_ATTRS(GatherAttrs, (axis, "Axis that the indices speak of."))
};
struct GatherNDAttrs {
  int64_t batch_dims = 0;
  std::optional<int64_t> index_rank;
  RELAY_ATTRS(GatherNDAttrs, (batch_dims, "Leading axes that data and the index's rest share."),
              (index_rank, "Number of coordinates, where the index's first extent is unknown."))
};
RELAY_WORDS(ScatterMode, (kUpdate, "update", "The update."), (kAdd, "add", "Their sum."),
            (kMul, "mul", "Their product."), (kMin, "min", "The less of the two."),
            (kMax, "max", "The greater of the two."))
RELAY_WORDS(ScatterReduction, (kUpdate, "update", "The update."), (kAdd, "add", "Their sum."),
            (kMul, "mul", "Their product."), (kMin, "min", "The less of the two."),
            (kMax, "max", "The greater of the two."),
            (kMean, "mean", "The mean of the element and all its updates."))
struct ScatterNDAttrs {
  ScatterMode mode = ScatterMode::kUpdate;
  RELAY_ATTRS(ScatterNDAttrs, (mode, "Effect of an update on an element."))
};
struct ScatterElementsAttrs {
  attr::Axis axis = 0;
  ScatterReduction reduction = ScatterReduction::kUpdate;
  RELAY_ATTRS(ScatterElementsAttrs, (axis, "Axis that the indices speak of."),
              (reduction, "Effect of an update on an element."))
};
struct OneHotAttrs {
  int64_t depth = 1;
  attr::NewAxis axis = -1;
  std::optional<DType> dtype;
  bool from_end = false;
  RELAY_ATTRS(OneHotAttrs, (depth, "Number of classes."), (axis, "Position of the class axis."),
              (dtype, "Dtype of the result; that of on_value by default."),
              (from_end, "Indices from -depth to -1 count from the last class."))
};
struct InitOpAttrs {
  std::optional<attr::Shape> shape;
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
