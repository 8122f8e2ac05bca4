// Values of attributes by what they mean.
#pragma once

#include <optional>

#include <relay/ir/attrs.h>

namespace relay {

/// The number that a value is: 1 for True, 0 for False; nothing for what is no number.
std::optional<double> number_of(const AttrValue& value);
/// True for values that mean the same: 1 and 1.0 and True, "int8" and the dtype, lists and
/// dictionaries of such. Those that nest deeper than 100 levels have to be equal as they are.
bool same_value(const AttrValue& a, const AttrValue& b);

}  // namespace relay
