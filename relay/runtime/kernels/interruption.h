// Runs that end early, within long kernels.
#pragma once

#include <relay/runtime/library_kernel.h>

#include <cstdint>

namespace relay {

/// Throws if the run is to end. Within tasks too.
inline void check_interruption(LibraryCall& call) {
  call.parallel(0, [](int64_t) {});
}

/// The same for loops of short steps: asks once in a while only.
class Interruption {
 public:
  explicit Interruption(LibraryCall& call) : call_(call) {}
  /// After about so many operations.
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
