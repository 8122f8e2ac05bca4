// Ends long work from outside: at Ctrl-C, or when the process ends.
#pragma once

#include <atomic>
#include <exception>

namespace relay {

/// The end of work that was told to stop. Not an `Error`, so that no handler takes it for a wrong
/// program.
class Stopped : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

/// The flag that ends the work of this thread, or null.
const std::atomic<bool>* stop_flag() noexcept;

/// Throws `Stopped` if this thread's work must end. It is cheap: call it for every pass, function,
/// kernel, step.
void stop_if_asked();

/// While it lives, `flag` ends the work of this thread. Threads that help get the flag of the
/// thread that they help.
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
