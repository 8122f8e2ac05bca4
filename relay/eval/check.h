// Shapes that a program declares but that inference could not decide (T14, T15), checked while it
// runs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <relay/ir/type.h>
#include <relay/runtime/value.h>

namespace relay::eval {

/// Values with the types that annotations give them. A dimension name has one value in all of them.
struct ShapeCheck {
  struct Part {
    TypeRef type;
    std::string what;  // "the result of @f"
    Span span;
  };
  std::vector<Part> parts;

  /// Throws RuntimeError if a value has another shape than its type says.
  void run(std::span<const Value> values) const;
};

/// Whether a type says anything about shapes that a value of it might break.
bool has_shape_to_check(const TypeRef& type);

}  // namespace relay::eval
