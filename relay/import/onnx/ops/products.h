// Products of matrices, for several families.
#pragma once

#include <optional>

#include <relay/import/onnx/context.h>

namespace relay::onnx {

/// NumPy's matmul: batches broadcast, vectors are rows or columns.
/// Operands of two integer dtypes need the result's.
GraphValue matmul(NodeContext& node, GraphValue a, GraphValue b,
                  std::optional<DType> out_dtype = std::nullopt);

/// Conv of x with the node's second and third inputs (the third, the bias, may be nothing) and its
/// attributes.
GraphValue convolution(NodeContext& node, GraphValue x);
/// The same with these weights in place of the second input.
GraphValue convolution(NodeContext& node, GraphValue x, const GraphValue& weight);

/// `matmul` of integers less their zero points, in int32. A zero point is one number, or one for
/// each row of `a` (column of `b`, (…, 1, columns) too); it may be nothing.
GraphValue integer_matmul(NodeContext& node, const GraphValue& a, const GraphValue& b,
                          const GraphValue& a_zero, const GraphValue& b_zero);

/// A convolution of integers less their zero points, in int32, with the window that the node's
/// attributes say. The weights' zero point may be one for each output.
GraphValue integer_conv(NodeContext& node, const GraphValue& x, const GraphValue& weight,
                        const GraphValue& x_zero, const GraphValue& weight_zero);

/// A convolution or product of numbers that stand for integers of 8 bits, by those: nothing if the
/// operands are others. For the convolution x and the node's second input, without a bias; for the
/// product matrices (…, rows, inner) and (…, inner, columns).
std::optional<GraphValue> conv_of_dequantised(NodeContext& node, const GraphValue& x);
std::optional<GraphValue> matmul_of_dequantised(NodeContext& node, const GraphValue& a,
                                                const GraphValue& b, bool transpose_b = false);

}  // namespace relay::onnx
