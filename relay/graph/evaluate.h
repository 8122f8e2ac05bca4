// The meaning of a graph: its computations evaluated one after the other.
#pragma once

#include <span>
#include <vector>

#include <relay/graph/graph.h>
#include <relay/runtime/ndarray.h>

namespace relay::graph {

/// The outputs of a computation on inputs whose extents give its symbols their values.
std::vector<NDArray> evaluate(const Work& work, std::span<const NDArray> inputs,
                              Device device = kCpu);

/// The results of a graph, by direct evaluation. Throws RuntimeError if a check of sizes or a
/// computation fails.
std::vector<NDArray> evaluate(const Graph& graph, std::span<const NDArray> inputs);

}  // namespace relay::graph
