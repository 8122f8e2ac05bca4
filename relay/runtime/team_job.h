// A caller's place in the team: the open stage, its workers, counters of its tasks.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>

#include <relay/runtime/team.h>
#include <relay/support/fork_mutex.h>
#include <relay/support/pause.h>

namespace relay {

/// Jobs are reused and never freed: a late worker sees a finished job, or the next run's, and never
/// freed memory. Only workers inside one of a run's stages touch the data of the run.
struct TeamJob {
  using Clock = std::chrono::steady_clock;

  // The upper half of the word has the stage's number; the lower half the number of workers inside
  // and flags. A worker joins by exchanging the whole word, so nobody joins a stage that is over.
  static constexpr uint64_t kMembers = 0xffff;
  static constexpr uint64_t kOpen = uint64_t{1} << 16;    // a run is going on
  static constexpr uint64_t kJoin = uint64_t{1} << 17;    // there may be tasks for more workers
  static constexpr uint64_t kAsleep = uint64_t{1} << 18;  // a worker sleeps until the stage changes
  static uint32_t stage_of(uint64_t word) { return static_cast<uint32_t>(word >> 32); }

  struct alignas(64) Seat {
    /// For each list: the stage that it counts for, the next piece and the end. Values of an
    /// earlier stage count as untouched.
    std::atomic<uint64_t> counters[TeamTasks::kMostLists] = {};
    std::atomic<uint32_t> taken{0};
  };

  explicit TeamJob(int workers);

  const int count;
  const std::unique_ptr<Seat[]> seats;
  /// Where each worker was seen last; apart from what changes in each stage.
  const std::unique_ptr<std::atomic<int>[]> processors;
  std::atomic<int> attached{0};  // threads that hold a seat
  std::atomic<int> limit{0};     // most threads at work in the process, callers included
  std::atomic<bool> crowded{false};

  /// Called by the caller: opens the first stage, with itself inside. Returns its number.
  uint32_t open(TeamWork& todo, TeamWork::Stage kind);
  /// True if the worker entered the stage in `seen`.
  bool join(uint64_t seen);
  /// Called from within: does this worker's part. Keeps exceptions for `finish`.
  void take_part(uint32_t stage, int worker, bool first);
  /// True if this worker was the last one inside; it is then the first in the next stage. If false,
  /// the data of the run may be gone.
  bool leave(uint32_t stage);
  /// Called from within: goes on as long as this worker is the last to leave. Returns the stage
  /// whose end it has to wait for.
  uint32_t go_on(uint32_t stage, int worker);
  /// Waits by the clock until that stage is over. Returns the word.
  uint64_t wait(uint32_t stage, int worker);
  /// Tells where a worker runs.
  void seen(int worker);
  /// Called by a helping thread, which leaves a processor that another worker of the job uses.
  void step_aside(int worker);
  uint64_t look() const { return word_.load(); }
  /// Called by the caller after the run: throws the exception of the work.
  void finish();
  /// For a child process, in which no other thread exists.
  void forget_threads();

 private:
  void sleep(uint32_t stage);
  size_t processors_of_others(int worker, std::span<int> found) const;
  void keep_error();

  TeamWork* work_ = nullptr;
  uint32_t base_ = 0;  // the number of the run's first stage
  std::atomic<bool> failed_{false};
  ForkMutex mutex_;
  std::exception_ptr error_;
  alignas(64) std::atomic<uint64_t> word_{0};
};

/// The number of pauses between two looks at the clock, some 20 ns each.
inline constexpr int kPauses = 64;

void futex_sleep(void* word, uint32_t value);
void futex_wake(void* word, int most);

}  // namespace relay
