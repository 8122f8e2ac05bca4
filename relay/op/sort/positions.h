// Dtypes of positions in tensors.
#pragma once

#include <relay/op/registry/relation.h>

namespace relay {

/// int32 unless another dtype is given: int32 or int64; refuses others.
DType position_dtype(const RelationCall& call, DType wanted);
/// Refuses a known extent whose positions do not fit the dtype; kernels refuse the others.
void require_positions(const RelationCall& call, Dim extent, DType dtype);

}  // namespace relay
