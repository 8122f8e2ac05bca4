// Attributes of windows and layouts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <relay/ir/attrs.h>

namespace relay {

struct SlidingWindowAttrs {
  Required<attr::Axis> axis;
  Required<std::vector<int64_t>> window_shape;
  Required<std::vector<int64_t>> strides;
  RELAY_ATTRS(SlidingWindowAttrs, (axis, "First axis that the window slides along."),
              (window_shape, "Extents of the window, of this axis and all after it."),
              (strides, "Steps of the window along these axes."))
};
struct LayoutTransformAttrs {
  Required<attr::Layout> src_layout;
  Required<attr::Layout> dst_layout;
  RELAY_ATTRS(LayoutTransformAttrs,
              (src_layout,
               "Layout of the data: a capital letter for each axis, blocks as in NCHW4c."),
              (dst_layout, "Layout of the result, of the same axes."))
};

}  // namespace relay
