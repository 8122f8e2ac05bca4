// Attributes of pooling operators.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <relay/ir/attrs.h>

namespace relay {

/// Shared by the attributes of all windowed pools. Lists have one entry for each spatial dimension,
/// or one for all of them.
struct PoolAttrs {
  Required<attr::Sizes> pool_size;
  attr::Sizes strides;
  attr::Sizes dilation;
  attr::Sizes padding;
  attr::Layout layout;
  attr::Layout out_layout;
  bool ceil_mode = false;
  bool count_include_pad = false;  // averages only

 protected:
  using Entries = std::vector<int64_t>;
  PoolAttrs(Entries ones, Entries zeros, std::string text)
      : strides(ones),
        dilation(std::move(ones)),
        padding(std::move(zeros)),
        layout(std::move(text)) {}
};

#define RELAY_POOL_FIELDS                                                                      \
  (pool_size, "Extents of the window."), (strides, "Steps of the window."),                    \
      (dilation, "Distance of the window's elements."),                                        \
      (padding,                                                                                \
       "Around the data: 1 entry, one for each dimension, or all before and then all after."), \
      (layout, "Layout of the data."),                                                         \
      (out_layout, "Layout of the result; that of the data by default."),                      \
      (ceil_mode, "True if a window that only begins inside counts, too.")
#define RELAY_AVG_POOL_FIELDS \
  RELAY_POOL_FIELDS, (count_include_pad, "True if padding counts as elements that are 0.")

struct MaxPool1DAttrs : PoolAttrs {
  MaxPool1DAttrs() : PoolAttrs({1}, {0}, "NCW") {}
  RELAY_ATTRS(MaxPool1DAttrs, RELAY_POOL_FIELDS)
};
struct MaxPool2DAttrs : PoolAttrs {
  MaxPool2DAttrs() : PoolAttrs({1, 1}, {0, 0}, "NCHW") {}
  RELAY_ATTRS(MaxPool2DAttrs, RELAY_POOL_FIELDS)
};
struct MaxPool3DAttrs : PoolAttrs {
  MaxPool3DAttrs() : PoolAttrs({1, 1, 1}, {0, 0, 0}, "NCDHW") {}
  RELAY_ATTRS(MaxPool3DAttrs, RELAY_POOL_FIELDS)
};
struct AvgPool1DAttrs : PoolAttrs {
  AvgPool1DAttrs() : PoolAttrs({1}, {0}, "NCW") {}
  RELAY_ATTRS(AvgPool1DAttrs, RELAY_AVG_POOL_FIELDS)
};
struct AvgPool2DAttrs : PoolAttrs {
  AvgPool2DAttrs() : PoolAttrs({1, 1}, {0, 0}, "NCHW") {}
  RELAY_ATTRS(AvgPool2DAttrs, RELAY_AVG_POOL_FIELDS)
};
struct AvgPool3DAttrs : PoolAttrs {
  AvgPool3DAttrs() : PoolAttrs({1, 1, 1}, {0, 0, 0}, "NCDHW") {}
  RELAY_ATTRS(AvgPool3DAttrs, RELAY_AVG_POOL_FIELDS)
};

/// Shared by the attributes of pools over the whole, or over a number of equal parts.
struct AdaptivePoolAttrs {
  attr::Sizes output_size;  // none: the extents of the data; one: the same on every dimension
  attr::Layout layout;
  attr::Layout out_layout;

 protected:
  explicit AdaptivePoolAttrs(std::string text) : layout(std::move(text)) {}
};

#define RELAY_POOL_LAYOUT_FIELDS   \
  (layout, "Layout of the data."), \
      (out_layout, "Layout of the result; that of the data by default.")
#define RELAY_ADAPTIVE_POOL_FIELDS \
  (output_size, "Extents of the result; those of the data by default."), RELAY_POOL_LAYOUT_FIELDS

struct AdaptivePool1DAttrs : AdaptivePoolAttrs {
  AdaptivePool1DAttrs() : AdaptivePoolAttrs("NCW") {}
  RELAY_ATTRS(AdaptivePool1DAttrs, RELAY_ADAPTIVE_POOL_FIELDS)
};
struct AdaptivePool2DAttrs : AdaptivePoolAttrs {
  AdaptivePool2DAttrs() : AdaptivePoolAttrs("NCHW") {}
  RELAY_ATTRS(AdaptivePool2DAttrs, RELAY_ADAPTIVE_POOL_FIELDS)
};
struct AdaptivePool3DAttrs : AdaptivePoolAttrs {
  AdaptivePool3DAttrs() : AdaptivePoolAttrs("NCDHW") {}
  RELAY_ATTRS(AdaptivePool3DAttrs, RELAY_ADAPTIVE_POOL_FIELDS)
};
/// Like an adaptive pool with output_size 1.
struct GlobalPool2DAttrs : AdaptivePoolAttrs {
  GlobalPool2DAttrs() : AdaptivePoolAttrs("NCHW") { output_size = {1}; }
  RELAY_ATTRS(GlobalPool2DAttrs, RELAY_POOL_LAYOUT_FIELDS)
};

}  // namespace relay
