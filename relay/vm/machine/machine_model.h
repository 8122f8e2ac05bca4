// A model of the machine: what it does in a nanosecond. It predicts the time of launches.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>

namespace relay::vm {

/// Memory by its distance from a core: beyond the first cache, the second, the last.
enum class MemoryLevel : uint8_t { kSecond, kLast, kMemory };
inline constexpr size_t kMemoryLevels = 3;

struct MachineModel {
  /// In a nanosecond: instructions of each kind (as `lower::KernelWork` counts them), and bytes
  /// that are read from each level.
  struct Rates {
    double products = 1, steps = 1, functions = 1;
    std::array<double, kMemoryLevels> bytes{1, 1, 1};
  };
  Rates one, all;        // of one thread, and of all that a machine uses
  double launch_ns = 0;  // of a kernel with nothing to do
  double share_ns = 0;   // more, if threads share it
  int64_t first_bytes = 32 << 10, second_bytes = 1 << 20, last_bytes = 16 << 20;
  int64_t vector_bytes = 32;
};

/// The work of a launch.
struct LaunchWork {
  double products = 0, steps = 0, functions = 0;
  std::array<double, kMemoryLevels> bytes{};  // that are read or written, by where they stand
  bool shared = false;                        // true if threads share its tasks
};

/// The time of a launch in nanoseconds: its beginning, products and functions one after the other,
/// and steps, among them the loads and stores, while memory moves.
double predicted_ns(const MachineModel& model, const LaunchWork& work);

/// Which memory was touched when: what lies between two touches says in which cache it still is.
class CacheTrace {
 public:
  /// The bytes that were touched since this memory was; very many the first time.
  int64_t age(const void* memory, int64_t bytes) const;
  /// Notes that the memory is touched now.
  void touch(const void* memory, int64_t bytes);

 private:
  struct Block {
    uintptr_t end = 0;
    int64_t touched = 0;  // the clock then
  };
  std::map<uintptr_t, Block> blocks_;  // by where they begin; apart
  int64_t clock_ = 0;                  // bytes touched until now
};

}  // namespace relay::vm
