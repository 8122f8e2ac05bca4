// Shapes that a program declares but that inference could not decide (T14, T15), checked while it
// runs.
#pragma once

#include <span>
#include <vector>

#include <relay/infer/runtime/type_checks.h>
#include <relay/runtime/value.h>

namespace relay::eval {

/// Values with the types that annotations give them. A dimension name has one value in all of them.
class ShapeCheck {
 public:
  ShapeCheck(const ShapeComparison& parts, const Module& module, Flows& flows);

  /// Throws RuntimeError if a value has another shape than its type says. Takes no stack, and looks
  /// at parts that values share once.
  void run(std::span<const Value> values) const;

 private:
  TypeCheck check_;
  std::vector<Span> places_;  // by the parts' positions
};

}  // namespace relay::eval
