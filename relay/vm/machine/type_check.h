// Values against the types they should have.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <relay/runtime/value.h>
#include <relay/support/diagnostic.h>
#include <relay/vm/machine/executable.h>

namespace relay::vm {

/// A value that does not have its type.
struct TypeMismatch {
  size_t part = 0;
  std::string expected;  // the type it should have
  std::string found;     // the value's type
  /// What the names in it are, and the part that made them so: "n = 4".
  struct Name {
    std::string value;
    size_t part;
  };
  std::vector<Name> names;
  std::string device;  // what is wrong is the device of a tensor, as this says
};

/// "WHAT: expected TYPE where n = 4, found TYPE", with a note at what made each name what it is.
/// `what` names a part; `sources` keeps the texts that the places are in.
Diagnostic mismatch_error(const Executable& executable, const TypeCheck& check,
                          const TypeMismatch& mismatch,
                          const std::function<std::string(const TypeCheck::Part&)>& what,
                          std::vector<std::shared_ptr<const Source>>& sources);

/// Whether `values` fit the parts of a check. With `only_shapes`, dtypes and the kinds of values
/// are taken for granted.
bool fits(const TypeCheck& check, std::span<const Value* const> values, bool only_shapes,
          TypeMismatch& mismatch);

}  // namespace relay::vm
