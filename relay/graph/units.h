// Nodes of a graph that will be one: units, which grow as nodes are joined.
#pragma once

#include <cstdint>
#include <vector>

#include <relay/graph/join_nodes.h>

namespace relay::graph {

/// Starts with a unit for each node. Units never form a circle: two are joined only if no third one
/// stands on a way between them.
class Units {
 public:
  static constexpr size_t kNone = SIZE_MAX;

  explicit Units(Graph& graph);

  /// The node that gives a tensor, or kNone.
  size_t producer(uint32_t tensor) const { return producer_[tensor]; }
  size_t of(size_t node) const { return unit_of_[node]; }
  /// The nodes of a unit, in their order.
  const std::vector<size_t>& nodes(size_t unit) const { return units_[unit]; }
  /// True if a node's results have places of their own, so that it stays as it is.
  bool is_placed(size_t node) const;
  /// True if a third unit stands on a way from one to the other, or if that takes long to find out.
  bool leads_to(size_t from, size_t to);
  /// Tensors that the units read and write, each once.
  std::vector<uint32_t> tensors(std::span<const size_t> units) const;
  /// Results of the units that something else reads.
  std::vector<uint32_t> results(std::span<const size_t> units) const;
  /// The nodes of b become nodes of a.
  void join(size_t a, size_t b);
  /// Writes the units as nodes; those that `joiner` cannot join stay apart. True if there is a unit
  /// of several nodes.
  bool write(NodeJoiner& joiner);

 private:
  void write_unit(size_t first, NodeJoiner& joiner, std::vector<bool>& written,
                  std::vector<Node>& nodes);
  void write_nodes(size_t unit, NodeJoiner& joiner, std::vector<Node>& nodes);

  Graph& graph_;
  std::vector<size_t> producer_;              // of each tensor: a node
  std::vector<std::vector<size_t>> readers_;  // of each tensor: nodes
  std::vector<bool> is_result_;               // of the graph
  std::vector<std::vector<size_t>> units_;    // their nodes, in order
  std::vector<size_t> unit_of_;               // of each node
  std::vector<size_t> seen_;                  // units: the walk that saw one last
  size_t walk_ = 0;
};

}  // namespace relay::graph
