// Removes parts of works that nothing reads any longer.
#pragma once

#include <vector>

#include <relay/graph/graph.h>

namespace relay::graph {

/// Drops stages that no output depends on, and inputs that nothing reads, except those `wanted`.
/// Returns the remaining inputs, by their old numbers.
std::vector<size_t> drop_unread(te::Computation& computation, const std::vector<bool>& wanted);

/// Call it after that: renumbers the elements of a work whose inputs are `kept` of the old ones.
/// These must include all that elements are read from.
void renumber_elements(Work& work, const std::vector<size_t>& kept);

}  // namespace relay::graph
