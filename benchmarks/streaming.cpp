// The bandwidth that this machine's memory gives to a kernel that reads one large array and writes
// another: the best of several runs over 64 MB each, with plain and with non-temporal stores.
// `bench_streaming [THREADS]`.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace {

constexpr size_t kFloats = size_t{16} << 20;

void copy_plain(const float* from, float* to, size_t n) {
  for (size_t i = 0; i < n; ++i) to[i] = from[i] + 1.0f;
}

void copy_streaming(const float* from, float* to, size_t n) {
#if defined(__x86_64__)
  __m128 one = _mm_set1_ps(1.0f);
  for (size_t i = 0; i < n; i += 4) _mm_stream_ps(to + i, _mm_add_ps(_mm_load_ps(from + i), one));
  _mm_sfence();
#else
  copy_plain(from, to, n);
#endif
}

double gigabytes_per_second(void (*copy)(const float*, float*, size_t), int threads) {
  auto* from = static_cast<float*>(std::aligned_alloc(64, kFloats * sizeof(float)));
  auto* to = static_cast<float*>(std::aligned_alloc(64, kFloats * sizeof(float)));
  std::fill_n(from, kFloats, 1.0f);
  std::fill_n(to, kFloats, 0.0f);
  const size_t share = kFloats / static_cast<size_t>(threads) / 16 * 16;
  // Threads are there before the clock starts, and wait awake.
  constexpr int kRuns = 20;
  std::atomic<int> round{0}, finished{0};
  auto work = [&](int thread) {
    size_t first = static_cast<size_t>(thread) * share;
    copy(from + first, to + first, share);
  };
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) {
    others.emplace_back([&, t] {
      for (int run = 1; run <= kRuns; ++run) {
        while (round.load(std::memory_order_acquire) < run) {
        }
        work(t);
        finished.fetch_add(1, std::memory_order_release);
      }
    });
  }
  double best = 0;
  for (int run = 1; run <= kRuns; ++run) {
    auto begin = std::chrono::steady_clock::now();
    round.store(run, std::memory_order_release);
    work(0);
    while (finished.load(std::memory_order_acquire) < run * (threads - 1)) {
    }
    std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    double bytes = 2.0 * static_cast<double>(share) * threads * sizeof(float);
    best = std::max(best, bytes / time.count() * 1e-9);
  }
  for (std::thread& thread : others) thread.join();
  std::free(from);
  std::free(to);
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  int threads = argc > 1 ? std::clamp(std::atoi(argv[1]), 1, 256)
                         : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::printf("{\"threads\": %d, \"plain_gb_s\": %.2f, \"streaming_gb_s\": %.2f}\n", threads,
              gigabytes_per_second(copy_plain, threads),
              gigabytes_per_second(copy_streaming, threads));
  return 0;
}
