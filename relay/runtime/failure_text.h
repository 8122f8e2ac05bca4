// How failures of kernels are said.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace relay {

/// What an index outside of its tensor is said to be where its number is not known.
inline constexpr std::string_view kOutOfRange = "index out of range";
/// The message with that text replaced by one that names the index and the extent.
std::string with_index(std::string_view message, int64_t index, int64_t extent);
/// A failure of an operator's computation, with its name. A division by zero goes without: it is
/// an infix operator mostly, or an instruction that knows of no operator.
std::string failure_text(std::string_view op, std::string_view message);

}  // namespace relay
