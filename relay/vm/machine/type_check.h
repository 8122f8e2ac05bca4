// Values against the types they should have.
#pragma once

#include <span>
#include <string>

#include <relay/runtime/value.h>
#include <relay/vm/machine/executable.h>

namespace relay::vm {

/// A value that does not have its type.
struct TypeMismatch {
  size_t part = 0;
  std::string expected;  // the type it should have
  std::string found;     // the value's type
  std::string note;      // "dimension n is not 4 here", or empty
  std::string device;    // what is wrong is the device of a tensor, as this says
};

/// Whether `values` fit the parts of a check. With `only_shapes`, dtypes and the kinds of values
/// are taken for granted.
bool fits(const TypeCheck& check, std::span<const Value* const> values, bool only_shapes,
          TypeMismatch& mismatch);

}  // namespace relay::vm
