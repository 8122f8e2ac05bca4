// Blocks: runs of operator calls, with tuples and ifs between them, which have one entry on the
// tape.
#pragma once

#include <cstdint>
#include <vector>

#include <relay/transform/gradient/reverse.h>

namespace relay::grad {

/// True for nodes that belong to any block and to none.
bool is_structure(ExprKind kind);

/// Divides a function into blocks, which become owners of their nodes in `reverse`. Gives for each
/// node and variable whether something outside of its block uses it.
std::vector<bool> values_that_leave_blocks(Reverse& reverse);

}  // namespace relay::grad
