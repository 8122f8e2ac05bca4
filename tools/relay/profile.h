// The report that `--profile` prints.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include <relay/vm/machine/machine.h>
#include <relay/vm/machine/machine_model.h>

#include <tools/relay/peak.h>

namespace relay::tool {

/// A table with the slowest kernels first: calls, time, share, GFLOP/s, GB/s, the percentage of the
/// machine's best, of computing or of memory, whichever is nearer, the time that the model of the
/// machine predicts, and how many times as long the kernel took.
std::string profile_table(const vm::Executable& executable, const vm::Profile& profile,
                          const Peak& peak);
/// The kernel calls in Chrome's trace format (chrome://tracing, Perfetto).
std::string profile_trace(const vm::Executable& executable, const vm::Profile& profile);

/// `--profile` (empty value) and `--profile=FILE.json`, as commands offer them.
struct ProfileOption {
  bool enabled = false;
  std::string trace_file;
};
void add_profile_option(CLI::App& command, ProfileOption& option);

/// Profiles the runs of a machine as the option says; does nothing without it.
class Profiling {
 public:
  /// `threads` as MachineOptions::threads. The model of the machine may be measured here.
  Profiling(const ProfileOption& option, int threads);
  Profiling(const Profiling&) = delete;
  Profiling& operator=(const Profiling&) = delete;

  /// Measures the runs from now on.
  void watch(vm::Machine& machine);
  /// Forgets the runs before.
  void restart() { profile_.restart(); }
  /// Prints the table on standard error, or writes the trace.
  void report(const vm::Executable& executable) const;

 private:
  const ProfileOption& option_;
  const int threads_;
  vm::MachineModel model_;
  vm::Profile profile_;
};

}  // namespace relay::tool
