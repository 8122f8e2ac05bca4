// Locks that a child process can use, whatever the other threads of its parent were doing when it
// was forked: fork waits until it has all of them.
#pragma once

#include <atomic>
#include <mutex>

namespace relay {

/// A mutex that the thread which forks holds meanwhile, so that what it guards is whole in the
/// child, and nobody who is not there has it. Not to be held for long, nor while other code runs
/// that might fork; a thread that holds it and forks keeps it, in the child too.
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

/// From now on `reset` runs in every child process before it goes on, with all ForkMutexes held.
void in_forked_children(void (*reset)() noexcept);

}  // namespace relay
