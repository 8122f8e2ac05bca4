// oneDNN as the second implementation of sums of products.
#pragma once

#include <relay/tensor_expr/computation.h>

namespace relay::lower {

/// The same computation with float32 matrix products and convolutions (row-major operands, NCHW and
/// OIHW or their like in one and three dimensions) as calls of the library kernels "onednn.matmul"
/// and "onednn.convolution". Work after a sum becomes a stage of its own.
te::Computation with_onednn(const te::Computation& computation);

}  // namespace relay::lower
