// Room for recursion over nested text.
#pragma once

#include <functional>

namespace relay::parsing {

/// Runs `f` with a large stack: on a thread of its own if the caller's is small. Throws what `f`
/// throws, or Error if no thread can be started.
void run_on_large_stack(const std::function<void()>& f);

}  // namespace relay::parsing
