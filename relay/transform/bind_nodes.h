// Turning graph nodes into lets where they run (language.md E1, E2).
#pragma once

#include <functional>

#include <relay/program/program.h>

namespace relay {

/// The function, with each node that waits for a recursive function's name doubled: one inside that
/// function, one outside. Lets cannot express its place otherwise.
FunctionRef without_waiting_nodes(const Program& program, const FunctionRef& function);

/// The function, in which a let at the place where it runs binds every node (a number in the
/// regions of the view) for which `bound` holds. A node that a let binds already keeps that let's
/// variable. Lets in arguments and in values are flattened into their region. No node may be
/// waiting.
FunctionRef bind_nodes(const View& view, const std::function<bool(uint32_t node)>& bound);

/// For each node in the regions: a let stands for the end of its chain, any other node for itself.
std::vector<uint32_t> ends_of_chains(const Regions& regions);

/// True if binding every node of a function outside of kernels changes nothing: each node is the
/// value of one let or the rest of one region, on operands that are variables or names. False for
/// some functions of which that holds, too. Looks at each node once and numbers nothing.
bool all_nodes_are_bound(const Function* function);

}  // namespace relay
