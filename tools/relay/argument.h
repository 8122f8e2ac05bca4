// Values given on the command line: `3`, `[[1, 2], [3, 4]]:int64`, `ones(2, 3)`, `@x.npz:name`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <relay/ir/type.h>
#include <relay/runtime/value.h>

namespace relay::tool {

/// One `--arg`.
struct Argument {
  std::optional<std::string> name;  // of `name=V`
  std::string text;                 // V
  int position = 0;                 // among the --arg options, from 1
  size_t shift = 0;                 // where V begins in the option
};

/// Takes a name in quotes from the front of `"a b"=V` or `%"a b"=V`, as errors and program text
/// show names that are no words; `length` is where the `=` stands. False if there is none.
bool take_quoted_name(std::string_view text, std::string& name, size_t& length);

/// Splits `name=V`. The name may be in quotes.
Argument split_argument(std::string text, int position);
/// True if values of a type cannot be given on the command line, which knows tensors only.
bool is_no_tensor(const Type* type);
/// Reads the value. Without a dtype of its own it takes that of `type` if it is a tensor with a
/// known one, else int32 for whole numbers and float32 for others. `random(…)` gives the same
/// numbers for the same seed. Throws `Error` that shows the argument.
Value read_argument(const Argument& argument, const Type* type, uint64_t seed);

}  // namespace relay::tool
