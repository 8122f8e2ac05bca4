// Facts that decide how long a write of a reference may wait (postpone.cpp).
#pragma once

#include <relay/ir/type.h>

namespace relay::vm {

/// True for what is so large that computing it takes longer than running a graph: until it is
/// written, what the reference held has to stay beside it.
bool keeps_memory(const Type* type);

}  // namespace relay::vm
