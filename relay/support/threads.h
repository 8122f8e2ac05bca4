// Threads with enough stack for a compiler's work, LLVM's too, whatever the process's limit is.
#pragma once

#include <cstddef>
#include <functional>

namespace relay {

/// 0 asks for as many threads as the machine has cores.
size_t thread_count(int asked);

/// Runs `work(0)` … `work(count - 1)` on at most `threads` threads, each with a large stack, and
/// waits. If some throw, the exception of the smallest index is thrown again here. Where the system
/// gives fewer threads those do all; with none, throws Error.
void with_stack(size_t threads, size_t count, const std::function<void(size_t)>& work);

}  // namespace relay
