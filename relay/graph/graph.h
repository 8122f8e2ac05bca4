// A region of dataflow as a graph: nodes are computations, edges are tensors. Decisions about
// several groups of operators are made here, before kernels are made.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include <relay/graph/compose.h>
#include <relay/graph/constant.h>
#include <relay/runtime/device.h>
#include <relay/tensor_expr/computation.h>

namespace relay::graph {

/// The work of a node. Nodes that do equal work share it.
struct Work {
  std::string name;    // the name of its kernels: "nn_dense_tanh"
  std::string source;  // Relay text, for profiles
  /// Its unknown sizes are symbols of its own, `symbol(0)` and on: each extent of an input is an
  /// integer or one of them.
  Group group;
  size_t num_symbols = 0;
  /// The last of the symbols stand for elements of inputs, which shapes depend on.
  struct Element {
    Dim symbol;
    uint32_t input;
    uint32_t index;
  };
  std::vector<Element> elements;
  /// True if the computation is ready for lowering as it is (`lower::prepare`).
  bool prepared = false;

  const te::Computation& computation() const { return group.computation; }
  /// Symbol number k of this work.
  Dim symbol(size_t k) const;
};
using WorkRef = std::shared_ptr<const Work>;

/// Symbol number k of those that works are written with, and of those of graphs, if it stands for
/// an extent. They live for ever.
Dim work_symbol(size_t k);
Dim graph_symbol(size_t k);
/// The same for an element of an input: a number of any sign.
Dim work_value(size_t k);
Dim graph_value(size_t k);

/// An edge: dense, row-major.
struct Tensor {
  enum class Kind : uint8_t { kInput, kConstant, kComputed };
  Kind kind = Kind::kComputed;
  /// Extents are integers or terms over the graph's symbols; `?` for those that a library kernel
  /// counts.
  te::TensorInfo info;
  Device device;
  ConstantRef constant;  // kConstant
  /// Its place in the memory of another computed tensor, from that element on, in the same order.
  struct Place {
    uint32_t whole = 0;
    Dim offset;
  };
  std::optional<Place> place = std::nullopt;  // nothing: memory of its own
};

/// One computation on tensors. All are on one device, except for copies between devices.
struct Node {
  WorkRef work;
  std::vector<Dim> terms;         // over the graph's symbols: the values of the work's symbols
  std::vector<uint32_t> inputs;   // tensors
  std::vector<uint32_t> outputs;  // the same
  /// True if its inputs lie in its output, so that nothing is left to copy.
  bool done_by_places = false;
  /// Numbers in the program's table of positions: of the whole node, and of its operators (origin k
  /// is entry k - 1; 0: unknown).
  uint32_t position = 0;
  std::vector<uint32_t> origins;

  /// A term of the work as one of the graph.
  Dim term(Dim dim) const;
  uint32_t position_of(uint32_t origin) const;
};

/// A size that is known when the graph runs: an extent of an input, or an element of one.
struct Symbol {
  bool element = false;
  uint32_t tensor = 0;
  uint32_t index = 0;  // the axis, or the element's number
};

struct Graph {
  std::string name;
  std::vector<Tensor> tensors;
  std::vector<uint32_t> inputs;   // tensors, in order
  std::vector<Symbol> symbols;    // k stands for symbol(k)
  std::vector<Condition> checks;  // of inputs against one another, over the graph's symbols
  std::vector<Node> nodes;        // in an order in which they can run
  std::vector<uint32_t> outputs;  // tensors: any, and the same one twice

  bool is(uint32_t tensor, Tensor::Kind kind) const { return tensors[tensor].kind == kind; }
  Dim symbol(size_t k) const { return symbols[k].element ? graph_value(k) : graph_symbol(k); }
};

/// Checks that every computed tensor has one producer, which stands before its readers, that the
/// tensors of each node fit its computation, and that every size is known. Throws InternalError.
void verify(const Graph& graph);
/// Verifies graphs that share works, in parallel on so many threads (0: one for each core). Works
/// in `known` are not checked again; checked works are added to it.
void verify(std::span<const Graph> graphs, std::unordered_set<WorkRef>& known, int threads = 0);

/// The beginning of a tensor's elements: a tensor with memory of its own, and an element of that.
Tensor::Place place_of(const Graph& graph, uint32_t tensor);

/// For people and tests: nodes in order, constants in front of their first readers, equal work
/// written once.
std::string to_string(const Graph& graph);

}  // namespace relay::graph
