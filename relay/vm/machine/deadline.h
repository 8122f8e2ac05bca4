// Ends of runs by the clock.
#pragma once

#include <atomic>
#include <chrono>

#include <relay/support/error.h>

namespace relay::vm {

/// Sets a flag at a point in time, unless it is gone before. One thread of the process watches all
/// of them; the first one that has to wait starts it. Give the flag to a machine
/// (MachineOptions::interrupt) to end a run that takes too long.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  /// Throws Error if the system gives no thread. The flag must outlive the deadline. A point in
  /// time that has passed sets the flag at once.
  Deadline(std::atomic<bool>& flag, Clock::time_point at);
  /// Never ends anything.
  Deadline() = default;
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  /// True once the flag was set by this deadline.
  bool passed() const { return passed_.load(std::memory_order_relaxed); }

 private:
  friend class DeadlineWatch;
  void end() {
    passed_.store(true, std::memory_order_relaxed);
    flag_->store(true, std::memory_order_relaxed);
  }

  std::atomic<bool>* flag_ = nullptr;
  Clock::time_point at_;
  std::atomic<bool> passed_{false};
};

/// The point in time `seconds` from now. More than some hundred years are as good as never, and the
/// same as that. Negative ones and not-a-number are now.
Deadline::Clock::time_point seconds_from_now(double seconds);

/// The end of a run by its deadline.
class TimedOut : public Error {
 public:
  explicit TimedOut(double seconds);
};

}  // namespace relay::vm
