// Element types of kernels on floats.
#pragma once

#include <relay/runtime/dtype.h>
#include <relay/support/error.h>

#include <string>

namespace relay {

/// Calls `body` with a zero of the element type of a tensor of floats. Compute in ComputeType of
/// that type: float or double.
template <class F>
void dispatch_float(DType dtype, F&& body) {
  if (dtype == kFloat32) return body(float{});
  if (dtype == kFloat64) return body(double{});
  if (dtype == kFloat16) return body(Half{});
  if (dtype == kBFloat16) return body(BFloat16{});
  RELAY_UNREACHABLE("a kernel of floats on " + std::string(dtype.name()));
}

}  // namespace relay
