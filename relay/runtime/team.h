// The threads that help others run kernels: one team for a process.
//
// Work comes in stages. A caller opens a stage, threads of the team join it, all take tasks from
// its counters, and the last one to leave opens the next stage. So a stage is over when its tasks
// are done, not when all threads have come: a thread whose core was taken away, or that is still
// asleep, delays nobody unless it has taken a task. The caller works like the others.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include <relay/runtime/kernel.h>

namespace relay {

struct TeamJob;

/// One worker's part in a stage.
struct TeamTurn {
  uint32_t stage = 0;
  int worker = 0;  // 0 … Workers::count() - 1: whose scratch memory it uses
  /// True for the one worker that does the work that is done once in the stage.
  bool first = true;
  TeamJob* job = nullptr;  // null for a caller that works alone
};

/// The work of a team.
class TeamWork {
 public:
  enum class Stage : uint8_t { kNone, kAlone, kShared };
  virtual ~TeamWork() = default;
  /// The kind of a stage; kNone if the work is over. One thread at a time asks for it, in order,
  /// after all earlier stages are done.
  virtual Stage stage(uint32_t number) = 0;
  /// Works until no tasks are left. One worker does all of a stage that is not shared. If it
  /// throws, no further stage begins, and `Workers::run` throws an exception of the stage again.
  virtual void work(const TeamTurn& turn) = 0;
};

/// Tasks of a stage, from counters that its workers share: each takes pieces of its own contiguous
/// share, front to back, then of others' shares, back to front.
class TeamTasks final : public TaskSource {
 public:
  /// The largest number of task lists in a stage.
  static constexpr int kMostLists = 7;
  /// `list` numbers the lists of a stage; `pieces` is the largest number of pieces for each worker.
  /// Once `stop` is true there are no tasks.
  TeamTasks(const TeamTurn& turn, int list, int64_t pieces,
            const std::atomic<bool>* stop = nullptr);
  /// True if tasks were left out because of `stop`.
  bool stopped() const { return stopped_; }

 private:
  static int32_t take_piece(TaskSource* self, int64_t count, int64_t* range);
  bool take_from(int owner, int64_t pieces, int64_t* piece);

  TeamJob* job_;
  const std::atomic<bool>* stop_;
  uint32_t stage_;
  int list_;
  int worker_;
  int workers_;
  int64_t pieces_;
  int looked_ = 0;  // shares that are used up
  bool stopped_ = false;
};

/// The workers of one caller at a time: itself, and threads of the team that are free.
class Workers {
 public:
  /// At most 65535 workers; the caller is one of them. Threads start when they are first needed.
  explicit Workers(int count);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  int count() const { return count_; }
  /// Runs all stages and returns when they are done. Others help when they are free, perhaps
  /// nobody: if as many callers work as there are processors, each works alone. May be called
  /// within work; the inner call is a caller like others. Set `wake` if it pays to wake sleeping
  /// threads.
  void run(TeamWork& work, bool wake = true);
  /// The same on the calling thread alone.
  static void run_alone(TeamWork& work);

 private:
  const int count_;
  const int processors_;
  TeamJob* job_ = nullptr;
  std::chrono::steady_clock::time_point last_run_;
  std::atomic<bool> busy_{false};
};

/// The state of the team of this process, for tests.
struct TeamStatus {
  int threads = 0;   // started
  int sleeping = 0;  // of them
  int engaged = 0;   // of them
  int callers = 0;   // within `Workers::run`
};
TeamStatus team_status();

/// For tests: limits the number of threads that the team may start from now on; -1: no limit.
void limit_team_threads(int most);

}  // namespace relay
