// The machine that runs executables.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <relay/runtime/value.h>
#include <relay/support/error.h>
#include <relay/vm/machine/executable.h>
#include <relay/vm/machine/machine_model.h>

namespace relay::vm {

struct MachineOptions {
  /// Workers for kernels, the calling thread among them; 0: one for each core that it may use.
  /// Results do not depend on the number.
  int threads = 0;
  /// When it becomes true, the run ends with Error "interrupted". The owner resets it.
  const std::atomic<bool>* interrupt = nullptr;
  /// Memory for the frames of active calls, besides the general limit; 0: `stack_limit()`.
  size_t stack_bytes = 0;
};

/// The end of a run from outside (MachineOptions::interrupt).
class Interrupted : public Error {
 public:
  Interrupted() : Error("interrupted") {}
};

/// Measurements of a run, kernel by kernel.
struct Profile {
  struct Kernel {
    uint64_t calls = 0;
    uint64_t nanoseconds = 0;
    int64_t flops = 0;  // of all calls
    int64_t bytes = 0;
    double predicted_ns = 0;       // of the calls that the model can predict
    uint64_t predicted_calls = 0;  // their number
  };
  struct Event {
    uint32_t kernel = 0;
    uint64_t begin_ns = 0;  // of the steady clock
    uint64_t duration_ns = 0;
    double predicted_ns = 0;  // 0: not predicted
  };
  std::vector<Kernel> kernels;  // as Executable::kernels
  std::vector<Event> events;    // of the runs while `trace`
  bool trace = false;
  uint64_t total_nanoseconds = 0;       // of the runs as a whole
  const MachineModel* model = nullptr;  // if given, it predicts the time of native kernels
  CacheTrace touched;                   // the memory of the calls, for predictions

  /// Forgets what was measured, but not which memory was touched.
  void restart();
};

/// Runs one executable for one thread at a time. Cheap to make; buffers and plans are kept from run
/// to run.
class Machine {
 public:
  explicit Machine(std::shared_ptr<const Executable> executable, MachineOptions options = {});
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  const Executable& executable() const;
  /// The entry with a name; throws Error that names the known ones.
  const Entry& entry(std::string_view name) const;
  /// Calls an entry. Throws Error for arguments that do not fit its signature, and RuntimeError
  /// with position and call trace if the program fails. The machine stays usable.
  Value run(const Entry& entry, std::span<const Value> arguments);
  Value run(std::string_view entry, std::span<const Value> arguments);
  /// The same for arguments that the caller has no use for any more: results may be written over
  /// tensors that nobody else holds.
  Value run_with(const Entry& entry, std::vector<Value> arguments);
  /// Calls a closure that a run returned (of this or another executable). Throws Error for
  /// arguments that do not fit its type.
  Value call(const Value& closure, std::span<const Value> arguments);

  /// Measures runs from now on; null ends it. The profile must outlive the measuring.
  void set_profile(Profile* profile);

 private:
  void check_arguments(const Entry& entry, std::span<const Value> arguments) const;
  Value leave(const Entry& entry, Value result) const;

  class State;
  std::unique_ptr<State> state_;
};

}  // namespace relay::vm
