// Gradients that a program takes, each as a whole for many lanes.
#pragma once

#include <unordered_map>

#include <relay/transform/batch/batch.h>
#include <relay/transform/gradient/gradient.h>

namespace relay::lanes {

/// The gradient of a loop keeps a record of the way of each lane, and lanes cannot choose between
/// records. But the gradient for each of many lanes is the gradient of the sum over lanes: the
/// function gets its lanes first, and is differentiated then.
///
/// So names stand for the gradients while a program gets its lanes.
class LaneGradients {
 public:
  explicit LaneGradients(const BatchForm& form) : depth_(form.depth), keep_(form.keep_gradients) {}

  /// The typed module with names in the place of the calls of `grad` in functions that `own`
  /// reaches. Throws `Error` for one of a function that reads or gives other things than tensors of
  /// known extents.
  Module named(Module whole, const Name& own);
  bool has(const Name& name) const { return entries_.count(name) != 0; }

  /// A function of `module`, the one that `whole` was made from: that of a name for `lanes` lanes,
  /// or for what all lanes share. With `masked`, it takes the lanes that want the call first.
  FunctionRef written(const Name& name, Module& module, bool has_lanes, bool masked,
                      const Dim& lanes) const;

 private:
  class Writer;
  struct Entry {
    FunctionRef function;  // what the gradient is of, closed
    TypeRef result;        // its type
    GradientForm form;
  };

  Name add(Module& whole, Entry entry, const std::vector<VarRef>& captured, const FuncType& type);
  FunctionRef guarded(const Entry& entry) const;
  /// A gradient of a function of the module, which has the result's gradient as a parameter.
  FunctionRef derived(const FunctionRef& function, const GradientForm& form, Module& module) const;

  int depth_;
  bool keep_;
  std::unordered_map<Name, Entry> entries_;
};

}  // namespace relay::lanes
