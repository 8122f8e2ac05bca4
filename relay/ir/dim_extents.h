// The extents that a dimension joins.
#pragma once

#include <vector>

#include <relay/ir/dim.h>

namespace relay {

/// The extents that broadcast against each other in a dimension; itself if none do.
std::vector<Dim> joined_extents(Dim dim);

}  // namespace relay
