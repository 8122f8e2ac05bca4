// Work side by side: loops whose turns are shared by threads.
#pragma once

#include <cstddef>
#include <functional>

namespace relay {

/// 0 asks for as many threads as the machine has cores.
size_t thread_count(int asked);

/// Copying by more threads is no faster: memory does not feed them.
inline constexpr size_t kCopyThreads = 4;

/// Runs `work(0)` … `work(count - 1)` on the calling thread and others, as many together as asked
/// for (0: one for each core), and waits. If some throw, the exception of the smallest index is
/// thrown again here. The caller does alone what the system gives no threads for; so it does within
/// other work that is side by side.
void side_by_side(int threads, size_t count, const std::function<void(size_t)>& work);

/// The same on threads with enough stack for LLVM, whatever the process's limit is, and none of it
/// on the calling one. Where the system gives fewer threads those do all; with none, throws Error.
void with_stack(int threads, size_t count, const std::function<void(size_t)>& work);

}  // namespace relay
