// Functions along directions.
#pragma once

#include <unordered_map>

#include <relay/ir/module.h>
#include <relay/transform/gradient/leaves.h>

namespace relay::grad {

/// Writes functions that take a direction for each tensor of floats in some parameters, and give
/// `(value, (its derivative in this direction, for each tensor of floats…))`.
///
/// Functions of operators, tuples, branches and calls of global functions of tensors of known
/// extents have such a form. Calls stay where they are, so that a loop is one loop.
class Forward {
 public:
  /// `whole` is typed; `target` gets the functions that are called.
  Forward(const Module& whole, Module& target) : whole_(whole), target_(target) {}

  /// `fn (x…, d…) -> (T, T)`, with a direction for each of the parameters at `places`, of the
  /// parameter's type. Null if the function has no such form; `target` is unchanged then.
  FunctionRef along(const FunctionRef& function, std::span<const size_t> places);

 private:
  struct Dual {
    ExprRef value;
    Leaves tangent;  // empty: zeros
    ExprRef whole;   // `(value, (tangent…))`, if that is an expression already
  };
  struct Callee {
    Name name;                 // in the target
    std::vector<bool> active;  // of its tensors of floats
    FunctionRef made;
  };
  class Body;

  bool write_callees();
  Callee* callee(const Name& name);

  const Module& whole_;
  Module& target_;
  LeafTable leaf_table_;
  std::unordered_map<Name, Callee> callees_;
  std::vector<Name> order_;
  bool grown_ = false;
};

}  // namespace relay::grad
