// Which kernels may write over what they read.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <relay/lower/loops.h>

namespace relay::vm {

/// Pairs of buffers (written, read) of a nest that reads each element of the one only where it
/// writes that element of the other.
std::vector<std::pair<int32_t, int32_t>> in_place_buffers(const lower::Kernel& kernel);

}  // namespace relay::vm
