// Windows of pools.
#pragma once

#include <vector>

#include <relay/import/onnx/ops/spatial.h>

namespace relay::onnx {

/// The window of a pool. Where the data's extents are known, ceil_mode has become padding behind.
struct PoolWindow {
  Window window;
  std::vector<int64_t> out;           // windows along each axis; empty if extents are not known
  std::vector<int64_t> stated_after;  // the padding behind that the node itself states
  bool ceil = false;                  // windows are still to be counted by rounding up
};

PoolWindow pool_window_of(NodeContext& node, const GraphValue& x);

/// The greatest elements of the windows.
GraphValue max_pool(NodeContext& node, const PoolWindow& pool, const GraphValue& x);

/// The averages of the windows; with `include_padding` the stated padding counts as zeros.
GraphValue average_pool(NodeContext& node, const PoolWindow& pool, const GraphValue& x,
                        bool include_padding);

}  // namespace relay::onnx
