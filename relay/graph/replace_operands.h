// Constant operands that works would better read in another form.
#pragma once

#include <relay/graph/rewrite.h>

namespace relay::graph {

/// Each constant operand for which `form_of` has another form becomes a constant of that form,
/// computed once. Whether anything changed; not if `form_of` is null.
bool replace_operands(Rewriting& program, const FormOf& form_of);

}  // namespace relay::graph
