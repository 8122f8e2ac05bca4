#include <relay/support/threads.h>

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include <relay/support/error.h>
#include <relay/support/stop.h>

namespace relay {

namespace {

constexpr size_t kStack = size_t{64} << 20;  // address space; pages come as they are touched

struct Shared {
  const std::function<void(size_t)>& work;
  const std::atomic<bool>* stop;
  size_t count;
  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  size_t failed = SIZE_MAX;  // the index of `failure`

  void run() noexcept {
    StopScope scope(stop);
    for (size_t i = next++; i < count; i = next++) {
      try {
        stop_if_asked();
        work(i);
      } catch (...) {
        std::lock_guard lock(mutex);
        if (i < failed) {
          failed = i;
          failure = std::current_exception();
        }
      }
    }
  }
};

void* run_shared(void* shared) {
  static_cast<Shared*>(shared)->run();
  return nullptr;
}

}  // namespace

size_t thread_count(int asked) {
  return asked > 0 ? static_cast<size_t>(asked) : std::max(1u, std::thread::hardware_concurrency());
}

void with_stack(size_t threads, size_t count, const std::function<void(size_t)>& work) {
  if (count == 0) return;
  Shared shared{.work = work, .stop = stop_flag(), .count = count, .mutex = {}, .failure = nullptr};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStack);
  std::vector<pthread_t> started;
  threads = std::min(std::max<size_t>(threads, 1), count);
  started.reserve(threads);
  int error = 0;
  for (size_t i = 0; i < threads; ++i) {
    pthread_t thread;
    error = pthread_create(&thread, &attributes, run_shared, &shared);
    if (error != 0) break;
    started.push_back(thread);
  }
  pthread_attr_destroy(&attributes);
  if (started.empty()) {
    throw Error(std::string("cannot start a thread to compile on: ") + std::strerror(error));
  }
  for (pthread_t thread : started) pthread_join(thread, nullptr);
  if (shared.failure != nullptr) std::rethrow_exception(shared.failure);
}

}  // namespace relay
