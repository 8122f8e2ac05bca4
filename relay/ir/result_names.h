// Names of what a function returns.
#pragma once

#include <string>
#include <vector>

#include <relay/ir/attrs.h>

namespace relay {

/// The attribute of a function that has the names of its results: one, or one for each field of the
/// tuple that it returns. Importers write it, as TVM's do.
inline constexpr const char* kResultNames = "output_tensor_names";

/// The names that a function's attributes give its results. Empty where they give none that a
/// client can tell the results by: another number of them, two that are equal, or one that is
/// empty, longer than 1,000 bytes, not UTF-8 or has control characters.
std::vector<std::string> result_names(const AttrsRef& attrs, size_t count);
/// The attributes of a function that returns something else.
AttrsRef without_result_names(const AttrsRef& attrs);
/// True if a function has other attributes: they may say where it is computed, and how.
bool is_marked(const AttrsRef& attrs);

}  // namespace relay
