// The dataflow around the nodes that are matched: numbers, users, dominators.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <relay/ir/expr.h>
#include <relay/support/pointer_map.h>

namespace relay::pattern {

/// The graph of an expression. Nodes are numbered in post-order, each after its operands. Users and
/// dominators are found when they are first asked for. The expression must outlive this object.
class FlowGraph {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  explicit FlowGraph(const Expr* root);

  size_t size() const { return nodes_.size(); }
  const Expr* node(uint32_t id) const { return nodes_[id]; }
  /// The number of a node; kNone if the graph lacks it.
  uint32_t number(const Expr* expr) const;
  /// The nodes that have it as an operand, once for each such operand.
  std::span<const uint32_t> users(uint32_t id);
  /// True if every way from node `below` to the root leads through node `above`.
  bool dominates(uint32_t above, uint32_t below);

 private:
  void find_users();
  void find_dominators();
  uint32_t common(uint32_t a, uint32_t b) const;

  std::vector<const Expr*> nodes_;
  PointerMap<Expr, uint32_t> numbers_;
  std::vector<uint32_t> first_user_;  // index into users_, and where the last one's end
  std::vector<uint32_t> users_;
  // The tree of dominators: parent, distance from the root, and a far ancestor, by which an
  // ancestor of a given depth is found in logarithmic time.
  std::vector<uint32_t> parent_, depth_, jump_;
};

}  // namespace relay::pattern
