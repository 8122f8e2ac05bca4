// Finds the captures of inner functions, and the users of nodes.
#pragma once

#include <unordered_map>
#include <vector>

#include <relay/ir/regions.h>

namespace relay::vm {

/// A node or a variable whose value an inner function may need.
struct Entity {
  uint32_t node = Regions::kNone;
  const Var* var = nullptr;
  friend bool operator==(const Entity&, const Entity&) = default;
};

class Scopes {
 public:
  explicit Scopes(const Regions& regions);

  /// The meaning of an expression past lets: a node, a variable, or neither (globals and the like).
  Entity resolve(const Expr* expr, uint32_t node) const;
  /// The innermost function around a region; kNone outside of all.
  uint32_t function_of(uint32_t region) const { return function_of_[region]; }
  /// The captures of a function, in order of use.
  const std::vector<Entity>& captures(uint32_t function) const { return captures_[function]; }
  /// The function that a let binds to a variable; kNone for another value. Such a variable is known
  /// inside that function.
  uint32_t bound_function_node(const Var* var) const;
  /// The variable to which a let binds a function; null for none.
  const Var* name_of(const Expr* function) const;
  /// True if a node is a function marked Primitive that is only called in its place.
  bool is_kernel(uint32_t node) const { return kernels_[node] != 0; }

  /// The nodes that have a node as operand (with repetitions), kNone for a use as the root of a
  /// region.
  const std::vector<uint32_t>& users(uint32_t node) const { return users_[node]; }
  const std::vector<uint32_t>& users(const Var* var) const;

 private:
  void find_names();
  void find_users();
  void find_captures();
  std::vector<std::vector<Entity>> uses_of_functions() const;
  void add_uses_of_names(std::vector<std::vector<Entity>>& uses) const;
  bool is_captured(uint32_t function, const Entity& entity, const std::vector<char>& done) const;

  const Regions& regions_;
  std::vector<uint32_t> function_of_;
  std::vector<std::vector<Entity>> captures_;  // by node; only of functions
  std::vector<char> kernels_;
  std::vector<std::vector<uint32_t>> users_;
  std::unordered_map<const Var*, std::vector<uint32_t>> var_users_;
  std::unordered_map<const Var*, uint32_t> bound_;  // to function nodes
  std::unordered_map<const Var*, uint32_t> owner_;  // function in which it is bound
  std::unordered_map<const Expr*, const Var*> names_;
};

}  // namespace relay::vm
