// Measures the best that this machine can do, for comparison with kernels.
#pragma once

namespace relay::tool {

struct Peak {
  double gflops = 0;     // float32 multiply-adds (two operations each) of all workers together
  double gigabytes = 0;  // per second, read and written by one pass over arrays that fit no cache
};
/// Takes about a tenth of a second.
Peak measure_peak(int threads);
/// The best that was ever measured on this machine, now included: a busy machine shows less than it
/// can do. Kept in the user's cache folder.
Peak best_peak(int threads);

}  // namespace relay::tool
