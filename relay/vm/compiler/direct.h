// Groups computed by the direct evaluator of tensor expressions, for tests of the compiler alone.
#pragma once

#include <cstdint>
#include <span>

#include <relay/ir/expr.h>

namespace relay::vm {

/// Library kernel that computes a registered group; its one parameter is the number of the group.
inline constexpr const char* kDirectKernel = "relay.direct";

/// Keeps a primitive function for this process; `inputs` are the types of its parameters.
int64_t register_direct(const relay::FunctionRef& function, std::span<const TypeRef> inputs);

}  // namespace relay::vm
