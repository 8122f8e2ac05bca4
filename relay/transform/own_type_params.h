// Functions that are cut out of others.
#pragma once

#include <relay/ir/expr.h>

namespace relay {

/// A function whose types mention dimensions and types of another one, with names of its own for
/// them: parameters of the function. The same function if there are none.
FunctionRef with_own_type_params(const FunctionRef& function);

}  // namespace relay
