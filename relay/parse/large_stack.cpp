#include <pthread.h>

#include <cstring>
#include <exception>

#include <relay/parse/large_stack.h>
#include <relay/support/error.h>

namespace relay::parsing {
namespace {

// Nesting 1000 deep takes about two megabytes of stack in an optimised build, many times that under
// a sanitizer; pages that are not touched cost nothing.
constexpr size_t kStackSize = size_t{256} << 20;

// Optimised code needs less than a third of this for the deepest text.
[[maybe_unused]] constexpr size_t kNeededStack = size_t{5} << 20;

/// True if the calling thread's stack suffices. Then no new thread is needed, whose memory would
/// come from an arena that grows a page at a time.
bool has_room() {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RELAY_LARGE_FRAMES
#endif
#endif
#if !defined(__OPTIMIZE__) || defined(__SANITIZE_ADDRESS__) || defined(RELAY_LARGE_FRAMES)
  return false;
#else
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return false;
  void* lowest = nullptr;
  size_t size = 0;
  int status = pthread_attr_getstack(&attributes, &lowest, &size);
  pthread_attr_destroy(&attributes);
  auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  auto end = reinterpret_cast<uintptr_t>(lowest);
  return status == 0 && here > end && here - end >= kNeededStack;
#endif
}

}  // namespace

void run_on_large_stack(const std::function<void()>& f) {
  if (has_room()) {
    f();
    return;
  }
  struct Task {
    const std::function<void()>& f;
    std::exception_ptr error;
  } task{f, nullptr};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  int status = -1;
  pthread_t thread;
  for (size_t size = kStackSize; status != 0 && size >= (size_t{16} << 20); size /= 2) {
    if (pthread_attr_setstacksize(&attributes, size) != 0) continue;
    status = pthread_create(
        &thread, &attributes,
        [](void* argument) -> void* {
          auto* t = static_cast<Task*>(argument);
          try {
            t->f();
          } catch (...) {
            t->error = std::current_exception();
          }
          return nullptr;
        },
        &task);
  }
  pthread_attr_destroy(&attributes);
  if (status != 0)
    throw Error("cannot start a thread to parse on: " + std::string(std::strerror(status)));
  pthread_join(thread, nullptr);
  if (task.error) std::rethrow_exception(task.error);
}

}  // namespace relay::parsing
