// A call that says that a value is not needed any more.
#pragma once

#include <relay/ir/expr.h>

namespace relay {

/// `memory.kill(value)`, an empty tuple.
ExprRef memory_kill(const ExprRef& value);

}  // namespace relay
