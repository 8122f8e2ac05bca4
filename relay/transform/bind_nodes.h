// Turning graph nodes into lets where they run (language.md E1, E2).
#pragma once

#include <functional>

#include <relay/ir/regions.h>

namespace relay {

/// The function, with each node that waits for a recursive function's name doubled: one inside that
/// function, one outside. Lets cannot express its place otherwise.
FunctionRef without_waiting_nodes(const FunctionRef& function);

/// The function of these regions, in which a let at the place where it runs binds every node for
/// which `bound` holds. A node that a let binds already keeps that let's variable. Lets in
/// arguments and in values are flattened into their region. No node may be waiting.
FunctionRef bind_nodes(const Regions& regions, const std::function<bool(uint32_t node)>& bound);

/// True if binding every node of a function outside of kernels changes nothing: each node is the
/// value of one let or the rest of one region, on operands that are variables or names. False for
/// some functions of which that holds, too. Looks at each node once and numbers nothing.
bool all_nodes_are_bound(const Function* function);

}  // namespace relay
