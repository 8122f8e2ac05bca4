#pragma once

#include <relay/ir/dim.h>

namespace relay {

// The dimension of a term: equal terms are one node of the process's table. Throws Error for a term
// that is too deep or too large.
Dim intern_term(DimTerm term);

}  // namespace relay
