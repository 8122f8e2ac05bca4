// Replaces a call by the body of its function.
#pragma once

#include <span>

#include <relay/ir/expr.h>

namespace relay {

/// True if the body of `function` can replace a call: the function is not polymorphic, so nothing
/// in it must be instantiated, and has as many parameters as there are arguments.
bool can_inline(const Function& function, size_t arguments);

/// A copy of the body of `function`, with variables of its own, on these arguments. Names and
/// constants replace the parameters. So do all other arguments if they are `pure` and the body
/// makes no closures, which would compute them in each call; otherwise lets bind them, in order.
ExprRef inline_call(const Function& function, std::span<const ExprRef> args, bool pure);

/// A call of a copy of the function, with variables of its own, as a literal.
ExprRef call_copy(const Function& function, std::span<const ExprRef> args, Span span);

}  // namespace relay
