#include <bindings/machines.h>

#include <csignal>

#include <pthread.h>

// Of the OpenMP runtime that kernels run on, if there is one.
extern "C" int omp_pause_resource_all(int kind) __attribute__((weak));

namespace relay::python {

namespace {

// The threads of OpenMP do not exist in a child process, and its runtime would wait for them: they
// are ended before, and start again at the next parallel region on either side.
void before_fork() {
  constexpr int kHard = 2;
  if (omp_pause_resource_all != nullptr) omp_pause_resource_all(kHard);
}

// How many forks lie between the process that loaded the library and this one.
std::atomic<uint64_t> process_number{0};

uint64_t this_process() {
  static const int registered = pthread_atfork(
      before_fork, nullptr, [] { process_number.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
  return process_number.load(std::memory_order_relaxed);
}

// What the handler of SIGINT sets, and the handler that was there before: Python's, which remembers
// the signal for the interpreter. Ours stays installed; Python's own table of handlers does not
// know of it.
std::atomic<std::atomic<bool>*> interrupted{nullptr};
struct sigaction previous;

void on_interrupt(int number, siginfo_t* info, void* context) {
  std::atomic<bool>* flag = interrupted.load(std::memory_order_relaxed);
  if (flag != nullptr) flag->store(true, std::memory_order_relaxed);
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(number, info, context);
  } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(number);
  }
}

/// Puts our handler before the one of Python. False if nothing is to happen at Ctrl-C.
bool catch_interrupts() {
  struct sigaction current;
  if (sigaction(SIGINT, nullptr, &current) != 0) return false;
  if ((current.sa_flags & SA_SIGINFO) != 0 && current.sa_sigaction == on_interrupt) return true;
  if ((current.sa_flags & SA_SIGINFO) == 0 &&
      (current.sa_handler == SIG_DFL || current.sa_handler == SIG_IGN))
    return false;
  previous = current;
  struct sigaction ours = current;
  ours.sa_flags |= SA_SIGINFO;
  ours.sa_sigaction = on_interrupt;
  return sigaction(SIGINT, &ours, nullptr) == 0;
}

bool on_main_thread() {
  // Python runs handlers of signals on its main thread alone: the one that this library was loaded
  // on, or the process's.
  static const unsigned long main_thread = [] {
    nb::object thread = nb::module_::import_("threading").attr("main_thread")();
    return nb::cast<unsigned long>(thread.attr("ident"));
  }();
  return PyThread_get_thread_ident() == main_thread;
}

}  // namespace

InterruptScope::InterruptScope(std::atomic<bool>& flag) {
  if (!on_main_thread() || !catch_interrupts()) return;
  active_ = true;
  outer_ = interrupted.exchange(&flag, std::memory_order_relaxed);
}

InterruptScope::~InterruptScope() {
  if (active_) interrupted.store(outer_, std::memory_order_relaxed);
}

void stop_between_passes(PassContext& context) {
  PassInstrument instrument;
  instrument.name = "signals";
  instrument.before = [](const Module&, const PassInfo&) {
    nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  };
  context.instruments.push_back(std::move(instrument));
}

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
