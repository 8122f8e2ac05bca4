// Taking out of works what nothing reads any longer.
#pragma once

#include <vector>

#include <relay/graph/graph.h>

namespace relay::graph {

/// Drops stages that no output depends on, and inputs that nothing reads but those `wanted`.
/// Returns which inputs are left, by their old numbers.
std::vector<size_t> drop_unread(te::Computation& computation, const std::vector<bool>& wanted);

/// After that: the elements of a work whose inputs are `kept` of the old ones, which all that
/// elements are read from belong to.
void renumber_elements(Work& work, const std::vector<size_t>& kept);

}  // namespace relay::graph
