#include <relay/support/threads.h>

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <relay/support/error.h>
#include <relay/support/stop.h>

namespace relay {

namespace {

constexpr size_t kStack = size_t{64} << 20;  // address space; pages come as they are touched

thread_local bool inside = false;  // such work

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
    const bool before = std::exchange(inside, true);
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
    inside = before;
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

void side_by_side(int threads, size_t count, const std::function<void(size_t)>& work) {
  if (count == 0) return;
  Shared shared{.work = work, .stop = stop_flag(), .count = count, .mutex = {}, .failure = nullptr};
  std::vector<std::thread> others;
  const size_t wanted = inside ? 1 : std::min(thread_count(threads), count);
  others.reserve(wanted);
  try {
    while (others.size() + 1 < wanted) others.emplace_back([&] { shared.run(); });
  } catch (const std::system_error&) {
    // The rest is done here.
  }
  shared.run();
  for (std::thread& other : others) other.join();
  if (shared.failure != nullptr) std::rethrow_exception(shared.failure);
}

void with_stack(int asked, size_t count, const std::function<void(size_t)>& work) {
  if (count == 0) return;
  Shared shared{.work = work, .stop = stop_flag(), .count = count, .mutex = {}, .failure = nullptr};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStack);
  std::vector<pthread_t> started;
  const size_t threads = std::min(thread_count(asked), count);
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
