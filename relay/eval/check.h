// Checks shapes that a program declares and that inference could not decide (T14, T15), while it
// runs.
#pragma once

#include <span>
#include <vector>

#include <relay/infer/runtime/type_checks.h>
#include <relay/runtime/value.h>

namespace relay::eval {

/// Values with the types of annotations. A dimension name has one value in all of them.
class ShapeCheck {
 public:
  ShapeCheck(const ShapeComparison& parts, const Module& module, Flows& flows);

  /// Throws RuntimeError if a value does not have the shape of its type. Takes no stack, and looks
  /// once at parts that values share.
  void run(std::span<const Value> values) const;

 private:
  TypeCheck check_;
  std::vector<Span> places_;  // by the parts' positions
};

}  // namespace relay::eval
