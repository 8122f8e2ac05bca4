// A tree that grows from its root, and the lowest common ancestors in it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace relay {

/// Nodes are numbers below `size`; each is placed below another one, or below the root, which has
/// no number. Ancestors are found in logarithmic time by skew-binary jump pointers (Myers 1983).
class Tree {
 public:
  static constexpr uint32_t kRoot = UINT32_MAX;

  explicit Tree(size_t size) : nodes_(size + 1) {}

  /// Places a node; its parent has been placed before.
  void place(uint32_t node, uint32_t parent) {
    const uint32_t up = parent + 1;  // the root is 0
    const uint32_t a = nodes_[up].jump;
    const uint32_t b = nodes_[a].jump;
    const bool far = nodes_[up].depth - nodes_[a].depth == nodes_[a].depth - nodes_[b].depth;
    nodes_[node + 1] = {up, far ? b : up, nodes_[up].depth + 1};
  }
  uint32_t parent(uint32_t node) const { return nodes_[node + 1].parent - 1; }
  /// 1 for the nodes below the root, whose own depth is 0.
  uint32_t depth(uint32_t node) const { return nodes_[node + 1].depth; }
  /// The lowest node that is both or above both; a node is above itself.
  uint32_t common(uint32_t one, uint32_t other) const {
    uint32_t a = one + 1;
    uint32_t b = other + 1;
    if (nodes_[a].depth < nodes_[b].depth) std::swap(a, b);
    while (nodes_[a].depth > nodes_[b].depth) {
      const uint32_t jump = nodes_[a].jump;
      a = nodes_[jump].depth >= nodes_[b].depth ? jump : nodes_[a].parent;
    }
    while (a != b) {
      const bool far = nodes_[a].jump != nodes_[b].jump;
      a = far ? nodes_[a].jump : nodes_[a].parent;
      b = far ? nodes_[b].jump : nodes_[b].parent;
    }
    return a - 1;
  }
  /// True if `above` is `node` or above it.
  bool contains(uint32_t above, uint32_t node) const { return common(above, node) == above; }

 private:
  struct Node {
    uint32_t parent = 0;
    uint32_t jump = 0;
    uint32_t depth = 0;
  };
  std::vector<Node> nodes_;
};

}  // namespace relay
