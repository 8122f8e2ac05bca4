// The processors that this process may use.
#pragma once

#include <span>
#include <string>

namespace relay {

/// As many as the calling thread may run on, but no more than the control groups of the process
/// give time for (rounded up); at least 1. Groups are read once.
int allowed_processors();

/// The processor time that control groups give, or 0 if they set no limit. `membership` is the text
/// of /proc/self/cgroup, `root` the place where the hierarchy is mounted; both versions are read.
double cgroup_processors(const std::string& membership, const std::string& root);

/// The processor that the calling thread runs on, or -1 if the system does not say.
int current_processor();

/// Moves the calling thread to a processor that it may use and that is none of `taken`; where it
/// may run stays as it was. Returns the processor, or -1 if there is no other one.
int move_from_processors(std::span<const int> taken);

}  // namespace relay
