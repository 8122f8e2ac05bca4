// Library kernels: what is no index expression (sort, top-k, argwhere, …), by name, over strided
// arrays.
#pragma once

#include <relay/runtime/ndarray.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace relay {

/// One run of a kernel.
struct LibraryCall {
  std::span<const NDArray> inputs;  // any strides
  std::span<const int64_t> params;  // fixed by the operator's attributes
  std::span<NDArray> outputs;       // allocated with their greatest extents, contiguous, unset
  /// For kernels that count: how many leading entries of dimension 0 of the counted outputs are
  /// results. Negative means all.
  int64_t count = -1;
};

/// Fills the outputs. Throws RuntimeError for data that it cannot take.
using LibraryKernel = void (*)(LibraryCall& call);

/// The kernel of a name, or null.
LibraryKernel find_library_kernel(std::string_view name);
/// Throws InternalError for a name taken. Returns true, so that a static object can register.
bool register_library_kernel(std::string_view name, LibraryKernel kernel);

}  // namespace relay

/// Registers at namespace scope of a source file: `RELAY_LIBRARY_KERNEL("sort", sort_kernel)`.
#define RELAY_LIBRARY_KERNEL(name, function)                           \
  [[maybe_unused]] static const bool relay_library_kernel_##function = \
      ::relay::register_library_kernel(name, function)
