#include <bindings/machines.h>

#include <algorithm>

namespace relay::python {

void Cancel::cancel() {
  std::lock_guard lock(mutex_);
  cancelled_.store(true, std::memory_order_relaxed);
  for (std::atomic<bool>* flag : flags_) flag->store(true, std::memory_order_relaxed);
}

Cancel::Scope::Scope(Cancel* owner, std::atomic<bool>& flag) : owner_(owner), flag_(flag) {
  if (owner_ == nullptr) return;
  std::lock_guard lock(owner_->mutex_);
  owner_->flags_.push_back(&flag_);
  if (owner_->cancelled()) flag_.store(true, std::memory_order_relaxed);
}

Cancel::Scope::~Scope() {
  if (owner_ == nullptr) return;
  std::lock_guard lock(owner_->mutex_);
  auto found = std::find(owner_->flags_.begin(), owner_->flags_.end(), &flag_);
  if (found != owner_->flags_.end()) owner_->flags_.erase(found);
}

namespace {

[[noreturn]] void raise_of_execution(const char* name, const std::string& message) {
  nb::object type = nb::module_::import_("relay").attr("execution").attr(name);
  nb::object exception = type(message);
  exception.attr("diagnostics") = nb::list();
  PyErr_SetObject(type.ptr(), exception.ptr());
  throw nb::python_error();
}

}  // namespace

void raise_cancelled() { raise_of_execution("RunCancelled", "the run was cancelled"); }

void raise_deadline(double seconds) {
  raise_of_execution("RunTimeout", vm::TimedOut(seconds).what());
}

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
