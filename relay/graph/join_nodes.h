// Makes one node of several.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <relay/graph/graph.h>

namespace relay::graph {

/// Writes the works of nodes as one. Nodes with equal works that are joined in the same way share
/// the new one.
class NodeJoiner {
 public:
  /// Decides about each new work; none: all are wanted.
  using Wanted = std::function<bool(const te::Computation&)>;
  explicit NodeJoiner(Wanted wanted = {}) : wanted_(std::move(wanted)) {}

  /// The nodes, in an order in which they can run, as one node with these results, which are
  /// results of theirs. Works that are prepared or have elements cannot be joined. Nothing if the
  /// work is not wanted, or if a size of one is none of its inputs.
  std::optional<Node> join(const Graph& graph, std::span<const size_t> nodes,
                           std::vector<uint32_t> outputs);

 private:
  /// A tensor that a node reads: a result of a node before it, or an input of all.
  struct Source {
    static constexpr size_t kInput = SIZE_MAX;
    size_t node;    // kInput: none
    size_t number;  // of the result, or of the input
    auto operator<=>(const Source&) const = default;
  };
  struct Plan {
    std::vector<WorkRef> works;
    std::vector<std::vector<Source>> sources;  // of each node
    std::vector<Source> results;
    std::vector<std::vector<Dim>> terms;  // of each node, over the symbols of the new work
    std::vector<te::TensorInfo> inputs;
    std::vector<uint32_t> num_origins;  // of each node
  };
  using Key = std::tuple<std::vector<WorkRef>, std::vector<std::vector<Source>>,
                         std::vector<Source>, std::vector<std::string>, std::vector<std::string>>;

  WorkRef joined(const Plan& plan) const;

  const Wanted wanted_;
  std::map<Key, WorkRef> joined_;  // null: not wanted
};

/// Removes nodes, and the tensors that no node gives any longer.
void drop_nodes(Graph& graph, const std::vector<bool>& removed);

}  // namespace relay::graph
