// Locks that stay usable in a child process, whatever the other threads of its parent do at the
// fork: fork waits until it has all of them.
#pragma once

#include <atomic>
#include <mutex>

namespace relay {

/// A mutex that the forking thread holds during the fork, so that the data behind it is whole in
/// the child and no missing thread holds it. Hold it briefly, and run no other code meanwhile that
/// might fork. A thread that holds it and forks keeps it, in the child too.
class ForkMutex {
 public:
  ForkMutex();
  ~ForkMutex();
  ForkMutex(const ForkMutex&) = delete;
  ForkMutex& operator=(const ForkMutex&) = delete;

  void lock() {
    mutex_.lock();
    owner_.store(this_thread(), std::memory_order_relaxed);
  }
  bool try_lock() {
    if (!mutex_.try_lock()) return false;
    owner_.store(this_thread(), std::memory_order_relaxed);
    return true;
  }
  void unlock() {
    owner_.store(nullptr, std::memory_order_relaxed);
    mutex_.unlock();
  }

 private:
  friend class ForkMutexes;
  // An address that is the thread's alone.
  static const void* this_thread() {
    static thread_local char mark;
    return &mark;
  }

  std::mutex mutex_;
  std::atomic<const void*> owner_{nullptr};
  bool held_ = false;  // by the thread that forks
  ForkMutex* before_ = nullptr;
  ForkMutex* after_ = nullptr;
};

/// Runs `reset` in every later child process before the child goes on, with all ForkMutexes held.
void in_forked_children(void (*reset)() noexcept);

}  // namespace relay
