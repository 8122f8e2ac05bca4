// Ends runs early, within long kernels.
#pragma once

#include <relay/runtime/library_kernel.h>

#include <cstdint>

namespace relay {

/// Throws if the run must end. Call it within tasks too.
inline void check_interruption(LibraryCall& call) {
  call.parallel(0, [](int64_t) {});
}

/// The same for loops of short steps: it asks only once in a while.
class Interruption {
 public:
  explicit Interruption(LibraryCall& call) : call_(call) {}
  /// Call it after about so many operations.
  void after(int64_t operations) {
    done_ += operations;
    if (done_ < kOften) return;
    done_ = 0;
    check_interruption(call_);
  }

 private:
  static constexpr int64_t kOften = int64_t{1} << 22;
  LibraryCall& call_;
  int64_t done_ = 0;
};

}  // namespace relay
