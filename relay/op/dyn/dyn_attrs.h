// Attributes of operators whose shapes are arguments. Fields that repeat an argument exist for
// programs that TVM printed; nothing reads them.
#pragma once

#include <relay/op/nn/pad_attrs.h>
#include <relay/op/shape/shape_attrs.h>
#include <relay/op/sort/sort_attrs.h>

namespace relay {

struct DynReshapeAttrs {
  std::optional<std::vector<int64_t>> newshape;
  bool allowzero = false;
  RELAY_ATTRS(DynReshapeAttrs, (newshape, "Repeats the argument; not read."),
              (allowzero, "0 means an extent of 0 instead of the data's."))
};
struct DynExpandDimsAttrs {
  int64_t num_newaxis = 1;
  RELAY_ATTRS(DynExpandDimsAttrs, (num_newaxis, "Number of axes of extent 1."))
};
struct DynSqueezeAttrs {
  std::optional<std::vector<int64_t>> axis;
  std::string message;
  RELAY_ATTRS(DynSqueezeAttrs, (axis, "Repeats the argument; not read."),
              (message,
               "Says why the axes must have the extent 1, in the error where one has not."))
};
struct DynTileAttrs {
  std::optional<std::vector<int64_t>> reps;
  RELAY_ATTRS(DynTileAttrs, (reps, "Repeats the argument; not read."))
};
struct DynStridedSliceAttrs {
  std::optional<std::vector<int64_t>> begin;
  std::optional<std::vector<int64_t>> end;
  std::optional<std::vector<int64_t>> strides;
  SliceMode slice_mode = SliceMode::kEnd;
  std::optional<attr::Axes> axes;
  RELAY_ATTRS(DynStridedSliceAttrs, (begin, "Repeats the argument; not read."),
              (end, "Repeats the argument; not read."),
              (strides, "Repeats the argument; not read."), (slice_mode, "What `end` says."),
              (axes, "Axes that begin, end and strides speak of; the first ones by default."))
};
struct DynPadAttrs {
  std::optional<std::vector<std::vector<int64_t>>> pad_width;
  PadMode pad_mode = PadMode::kConstant;
  RELAY_ATTRS(DynPadAttrs, (pad_width, "Repeats the argument; not read."),
              (pad_mode, "Source of the new elements."))
};
struct DynUpSamplingAttrs {
  std::optional<double> scale_h;
  std::optional<double> scale_w;
  attr::Layout layout = "NCHW";
  ImageMethod method = ImageMethod::kNearest;
  bool align_corners = false;
  RELAY_ATTRS(DynUpSamplingAttrs, (scale_h, "Repeats the argument; not read."),
              (scale_w, "Repeats the argument; not read."), (layout, "Layout of data and result."),
              (method, "Way of resampling."),
              (align_corners,
               "Except for the nearest element: corners come from corners; otherwise place i comes "
               "from i / scale."))
};
struct DynUpSampling3DAttrs {
  std::optional<double> scale_d;
  std::optional<double> scale_h;
  std::optional<double> scale_w;
  attr::Layout layout = "NCDHW";
  VolumeMethod method = VolumeMethod::kNearest;
  CoordinateMode coordinate_transformation_mode = CoordinateMode::kHalfPixel;
  RELAY_ATTRS(DynUpSampling3DAttrs, (scale_d, "Repeats the argument; not read."),
              (scale_h, "Repeats the argument; not read."),
              (scale_w, "Repeats the argument; not read."), (layout, "Layout of data and result."),
              (method, "Way of resampling."),
              (coordinate_transformation_mode, "Which places of data and result correspond."))
};
struct DynTopkAttrs {
  std::optional<int64_t> k;
  attr::Axis axis = -1;
  TopkResults ret_type = TopkResults::kBoth;
  bool is_ascend = false;
  DType dtype;
  RELAY_ATTRS(DynTopkAttrs, (k, "Repeats the argument; not read."), (axis, "Axis to choose along."),
              (ret_type, "Result: values, positions or both."),
              (is_ascend, "True if the least are chosen instead of the greatest."),
              (dtype, "Dtype of positions, int32 or int64; int32 by default."))
};

}  // namespace relay
