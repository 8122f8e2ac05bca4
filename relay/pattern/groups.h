// Matches in an expression that can be replaced without touching each other.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <relay/pattern/matcher.h>

namespace relay::pattern {

/// A match that can be cut out: a root, and nodes below it that nothing outside needs.
struct Group {
  const Expr* root;
  std::vector<Binding> bindings;
  /// The nodes that those inside are computed from, outside of the group: parameters of a function
  /// made of it. In the order of the parts of the pattern that they fit.
  std::vector<const Expr*> inputs;
  /// The nodes inside, operands before users, the root last.
  std::vector<const Expr*> nodes;
  uint32_t number;  // among the matches that were tried
};

/// The groups of an expression, of one pattern. Matches that end in nodes of greater number are
/// tried first; one that overlaps an earlier group is left out, as is one whose inner nodes are
/// used outside where the root does not dominate the use. What is inside functions with the
/// attribute `PartitionedFromPattern` is left alone.
std::vector<Group> find_groups(const CompiledPattern& pattern, Surroundings& around);

}  // namespace relay::pattern
