#include <relay/runtime/team_job.h>

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <span>
#include <utility>

#include <relay/runtime/processors.h>

namespace relay {

namespace {

// Within a run the others are at work, and late only if their core was taken. Waking a sleeper on a
// busy machine takes as long as that lasts, so a waiting thread goes on for some slices of a
// scheduler. But it lets others have the core, since one of them may be the thread that it waits
// for.
constexpr auto kAlone = std::chrono::microseconds(50);
constexpr auto kLong = std::chrono::milliseconds(20);
// With more workers than processors some wait for others' cores all the time.
constexpr auto kCrowded = std::chrono::microseconds(200);
// A thread that has gone to another processor stays there for that long, whoever else does.
constexpr auto kStayAtLeast = std::chrono::microseconds(500);

constexpr int64_t kMostPieces = 0xffff;  // of a share, as counters count

uint64_t word_of(uint32_t stage, TeamWork::Stage kind) {
  uint64_t word = uint64_t{stage} << 32;
  if (kind != TeamWork::Stage::kNone) word |= TeamJob::kOpen | 1;
  if (kind == TeamWork::Stage::kShared) word |= TeamJob::kJoin;
  return word;
}

}  // namespace

void futex_sleep(void* word, uint32_t value) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

void futex_wake(void* word, int most) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, most, nullptr, nullptr, 0);
}

// ---- Stages -------------------------------------------------------------------------------------

TeamJob::TeamJob(int workers)
    : count(workers),
      seats(new Seat[static_cast<size_t>(workers)]),
      processors(new std::atomic<int>[static_cast<size_t>(workers)]) {
  for (int i = 0; i < count; ++i) processors[static_cast<size_t>(i)] = -1;
}

uint32_t TeamJob::open(TeamWork& todo, TeamWork::Stage kind) {
  work_ = &todo;
  base_ = stage_of(word_.load(std::memory_order_relaxed)) + 1;
  // Comes before the caller looks for workers: a leaving worker looks at the word afterwards.
  word_.exchange(word_of(base_, kind));
  return base_;
}

void TeamJob::take_part(uint32_t stage, int worker, bool first) {
  try {
    work_->work({stage - base_, worker, first, this});
  } catch (...) {
    keep_error();
  }
}

void TeamJob::keep_error() {
  std::lock_guard lock(mutex_);
  if (!error_) error_ = std::current_exception();
  failed_.store(true, std::memory_order_relaxed);
}

bool TeamJob::leave(uint32_t stage) {
  // A leaving worker has found no tasks, so no other needs to come.
  if ((word_.load(std::memory_order_relaxed) & kJoin) != 0) {
    word_.fetch_and(~kJoin, std::memory_order_acq_rel);
  }
  if ((word_.fetch_sub(1, std::memory_order_acq_rel) & kMembers) != 1) return false;
  TeamWork::Stage next = TeamWork::Stage::kNone;
  try {
    if (!failed_.load(std::memory_order_relaxed)) next = work_->stage(stage + 1 - base_);
  } catch (...) {
    keep_error();
  }
  const uint64_t before = word_.exchange(word_of(stage + 1, next), std::memory_order_acq_rel);
  if ((before & kAsleep) != 0) futex_wake(reinterpret_cast<uint32_t*>(&word_) + 1, INT_MAX);
  return next != TeamWork::Stage::kNone;
}

bool TeamJob::join(uint64_t seen) {
  const uint32_t stage = stage_of(seen);
  while (stage_of(seen) == stage && (seen & kJoin) != 0) {
    if (word_.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel)) return true;
  }
  return false;
}

uint32_t TeamJob::go_on(uint32_t stage, int worker) {
  take_part(stage, worker, /*first=*/false);
  while (leave(stage)) take_part(++stage, worker, true);
  return stage;
}

void TeamJob::seen(int worker) {
  std::atomic<int>& processor = processors[static_cast<size_t>(worker)];
  const int now = current_processor();
  if (processor.load(std::memory_order_relaxed) != now)
    processor.store(now, std::memory_order_relaxed);
}

// Where the other workers are, as many as `found` has room for. Returns their number.
size_t TeamJob::processors_of_others(int worker, std::span<int> found) const {
  size_t number = 0;
  for (int i = 0; i < count && number < found.size(); ++i) {
    const auto seat = static_cast<size_t>(i);
    if (i == worker || (i > 0 && seats[seat].taken.load(std::memory_order_relaxed) == 0)) continue;
    found[number++] = processors[seat].load(std::memory_order_relaxed);
  }
  return number;
}

// Schedulers wake a thread where its caller runs, and may leave it there for seconds though other
// processors are idle, since it takes little time: then it waits for the caller, who does all.
void TeamJob::step_aside(int worker) {
  thread_local Clock::time_point last;
  seen(worker);
  if (crowded.load(std::memory_order_relaxed)) return;
  const int own = processors[static_cast<size_t>(worker)].load(std::memory_order_relaxed);
  bool alone = true;
  for (int i = 0; i < count; ++i)
    alone &=
        i == worker || processors[static_cast<size_t>(i)].load(std::memory_order_relaxed) != own;
  if (alone || own < 0) return;
  std::array<int, 64> places{};  // nothing is allocated in a run
  const std::span<int> others(places.data(), processors_of_others(worker, places));
  if (std::find(others.begin(), others.end(), own) == others.end()) return;
  const Clock::time_point now = Clock::now();
  if (now - last < kStayAtLeast) return;
  last = now;
  if (move_from_processors(others) >= 0) seen(worker);
}

uint64_t TeamJob::wait(uint32_t stage, int worker) {
  const bool many = crowded.load(std::memory_order_relaxed);
  const std::chrono::nanoseconds alone = many ? std::chrono::nanoseconds(0) : kAlone;
  const std::chrono::nanoseconds most = many ? std::chrono::nanoseconds(kCrowded) : kLong;
  const auto begin = Clock::now();
  while (true) {
    for (int i = 0; i < kPauses; ++i) {
      const uint64_t now = look();
      if (stage_of(now) != stage) return now;
      pause_briefly();
    }
    const auto waited = Clock::now() - begin;
    if (waited > most) break;
    if (waited <= alone) continue;
    if (worker > 0) step_aside(worker);
    sched_yield();
  }
  sleep(stage);
  return look();
}

void TeamJob::sleep(uint32_t stage) {
  uint64_t now = look();
  while (stage_of(now) == stage) {
    if ((now & kAsleep) == 0 &&
        !word_.compare_exchange_weak(now, now | kAsleep, std::memory_order_acq_rel)) {
      continue;
    }
    futex_sleep(reinterpret_cast<uint32_t*>(&word_) + 1, stage);
    now = look();
  }
}

void TeamJob::finish() {
  work_ = nullptr;
  if (!failed_.load(std::memory_order_relaxed)) return;
  failed_.store(false, std::memory_order_relaxed);
  std::rethrow_exception(std::exchange(error_, nullptr));
}

void TeamJob::forget_threads() {
  attached.store(0, std::memory_order_relaxed);
  for (int i = 0; i < count; ++i) seats[static_cast<size_t>(i)].taken = 0;
}

// ---- Tasks --------------------------------------------------------------------------------------

TeamTasks::TeamTasks(const TeamTurn& turn, int list, int64_t pieces, const std::atomic<bool>* stop)
    : TaskSource{&take_piece},
      job_(turn.job),
      stop_(stop),
      stage_(turn.job != nullptr ? TeamJob::stage_of(turn.job->look()) : 0),
      list_(list),
      worker_(turn.worker),
      workers_(turn.job != nullptr ? turn.job->count : 1),
      pieces_(std::clamp(pieces, int64_t{1}, kMostPieces)) {}

bool TeamTasks::take_from(int owner, int64_t pieces, int64_t* piece) {
  std::atomic<uint64_t>& counter = job_->seats[static_cast<size_t>(owner)].counters[list_];
  const int64_t begin = pieces * owner / workers_;
  const int64_t all = pieces * (owner + 1) / workers_ - begin;
  const bool own = owner == worker_;
  // The job's word orders the reads and writes of tasks; here only the numbers count.
  uint64_t now = counter.load(std::memory_order_relaxed);
  while (true) {
    const bool fresh = TeamJob::stage_of(now) != stage_;
    uint64_t next = fresh ? 0 : (now >> 16) & 0xffff;
    uint64_t end = fresh ? static_cast<uint64_t>(all) : now & 0xffff;
    if (next >= end) return false;
    *piece = begin + static_cast<int64_t>(own ? next++ : --end);
    const uint64_t after = uint64_t{stage_} << 32 | next << 16 | end;
    if (counter.compare_exchange_weak(now, after, std::memory_order_relaxed)) return true;
  }
}

int32_t TeamTasks::take_piece(TaskSource* self, int64_t count, int64_t* range) {
  auto& tasks = *static_cast<TeamTasks*>(self);
  if (tasks.stop_ != nullptr && tasks.stop_->load(std::memory_order_relaxed)) {
    tasks.stopped_ = true;
  }
  const int64_t most = tasks.job_ != nullptr ? tasks.pieces_ * tasks.workers_ : 1;
  const int64_t pieces = std::min(count, most);
  for (; !tasks.stopped_ && tasks.looked_ < tasks.workers_; ++tasks.looked_) {
    int64_t piece = 0;
    if (tasks.job_ == nullptr) {
      ++tasks.looked_;
      if (count <= 0) break;
    } else if (!tasks.take_from((tasks.worker_ + tasks.looked_) % tasks.workers_, pieces, &piece)) {
      continue;
    }
    // count · piece / pieces, which might not fit.
    auto bound = [&](int64_t number) {
      return count / pieces * number + count % pieces * number / pieces;
    };
    range[0] = bound(piece);
    range[1] = bound(piece + 1);
    return 1;
  }
  range[0] = INT64_MAX;
  return 0;
}

}  // namespace relay
