// Symbols that stand for sizes by number, wherever no program has named them.
#pragma once

#include <cstddef>
#include <string_view>

#include <relay/ir/dim.h>

namespace relay {

/// The extent called prefix and number (`d0`, `d1`, …): the same one each time, from any thread. It
/// lives for ever.
Dim numbered_symbol(std::string_view prefix, size_t number);
/// The same for a number that a run reads, which may be negative.
Dim numbered_value(std::string_view prefix, size_t number);

}  // namespace relay
