// Programs in which partial evaluation has nothing to do.
#pragma once

#include <relay/ir/expr.h>

namespace relay::partial {

/// The function as the partial evaluator writes it, if nothing in it is known; null for others. It
/// is a chain of lets in A-normal form, each of an operator's call with a variable that is not
/// known among its arguments, of a projection of one, or of a constant, which goes where it is
/// used.
FunctionRef without_known(const FunctionRef& function);

/// True if that is the function itself and each variable is used, so that nothing is dead.
bool is_idle(const FunctionRef& function);

}  // namespace relay::partial
