// Which operators a function calls.
#pragma once

#include <relay/ir/expr.h>
#include <relay/support/pointer_map.h>

namespace relay {

/// The operators that the nodes of a function name, in the functions inside, too.
PointerSet<Operator> operators_of(const Function* function);

}  // namespace relay
