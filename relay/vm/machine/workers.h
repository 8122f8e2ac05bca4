// The threads that share a region of kernels, and their barrier.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace relay::vm {

/// Waits for all of `count` threads: by the clock, spinning, then giving way to others, after
/// milliseconds asleep.
class Barrier {
 public:
  explicit Barrier(int count);
  void wait();

 private:
  const int count_;
  const std::chrono::nanoseconds patience_;  // before sleep
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<uint32_t> round_{0};
};

/// A team for parallel regions: the calling thread and those of the OpenMP pool.
class Workers {
 public:
  explicit Workers(int count) : count_(count < 1 ? 1 : count), barrier_(count_) {}

  int count() const { return count_; }
  Barrier& barrier() { return barrier_; }
  /// Runs `body(context, thread)` on every worker and waits for them. False if the system did not
  /// give as many threads as there are workers; then nothing ran.
  bool run(void (*body)(void* context, int thread), void* context);

 private:
  const int count_;
  Barrier barrier_;
};

}  // namespace relay::vm
