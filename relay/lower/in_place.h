// Finds kernels that may write over a buffer that they read.
#pragma once

#include <cstdint>
#include <vector>

#include <relay/lower/loops.h>

namespace relay::lower {

/// Two buffers of a kernel that may be the same memory: each element of the one is read, if at all,
/// before the element of the other at the same place is written. Several pairs without a buffer in
/// common may hold at once; code that is made from the kernel must keep the order of its loads and
/// stores of such buffers.
struct InPlace {
  int32_t written = 0;
  int32_t read = 0;
  /// True if the kernel only copies: in place there is nothing to do.
  bool copy = false;
};

/// All such pairs, in the order of the stores.
std::vector<InPlace> in_place_buffers(const Kernel& kernel);

/// For each buffer, the first of those that may be the same memory and whose loads and stores have
/// to stay in order; itself if there is none. Where a kernel stores one value at each point there
/// is none: that value depends on what is read there.
std::vector<int32_t> ordered_buffers(const Kernel& kernel);

}  // namespace relay::lower
