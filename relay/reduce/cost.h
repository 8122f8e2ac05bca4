// Internal to reduce/: the size of a program, so that each step makes it smaller.
#pragma once

#include <cstdint>

#include <relay/ir/module.h>

namespace relay::reduce {

/// A number that grows with nodes, functions and types first, and then with extents, dtypes,
/// attributes and constants that are not the simplest.
uint64_t cost(const Module& module);

}  // namespace relay::reduce
