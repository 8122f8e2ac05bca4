// The interpreter's lock: work without it, calls back into Python, and what ends work from outside.
#pragma once

#include <atomic>

#include <bindings/casters.h>

#include <relay/support/stop.h>

namespace relay::python {

/// Without the interpreter's lock while it lives. A thread that comes back when the interpreter is
/// leaving waits for the end of the process: Python would unwind it, through frames that cannot be
/// unwound.
class Unlocked {
 public:
  /// Work that is done without the lock: of runs of programs nothing is left locked in a child
  /// process that another thread forks meanwhile.
  enum class Work : uint8_t { kRun, kOther };
  explicit Unlocked(Work work = Work::kOther);
  ~Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
  Work before_;
};

/// With the interpreter's lock while it lives, for calls from the library into Python on any
/// thread.
class Locked {
 public:
  Locked();
  ~Locked();
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  PyGILState_STATE state_;
  bool was_unlocked_;
  Unlocked::Work work_;
};

/// While it lives, `flag` is set when the process leaves and, on Python's main thread, at Ctrl-C.
/// To be made and left with the interpreter's lock.
class InterruptScope {
 public:
  explicit InterruptScope(std::atomic<bool>& flag);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  std::atomic<bool>& flag_;
  std::atomic<bool>* outer_ = nullptr;
  bool active_ = false;
};

/// Sets the exception that Python's handler of Ctrl-C raises, else KeyboardInterrupt, for work that
/// was ended; raises it.
void set_interrupt();
[[noreturn]] void raise_interrupt();

/// For threads that Python ends while the process leaves.
[[noreturn]] void wait_for_the_end();

/// Runs something that may take long, with the interpreter's lock; Ctrl-C ends it.
template <class Run>
auto interruptible(Run&& run) {
  std::atomic<bool> stop{false};
  try {
    InterruptScope interrupts(stop);
    StopScope scope(&stop);
    return run();
  } catch (const Stopped&) {
    raise_interrupt();
  }
}

/// The same without the lock.
template <class Run>
auto without_lock(Run&& run) {
  return interruptible([&] {
    Unlocked released;
    return run();
  });
}

void bind_lock(nb::module_& m);

}  // namespace relay::python
