// Attributes of operators whose shapes are arguments. Fields that repeat an argument are there for
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
  RELAY_ATTRS(DynExpandDimsAttrs, (num_newaxis, "How many axes of extent 1."))
};
struct DynSqueezeAttrs {
  std::optional<std::vector<int64_t>> axis;
  RELAY_ATTRS(DynSqueezeAttrs, (axis, "Repeats the argument; not read."))
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
              (pad_mode, "What the new elements are."))
};
struct DynTopkAttrs {
  std::optional<int64_t> k;
  attr::Axis axis = -1;
  TopkResults ret_type = TopkResults::kBoth;
  bool is_ascend = false;
  DType dtype;
  RELAY_ATTRS(DynTopkAttrs, (k, "Repeats the argument; not read."), (axis, "Axis to choose along."),
              (ret_type, "What the result is."),
              (is_ascend, "Whether the least are chosen instead of the greatest."),
              (dtype, "Dtype of positions; int32 by default."))
};

}  // namespace relay
