// Makes works from composed groups, and walks their sizes.
#pragma once

#include <functional>
#include <string>

#include <relay/graph/graph.h>

namespace relay::graph {

/// The work of a group that was composed for inputs whose unknown extents are `work_symbol(0)` and
/// on. Elements of inputs that sizes depend on become further symbols.
WorkRef make_work(std::string name, std::string source, Group group);

/// Calls `visit` on every size in a group.
void for_each_dim(const Group& group, const std::function<void(Dim)>& visit);
/// Replaces atoms in every size of a group.
void substitute_dims(Group& group, const std::function<Dim(Dim atom)>& replace);

}  // namespace relay::graph
