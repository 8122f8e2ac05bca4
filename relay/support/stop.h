// Long work that is ended from outside: at Ctrl-C, when the process leaves.
#pragma once

#include <atomic>
#include <exception>

namespace relay {

/// Work that was told to end. No `Error`, so that nothing takes it for a wrong program.
class Stopped : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

/// The flag that ends the work of this thread, or null.
const std::atomic<bool>* stop_flag() noexcept;

/// Throws `Stopped` if this thread's work is to end. Cheap: for every pass, function, kernel, step.
void stop_if_asked();

/// While it lives, `flag` ends what this thread does. Threads that help get the flag of the one
/// that they work for.
class StopScope {
 public:
  explicit StopScope(const std::atomic<bool>* flag) noexcept;
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  const std::atomic<bool>* outer_;
};

}  // namespace relay
