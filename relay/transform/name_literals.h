// Operators and constructors that are values.
#pragma once

#include <relay/ir/module.h>

namespace relay {

/// The function with a function literal in the place of each operator and constructor that is used
/// as a value: one for each use, since their types may differ. The same function if there are none.
FunctionRef with_name_literals(const FunctionRef& function);

}  // namespace relay
