// Shapes that a program declares but that inference could not decide (T14, T15), checked while it
// runs.
#pragma once

#include <span>

#include <relay/infer/declared_shapes.h>
#include <relay/ir/module.h>
#include <relay/runtime/value.h>

namespace relay::eval {

/// Values with the types that annotations give them. A dimension name has one value in all of them.
struct ShapeCheck {
  ShapeComparison parts;
  const Module* module = nullptr;  // defines the data types

  /// Throws RuntimeError if a value has another shape than its type says. Takes no stack, and looks
  /// at parts that values share once.
  void run(std::span<const Value> values) const;
};

}  // namespace relay::eval
