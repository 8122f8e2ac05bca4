// Attributes of convolutions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <relay/ir/attrs.h>

namespace relay {

/// Shared by the attributes of all convolutions. Lists have one entry for each spatial dimension,
/// or one for all of them.
struct ConvAttrs {
  attr::Sizes strides;
  attr::Sizes padding;
  attr::Sizes dilation;
  attr::Sizes output_padding;  // transposed ones only
  int64_t groups = 1;
  std::optional<int64_t> channels;
  std::optional<attr::Sizes> kernel_size;
  attr::Layout data_layout;
  attr::Layout kernel_layout;
  attr::Layout out_layout;
  DType out_dtype;

 protected:
  using Entries = std::vector<int64_t>;
  ConvAttrs(Entries ones, Entries zeros, std::string data, std::string kernel, Entries extra = {})
      : strides(ones),
        padding(std::move(zeros)),
        dilation(std::move(ones)),
        output_padding(std::move(extra)),
        data_layout(std::move(data)),
        kernel_layout(std::move(kernel)) {}
};

#define RELAY_CONV_STRIDES (strides, "Steps of the window.")
#define RELAY_CONV_PADDING \
  (padding,                \
   "Zeros around the data: 1 entry, one for each dimension, or all before and then all after.")
#define RELAY_CONV_DILATION (dilation, "Distance of the kernel's taps.")
#define RELAY_CONV_GROUPS (groups, "Groups of channels that do not mix.")
#define RELAY_CONV_CHANNELS (channels, "Channels of the result; those of the weight by default.")
#define RELAY_CONV_KERNEL_SIZE \
  (kernel_size, "Extents of the kernel; those of the weight by default.")
#define RELAY_CONV_DATA_LAYOUT (data_layout, "Layout of the data.")
#define RELAY_CONV_KERNEL_LAYOUT (kernel_layout, "Layout of the weight.")
#define RELAY_CONV_OUT_LAYOUT (out_layout, "Layout of the result; that of the data by default.")
#define RELAY_CONV_OUT_DTYPE \
  (out_dtype, "Dtype of the sums and of the result; that of the data by default.")
#define RELAY_CONV_FIELDS                                                         \
  RELAY_CONV_STRIDES, RELAY_CONV_PADDING, RELAY_CONV_DILATION, RELAY_CONV_GROUPS, \
      RELAY_CONV_CHANNELS, RELAY_CONV_KERNEL_SIZE, RELAY_CONV_DATA_LAYOUT,        \
      RELAY_CONV_KERNEL_LAYOUT, RELAY_CONV_OUT_LAYOUT, RELAY_CONV_OUT_DTYPE
#define RELAY_CONV_TRANSPOSE_FIELDS                                                             \
  RELAY_CONV_CHANNELS, RELAY_CONV_KERNEL_SIZE, RELAY_CONV_STRIDES,                              \
      (output_padding, "Extra extent at the end of each dimension of the result."),             \
      (padding,                                                                                 \
       "Elements cut off the result: 1 entry, one for each dimension, or all before and "       \
       "then all after."),                                                                      \
      RELAY_CONV_DILATION, RELAY_CONV_GROUPS, RELAY_CONV_DATA_LAYOUT, RELAY_CONV_KERNEL_LAYOUT, \
      RELAY_CONV_OUT_LAYOUT, RELAY_CONV_OUT_DTYPE

struct Conv1DAttrs : ConvAttrs {
  Conv1DAttrs() : ConvAttrs({1}, {0, 0}, "NCW", "OIW") {}
  RELAY_ATTRS(Conv1DAttrs, RELAY_CONV_FIELDS)
};
struct Conv2DAttrs : ConvAttrs {
  Conv2DAttrs() : ConvAttrs({1, 1}, {0, 0}, "NCHW", "OIHW") {}
  RELAY_ATTRS(Conv2DAttrs, RELAY_CONV_FIELDS)
};
struct Conv3DAttrs : ConvAttrs {
  Conv3DAttrs() : ConvAttrs({1, 1, 1}, {0, 0, 0}, "NCDHW", "OIDHW") {}
  RELAY_ATTRS(Conv3DAttrs, RELAY_CONV_FIELDS)
};
struct Conv1DTransposeAttrs : ConvAttrs {
  Conv1DTransposeAttrs() : ConvAttrs({1}, {0}, "NCW", "IOW", {0}) {}
  RELAY_ATTRS(Conv1DTransposeAttrs, RELAY_CONV_TRANSPOSE_FIELDS)
};
struct Conv2DTransposeAttrs : ConvAttrs {
  Conv2DTransposeAttrs() : ConvAttrs({1, 1}, {0, 0}, "NCHW", "IOHW", {0, 0}) {}
  RELAY_ATTRS(Conv2DTransposeAttrs, RELAY_CONV_TRANSPOSE_FIELDS)
};
struct Conv3DTransposeAttrs : ConvAttrs {
  Conv3DTransposeAttrs() : ConvAttrs({1, 1, 1}, {0, 0, 0}, "NCDHW", "IODHW", {0, 0, 0}) {}
  RELAY_ATTRS(Conv3DTransposeAttrs, RELAY_CONV_TRANSPOSE_FIELDS)
};
struct DeformableConv2DAttrs : ConvAttrs {
  DeformableConv2DAttrs() : ConvAttrs({1, 1}, {0, 0}, "NCHW", "OIHW") {}
  int64_t deformable_groups = 1;
  RELAY_ATTRS(DeformableConv2DAttrs, RELAY_CONV_STRIDES, RELAY_CONV_PADDING, RELAY_CONV_DILATION,
              (deformable_groups, "Groups of channels that share their offsets."),
              RELAY_CONV_GROUPS, RELAY_CONV_CHANNELS, RELAY_CONV_KERNEL_SIZE,
              RELAY_CONV_DATA_LAYOUT, RELAY_CONV_KERNEL_LAYOUT, RELAY_CONV_OUT_LAYOUT,
              RELAY_CONV_OUT_DTYPE)
};

}  // namespace relay
