// The names that people bring along from other libraries and languages, for messages.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace relay {

struct ForeignOperator {
  std::string_view name;
  std::string_view ours;  // empty if no operator does the same
  std::string_view note;  // what to heed; may be empty
};
struct ForeignAttribute {
  std::string_view name;
  std::string_view ours;  // candidates, with blanks between them
};
struct ForeignDType {
  std::string_view name;
  std::string_view ours;
};
struct ForeignWord {
  enum class Kind : uint8_t {
    kSame,     // means what `ours` means
    kEnds,     // begins something that is not read
    kDropped,  // is left out
    kBinds     // means let before a name
  };
  std::string_view word;
  Kind kind;
  std::string_view ours;
  std::string_view help;
};

std::span<const ForeignOperator> foreign_operators();
std::span<const ForeignAttribute> foreign_attributes();
std::span<const ForeignDType> foreign_dtypes();
std::span<const ForeignWord> foreign_words();

/// The name without the library before it: "relu" of "torch.nn.functional.relu" and "F.relu".
std::string_view without_library(std::string_view name);
/// The line about an operator, whose library may stand before it; null if no line is.
const ForeignOperator* foreign_operator(std::string_view name);
/// The attributes that may be meant by one, the likeliest first.
std::vector<std::string> foreign_attribute(std::string_view name);
/// "float32" of "f32", "float" and "torch.float32"; empty if nothing is known.
std::string_view foreign_dtype(std::string_view name);
const ForeignWord* foreign_word(std::string_view word);

}  // namespace relay
