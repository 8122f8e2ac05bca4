// Finds kernels that may write over a buffer that they read.
#pragma once

#include <cstdint>
#include <vector>

#include <relay/lower/loops.h>

namespace relay::lower {

/// Two buffers of a kernel that may be the same memory: each element of the one is read, if at all,
/// only for the element of the other at the same place, before that is written.
struct InPlace {
  int32_t written = 0;
  int32_t read = 0;
  /// True if the kernel only copies: in place there is nothing to do.
  bool copy = false;
};

/// All such pairs.
std::vector<InPlace> in_place_buffers(const Kernel& kernel);

}  // namespace relay::lower
