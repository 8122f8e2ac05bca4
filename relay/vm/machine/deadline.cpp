#include <relay/vm/machine/deadline.h>

#include <pthread.h>

#include <array>
#include <charconv>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include <relay/support/fork_mutex.h>
#include <relay/support/helper_thread.h>

namespace relay::vm {

/// The deadlines of the process in the order of their time, and the thread that watches them.
class DeadlineWatch {
 public:
  static DeadlineWatch& instance() {
    static auto* const watch = new DeadlineWatch;  // never destroyed: its thread may still run
    return *watch;
  }

  void add(Deadline& deadline) {
    bool wake = false;
    {
      std::lock_guard lock(mutex_);
      if (!running_) start();
      open_.emplace(deadline.at_, &deadline);
      wake = deadline.at_ < looks_at_;
    }
    // Deadlines of runs that follow one another come later and later, so the thread mostly sleeps.
    if (wake) changed_->notify_one();
  }

  void remove(Deadline& deadline) {
    std::lock_guard lock(mutex_);
    open_.erase({deadline.at_, &deadline});
  }

 private:
  DeadlineWatch() { in_forked_children(&after_fork_in_child); }

  // The child has no watching thread, and runs of other threads are gone with their stacks.
  static void after_fork_in_child() noexcept {
    DeadlineWatch& watch = instance();
    watch.running_ = false;
    watch.open_.clear();
    watch.looks_at_ = Deadline::Clock::time_point::max();
    watch.changed_ = nullptr;  // it may be in use by the parent's thread, so the child leaks it
  }

  // With the lock.
  void start() {
    if (changed_ == nullptr) changed_ = new std::condition_variable_any;
    if (!start_helper_thread(&watch_thread, nullptr, kStack))
      throw Error("the system gives no thread to watch the time of a run");
    running_ = true;
  }

  static void* watch_thread(void*) {
    pthread_setname_np(pthread_self(), "relay-clock");
    instance().watch();
    return nullptr;
  }

  void watch() {
    std::unique_lock lock(mutex_);
    while (true) {
      const auto now = Deadline::Clock::now();
      while (!open_.empty() && open_.begin()->first <= now) {
        open_.begin()->second->end();
        open_.erase(open_.begin());
      }
      looks_at_ = open_.empty() ? Deadline::Clock::time_point::max() : open_.begin()->first;
      if (open_.empty()) {
        changed_->wait(lock);
      } else {
        const Deadline::Clock::time_point next = looks_at_;
        changed_->wait_until(lock, next);
      }
    }
  }

  static constexpr size_t kStack = size_t{128} << 10;

  ForkMutex mutex_;
  std::condition_variable_any* changed_ = nullptr;
  std::set<std::pair<Deadline::Clock::time_point, Deadline*>> open_;
  Deadline::Clock::time_point looks_at_ = Deadline::Clock::time_point::max();
  bool running_ = false;
};

Deadline::Deadline(std::atomic<bool>& flag, Clock::time_point at) : flag_(&flag), at_(at) {
  if (at <= Clock::now()) {
    end();
  } else if (at != Clock::time_point::max()) {
    DeadlineWatch::instance().add(*this);
  }
}

Deadline::~Deadline() {
  // Also where it has passed: the watch may be just about to set the flag.
  if (flag_ != nullptr && at_ != Clock::time_point::max()) DeadlineWatch::instance().remove(*this);
}

Deadline::Clock::time_point seconds_from_now(double seconds) {
  constexpr double kNever = 1e10;
  if (seconds >= kNever) return Deadline::Clock::time_point::max();
  if (!(seconds > 0)) return Deadline::Clock::now();
  return Deadline::Clock::now() + std::chrono::duration_cast<Deadline::Clock::duration>(
                                      std::chrono::duration<double>(seconds));
}

namespace {

std::string number_text(double value) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.begin(), text.end(), value, std::chars_format::general, 6);
  return {text.begin(), end.ptr};
}

}  // namespace

TimedOut::TimedOut(double seconds)
    : Error("the run did not end within " + number_text(seconds) + " s") {}

}  // namespace relay::vm
