#include <relay/op/sort/positions.h>

#include <relay/runtime/kernels/positions.h>

namespace relay {

DType position_dtype(const RelationCall& call, DType wanted) {
  DType dtype = wanted.valid() ? wanted : kInt32;
  call.require(dtype == kInt32 || dtype == kInt64,
               "dtype of positions must be int32 or int64, found " + std::string(dtype.name()));
  return dtype;
}

void require_positions(const RelationCall& call, Dim extent, DType dtype) {
  if (!extent.is_int()) return;
  call.require(extent.as_int() <= most_positions(dtype), positions_text(extent.as_int(), dtype));
}

}  // namespace relay
