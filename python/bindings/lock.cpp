#include <bindings/bindings.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>
#include <vector>

#include <cxxabi.h>
#include <pthread.h>
#include <unistd.h>

#include <relay/support/error.h>

namespace relay::python {

namespace {

// Guarded by the interpreter's lock, all of them.
size_t threads_inside = 0;         // without the lock, in the library
size_t threads_in_runs = 0;        // of them
unsigned long leaving_thread = 0;  // that ends the interpreter, or 0
std::vector<std::atomic<bool>*>& running() {
  static auto& flags = *new std::vector<std::atomic<bool>*>;
  return flags;
}

// Set in a child whose parent had threads in the library when it forked, other than in runs of
// programs: what they had locked stays so.
bool broken_by_fork = false;

// The work of this thread without the lock.
thread_local Unlocked::Work work_inside = Unlocked::Work::kOther;

void count_inside(Unlocked::Work work) {
  ++threads_inside;
  if (work == Unlocked::Work::kRun) ++threads_in_runs;
}
void count_outside(Unlocked::Work work) {
  if (threads_inside > 0) --threads_inside;
  if (work == Unlocked::Work::kRun && threads_in_runs > 0) --threads_in_runs;
}

// Python ends threads that ask for its lock when it is leaving by unwinding their stacks. What they
// ask in, or run Python code in, is called in here.
template <class Take>
auto or_wait(Take&& take) {
  try {
    return take();
  } catch (abi::__forced_unwind&) {
    wait_for_the_end();
  }
}

// How many forks lie between the process that loaded the library and this one.
std::atomic<uint64_t> process_number{0};

void after_fork_in_child() {
  process_number.fetch_add(1, std::memory_order_relaxed);
  if (threads_inside > threads_in_runs) broken_by_fork = true;
  threads_inside = threads_in_runs = 0;
  running().clear();
}

// The flag that the handler of SIGINT sets, and the handler that was there before: Python's, which
// remembers the signal for the interpreter. Ours stays installed; Python's own table of handlers
// does not know of it.
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
  // on, or the process's. In a child it is the one that forked.
  static unsigned long main_thread = 0;
  static uint64_t of_process = ~uint64_t{0};
  const uint64_t this_process = process_number.load(std::memory_order_relaxed);
  if (of_process != this_process) {
    nb::object thread = nb::module_::import_("threading").attr("main_thread")();
    main_thread = nb::cast<unsigned long>(thread.attr("ident"));
    of_process = this_process;
  }
  return PyThread_get_thread_ident() == main_thread;
}

// True if the process leaves and this thread is none that it waits for.
bool too_late() { return leaving_thread != 0 && leaving_thread != PyThread_get_thread_ident(); }

// Ends what other threads do in the library, and waits for it: what they use is about to go.
void leave() {
  leaving_thread = PyThread_get_thread_ident();
  constexpr auto kMost = std::chrono::seconds(5);
  const auto begin = std::chrono::steady_clock::now();
  while (threads_inside > 0 && std::chrono::steady_clock::now() - begin < kMost) {
    for (std::atomic<bool>* flag : running()) flag->store(true, std::memory_order_relaxed);
    nb::gil_scoped_release released;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

void wait_for_the_end() {
  for (;;) pause();
}

Unlocked::Unlocked(Work work) : before_(work_inside) {
  if (broken_by_fork) {
    throw Error(
        Diagnostic::error("this process was forked while another thread was at work in relay")
            .help("fork before threads start, or start processes with multiprocessing's \"spawn\" "
                  "or \"forkserver\""));
  }
  const bool late = too_late();
  if (!late) count_inside(work);
  work_inside = work;
  state_ = PyEval_SaveThread();
  if (late) wait_for_the_end();
}

Unlocked::~Unlocked() {
  or_wait([&] { PyEval_RestoreThread(state_); });
  count_outside(work_inside);
  work_inside = before_;
}

Locked::Locked()
    : state_(PyGILState_UNLOCKED), was_unlocked_(PyGILState_Check() == 0), work_(work_inside) {
  state_ = or_wait([] { return PyGILState_Ensure(); });
  if (was_unlocked_) count_outside(work_);
}

Locked::~Locked() {
  if (was_unlocked_) count_inside(work_);
  PyGILState_Release(state_);
}

InterruptScope::InterruptScope(std::atomic<bool>& flag) : flag_(flag) {
  running().push_back(&flag);
  if (!on_main_thread() || !catch_interrupts()) return;
  active_ = true;
  outer_ = interrupted.exchange(&flag, std::memory_order_relaxed);
}

InterruptScope::~InterruptScope() {
  if (active_) interrupted.store(outer_, std::memory_order_relaxed);
  std::vector<std::atomic<bool>*>& flags = running();
  auto mine = std::find(flags.begin(), flags.end(), &flag_);
  if (mine != flags.end()) flags.erase(mine);
}

void set_interrupt() {
  if (too_late()) {
    PyEval_SaveThread();
    wait_for_the_end();
  }
  if (PyErr_CheckSignals() == 0) PyErr_SetNone(PyExc_KeyboardInterrupt);
}

void raise_interrupt() {
  set_interrupt();
  throw nb::python_error();
}

nb::object call_python(nb::handle callable, std::initializer_list<nb::handle> arguments) {
  std::vector<PyObject*> objects;
  for (nb::handle argument : arguments) objects.push_back(argument.ptr());
  PyObject* result = or_wait(
      [&] { return PyObject_Vectorcall(callable.ptr(), objects.data(), objects.size(), nullptr); });
  if (result == nullptr) throw nb::python_error();
  return nb::steal(result);
}

void bind_lock(nb::module_&) {
  pthread_atfork(nullptr, nullptr, after_fork_in_child);
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&leave));
}

}  // namespace relay::python
