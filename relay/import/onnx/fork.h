// Two ways to go on from a node whose results have no one type.
//
// A value has a rank that is known while the model is read. Where a condition that only a run
// decides chooses between results of different ranks, everything behind the node is converted
// twice, once for each result, and the program chooses between the two. A way in which some node
// refuses its operands is one that no run may take: it fails there, with the node's message.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <relay/import/onnx/graph_value.h>
#include <relay/support/error.h>

namespace relay::onnx {

class Block;
struct Fork;
struct Node;

/// The result of a node or a graph: values, or a fork.
struct Outcome {
  std::vector<GraphValue> values;
  std::unique_ptr<Fork> fork;  // not null: there are no values

  Outcome();
  Outcome(std::vector<GraphValue> results);
  Outcome(std::unique_ptr<Fork> ways);
  Outcome(Outcome&&) noexcept;
  Outcome& operator=(Outcome&&) noexcept;
  ~Outcome();
};

/// One way to go on: a region of the program with what it comes to.
struct Way {
  std::unique_ptr<Block> block;
  Outcome outcome;
  std::optional<Error> refused;  // in place of an outcome
  /// The demand of a node on the model's named extents, where that is why the way is refused.
  std::optional<std::pair<Dim, Dim>> demand;
};

struct Fork {
  const Node* node;
  GraphValue condition;  // a bool of rank 0
  bool no_is_usual;      // where only one of the ways can be had, that is `no`
  Way yes, no;
};

}  // namespace relay::onnx
