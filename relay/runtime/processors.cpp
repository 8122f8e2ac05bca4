#include <relay/runtime/processors.h>

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <thread>

namespace relay {

namespace {

std::string read_text(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// Quota over period of one group; 0: no limit, or none that can be read.
double limit_of_group(const std::string& folder, bool unified) {
  double quota = 0, period = 0;
  if (unified) {
    std::istringstream text(read_text(folder + "/cpu.max"));  // "max 100000" without a limit
    if (!(text >> quota >> period)) return 0;
  } else {
    std::istringstream quota_text(read_text(folder + "/cpu.cfs_quota_us"));  // -1 without a limit
    std::istringstream period_text(read_text(folder + "/cpu.cfs_period_us"));
    if (!(quota_text >> quota) || !(period_text >> period)) return 0;
  }
  return quota > 0 && period > 0 ? quota / period : 0;
}

// The least limit of a group and those it is in.
double limit_of_groups(const std::string& root, std::string path, bool unified) {
  double least = 0;
  while (true) {
    const double limit = limit_of_group(root + path, unified);
    if (limit > 0 && (least == 0 || limit < least)) least = limit;
    const size_t slash = path.rfind('/');
    if (path.empty() || slash == std::string::npos) return least;
    path.resize(slash);
  }
}

}  // namespace

double cgroup_processors(const std::string& membership, const std::string& root) {
  // Lines are "number:controllers:path"; the unified hierarchy is "0::path".
  std::istringstream lines(membership);
  double least = 0;
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool unified = controllers == ",,";
    if (!unified && controllers.find(",cpu,") == std::string::npos) continue;
    const std::string path = line.substr(second + 1);
    const double limit = limit_of_groups(unified ? root : root + "/cpu", path, unified);
    if (limit > 0 && (least == 0 || limit < least)) least = limit;
  }
  return least;
}

int allowed_processors() {
  static const double quota = cgroup_processors(read_text("/proc/self/cgroup"), "/sys/fs/cgroup");
  cpu_set_t mask;
  int count = sched_getaffinity(0, sizeof mask, &mask) == 0
                  ? CPU_COUNT(&mask)
                  // The mask is too small for machines of more than 1024 processors.
                  : static_cast<int>(std::thread::hardware_concurrency());
  if (quota > 0) count = std::min(count, static_cast<int>(std::ceil(quota)));
  return std::max(count, 1);
}

int current_processor() { return sched_getcpu(); }

int move_from_processors(std::span<const int> taken) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return -1;
  cpu_set_t others = allowed;
  for (int each : taken) {
    if (each >= 0 && each < CPU_SETSIZE) CPU_CLR(each, &others);
  }
  if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof others, &others) != 0) return -1;
  const int now = sched_getcpu();
  sched_setaffinity(0, sizeof allowed, &allowed);
  return now;
}

}  // namespace relay
