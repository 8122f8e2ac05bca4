// Programs without functions as values.
#pragma once

#include <relay/ir/module.h>
#include <relay/ir/type.h>

namespace relay {

/// True if a type is or has in it one of functions.
bool holds_functions(const Type& type);

/// True if no function of a typed module is a value, and each has one closed type: functions,
/// operators and constructors are only called by their names, and the only literals are kernels
/// that are called where they stand. Looks at each node once and builds nothing.
bool is_first_order(const Module& module);

}  // namespace relay
