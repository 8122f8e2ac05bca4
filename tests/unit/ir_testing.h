// Helpers of the tests of ir/.
#pragma once

#include <pthread.h>

#include <exception>
#include <functional>
#include <vector>

#include <relay/ir/expr.h>

namespace relay::ir_testing {

/// Runs `body` in a thread with 256 KB of stack and rethrows what it throws.
inline void with_small_stack(std::function<void()> body) {
  struct Job {
    std::function<void()> body;
    std::exception_ptr error;
  } job{std::move(body), nullptr};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 * 1024);
  pthread_t thread;
  auto run = [](void* argument) -> void* {
    auto* job = static_cast<Job*>(argument);
    try {
      job->body();
    } catch (...) {
      job->error = std::current_exception();
    }
    return nullptr;
  };
  pthread_create(&thread, &attributes, run, &job);
  pthread_attr_destroy(&attributes);
  pthread_join(thread, nullptr);
  if (job.error) std::rethrow_exception(job.error);
}

template <class... E>
ExprRef call(ExprRef callee, const E&... args) {
  std::vector<ExprRef> list{ExprRef(args)...};
  return make_call(std::move(callee), list);
}
template <class... E>
ExprRef tuple(const E&... fields) {
  std::vector<ExprRef> list{ExprRef(fields)...};
  return make_tuple(list);
}
inline ExprRef number(int32_t value) { return make_constant(NDArray::scalar(value)); }

}  // namespace relay::ir_testing
