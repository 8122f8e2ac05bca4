// Slices, whose bounds clamp to the axis: one that ends before it begins has no elements.
#pragma once

#include <vector>

#include <relay/import/onnx/context.h>

namespace relay::onnx {

/// Beyond all extents that there are; ends of slices may be larger, which means as much.
inline constexpr int64_t kMostExtent = int64_t{1} << 59;

/// Elements from `starts` to before `ends` along each of `axes` (counted from the front), negative
/// bounds counted from the end.
GraphValue sliced(NodeContext& node, const GraphValue& x, const std::vector<int64_t>& axes,
                  const Elements& starts, const Elements& ends, const std::vector<int64_t>& steps);

/// The same with lists that only a run knows.
GraphValue sliced_at_run_time(NodeContext& node, const GraphValue& x,
                              const std::vector<int64_t>& axes, const GraphValue& starts,
                              const GraphValue& ends, const GraphValue& steps);

}  // namespace relay::onnx
