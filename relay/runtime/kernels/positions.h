// Positions as elements of tensors.
#pragma once

#include <relay/runtime/ndarray.h>
#include <relay/support/error.h>

#include <cstdint>
#include <string>

namespace relay {

/// The greatest extent along which a numeric dtype holds every position exactly.
inline int64_t most_positions(DType dtype) {
  if (dtype == kBFloat16) return int64_t{1} << 8;
  if (dtype == kFloat16) return int64_t{1} << 11;
  if (dtype == kFloat32) return int64_t{1} << 24;
  if (dtype == kFloat64) return int64_t{1} << 53;
  int bits = dtype.is_signed() ? dtype.bits - 1 : dtype.bits;
  return bits >= 63 ? INT64_MAX : int64_t{1} << bits;
}

inline std::string positions_text(int64_t extent, DType dtype) {
  return "positions along an axis of extent " + std::to_string(extent) + " do not fit " +
         std::string(dtype.name());
}

/// For kernels: checks the extents that the relation could not see.
inline void check_positions(int64_t extent, DType dtype) {
  if (extent > most_positions(dtype)) throw RuntimeError(positions_text(extent, dtype));
}

/// Calls `body` with the elements to write positions to, int32 or int64: those of `out`, or of a
/// tensor that replaces it.
template <class F>
void write_positions(const NDArray& out, F&& body) {
  if (out.dtype() == kInt32) return body(out.data<int32_t>());
  if (out.dtype() == kInt64) return body(out.data<int64_t>());
  NDArray positions = NDArray::empty(out.shape(), kInt64);
  body(positions.data<int64_t>());
  out.assign(positions.cast(out.dtype()));
}

}  // namespace relay
