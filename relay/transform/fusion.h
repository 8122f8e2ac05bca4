// Decides which operator calls become one kernel: kinds of calls, and groups by post-dominators.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include <relay/ir/expr.h>
#include <relay/ir/regions.h>
#include <relay/tensor_expr/analysis.h>

namespace relay {

/// The facts that fusion needs about a call of an operator.
struct CallFusion {
  te::FusionKind kind = te::FusionKind::kOpaque;
  /// True if the result is only another shape over the same elements in the same order.
  bool reshape_only = false;
  /// True if the shape of the result depends on the values of arguments …
  bool reads_values = false;
  /// … and these are the constant ones among them.
  std::vector<uint32_t> constants_read;
  /// Arguments of a row program that it folds along their last dimension, and in no other way:
  /// their operands can be computed row by row.
  std::vector<uint32_t> rows;
};

/// Kinds of calls, derived from what the operators compute on these types; equal calls once.
class FusionKinds {
 public:
  /// Nothing if the call is not a call of an operator on tensors of known rank, and so cannot be a
  /// kernel.
  const std::optional<CallFusion>& find(const Call& call);

 private:
  std::map<std::vector<const void*>, std::optional<CallFusion>> known_;
};

/// A dataflow graph that is cut into groups. Nodes come before their users.
class FusionGraph {
 public:
  enum class Kind : uint8_t {
    kElementwise,
    kReshape,  // another shape over the same elements, if it is told apart from kInjective
    kBroadcast,
    kInjective,
    kReduction,
    kOutElementwise,
    kTuple,
    kOpaque
  };
  static Kind kind_of(te::FusionKind kind);

  /// If true, elementwise work on the result of a reduction joins it, and so do injective nodes
  /// that it reads.
  explicit FusionGraph(bool around_folds) : around_folds_(around_folds) {}
  /// Adds a node and gives its number. Elementwise work follows a node that `passes_reshapes`
  /// through nodes of kind kReshape.
  uint32_t add(Kind kind, bool passes_reshapes = false);
  /// `user` uses `node`; `kind` relates an element of the user to those of the node.
  void use(uint32_t node, uint32_t user, Kind kind);
  /// Code outside of the graph uses the node, so it has to exist by itself.
  void use_outside(uint32_t node) { nodes_[node].outside = true; }

  /// The group of each node, as the number of the group's last node. A group holds at most
  /// `max_size` nodes.
  std::vector<uint32_t> partition(size_t max_size);

 private:
  struct Edge {
    uint32_t node;
    Kind kind = Kind::kOpaque;
  };
  struct Node {
    Kind kind = Kind::kOpaque;
    bool passes_reshapes = false;
    bool outside = false;
    std::vector<Edge> users;
    // The post-dominator, the way to it, and its distance from the end.
    uint32_t parent = kNone;
    Kind path = Kind::kOpaque;
    uint32_t depth = 1;
  };
  struct Group {
    uint32_t parent;
    Kind kind = Kind::kOpaque;
    bool passes_reshapes = false;
    uint32_t size = 1;
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  void find_post_dominators();
  uint32_t root(uint32_t node);
  template <class Allowed>
  bool all_on_path(uint32_t from, uint32_t to, Allowed allowed);
  bool small_enough(uint32_t node, uint32_t parent, size_t max_size);
  void merge_path(uint32_t from, uint32_t to);
  void try_fuse(uint32_t node, int phase, size_t max_size);

  const bool around_folds_;
  std::vector<Node> nodes_;
  std::vector<Group> groups_;
  std::vector<uint32_t> mark_;  // the walk that saw a node last
  std::vector<uint32_t> group_mark_;
  uint32_t walk_ = 0;
  std::vector<uint32_t> stack_;
};

/// True if a function is marked `Primitive`.
bool is_primitive(const Function* function);
/// For each region, 1 if it is in a function marked `Primitive`.
std::vector<char> primitive_regions(const Regions& regions);

}  // namespace relay
