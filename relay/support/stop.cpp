#include <relay/support/stop.h>

#include <utility>

namespace relay {

namespace {
thread_local const std::atomic<bool>* current = nullptr;
}

const std::atomic<bool>* stop_flag() noexcept { return current; }

void stop_if_asked() {
  if (current != nullptr && current->load(std::memory_order_relaxed)) throw Stopped();
}

StopScope::StopScope(const std::atomic<bool>* flag) noexcept
    : outer_(std::exchange(current, flag)) {}

StopScope::~StopScope() { current = outer_; }

}  // namespace relay
