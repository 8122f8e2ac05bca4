// Works computed by the direct evaluator of tensor expressions, for tests of the compiler alone.
#pragma once

#include <cstdint>

#include <relay/graph/graph.h>

namespace relay::vm {

/// Library kernel that computes a registered work; its one parameter is the work's number.
inline constexpr const char* kDirectKernel = "relay.direct";

/// Keeps a work for this process.
int64_t register_direct(graph::WorkRef work);

}  // namespace relay::vm
