// The number of processors that this process may use.
#pragma once

#include <string>

namespace relay {

/// As many as the calling thread may run on, but no more than the control groups of the process
/// give time for (rounded up); at least 1. Groups are read once.
int allowed_processors();

/// The processor time that control groups give, or 0 if they set no limit. `membership` is the text
/// of /proc/self/cgroup, `root` the place where the hierarchy is mounted; both versions are read.
double cgroup_processors(const std::string& membership, const std::string& root);

}  // namespace relay
