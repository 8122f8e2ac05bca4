// Groups of nodes that stay free of cycles.
#pragma once

#include <cstdint>
#include <vector>

#include <relay/program/program.h>

namespace relay {

/// Joins nodes of a view to groups. What a node is computed from comes before it: its operands, the
/// value of a let before its variable and before the lets that follow, an effect before the next
/// one. Two groups are joined only if no way leads from one to the other through a third.
class Contraction {
 public:
  /// `effects` may be null for a program without any.
  Contraction(const View& view, const NodeEffects* effects);

  /// The node that stands for the group.
  uint32_t find(uint32_t node);
  /// Makes one group of those of two nodes, of which the second may be computed from the first.
  /// False if that would make a cycle, or if the search for one is over its limit.
  bool join(uint32_t first, uint32_t second);
  /// True if a search was given up.
  bool gave_up() const { return steps_ == 0; }
  /// Calls `visit` with each node of a group.
  template <class Visit>
  void each(uint32_t group, const Visit& visit) const {
    uint32_t node = group;
    do {
      visit(node);
      node = next_[node];
    } while (node != group);
  }

 private:
  struct Search;
  void predecessors(uint32_t node, std::vector<uint32_t>& out) const;
  void successors(uint32_t node, std::vector<uint32_t>& out) const;
  bool other_way(uint32_t from, uint32_t to);

  const View& view_;
  std::vector<uint32_t> parents_;
  std::vector<uint32_t> sizes_;
  std::vector<uint32_t> next_;  // a ring through each group
  // Further edges, by node: what must come before, and what comes after.
  std::vector<uint32_t> before_, after_;
  std::vector<uint32_t> effect_before_, effect_after_;
  std::vector<uint32_t> marks_;  // by group: the search that has seen it, from which side
  uint32_t mark_ = 0;
  uint64_t steps_;
};

}  // namespace relay
