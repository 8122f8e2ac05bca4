// The texts of kernel failures.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace relay {

/// The text for an index outside of its tensor whose value is not known.
inline constexpr std::string_view kOutOfRange = "index out of range";
/// The message with that text replaced by one that names the index and the extent.
std::string with_index(std::string_view message, int64_t index, int64_t extent);
/// A failure of an operator's computation, with the operator's name. A division by zero has no
/// name: mostly it is an infix operator, or an instruction that knows no operator.
std::string failure_text(std::string_view op, std::string_view message);

}  // namespace relay
