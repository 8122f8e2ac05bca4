// Machines for the threads that call one program.
#pragma once

#include <atomic>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <bindings/lock.h>

#include <relay/support/fork_mutex.h>
#include <relay/vm/machine/deadline.h>
#include <relay/vm/machine/machine.h>

namespace relay::python {

/// Ends runs that it was given to, from any thread, and those that begin later.
class Cancel {
 public:
  void cancel();
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

  /// While it lives, `cancel` sets the flag. Without a Cancel it does nothing.
  class Scope {
   public:
    Scope(Cancel* owner, std::atomic<bool>& flag);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Cancel* owner_;
    std::atomic<bool>& flag_;
  };

 private:
  ForkMutex mutex_;
  std::vector<std::atomic<bool>*> flags_;
  std::atomic<bool> cancelled_{false};
};

/// What ends a run early.
struct RunLimits {
  double seconds = std::numeric_limits<double>::infinity();
  Cancel* cancel = nullptr;
};

[[noreturn]] void raise_cancelled();
[[noreturn]] void raise_deadline(double seconds);

/// The machines of one program. A machine runs for one thread at a time: each call takes an idle
/// one, or makes one.
class Machines {
 public:
  Machines(std::shared_ptr<const vm::Executable> executable, int threads)
      : executable_(std::move(executable)), threads_(threads) {}
  Machines(const Machines&) = delete;
  Machines& operator=(const Machines&) = delete;

  const vm::Executable& executable() const { return *executable_; }

  /// Calls `run` with a machine and without the GIL. Ctrl-C raises what Python's handler raises,
  /// and limits that end the run raise exceptions of their own.
  template <class Run>
  Value with(Run&& run, vm::Profile* profile = nullptr, const RunLimits& limits = {}) {
    Lease lease(*this);
    Seat& seat = *lease.seat;
    seat.interrupt.store(false, std::memory_order_relaxed);
    if (profile != nullptr) seat.machine.set_profile(profile);
    struct Unset {
      vm::Machine* machine;
      ~Unset() {
        if (machine != nullptr) machine->set_profile(nullptr);
      }
    } unset{profile != nullptr ? &seat.machine : nullptr};
    const bool timed = limits.seconds < std::numeric_limits<double>::infinity();
    std::optional<vm::Deadline> deadline;
    if (timed) deadline.emplace(seat.interrupt, vm::seconds_from_now(limits.seconds));
    const Cancel::Scope cancelling(limits.cancel, seat.interrupt);
    try {
      InterruptScope scope(seat.interrupt);
      Unlocked released(Unlocked::Work::kRun);
      return run(seat.machine);
    } catch (const vm::Interrupted&) {
      if (limits.cancel != nullptr && limits.cancel->cancelled()) raise_cancelled();
      if (deadline && deadline->passed()) raise_deadline(limits.seconds);
      raise_interrupt();
    }
  }

 private:
  struct Seat {
    Seat(const std::shared_ptr<const vm::Executable>& executable, int threads);
    std::atomic<bool> interrupt{false};
    vm::Machine machine;
  };
  struct Lease {
    explicit Lease(Machines& owner) : owner(owner), seat(owner.take()) {}
    ~Lease() { owner.give_back(std::move(seat)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Machines& owner;
    std::unique_ptr<Seat> seat;
  };
  std::unique_ptr<Seat> take();
  void give_back(std::unique_ptr<Seat> seat);

  std::shared_ptr<const vm::Executable> executable_;
  int threads_;
  ForkMutex mutex_;
  std::vector<std::unique_ptr<Seat>> idle_;
};

}  // namespace relay::python
