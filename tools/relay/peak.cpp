#include <tools/relay/peak.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <relay/codegen/codegen.h>
#include <relay/runtime/file.h>
#include <relay/support/error.h>

namespace relay::tool {

namespace {

constexpr int kAccumulators = 12;  // enough to hide the latency of a multiply-add
constexpr int kLanes = 16;

// Runs `rounds` of independent multiply-adds; as wide as this machine's vectors.
#if defined(__x86_64__)
__attribute__((target_clones("avx512f", "avx2,fma", "default")))
#endif
float multiply_add(long rounds, float start, float factor) {
  float sum[kAccumulators][kLanes];
  for (auto& row : sum) std::fill(row, row + kLanes, start);
  for (long r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int a = 0; a < kAccumulators; ++a) {
#pragma GCC ivdep
      for (int i = 0; i < kLanes; ++i) sum[a][i] = sum[a][i] * factor + start;
    }
  }
  float total = 0;
  for (auto& row : sum) {
    for (float x : row) total += x;
  }
  return total;
}

double seconds_of(int threads, const std::function<void(int)>& work) {
  auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> workers;
  for (int t = 1; t < threads; ++t) workers.emplace_back(work, t);
  work(0);
  for (std::thread& worker : workers) worker.join();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

Peak measure_peak(int threads) {
  Peak peak;
  constexpr long kRounds = 2'000'000;
  for (int run = 0; run < 3; ++run) {
    double time = seconds_of(threads, [](int) {
      // Volatile, or nothing would be computed.
      volatile float start = 1.0f, factor = 0.5f, used = 0.0f;
      used = multiply_add(kRounds, start, factor);
      (void)used;
    });
    double operations = 2.0 * kRounds * kAccumulators * kLanes * threads;
    peak.gflops = std::max(peak.gflops, operations / time * 1e-9);
  }
  constexpr size_t kFloats = size_t{16} << 20;
  auto from = std::make_unique_for_overwrite<float[]>(kFloats);
  auto to = std::make_unique_for_overwrite<float[]>(kFloats);
  std::fill_n(from.get(), kFloats, 1.0f);
  for (int run = 0; run < 5; ++run) {
    size_t share = kFloats / static_cast<size_t>(threads);
    double time = seconds_of(threads, [&](int t) {
      size_t first = static_cast<size_t>(t) * share;
      std::copy_n(from.get() + first, share, to.get() + first);
    });
    peak.gigabytes = std::max(peak.gigabytes, 2.0 * kFloats * sizeof(float) / time * 1e-9);
  }
  return peak;
}

Peak best_peak(int threads) {
  Peak peak = measure_peak(threads);
  std::filesystem::path folder = codegen::default_cache();
  if (folder.empty()) return peak;
  std::filesystem::path file = folder / ("peak-" + std::to_string(threads));
  Peak before;
  if (std::ifstream in(file); in >> before.gflops >> before.gigabytes) {
    // Other numbers are no measurement of a machine.
    auto plausible = [](double x) { return x > 0 && x < 1e6; };
    if (plausible(before.gflops)) peak.gflops = std::max(peak.gflops, before.gflops);
    if (plausible(before.gigabytes)) peak.gigabytes = std::max(peak.gigabytes, before.gigabytes);
  }
  if (peak.gflops == before.gflops && peak.gigabytes == before.gigabytes) return peak;
  try {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    OutputFile out(file.string());
    std::string text = std::to_string(peak.gflops) + " " + std::to_string(peak.gigabytes) + "\n";
    out.write(text.data(), text.size());
    out.commit();
  } catch (const Error&) {
    // Then it is measured anew the next time.
  }
  return peak;
}

}  // namespace relay::tool
