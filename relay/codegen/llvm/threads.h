// Threads with enough stack for LLVM, whatever the process's limit is.
#pragma once

#include <cstddef>
#include <functional>

namespace relay::codegen {

/// Runs `work(0)` … `work(count - 1)`, each on a thread of its own with a large stack, and waits.
/// The first exception that one of them throws is thrown again here. Where the system gives fewer
/// threads the rest of the calls follow on those there are; with none, throws Error.
void with_stack(size_t count, const std::function<void(size_t)>& work);

}  // namespace relay::codegen
