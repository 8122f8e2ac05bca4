// One expression as numbered nodes, with columns of what passes ask about them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include <relay/ir/expr.h>
#include <relay/ir/regions.h>
#include <relay/program/column.h>
#include <relay/program/tree.h>
#include <relay/support/pointer_map.h>

namespace relay {

class Users;
class Scopes;
class Dominators;
class Liveness;

/// The nodes of an expression, mostly a global function, by numbers, and columns of facts.
///
/// Numbers are dense, in post-order: operands come before users, left to right, and the expression
/// itself is last. All nodes have one, names too (variables, global functions, operators,
/// constructors). Binders come before what they bind: parameters before the body, the variable of a
/// let after its value (or where a recursive value first mentions it), variables of patterns before
/// their clause. These are the numbers that TVM calls post-DFS indices.
///
/// A column is computed when it is first asked for, and kept. A view is immutable and several
/// threads may ask it. It keeps its expression alive. A view knows nothing about types: it is the
/// same before and after inference.
class View {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  explicit View(ExprRef root);
  ~View();
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  const ExprRef& root() const { return root_; }
  uint32_t size() const { return static_cast<uint32_t>(exprs_.size()); }
  const Expr* expr(uint32_t id) const { return exprs_[id]; }
  ExprKind kind(uint32_t id) const { return kinds_[id]; }
  /// The numbers of a node's operands.
  std::span<const uint32_t> operands(uint32_t id) const {
    return {operands_.data() + first_operand_[id], operands_.data() + first_operand_[id + 1]};
  }
  /// The number of a node, kNone if it is not part of the expression.
  uint32_t id(const Expr* expr) const;
  /// The node that binds a variable (a function, let or match); kNone if the variable is free, and
  /// for all other nodes.
  uint32_t binder(uint32_t id) const;
  /// True for operators, constructors and names of global functions: they stand for no value that
  /// is computed here.
  bool is_name(uint32_t id) const;

  // Columns.
  const Users& users() const;
  const Scopes& scopes() const;
  /// Ways from a node to the expression itself: its parent is the first node that all of them pass.
  /// They pass the variable of a let after its value. Names have no parent.
  const Dominators& post_dominators() const;
  /// Ways to a node from variables that are free or parameters, constants and other nodes without
  /// operands: its parent is the last node that all of them pass.
  const Dominators& dominators() const;
  const Liveness& liveness() const;
  /// The free variables of a function literal, or of the expression itself, in order of number:
  /// what is mentioned in it and not bound in it. A node that several functions share is mentioned
  /// in each.
  std::span<const uint32_t> free_variables(uint32_t function) const;

 private:
  friend class ViewWalk;
  using FreeVariables = std::unordered_map<uint32_t, std::vector<uint32_t>>;

  ExprRef root_;
  std::vector<const Expr*> exprs_;
  std::vector<ExprKind> kinds_;
  std::vector<uint32_t> first_operand_;  // index into operands_, and where the last one's end
  std::vector<uint32_t> operands_;

  Column<PointerMap<Expr, uint32_t>> ids_;
  Column<std::vector<uint32_t>> binders_;
  Column<std::unique_ptr<Users>> users_;
  Column<std::unique_ptr<Scopes>> scopes_;
  Column<std::unique_ptr<Dominators>> post_dominators_;
  Column<std::unique_ptr<Dominators>> dominators_;
  Column<std::unique_ptr<Liveness>> liveness_;
  Column<FreeVariables> free_variables_;
};

/// The users of a node, as operand; each place counts.
class Users {
 public:
  struct Use {
    uint32_t user;
    uint32_t operand;
  };
  explicit Users(const View& view);
  /// In order of number.
  std::span<const Use> operator[](uint32_t id) const {
    return {uses_.data() + first_[id], uses_.data() + first_[id + 1]};
  }

 private:
  std::vector<uint32_t> first_;
  std::vector<Use> uses_;
};

/// Where each node runs (language.md E1). A scope is a function body, a branch of an `if` or a
/// clause of a `match`; scope 0 is the expression itself. A node's home is the innermost scope that
/// contains all its uses; a variable's is the scope that binds it; names and free variables are at
/// home in scope 0.
class Scopes {
 public:
  explicit Scopes(const View& view);

  uint32_t home(uint32_t id) const { return homes_[id]; }
  size_t count() const { return scopes_.size(); }
  struct Scope {
    uint32_t owner;    // a function, if or match; View::kNone for scope 0
    uint32_t operand;  // the operand of the owner that is the scope's value
    uint32_t parent;   // scope 0 is its own
    uint32_t depth;
  };
  const Scope& operator[](uint32_t scope) const { return scopes_[scope]; }
  /// The scope that operand i of a node opens, or where the node itself runs if it opens none.
  uint32_t place(uint32_t node, size_t i) const;
  bool contains(uint32_t outer, uint32_t inner) const { return regions_.contains(outer, inner); }
  uint32_t common(uint32_t a, uint32_t b) const { return regions_.common(a, b); }
  /// The innermost function around a scope: its own number, View::kNone for none.
  uint32_t function(uint32_t scope) const { return functions_[scope]; }
  /// The same with the order in which nodes run. It has numbers of its own; scopes are the same.
  const Regions& regions() const { return regions_; }
  /// A node's number there, kNone for names and variables; and back.
  uint32_t region_node(uint32_t id) const { return region_nodes_[id]; }
  uint32_t view_node(uint32_t region_node) const { return view_nodes_[region_node]; }

 private:
  Regions regions_;
  std::vector<uint32_t> homes_;
  std::vector<Scope> scopes_;
  std::vector<uint32_t> functions_;
  std::vector<uint32_t> region_nodes_;
  std::vector<uint32_t> view_nodes_;
};

/// The nearest node that all ways pass, for ways in one direction (View says which).
class Dominators {
 public:
  enum class Direction : uint8_t { kToUsers, kToOperands };
  Dominators(const View& view, Direction direction);
  /// View::kNone if there is none.
  uint32_t parent(uint32_t id) const { return tree_.parent(id); }
  /// True if all ways from `id` pass `other`; a node passes itself.
  bool passes(uint32_t id, uint32_t other) const { return tree_.contains(other, id); }
  /// The nearest node that all ways from both pass, View::kNone for none.
  uint32_t common(uint32_t a, uint32_t b) const { return tree_.common(a, b); }

 private:
  class Meeting;
  void go_to_users(const View& view);
  void go_to_operands(const View& view);
  Tree tree_;
};

/// When a value is needed last. The node is in the home of the value: a use inside a branch or a
/// closure counts as one by the node that owns it.
class Liveness {
 public:
  explicit Liveness(const View& view);
  /// The node with the last use, View::kNone if the value is the result of its scope or nobody uses
  /// it. For a let's variable a use of the variable counts, and the value lives as long.
  uint32_t last_use(uint32_t id) const { return last_[id]; }
  /// True if the value is the result of its scope.
  bool escapes(uint32_t id) const { return escapes_[id]; }

 private:
  std::vector<uint32_t> last_;
  std::vector<bool> escapes_;
};

}  // namespace relay
