// Attributes of operators that move elements between space, channels and batch, and of windows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <relay/ir/attrs.h>

namespace relay {

RELAY_WORDS(DepthMode, (kDCR, "DCR", "The position in the block first, then the channel."),
            (kCRD, "CRD", "The channel first."))

struct SubPixelAttrs {
  int64_t block_size = 1;
  attr::Layout layout = "NCHW";
  DepthMode mode = DepthMode::kDCR;
  RELAY_ATTRS(SubPixelAttrs, (block_size, "Height and width of a block."),
              (layout, "Layout of data and result."),
              (mode, "Order of the channels that make blocks, for nn.depth_to_space."))
};
struct SpaceToBatchNDAttrs {
  std::vector<int64_t> block_shape{1, 1};
  Required<std::vector<std::vector<int64_t>>> paddings;
  double pad_value = 0.0;
  RELAY_ATTRS(SpaceToBatchNDAttrs, (block_shape, "Extents of a block: of axis 1, axis 2, …"),
              (paddings, "Elements added before and after each of these axes, a pair for each."),
              (pad_value, "Value of the padding."))
};
struct BatchToSpaceNDAttrs {
  std::vector<int64_t> block_shape{1, 1};
  Required<std::vector<std::vector<int64_t>>> crops;
  RELAY_ATTRS(BatchToSpaceNDAttrs, (block_shape, "Extents of a block: of axis 1, axis 2, …"),
              (crops, "Elements cut off before and after each of these axes, a pair for each."))
};
struct DilateAttrs {
  Required<attr::PerAxis<int64_t>> strides;
  double dilation_value = 0.0;
  RELAY_ATTRS(DilateAttrs, (strides, "Distance of the data's elements in the result, by axis."),
              (dilation_value, "Value between the elements."))
};
struct FIFOBufferAttrs {
  attr::Axis axis = 0;
  RELAY_ATTRS(FIFOBufferAttrs, (axis, "Axis that the buffer moves along."))
};
struct LRNAttrs {
  int64_t size = 5;
  attr::Axis axis = 1;
  double bias = 2;
  double alpha = 0.0001;
  double beta = 0.75;
  RELAY_ATTRS(LRNAttrs, (size, "Number of neighbours, the element among them."),
              (axis, "Axis that the neighbours lie along."), (bias, "Added to the mean."),
              (alpha, "Weight of the mean of squares."), (beta, "Exponent of the divisor."))
};
struct CorrelationAttrs {
  int64_t kernel_size = 1;
  int64_t max_displacement = 1;
  int64_t stride1 = 1;
  int64_t stride2 = 1;
  attr::Sizes padding{0, 0};
  bool is_multiply = true;
  attr::Layout layout = "NCHW";
  RELAY_ATTRS(CorrelationAttrs, (kernel_size, "Extent of the patches, odd."),
              (max_displacement, "Largest distance of two patches."),
              (stride1, "Steps of the patch of the first image."),
              (stride2, "Steps of the displacement."),
              (padding,
               "Zeros around both: 1 entry, one for each dimension, or all before and then all "
               "after."),
              (is_multiply, "Products of the elements, or absolute differences."),
              (layout, "Layout of both and of the result."))
};

}  // namespace relay
