// A value that is computed when it is first asked for.
#pragma once

#include <mutex>
#include <optional>
#include <utility>

namespace relay {

/// Computed once, by the thread that asks first; others wait. If the computation throws, the next
/// one who asks computes it again.
template <class T>
class Column {
 public:
  template <class Make>
  const T& get(Make&& make) const {
    std::call_once(made_, [&] { value_.emplace(std::forward<Make>(make)()); });
    return *value_;
  }

 private:
  mutable std::once_flag made_;
  mutable std::optional<T> value_;
};

}  // namespace relay
