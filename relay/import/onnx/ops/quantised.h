// From numbers to integers and back, for several families.
#pragma once

#include <relay/import/onnx/context.h>

namespace relay::onnx {

/// (x - zero point) · scale. Both are numbers, or vectors along `axis`; the zero point may be
/// nothing.
GraphValue dequantized(NodeContext& node, const GraphValue& x, const GraphValue& scale,
                       const GraphValue& zero, int64_t axis, DType dtype);
/// round(x / scale) + zero point within the range of an integer dtype, halves to even.
GraphValue quantized(NodeContext& node, const GraphValue& x, const GraphValue& scale,
                     const GraphValue& zero, int64_t axis, DType dtype);
/// The dtype of a zero point, or uint8 where there is none.
DType quantised_dtype(const GraphValue& zero);

}  // namespace relay::onnx
