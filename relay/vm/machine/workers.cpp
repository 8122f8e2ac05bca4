#include <relay/vm/machine/workers.h>

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <climits>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace relay::vm {

namespace {

using Clock = std::chrono::steady_clock;
using Duration = std::chrono::nanoseconds;

// Within a run the others are at work, and late only where their core was taken. Waking a sleeper
// on a busy machine takes as long as that lasts, so go on for some slices of a scheduler; but let
// others have the core, one of whom may be who is waited for.
constexpr auto kAlone = std::chrono::microseconds(50);
constexpr auto kLong = std::chrono::milliseconds(20);
// With more workers than processors some wait for others' cores all the time.
constexpr auto kCrowded = std::chrono::microseconds(200);
constexpr int kPauses = 64;  // from one look at the clock to the next, some 20 ns

void pause() { __builtin_ia32_pause(); }

// As many as this process may use.
int processors() {
  cpu_set_t mask;
  return sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : INT_MAX;
}

void sleep_while(std::atomic<uint32_t>& word, uint32_t value) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, value, nullptr,
          nullptr, 0);
}

void wake_all(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr,
          nullptr, 0);
}

}  // namespace

Barrier::Barrier(int count)
    : count_(count), patience_(count > processors() ? Duration(kCrowded) : Duration(kLong)) {}

// The lowest bit of `round_` says that somebody may sleep on it; the others count.
void Barrier::wait() {
  uint32_t round = round_.load(std::memory_order_acquire) & ~1u;
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == count_) {
    arrived_.store(0, std::memory_order_relaxed);
    uint32_t before = round_.exchange(round + 2, std::memory_order_acq_rel);
    if ((before & 1) != 0) wake_all(round_);
    return;
  }
  const auto begin = Clock::now();
  while (true) {
    for (int i = 0; i < kPauses; ++i) {
      if ((round_.load(std::memory_order_acquire) & ~1u) != round) return;
      pause();
    }
    const auto waited = Clock::now() - begin;
    if (waited > patience_) break;
    if (waited > kAlone) sched_yield();
  }
  while (true) {
    uint32_t now = round_.load(std::memory_order_acquire);
    if ((now & ~1u) != round) return;
    if ((now & 1) == 0 && !round_.compare_exchange_weak(now, now | 1, std::memory_order_acq_rel)) {
      continue;
    }
    sleep_while(round_, round | 1);
  }
}

bool Workers::run(void (*body)(void* context, int thread), void* context) {
  // A part of the team would wait at the barrier forever, so either all run or none.
  bool complete = false;
#ifdef _OPENMP
#pragma omp parallel num_threads(count_)
  {
    if (omp_get_num_threads() == count_) {
      if (omp_get_thread_num() == 0) complete = true;
      body(context, omp_get_thread_num());
    }
  }
#else
  if (count_ == 1) {
    complete = true;
    body(context, 0);
  }
#endif
  return complete;
}

}  // namespace relay::vm
