// The tools that benchmarks measure with.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <relay/support/pause.h>

namespace relay::bench {

/// Seconds; with `of_thread` those of the processor that this thread had, so that other programs on
/// the machine disturb little.
inline double now(bool of_thread = false) {
  timespec time;
  clock_gettime(of_thread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Seconds that one run takes, from as many runs as fill `least` seconds.
inline double timed(const std::function<void()>& action, double least, bool of_thread = false) {
  action();
  double begin = now(of_thread);
  action();
  double one = now(of_thread) - begin;
  int count = std::max(1, static_cast<int>(least / std::max(one, 1e-7)));
  begin = now(of_thread);
  for (int i = 0; i < count; ++i) action();
  return (now(of_thread) - begin) / count;
}

/// The value behind `--name` on the command line.
inline std::string option(int argc, char** argv, const char* name, std::string otherwise) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], name) == 0) return argv[i + 1];
  }
  return otherwise;
}

/// Starts the program again where the OpenMP of a peer has not been told this number of threads: it
/// reads its environment before main.
inline void set_openmp_threads(int threads, char** argv) {
  const char* set = std::getenv("OMP_NUM_THREADS");
  if (set != nullptr && std::atoi(set) == threads) return;
  setenv("OMP_NUM_THREADS", std::to_string(threads).c_str(), 1);
  execv("/proc/self/exe", argv);
}

/// Threads that wait for work by spinning, without end.
class Workers {
 public:
  explicit Workers(int count) : count_(count) {
    for (int i = 1; i < count; ++i) threads_.emplace_back([this, i] { serve(i); });
  }
  ~Workers() {
    stop_ = true;
    ++turn_;
    for (std::thread& thread : threads_) thread.join();
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// `work(worker)` on every one.
  void run(const std::function<void(int)>& work) {
    work_ = &work;
    done_ = 0;
    ++turn_;
    work(0);
    while (done_ != count_ - 1) relay::pause_briefly();
  }
  /// Sets whether they leave the processor to others while they wait.
  void set_idle(bool idle) { idle_ = idle; }

 private:
  void serve(int number) {
    uint64_t seen = 0;
    while (true) {
      while (turn_ == seen) {
        for (int i = 0; i < 1000 && turn_ == seen; ++i) relay::pause_briefly();
        if (idle_) std::this_thread::yield();
      }
      seen = turn_;
      if (stop_) return;
      (*work_)(number);
      ++done_;
    }
  }

  int count_;
  std::vector<std::thread> threads_;
  std::atomic<bool> idle_{false};
  std::atomic<uint64_t> turn_{0};
  std::atomic<int> done_{0};
  std::atomic<bool> stop_{false};
  const std::function<void(int)>* work_ = nullptr;
};

}  // namespace relay::bench
