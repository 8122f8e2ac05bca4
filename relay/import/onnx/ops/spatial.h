// Parts that convolutions and pools share: windows over spatial axes.
#pragma once

#include <string>
#include <vector>

#include <relay/import/onnx/context.h>

namespace relay::onnx {

/// The window of a node: `kernel_shape`, `strides`, `dilations`, `pads` or `auto_pad`.
struct Window {
  std::vector<int64_t> kernel;
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  std::vector<int64_t> pads;  // all before, then all after
  /// The same as terms over named extents, of auto_pad with strides: `with_pads` adds them to the
  /// data; `pads` are zeros then. Else empty.
  std::vector<Dim> open_pads;
};

/// The effect of auto_pad on the pads of a window.
enum class Padding {
  kResolved,   // SAME_UPPER and SAME_LOWER become numbers
  kOpen,       // … or `open_pads`, where extents are names
  kAsWritten,  // the pads stay as the node has them; VALID makes them 0
};

/// Reads and checks the attributes for `spatial` axes of x (its last ones); `kernel` if the node
/// has no kernel_shape. SAME_UPPER and SAME_LOWER need extents that are known.
Window window_of(NodeContext& node, const GraphValue& x, std::vector<int64_t> kernel = {},
                 Padding padding = Padding::kResolved);

/// x with the `open_pads` of a window around it, made of `fill`.
GraphValue with_pads(NodeContext& node, const Window& w, const GraphValue& x,
                     const GraphValue& fill);

/// The spatial extents of a convolution's weights, which have to be known.
std::vector<int64_t> kernel_of(NodeContext& node, const GraphValue& weight);

/// "nn.conv2d": the operator of a family for 1, 2 or 3 spatial axes.
std::string spatial_op(NodeContext& node, const std::string& prefix, size_t spatial,
                       const std::string& suffix = "");
/// "NCHW" and the like; `lead` for the first two axes.
std::string spatial_layout(const std::string& lead, size_t spatial);

/// (batch, spatial axes …, channels) as (batch, channels, spatial axes …), and back.
GraphValue channels_first(NodeContext& node, const GraphValue& x);
GraphValue channels_last(NodeContext& node, const GraphValue& x);

}  // namespace relay::onnx
