// Builds graphs node by node.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include <relay/graph/graph.h>

namespace relay::graph {

/// The sizes of a node's inputs as a work sees them: the terms of the graph for its symbols, in
/// order of appearance.
struct WorkSizes {
  std::vector<Dim> terms;
  /// A size of the graph in terms of the work.
  Dim operator()(Dim dim);

 private:
  std::unordered_map<Dim, Dim> symbol_of_;
};

class Builder {
 public:
  bool empty() const { return graph_.tensors.empty(); }
  const Graph& graph() const { return graph_; }
  const te::TensorInfo& info(uint32_t tensor) const { return graph_.tensors[tensor].info; }

  /// A tensor that the caller gives when the graph runs. Extents that are not integers get symbols
  /// of the graph; one name is one extent, and a term over names is what it says.
  uint32_t add_input(const te::TensorInfo& info, Device device = {});
  /// `constant` is on that device.
  uint32_t add_constant(const te::TensorInfo& info, ConstantRef constant, Device device = {});

  /// True if the elements of a tensor are known before the graph runs: an input or a constant.
  bool known_before(uint32_t tensor) const;
  /// True if it is a number that lies in a tensor on another device.
  bool lies_elsewhere(uint32_t tensor, Device device) const;

  /// Adds a node; returns its outputs, which are on `device`. Inputs that sizes are read from must
  /// be known before. Throws DimRangeError, and adds nothing, if a size is too large.
  std::vector<uint32_t> add_node(WorkRef work, const WorkSizes& sizes,
                                 std::span<const uint32_t> inputs, Device device = {},
                                 uint32_t position = 0, std::vector<uint32_t> origins = {});

  /// Finishes the graph with these results.
  Graph finish(std::span<const uint32_t> outputs, std::string name);

 private:
  Dim new_symbol(Symbol symbol);
  std::optional<Dim> told_by_others(Dim term) const;

  Graph graph_;
  std::vector<std::pair<uint32_t, uint32_t>> producer_;  // node and output, of computed tensors
  std::unordered_map<Dim, Dim> extents_;                 // of inputs, by the program's name or term
};

}  // namespace relay::graph
