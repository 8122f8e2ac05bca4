// The report that `--profile` prints.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include <relay/vm/machine/machine.h>

#include <tools/relay/peak.h>

namespace relay::tool {

/// A table with the slowest kernels first: calls, time, share, GFLOP/s, GB/s and the percentage of
/// the machine's best, of computing or of memory, whichever is nearer.
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
/// Prints the table on standard error, or writes the trace.
void report_profile(const ProfileOption& option, const vm::Executable& executable,
                    const vm::Profile& profile, int threads);

}  // namespace relay::tool
