// Tests that fork.
#pragma once

#include <functional>

#include <sys/wait.h>
#include <unistd.h>

namespace relay::testing {

// ThreadSanitizer ends children of processes with threads; in AddressSanitizer's allocator they
// hang where another thread was allocating.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kForks = false;
#else
inline constexpr bool kForks = true;
#endif

/// The exit status of `body` in a child process, -1 where it does not end in a minute.
inline int status_of_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace relay::testing
