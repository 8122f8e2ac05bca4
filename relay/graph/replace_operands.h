// Replaces constant operands by a form that works read better.
#pragma once

#include <relay/graph/rewrite.h>

namespace relay::graph {

/// Replaces each constant operand for which `form_of` has another form by a constant of that form,
/// computed once. True if anything changed; false if `form_of` is null.
bool replace_operands(Rewriting& program, const FormOf& form_of);

}  // namespace relay::graph
