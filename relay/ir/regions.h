// Decides where and when each node of a graph runs (language.md E1, E2).
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include <relay/ir/expr.h>

namespace relay {

/// The regions of an expression and the order in which its nodes run.
///
/// A region is a function body, a branch of an `if` or a clause of a `match`; region 0 is the
/// expression itself. A node's home is the lowest region common to its uses. To run region r, take
/// `steps(r)` in order, then the value of `result(r)`. A step runs one node (its operands are done,
/// here or in a region outside) or binds a let's variable to the value of operand 0. Nodes of inner
/// regions are steps of those, which run each time their owner enters them; a node shared between
/// regions is a step of the outer one. A chain of lets is a chain of steps, so no walk needs
/// recursion.
///
/// Nodes are numbered densely. Variables, global variables, operators and constructors have no
/// number (`kNone`), because nothing runs for them. The expression must outlive this object.
class Regions {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  enum class Mode : uint8_t {
    kRun,
    /// For program text. The body of a let is a region too, unless the let is itself the rest of a
    /// region or of another such let (a let in an argument, or bound as a value); the first step of
    /// this region is the binding. A node that waits for a recursive function's name is at home
    /// where it is first used.
    kText
  };

  struct Step {
    uint32_t node : 31;
    // Set if the node is a Let whose value is known: the step gives it to the variable. Otherwise
    // the step runs the node.
    uint32_t bind : 1;
  };
  struct Region {
    uint32_t owner;    // node, kNone for region 0
    uint32_t operand;  // the operand of the owner that is this region's root
    uint32_t root;     // node, or kNone for a variable or the like
    uint32_t parent;
    uint32_t depth;
    uint32_t first_step;
    uint32_t num_steps;
  };

  explicit Regions(const Expr* root, Mode mode = Mode::kRun);

  // Facts about nodes are columns, so that a loop over a large graph fetches only the facts that it
  // needs, and not the nodes.
  uint32_t num_nodes() const { return static_cast<uint32_t>(exprs_.size()); }
  const Expr* expr(uint32_t id) const { return exprs_[id]; }
  ExprKind kind(uint32_t id) const { return kinds_[id]; }
  uint32_t num_operands(uint32_t id) const { return first_operand_[id + 1] - first_operand_[id]; }
  /// The region that the node runs in.
  uint32_t home(uint32_t id) const { return homes_[id]; }
  /// The number of operand places that refer to it.
  uint32_t uses(uint32_t id) const { return uses_[id]; }
  /// The node that reaches it first, and the number of that operand; kNone for the expression
  /// itself.
  uint32_t user(uint32_t id) const { return users_[id].node; }
  uint32_t user_operand(uint32_t id) const { return users_[id].operand; }
  /// The region of the first such operand of a Function, If or Match (or, for text, a Let); else
  /// kNone.
  uint32_t first_region(uint32_t id) const { return first_region_[id]; }
  /// The number of operand i of a node, or kNone.
  uint32_t operand(uint32_t id, size_t i) const { return operands_[first_operand_[id] + i]; }
  /// All nodes, operands before users, left to right.
  std::span<const uint32_t> post_order() const { return order_; }

  size_t num_regions() const { return regions_.size(); }
  const Region& region(uint32_t id) const { return regions_[id]; }
  std::span<const Step> steps(uint32_t region) const {
    return {steps_.data() + regions_[region].first_step, regions_[region].num_steps};
  }
  /// The region whose root is operand i of a node, or kNone if the operand belongs to the node's
  /// own home.
  uint32_t region_of(uint32_t node, size_t i) const;
  /// Nodes that are used inside a recursive function and outside of it and mention its name. They
  /// run when this let binds the name. Only programs with shared nodes have such nodes.
  const std::unordered_map<uint32_t, uint32_t>& waiting() const { return late_; }
  /// The expression at the root of a region.
  const Expr* root_expr(uint32_t region) const;
  /// The value of the region: its root, past a chain of lets. `node` is kNone for a variable or the
  /// like.
  struct Result {
    const Expr* expr;
    uint32_t node;
  };
  Result result(uint32_t region) const;
  /// The step in tail position: it makes the region's value, and after it that value only passes
  /// through lets. The number of steps if there is none.
  size_t tail_step(uint32_t region) const;
  /// True if region `outer` is `inner` or contains it.
  bool contains(uint32_t outer, uint32_t inner) const;
  /// The lowest region that contains both.
  uint32_t common(uint32_t a, uint32_t b) const;

 private:
  struct Event {
    uint32_t node;
    bool bind;
  };
  struct User {
    uint32_t node;
    uint32_t operand;
  };
  // A let's binding, and the number of nodes that are done before it.
  struct Binding {
    uint32_t done;
    uint32_t let;
  };
  void walk(const Expr* root);
  template <class F>
  void for_each_event(const F& f) const;
  void find_homes(Mode mode);
  void find_late();
  void settle_late();
  void move_inside(const std::unordered_map<uint32_t, uint32_t>& inside);
  void order_steps();
  uint32_t add_region(uint32_t owner, uint32_t operand, uint32_t parent);
  void place_region(uint32_t region, uint32_t parent);

  std::vector<const Expr*> exprs_;
  std::vector<ExprKind> kinds_;
  std::vector<uint32_t> first_operand_;  // index into operands_, and where the last one's end
  std::vector<uint32_t> homes_;
  std::vector<uint32_t> uses_;
  std::vector<User> users_;
  std::vector<uint32_t> first_region_;
  std::vector<uint32_t> operands_;
  std::vector<uint32_t> order_;
  std::vector<Binding> bindings_;
  std::vector<Region> regions_;
  std::vector<uint32_t> jump_;  // far ancestors of regions, for `common`
  std::vector<Step> steps_;
  const Expr* root_ = nullptr;
  /// Lets that bind a function, and nodes that must wait for one of them.
  std::unordered_map<const Var*, uint32_t> function_lets_;
  std::unordered_map<uint32_t, uint32_t> late_;           // node → let
  std::unordered_map<uint32_t, uint32_t> late_bindings_;  // let → let
  bool self_reference_ = false;
};

}  // namespace relay
