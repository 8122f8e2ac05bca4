#include <relay/runtime/team.h>

#include <pthread.h>

#include <algorithm>
#include <array>
#include <climits>
#include <string>
#include <utility>
#include <vector>

#include <relay/runtime/processors.h>
#include <relay/runtime/team_job.h>
#include <relay/support/fork_mutex.h>
#include <relay/support/helper_thread.h>

namespace relay {

namespace {

using Clock = TeamJob::Clock;

// Between runs: about as long as waking takes where the machine is quiet, twice.
constexpr auto kBetweenRuns = std::chrono::microseconds(100);
// The pause after the system gave no thread, and the one after waking sleepers.
constexpr auto kAskAgain = std::chrono::milliseconds(100);
constexpr auto kCallAgain = std::chrono::milliseconds(1);
// A caller with such frequent runs wakes threads for every run: the next run finds them awake.
constexpr auto kRecently = std::chrono::microseconds(200);
// Address space: pages come as they are touched. It also holds thread-local variables of all
// libraries of the process.
constexpr size_t kStack = size_t{1} << 20;
constexpr int kMostWorkers = static_cast<int>(TeamJob::kMembers);

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
      .count();
}

// True if this thread is counted already: a caller whose work calls again, or a thread of the team.
thread_local bool inside = false;

class Team {
 public:
  /// Never freed: its threads may outlive everything else.
  static Team& instance() {
    static Team* team = new Team;
    return *team;
  }

  TeamJob* take_job(int count);
  void give_job(TeamJob* job);

  /// Callers are counted; the answer goes to `caller_left`.
  uint32_t caller_came();
  void caller_left(uint32_t process);

  /// Shows the job to threads that are free; the place on the board, or -1 where nobody is missing.
  int show(TeamJob& job);
  void take_down(int place) { board_[static_cast<size_t>(place)].store(nullptr); }
  /// Calls as many as are missing, starts threads that do not exist yet.
  void call(TeamJob& job, bool wake);
  bool complete(const TeamJob& job) const { return missing(job) <= 0; }
  bool wanted(const TeamJob& job) const { return missing(job) > 0 && room(job) > 0; }

  TeamStatus status() const {
    return {threads_.load(), sleeping_.load(), engaged_.load(), callers_.load()};
  }
  void limit_threads(int most) { most_threads_.store(most < 0 ? INT_MAX : most); }

 private:
  Team() { in_forked_children(&after_fork_in_child); }

  static void after_fork_in_child() noexcept;
  static void* serve_thread(void* number);

  int missing(const TeamJob& job) const { return job.count - 1 - job.attached.load(); }
  // The number of threads that may come to help without more threads at work than there are
  // processors.
  int room(const TeamJob& job) const {
    return job.limit.load(std::memory_order_relaxed) - callers_.load(std::memory_order_relaxed) -
           engaged_.load(std::memory_order_relaxed);
  }

  void start_threads(int number);
  bool start_thread(int number);
  void serve(int number);
  int attach(TeamJob& job, int number);
  TeamJob* find_job(int number, int* seat);
  bool engage(const TeamJob& job);
  static int take_seat(TeamJob& job, int preferred);
  bool help(TeamJob& job, int seat, uint32_t calls, Clock::time_point* idle_since);
  bool wait_for_run(const TeamJob& job, uint32_t calls, Clock::time_point idle_since);
  void sleep(uint32_t calls, Clock::time_point idle_since);

  ForkMutex mutex_;
  std::vector<TeamJob*> jobs_;  // all
  std::vector<TeamJob*> free_jobs_;
  std::atomic<int> threads_{0};
  std::atomic<int> most_threads_{INT_MAX};
  std::atomic<int64_t> ask_again_{0};
  std::atomic<uint32_t> process_{0};  // forks since the first one
  // The number of threads at work; threads that wait for the next run do not count.
  alignas(64) std::atomic<int> callers_{0};
  std::atomic<int> engaged_{0};
  // Wakes threads that are not at work.
  alignas(64) std::atomic<uint32_t> calls_{0};
  std::atomic<int> sleeping_{0};
  alignas(64) std::array<std::atomic<TeamJob*>, 64> board_{};
};

// ---- Jobs ---------------------------------------------------------------------------------------

TeamJob* Team::take_job(int count) {
  std::lock_guard lock(mutex_);
  // A late worker may still hold a seat number of an earlier user, so the count stays.
  auto found = std::find_if(free_jobs_.begin(), free_jobs_.end(),
                            [&](TeamJob* job) { return job->count == count; });
  if (found == free_jobs_.end()) {
    jobs_.reserve(jobs_.size() + 1);
    free_jobs_.reserve(jobs_.size() + 1);  // `give_job` cannot fail
    jobs_.push_back(new TeamJob(count));
    return jobs_.back();
  }
  TeamJob* job = *found;
  free_jobs_.erase(found);
  return job;
}

void Team::give_job(TeamJob* job) {
  std::lock_guard lock(mutex_);
  free_jobs_.push_back(job);
}

uint32_t Team::caller_came() {
  callers_.fetch_add(1, std::memory_order_relaxed);
  return process_.load(std::memory_order_relaxed);
}

void Team::caller_left(uint32_t process) {
  // A child process has counted anew.
  if (process != process_.load(std::memory_order_relaxed)) return;
  callers_.fetch_sub(1, std::memory_order_relaxed);
}

int Team::show(TeamJob& job) {
  if (missing(job) <= 0) return -1;
  for (size_t place = 0; place < board_.size(); ++place) {
    TeamJob* empty = nullptr;
    if (board_[place].load(std::memory_order_relaxed) == nullptr &&
        board_[place].compare_exchange_strong(empty, &job)) {
      return static_cast<int>(place);
    }
  }
  return -1;  // so many others run that no thread is free anyway
}

void Team::call(TeamJob& job, bool wake) {
  // Even without room: some threads may be about to finish.
  calls_.fetch_add(1);
  const int number = std::min(missing(job), room(job));
  if (number <= 0) return;
  const int threads = threads_.load(std::memory_order_relaxed);
  const int idle = threads - engaged_.load(std::memory_order_relaxed);
  // At most as many in all as processors, or as a caller asks for.
  const int most = job.limit.load(std::memory_order_relaxed) - 1;
  if (idle < number && threads < most) start_threads(std::min(number - idle, most - threads));
  if (wake && sleeping_.load() > 0) futex_wake(&calls_, number);
}

// ---- Threads ------------------------------------------------------------------------------------

void Team::start_threads(int number) {
  if (now_ns() < ask_again_.load(std::memory_order_relaxed)) return;
  std::lock_guard lock(mutex_);
  const int most = std::min(most_threads_.load(), threads_.load() + number);
  while (threads_ < most) {
    if (!start_thread(threads_)) {
      ask_again_ = now_ns() + std::chrono::nanoseconds(kAskAgain).count();
      return;
    }
    ++threads_;
  }
}

bool Team::start_thread(int number) {
  const auto argument = static_cast<intptr_t>(number);
  return start_helper_thread(&serve_thread, reinterpret_cast<void*>(argument), kStack);
}

void* Team::serve_thread(void* number) {
  const auto own = static_cast<int>(reinterpret_cast<intptr_t>(number));
  const std::string name = "relay-" + std::to_string(own + 1);  // the system takes 15 letters
  pthread_setname_np(pthread_self(), name.c_str());
  instance().serve(own);
  return nullptr;
}

void Team::serve(int number) {
  inside = true;
  Clock::time_point idle_since;
  while (true) {
    const uint32_t calls = calls_.load();  // before looking
    int seat = 0;
    TeamJob* job = find_job(number, &seat);
    if (job == nullptr) sleep(calls, idle_since);
    while (seat > 0) {
      const bool wanted = help(*job, seat, calls, &idle_since);
      job->seats[static_cast<size_t>(seat)].taken.store(0, std::memory_order_release);
      job->attached.fetch_sub(1);
      // The next run may have begun just now, and may count on this thread.
      seat = wanted && (job->look() & TeamJob::kOpen) != 0 ? attach(*job, number) : 0;
    }
  }
}

// Finds a job that wants help, and a seat there.
TeamJob* Team::find_job(int number, int* seat) {
  for (std::atomic<TeamJob*>& place : board_) {
    TeamJob* job = place.load();
    if (job != nullptr && (*seat = attach(*job, number)) > 0) return job;
  }
  return nullptr;
}

// A seat of the job for this thread, which is at work from now on; or 0.
int Team::attach(TeamJob& job, int number) {
  if (missing(job) <= 0 || !engage(job)) return 0;
  const int seat = take_seat(job, number + 1);
  if (seat == 0) engaged_.fetch_sub(1, std::memory_order_relaxed);
  return seat;
}

// Counts this thread as at work, if there is room for another one.
bool Team::engage(const TeamJob& job) {
  engaged_.fetch_add(1, std::memory_order_relaxed);
  if (room(job) >= 0) return true;
  engaged_.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

// Takes the preferred seat if it is free: its share's data may be near. 0 if none is free.
int Team::take_seat(TeamJob& job, int preferred) {
  job.attached.fetch_add(1);
  for (int i = 0; i < job.count - 1; ++i) {
    const int seat = 1 + (preferred - 1 + i) % (job.count - 1);
    uint32_t free = 0;
    std::atomic<uint32_t>& taken = job.seats[static_cast<size_t>(seat)].taken;
    if (taken.load(std::memory_order_relaxed) == 0 &&
        taken.compare_exchange_strong(free, 1, std::memory_order_acquire)) {
      return seat;
    }
  }
  job.attached.fetch_sub(1);
  return 0;
}

// Takes part in the caller's runs, engaged to begin with and not at the end. False if it leaves
// because callers want the core.
bool Team::help(TeamJob& job, int seat, uint32_t calls, Clock::time_point* idle_since) {
  job.step_aside(seat);
  uint64_t now = job.look();
  while (true) {
    if ((now & TeamJob::kOpen) == 0) {
      job.step_aside(seat);
      engaged_.fetch_sub(1, std::memory_order_relaxed);
      *idle_since = Clock::now();
      if (!wait_for_run(job, calls, *idle_since)) return true;
      if (!engage(job)) {
        *idle_since = Clock::time_point();
        return false;
      }
      now = job.look();
      continue;
    }
    if (room(job) < 0) {
      engaged_.fetch_sub(1, std::memory_order_relaxed);
      *idle_since = Clock::time_point();
      return false;
    }
    uint32_t stage = TeamJob::stage_of(now);
    if (job.join(now)) stage = job.go_on(stage, seat);
    now = job.wait(stage, seat);
  }
}

// The next run of the same caller mostly comes at once. False if this thread had better go.
bool Team::wait_for_run(const TeamJob& job, uint32_t calls, Clock::time_point idle_since) {
  do {
    for (int i = 0; i < kPauses; ++i) {
      if ((job.look() & TeamJob::kOpen) != 0) return true;
      pause_briefly();
    }
    if (calls_.load(std::memory_order_relaxed) != calls) return false;  // by others, perhaps
  } while (Clock::now() - idle_since < kBetweenRuns);
  return false;
}

// Waits for a call; sleeps after it has been idle for a while.
void Team::sleep(uint32_t calls, Clock::time_point idle_since) {
  while (Clock::now() - idle_since < kBetweenRuns) {
    for (int i = 0; i < kPauses; ++i) {
      if (calls_.load(std::memory_order_relaxed) != calls) return;
      pause_briefly();
    }
  }
  sleeping_.fetch_add(1);
  futex_sleep(&calls_, calls);
  sleeping_.fetch_sub(1);
}

void Team::after_fork_in_child() noexcept {
  Team& team = instance();
  team.threads_ = 0;
  team.callers_ = 0;
  team.engaged_ = 0;
  team.sleeping_ = 0;
  team.ask_again_ = 0;
  ++team.process_;
  for (auto& place : team.board_) place = nullptr;
  for (TeamJob* job : team.jobs_) job->forget_threads();
}

// As the library is loaded: a child must not wait for a thread that was making it.
[[maybe_unused]] Team& team_made_early = Team::instance();

}  // namespace

// ---- Workers ------------------------------------------------------------------------------------

Workers::Workers(int count)
    : count_(std::clamp(count, 1, kMostWorkers)), processors_(allowed_processors()) {}

Workers::~Workers() {
  if (job_ != nullptr) Team::instance().give_job(job_);
}

void Workers::run_alone(TeamWork& work) {
  for (uint32_t stage = 0; work.stage(stage) != TeamWork::Stage::kNone; ++stage) {
    work.work({stage, 0, true, nullptr});
  }
}

void Workers::run(TeamWork& work, bool wake) {
  if (count_ == 1 || busy_.exchange(true, std::memory_order_acquire)) return run_alone(work);
  struct Free {
    std::atomic<bool>& busy;
    ~Free() { busy.store(false, std::memory_order_release); }
  } free{busy_};
  const TeamWork::Stage kind = work.stage(0);
  if (kind == TeamWork::Stage::kNone) return;
  Team& team = Team::instance();
  if (job_ == nullptr) {
    job_ = team.take_job(count_);
    job_->limit = std::max(count_, processors_);
    job_->crowded = count_ > processors_;
  }
  TeamJob& job = *job_;
  const bool outermost = !std::exchange(inside, true);
  const uint32_t process = outermost ? team.caller_came() : 0;

  int place = -1;
  Clock::time_point called;
  auto call_others = [&] {
    const Clock::time_point now = Clock::now();
    if (now - called < kCallAgain) return;
    called = now;
    if (place < 0) place = team.show(job);
    team.call(job, wake || now - last_run_ < kRecently);
  };
  job.seen(0);
  uint32_t stage = job.open(work, kind);
  if (!team.complete(job)) call_others();
  job.take_part(stage, 0, /*first=*/true);
  while (true) {
    if (job.leave(stage)) {
      if (team.wanted(job)) call_others();  // who was kept away by other callers may come now
      job.take_part(++stage, 0, /*first=*/true);
      continue;
    }
    uint64_t now = job.wait(stage, 0);
    while ((now & TeamJob::kOpen) != 0 && !job.join(now)) now = job.wait(TeamJob::stage_of(now), 0);
    if ((now & TeamJob::kOpen) == 0) break;
    stage = TeamJob::stage_of(now);
    job.take_part(stage, 0, /*first=*/false);
  }
  if (place >= 0) team.take_down(place);
  if (outermost) {
    inside = false;
    team.caller_left(process);
  }
  last_run_ = Clock::now();
  job.finish();
}

TeamStatus team_status() { return Team::instance().status(); }
void limit_team_threads(int most) { Team::instance().limit_threads(most); }

}  // namespace relay
