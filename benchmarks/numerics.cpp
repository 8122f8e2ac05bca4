// Accuracy and speed of generated mathematical functions: bench_numerics [--stride N] [--threads N]
// [--function NAME]… For each function and each instruction set that this machine runs: the largest
// error over all floats (every N-th with --stride), in units of the last place, and the time for 16
// floats from a cached buffer. docs/numerics.md keeps the results of --stride 1, which takes an
// hour.
#include <relay/codegen/llvm/probe.h>
#include <tests/unit/codegen_math_check.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>

namespace {

using namespace relay;
using namespace relay::codegen;

struct Variant {
  Target target;
  std::shared_ptr<const CodeMemory> code;
  WorstError worst;
  double nanoseconds = 0;
};

double time_kernel(KernelFn kernel) {
  std::vector<float> in(4096), out(4096);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i) * (1.0f / 4096);
  void* buffers[] = {in.data(), out.data()};
  auto size = static_cast<int64_t>(in.size());
  FailureDetail detail;
  ShareOfTasks tasks;
  const KernelArgs args{buffers, &size, &tasks, nullptr, kernel_functions(), &detail};
  double best = 1e9;
  for (int round = 0; round < 200; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 4; ++i) kernel(&args);
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count() / 4 / (static_cast<double>(in.size()) / 16));
  }
  return best;
}

void check_all(te::UnaryOp op, std::vector<Variant>& variants, uint64_t stride, int threads) {
  constexpr size_t kBlock = 1 << 14;
  std::mutex mutex;
  std::vector<std::thread> workers;
  const uint64_t count = ((uint64_t{1} << 32) + stride - 1) / stride;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      std::vector<float> in(kBlock), out;
      std::vector<double> expected(kBlock);
      std::vector<WorstError> worst(variants.size());
      for (uint64_t first = static_cast<uint64_t>(t) * kBlock; first < count;
           first += static_cast<uint64_t>(threads) * kBlock) {
        for (size_t i = 0; i < kBlock; ++i) {
          in[i] = std::bit_cast<float>(static_cast<uint32_t>((first + i) * stride));
          expected[i] = reference_of(op, in[i]);
        }
        for (size_t v = 0; v < variants.size(); ++v) {
          worst[v].merge(check_unary(variants[v].code->kernel(0), in, expected, out));
        }
      }
      std::lock_guard lock(mutex);
      for (size_t v = 0; v < variants.size(); ++v) variants[v].worst.merge(worst[v]);
    });
  }
  for (std::thread& worker : workers) worker.join();
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t stride = 251;
  int threads = static_cast<int>(std::thread::hardware_concurrency());
  std::vector<std::string> names;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--stride") == 0) stride = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--threads") == 0) threads = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--function") == 0) names.emplace_back(argv[i + 1]);
  }
  for (size_t number = 0; number < kNumUnaryOps; ++number) {
    const auto op = static_cast<te::UnaryOp>(number);
    if (op == te::UnaryOp::kNot || op == te::UnaryOp::kBitNot) continue;
    const std::string name(te::unary_name(op));
    if (!names.empty() && std::find(names.begin(), names.end(), name) == names.end()) continue;
    std::vector<Variant> variants;
    for (const char* isa : {"avx512", "avx2", "baseline"}) {
      const Target target = Target::parse(isa);
      if (!target.runs_here()) continue;
      const auto lanes = static_cast<unsigned>(target.vector_bytes() / 4);
      const KernelBlob blob = probe_kernel({op, false, lanes}, target);
      const KernelBlob* blobs[] = {&blob};
      variants.push_back({target, CodeMemory::map(blobs), {}});
      variants.back().nanoseconds = time_kernel(variants.back().code->kernel(0));
    }
    check_all(op, variants, stride, threads);
    std::printf("%-8s", name.c_str());
    for (const Variant& v : variants) {
      std::printf(" | %-8s %8.3f ulp at %-14.8g %7.2f ns", std::string(v.target.name()).c_str(),
                  v.worst.ulp, static_cast<double>(v.worst.at), v.nanoseconds);
    }
    std::printf("\n");
    std::fflush(stdout);
  }
  return 0;
}
