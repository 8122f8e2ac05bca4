// The words of `--arg`: `3`, `x=[[1, 2], [3, 4]]`, `"a b"=(1, Nil)`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <relay/runtime/value.h>
#include <relay/runtime/value_text.h>

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

/// Splits `name=V`. The name may be in quotes. A `=` inside brackets belongs to the value.
Argument split_argument(std::string text, int position);
/// Reads the value, see relay/runtime/value_text.h. Throws `Error` that shows the argument.
Value read_argument(const Argument& argument, const WantedValue& wanted);

}  // namespace relay::tool
