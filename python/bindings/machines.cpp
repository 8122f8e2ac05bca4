#include <bindings/machines.h>

namespace relay::python {

Machines::Seat::Seat(const std::shared_ptr<const vm::Executable>& executable, int threads)
    : machine(executable, vm::MachineOptions{threads, &interrupt, 0}), process(this_process()) {}

Machines::~Machines() {
  for (std::unique_ptr<Seat>& seat : idle_) {
    // The threads of a machine of another process cannot be joined.
    if (seat->process != this_process()) static_cast<void>(seat.release());
  }
}

std::unique_ptr<Machines::Seat> Machines::take() {
  {
    std::lock_guard lock(mutex_);
    while (!idle_.empty()) {
      std::unique_ptr<Seat> seat = std::move(idle_.back());
      idle_.pop_back();
      if (seat->process == this_process()) return seat;
      static_cast<void>(seat.release());
    }
  }
  return std::make_unique<Seat>(executable_, threads_);
}

void Machines::give_back(std::unique_ptr<Seat> seat) {
  std::lock_guard lock(mutex_);
  idle_.push_back(std::move(seat));
}

}  // namespace relay::python
