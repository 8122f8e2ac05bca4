// Shared parts of kernels on boxes.
#pragma once

#include <relay/runtime/kernels/floats.h>
#include <relay/runtime/kernels/order.h>
#include <relay/runtime/kernels/radix.h>
#include <relay/runtime/library_kernel.h>

#include <cstdint>

namespace relay {

/// The items of `n` scores, `stride` apart: the greatest first, of equal ones the first,
/// not-a-number last. `items` has room for twice as many. Returns the place of the result.
inline WideItem* order_scores(LibraryCall& call, DType dtype, const void* scores, int64_t stride,
                              int64_t n, WideItem* items) {
  items_of<WideItem>(dtype, /*falling=*/true)(scores, stride, 0, n, items);
  return sort_items(call, items, items + n, n, dtype.size());
}

/// The only element of a tensor of numbers, as a limit on a count: -1, or below, is no limit.
inline int64_t limit_of(const NDArray& number, int64_t all) {
  int64_t limit = number.item_as_int64();
  return limit < 0 || limit > all ? all : limit;
}

}  // namespace relay
