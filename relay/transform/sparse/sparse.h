// Weights as sparse matrices.
#pragma once

#include <array>
#include <optional>

#include <relay/runtime/ndarray.h>

namespace relay::sparse {

/// The blocks of a matrix that are not all zeros: their elements (number, height, width), the
/// column of each (of blocks), and where each row of blocks begins, both int32.
struct BlockMatrix {
  NDArray elements;
  NDArray columns;
  NDArray beginnings;
};
/// The matrix must be one of `can_be_blocks`.
BlockMatrix block_matrix(const NDArray& matrix, int64_t height, int64_t width);

/// True for the shape of a matrix that such blocks divide, if int32 counts them.
bool can_be_blocks(ShapeView matrix, int64_t height, int64_t width);

/// The share of the elements that are zeros; 0 without elements.
double share_of_zeros(const NDArray& array);

}  // namespace relay::sparse
