// Threads that a library starts for itself in the process of others.
#pragma once

#include <cstddef>

namespace relay {

/// Starts a detached thread that runs `run(argument)`, with `stack` bytes. Signals go to the
/// program's own threads, but for those that a thread brings on itself and SIGPROF. The library
/// stays loaded from then on, since closing it would take the code away under the thread. False if
/// the system gives no thread.
bool start_helper_thread(void* (*run)(void*), void* argument, size_t stack) noexcept;

}  // namespace relay
