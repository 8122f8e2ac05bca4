// How many processors this process may use.
#pragma once

#include <string>

namespace relay {

/// As many as the calling thread may run on, and no more than the control groups of the process
/// give time for (rounded up); at least 1. Groups are read once.
int allowed_processors();

/// The processors' time that control groups give, or 0 where they set no limit. `membership` is the
/// text of /proc/self/cgroup, `root` where the hierarchy is mounted; both versions are read.
double cgroup_processors(const std::string& membership, const std::string& root);

}  // namespace relay
