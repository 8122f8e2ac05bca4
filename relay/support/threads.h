// Runs work in parallel: loops whose turns several threads share.
#pragma once

#include <cstddef>
#include <functional>

namespace relay {

/// The number of threads for `asked`; 0 asks for one for each core.
size_t thread_count(int asked);

/// More threads copy no faster: memory does not feed them.
inline constexpr size_t kCopyThreads = 4;

/// Runs `work(0)` … `work(count - 1)` on the calling thread and others, on as many threads as asked
/// for (0: one for each core), and waits. If some calls throw, it throws the exception of the
/// smallest index again. The caller does alone the work for which the system gives no threads, and
/// all work within other parallel work.
void side_by_side(int threads, size_t count, const std::function<void(size_t)>& work);

/// The same on threads with enough stack for LLVM, whatever the process's limit is, and never on
/// the calling one. If the system gives fewer threads, those do all work; if it gives none, this
/// throws Error.
void with_stack(int threads, size_t count, const std::function<void(size_t)>& work);

}  // namespace relay
