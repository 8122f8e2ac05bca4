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
/// Numbers as uint8 whose scale and zero point follow from their range.
struct DynamicallyQuantised {
  GraphValue integers, scale, zero;
};
/// x as uint8: the scale takes the range of `range` (of x where it is nothing) and 0 to 0 … 255.
DynamicallyQuantised dynamically_quantised(NodeContext& node, const GraphValue& x,
                                           const GraphValue& range = {});

/// A matrix (…, inputs, outputs) of integers, and its scale and zero point: numbers, vectors along
/// the outputs, or (…, 1, outputs). The zero point may be nothing.
struct QuantisedMatrix {
  GraphValue integers, scale, zero{};
};
/// The same of integers whose parameters have these forms; the zero point may be nothing.
QuantisedMatrix quantised_matrix(NodeContext& node, const GraphValue& integers,
                                 const GraphValue& scale, const GraphValue& zero);
/// x · matrix, x being dynamically quantised by the range of `range`.
GraphValue dynamic_matmul(NodeContext& node, const GraphValue& x, const QuantisedMatrix& matrix,
                          const GraphValue& range = {});

/// The dtype of a zero point, or uint8 where there is none.
DType quantised_dtype(const GraphValue& zero);

}  // namespace relay::onnx
