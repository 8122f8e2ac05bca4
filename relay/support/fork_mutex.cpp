#include <relay/support/fork_mutex.h>

#include <pthread.h>
#include <time.h>

#include <vector>

#include <relay/support/pause.h>

namespace relay {

/// All existing mutexes.
class ForkMutexes {
 public:
  /// Never freed: mutexes of static objects go late.
  static ForkMutexes& instance() {
    static auto* all = new ForkMutexes;
    return *all;
  }

  void add(ForkMutex& mutex) {
    std::lock_guard lock(list_);
    mutex.after_ = first_;
    if (first_ != nullptr) first_->before_ = &mutex;
    first_ = &mutex;
  }

  void remove(ForkMutex& mutex) {
    std::lock_guard lock(list_);
    (mutex.before_ != nullptr ? mutex.before_->after_ : first_) = mutex.after_;
    if (mutex.after_ != nullptr) mutex.after_->before_ = mutex.before_;
  }

  void add_reset(void (*reset)() noexcept) {
    std::lock_guard lock(list_);
    resets_.push_back(reset);
  }

 private:
  ForkMutexes() { pthread_atfork(&before_fork, &after_fork, &after_fork_in_child); }

  static void before_fork() { instance().hold_all(); }
  static void after_fork() { instance().let_go(); }
  static void after_fork_in_child() {
    for (auto* reset : instance().resets_) reset();
    instance().let_go();
  }

  // Other threads hold several at once, in orders of their own, and make new ones meanwhile. So a
  // thread that cannot get one soon releases all and begins again.
  void hold_all() {
    while (!try_hold_all()) {
      constexpr timespec kMoment = {0, 50'000};
      nanosleep(&kMoment, nullptr);
    }
  }

  bool try_hold_all() {
    list_.lock();
    for (ForkMutex* each = first_; each != nullptr; each = each->after_) {
      if (each->owner_.load(std::memory_order_relaxed) == ForkMutex::this_thread()) continue;
      if (!try_hold(*each)) {
        let_go();
        return false;
      }
    }
    return true;
  }

  static bool try_hold(ForkMutex& mutex) {
    constexpr int kTries = 10'000;
    for (int i = 0; i < kTries; ++i) {
      if (mutex.mutex_.try_lock()) {
        mutex.held_ = true;
        return true;
      }
      pause_briefly();
    }
    return false;
  }

  void let_go() {
    for (ForkMutex* each = first_; each != nullptr; each = each->after_) {
      if (!each->held_) continue;
      each->held_ = false;
      each->mutex_.unlock();
    }
    list_.unlock();
  }

  std::mutex list_;
  ForkMutex* first_ = nullptr;
  std::vector<void (*)() noexcept> resets_;
};

ForkMutex::ForkMutex() { ForkMutexes::instance().add(*this); }
ForkMutex::~ForkMutex() { ForkMutexes::instance().remove(*this); }

void in_forked_children(void (*reset)() noexcept) { ForkMutexes::instance().add_reset(reset); }

}  // namespace relay
