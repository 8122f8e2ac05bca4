// The threads that help others run kernels: one team a process.
//
// Work comes in stages. A caller opens a stage, threads of the team join it, all take tasks from
// its counters, and the last one to leave opens the next stage. So a stage is over when its tasks
// are done, not when all threads have come: one whose core was taken away, or that is still asleep,
// holds nobody up unless it has taken a task. The caller works like the others.
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
  /// Whether this worker does what is done once in the stage; exactly one does.
  bool first = true;
  TeamJob* job = nullptr;  // null for somebody who works alone
};

/// What a team does.
class TeamWork {
 public:
  enum class Stage : uint8_t { kNone, kAlone, kShared };
  virtual ~TeamWork() = default;
  /// The kind of a stage; kNone if the work is over. Asked in order by one thread at a time, when
  /// all before is done.
  virtual Stage stage(uint32_t number) = 0;
  /// Does what there is to do until nothing is left to take. Of a stage that is not shared, one
  /// worker does all. If it throws, no further stage begins, and `Workers::run` throws an exception
  /// of the stage again.
  virtual void work(const TeamTurn& turn) = 0;
};

/// Tasks of a stage, from counters that its workers share: each takes pieces of its own contiguous
/// share, front to back, then of others' shares, back to front.
class TeamTasks final : public TaskSource {
 public:
  /// How many lists of tasks a stage may have.
  static constexpr int kMostLists = 7;
  /// `list` numbers the lists of a stage; `pieces` is into how many all tasks are cut at most for
  /// each worker. Once `stop` is true there are no tasks.
  TeamTasks(const TeamTurn& turn, int list, int64_t pieces,
            const std::atomic<bool>* stop = nullptr);
  /// Whether tasks were left out because of `stop`.
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
  /// Runs all stages and returns when they are done. Others help as they come, perhaps nobody: with
  /// as many callers at work as there are processors each works alone. May be called within work;
  /// the inner call is a caller like others. `wake` says whether it pays to wake threads that
  /// sleep.
  void run(TeamWork& work, bool wake = true);
  /// The same by the calling thread.
  static void run_alone(TeamWork& work);

 private:
  const int count_;
  const int processors_;
  TeamJob* job_ = nullptr;
  std::chrono::steady_clock::time_point last_run_;
  std::atomic<bool> busy_{false};
};

/// What the team of this process does, for tests.
struct TeamStatus {
  int threads = 0;   // started
  int sleeping = 0;  // of them
  int engaged = 0;   // of them
  int callers = 0;   // within `Workers::run`
};
TeamStatus team_status();

/// For tests: how many threads the team may start in all from now on, -1: as many as are wanted.
void limit_team_threads(int most);

}  // namespace relay
