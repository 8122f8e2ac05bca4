#include <bindings/machines.h>

namespace relay::python {

Machines::Seat::Seat(const std::shared_ptr<const vm::Executable>& executable, int threads)
    : machine(executable, vm::MachineOptions{threads, &interrupt, 0}) {}

std::unique_ptr<Machines::Seat> Machines::take() {
  {
    std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<Seat> seat = std::move(idle_.back());
      idle_.pop_back();
      return seat;
    }
  }
  return std::make_unique<Seat>(executable_, threads_);
}

void Machines::give_back(std::unique_ptr<Seat> seat) {
  std::lock_guard lock(mutex_);
  idle_.push_back(std::move(seat));
}

}  // namespace relay::python
