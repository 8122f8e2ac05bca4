// Machines for the threads that call one program.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include <bindings/lock.h>

#include <relay/support/fork_mutex.h>
#include <relay/vm/machine/machine.h>

namespace relay::python {

/// The machines of one program. A machine runs for one thread at a time: each call takes an idle
/// one, or makes one.
class Machines {
 public:
  Machines(std::shared_ptr<const vm::Executable> executable, int threads)
      : executable_(std::move(executable)), threads_(threads) {}
  Machines(const Machines&) = delete;
  Machines& operator=(const Machines&) = delete;

  const vm::Executable& executable() const { return *executable_; }

  /// Calls `run` with a machine and without the GIL. Ctrl-C raises what Python's handler raises.
  template <class Run>
  Value with(Run&& run, vm::Profile* profile = nullptr) {
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
    try {
      InterruptScope scope(seat.interrupt);
      Unlocked released(Unlocked::Work::kRun);
      return run(seat.machine);
    } catch (const vm::Interrupted&) {
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
