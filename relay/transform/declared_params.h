// Parameters that state the types which were inferred for them.
#pragma once

#include <relay/ir/module.h>

namespace relay {

/// True if the type can be written in the function: it mentions no variables but the function's.
bool is_declarable(const Type* type, const Function& function);

/// The function with each parameter annotated whose inferred type can be written. What a pass
/// leaves of a body may not determine these types any more. The same function if nothing changes.
FunctionRef with_declared_params(const FunctionRef& function);

/// A typed module whose functions are so, typed as well.
Module with_declared_params(const Module& module);

}  // namespace relay
