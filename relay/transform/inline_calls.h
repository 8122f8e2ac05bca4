// Putting a function's body in the place of a call.
#pragma once

#include <span>

#include <relay/ir/expr.h>

namespace relay {

/// Whether a call of `function` can become its body: it is not polymorphic, so that nothing in it
/// is to be instantiated, and has as many parameters as there are arguments.
bool can_inline(const Function& function, size_t arguments);

/// A copy of the body of `function`, with variables of its own, on these arguments. Names and
/// constants take the place of the parameters, and so do all others if they are `pure` and the body
/// makes no closures, which would compute them in each call; otherwise lets bind them, in order.
ExprRef inline_call(const Function& function, std::span<const ExprRef> args, bool pure);

}  // namespace relay
