// A caller's place in the team: the stage that is open, who is in it, counters of its tasks.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>

#include <relay/runtime/team.h>
#include <relay/support/fork_mutex.h>

namespace relay {

/// Jobs are used again and never freed: a worker that is late looks at one that is over, or at the
/// next run's, and never at memory that is gone. What belongs to a run is touched by those alone
/// who are in one of its stages.
struct TeamJob {
  using Clock = std::chrono::steady_clock;

  // The word has the stage's number in its upper half; below it the number of workers inside and
  // what is to know of it. Who joins exchanges the whole word, so nobody joins a stage that is
  // over.
  static constexpr uint64_t kMembers = 0xffff;
  static constexpr uint64_t kOpen = uint64_t{1} << 16;    // a run is going on
  static constexpr uint64_t kJoin = uint64_t{1} << 17;    // there may be tasks for more workers
  static constexpr uint64_t kAsleep = uint64_t{1} << 18;  // somebody sleeps until the stage changes
  static uint32_t stage_of(uint64_t word) { return static_cast<uint32_t>(word >> 32); }

  struct alignas(64) Seat {
    /// Of each list: the stage that it counts for, the next piece and the end. What another stage
    /// left counts as untouched.
    std::atomic<uint64_t> counters[TeamTasks::kMostLists] = {};
    std::atomic<uint32_t> taken{0};
  };

  explicit TeamJob(int workers);

  const int count;
  const std::unique_ptr<Seat[]> seats;
  std::atomic<int> attached{0};  // threads that hold a seat
  std::atomic<int> limit{0};     // so many at work in the process, and no more come to help
  std::atomic<bool> crowded{false};

  /// By the caller: opens the first stage, with itself inside. Returns its number.
  uint32_t open(TeamWork& todo, TeamWork::Stage kind);
  /// Whether the worker came into the stage that `seen` tells of.
  bool join(uint64_t seen);
  /// From within: this worker's part. Exceptions are kept for `finish`.
  void take_part(uint32_t stage, int worker, bool first);
  /// True if this worker was the last one inside, and is in the next stage now, the first there. If
  /// not, what belongs to the run may be gone.
  bool leave(uint32_t stage);
  /// From within: as long as this worker is the last to leave. Returns the stage whose end it has
  /// to wait for.
  uint32_t go_on(uint32_t stage, int worker);
  /// By the clock, until that stage is over. Returns the word.
  uint64_t wait(uint32_t stage);
  uint64_t look() const { return word_.load(); }
  /// By the caller after the run: throws what the work threw.
  void finish();
  /// In a child process: nobody else is there.
  void forget_threads();

 private:
  void sleep(uint32_t stage);
  void keep_error();

  TeamWork* work_ = nullptr;
  uint32_t base_ = 0;  // the number of the run's first stage
  std::atomic<bool> failed_{false};
  ForkMutex mutex_;
  std::exception_ptr error_;
  alignas(64) std::atomic<uint64_t> word_{0};
};

/// Leaves the core to the other hyperthread for a moment.
inline void pause_briefly() { __builtin_ia32_pause(); }
/// From one look at the clock to the next, some 20 ns each.
inline constexpr int kPauses = 64;

void futex_sleep(void* word, uint32_t value);
void futex_wake(void* word, int most);

}  // namespace relay
