// Calls that ask for extents.
#pragma once

#include <relay/ir/expr.h>

namespace relay {

/// The value of a call that asks for extents which its types say, as `shape_of` does: it computes
/// few integers and reads no element. A constant without a type; null for all other calls.
ExprRef known_extents(const Call& call);

}  // namespace relay
