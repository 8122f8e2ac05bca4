// Values as people write them on a command line and in files: literals, tuples, data values,
// references, JSON, arrays of files, random numbers. docs/command.md describes the forms.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <relay/runtime/made_up.h>
#include <relay/runtime/type_check.h>
#include <relay/runtime/value.h>

namespace relay {

/// The value that a text is to be read as.
struct WantedValue {
  const TypeCheck* check = nullptr;  // the data types and dimension names of `type`
  const TypeInfo* type = nullptr;
  std::string text;   // the type as printed, for messages
  uint64_t seed = 0;  // of random(…) without a seed of its own
  /// Extents for `random` without extents; may be empty.
  std::function<Extents()> extents;
  bool from_file = false;  // the text is that of a file, which must not name others like it
};

/// Reads a value. A literal has the dtype of the type if that is known and the text names none;
/// else int32 if it is of whole numbers that fit, int64 if they do not, float32 for others, bool
/// for True and False. A value need not have the type: extents and dtypes are compared later.
/// `shift` is where the text begins in what the user wrote, for places in messages. Values may
/// nest without limit. Throws `Error`.
Value read_value(std::string_view text, const WantedValue& wanted, size_t shift = 0);

/// True if the text has random numbers whose extents the type gives: `random`, `random(normal)`.
bool needs_extents(std::string_view text);

}  // namespace relay
