// Gradients of convolutions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <relay/op/nn/conv_attrs.h>
#include <relay/op/registry/gradient.h>
#include <relay/op/registry/layout.h>

namespace relay {

/// The gradients of nn.conv1d, nn.conv2d and nn.conv3d: both are convolutions again, in the order
/// of axes that products read best. Blocked layouts, unknown extents along the window and mixed
/// dtypes have what is derived.
std::vector<ExprRef> conv_gradient(const GradientCall& call, const ConvAttrs& attrs, size_t rank);

/// The gradients of the transposed ones: that of the data is a convolution, and that of the weight
/// as above, with data and gradient exchanged.
std::vector<ExprRef> conv_transpose_gradient(const GradientCall& call, const ConvAttrs& attrs,
                                             size_t rank);

/// A convolution whose layouts are orders of axes without blocks, and whose extents along the
/// window are known.
struct PlainConv {
  std::string space;               // axes of the window: W, HW or DHW
  std::string data, kernel, out;   // the letters of the axes, in order
  std::vector<int64_t> strides;    // as the others, one for each axis of `space`
  std::vector<int64_t> dilation;
  Padding padding;
  std::vector<int64_t> extents;  // of the data
  std::vector<int64_t> taps;     // of the weight
  std::vector<int64_t> counts;   // of the result
  int64_t groups = 1;
  int64_t channels_in = 0, channels_out = 0;  // 0 if they are not known
  DType dtype;

  size_t rank() const { return space.size(); }
};

/// The gradient of the data of a convolution of one group, written with convolutions of step 1.
/// With steps, each of the places that a step skips has a window of its own, over every so many
/// taps, and the results are put side by side. Null if that does not pay: dilation and steps at
/// once, very long steps, or padding beyond the window.
ExprRef spread_gradient(const PlainConv& conv, const ExprRef& gradient, const ExprRef& weight);

/// The operator nn.conv of that many dimensions. The layouts say which axis of the operands means
/// what.
ExprRef make_conv(const ExprRef& data, const ExprRef& weight, const ConvAttrs& attrs, size_t rank);
/// The tensor whose axes have these letters, with them in another order.
ExprRef in_order(const ExprRef& x, const std::string& letters, const std::string& wanted);
/// Every `step`-th element from `begin` up to `end` along an axis.
ExprRef cut_along(const ExprRef& x, size_t axis, int64_t begin, int64_t end, int64_t step = 1);

}  // namespace relay
