// Products of matrices, for several families.
#pragma once

#include <relay/import/onnx/context.h>

namespace relay::onnx {

/// NumPy's matmul: batches broadcast, vectors are rows or columns.
GraphValue matmul(NodeContext& node, GraphValue a, GraphValue b);

}  // namespace relay::onnx
