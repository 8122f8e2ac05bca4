// Makes works from composed groups, and walks their sizes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <relay/graph/graph.h>

namespace relay::graph {

/// The work of a group that was composed for inputs whose unknown extents are `work_symbol(0)` and
/// on. Elements of inputs that sizes depend on become further symbols.
WorkRef make_work(std::string name, std::string source, Group group);

/// Calls `visit` on every size in a group.
void for_each_dim(const Group& group, const std::function<void(Dim)>& visit);
/// Replaces atoms in every size of a group, and adds `lost_conditions`.
void substitute_dims(Group& group, const std::function<Dim(Dim atom)>& replace);
/// What has to hold for an extent that joins others if, over other atoms, it does not fail by
/// itself any more where they differ: broadcast(d0, d1) is n for n and min(n, 3), which is too
/// little for an n of 5.
std::vector<Condition> lost_conditions(const ResultDim& made,
                                       const std::function<Dim(Dim dim)>& replaced);

}  // namespace relay::graph
