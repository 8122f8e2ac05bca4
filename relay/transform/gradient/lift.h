// Lifts functions: values carry cells for their gradients, and what runs writes on a tape what is
// to be done to send gradients back.
#pragma once

#include <unordered_map>
#include <vector>

#include <relay/transform/gradient/lifted_types.h>
#include <relay/transform/gradient/reverse.h>

namespace relay::grad {

/// The lifted functions of a program.
class Lifting {
 public:
  /// The functions of `whole` that are needed come to `target`, under names of their own.
  Lifting(const Module& whole, Module& target) : whole_(whole), target_(target), types_(target) {}

  LiftedTypes& types() { return types_; }
  /// The lifted form of a function; write others that it needs with `write_functions`.
  FunctionRef lift(const Function& function);
  /// The name of the lifted form of a global function.
  ExprRef global(const GlobalVar& var);
  void write_functions();
  const Module& whole() const { return whole_; }

 private:
  const Module& whole_;
  Module& target_;
  LiftedTypes types_;
  std::unordered_map<Name, Name> names_;
  std::vector<Name> work_;
};

}  // namespace relay::grad
