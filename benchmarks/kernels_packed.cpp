// Contractions whose weights were packed for their tiles before, against the same kernels that read
// the weights as they are, against oneDNN in the layouts that it prefers, and against the limit of
// the processor's arithmetic: multiply-adds on registers alone, measured in turns with each of
// them. Float32, one thread.
//   bench_kernels_packed [--only TEXT] [--target NAME] [--turns N] [--asm 1]
#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <relay/codegen/codegen.h>
#include <relay/lower/packing.h>

#include <benchmarks/contraction_problems.h>
#include <benchmarks/measure.h>

using namespace relay;
using namespace bench::contraction;
using bench::median;

namespace {

std::vector<Problem> problems() {
  std::vector<Problem> all;
  for (int64_t rows : {1, 8, 32, 96, 128}) {
    all.push_back(dense("bert_base", 1, rows, 768, 768));
    all.push_back(dense("bert_base", 1, rows, 3072, 768));
    all.push_back(dense("bert_base", 1, rows, 768, 3072));
    all.push_back(dense("gpt2", 1, rows, 2304, 768));
  }
  all.push_back(dense("vit", 1, 197, 768, 768));
  all.push_back(dense("vit", 1, 197, 3072, 768));
  all.push_back(dense("vit", 1, 197, 768, 3072));
  for (auto [in, out, size] : {std::array<int64_t, 3>{64, 256, 56},
                               {256, 64, 56},
                               {128, 512, 28},
                               {512, 128, 28},
                               {256, 1024, 14},
                               {1024, 256, 14},
                               {512, 2048, 7},
                               {2048, 512, 7}}) {
    all.push_back(conv("resnet50", 1, in, out, 1, 1, size));
  }
  for (auto [in, out, size] : {std::array<int64_t, 3>{24, 144, 56},
                               {32, 192, 28},
                               {192, 32, 28},
                               {96, 576, 14},
                               {576, 96, 14},
                               {160, 960, 7},
                               {960, 160, 7},
                               {320, 1280, 7}}) {
    all.push_back(conv("mobilenet_v2", 1, in, out, 1, 1, size));
  }
  for (auto [in, size] : {std::pair<int64_t, int64_t>{128, 56}, {256, 28}, {512, 14}, {1024, 7}}) {
    all.push_back(conv("densenet121", 1, in, 128, 1, 1, size));
    all.push_back(conv("densenet121", 1, 128, 32, 3, 1, size));
  }
  all.push_back(conv("squeezenet", 1, 512, 1000, 1, 1, 13));
  all.push_back(conv("resnet50", 1, 64, 64, 3, 1, 56));
  all.push_back(conv("resnet50", 1, 128, 128, 3, 1, 28));
  all.push_back(conv("resnet50", 1, 256, 256, 3, 1, 14));
  all.push_back(conv("resnet50", 1, 512, 512, 3, 1, 7));
  all.push_back(conv("resnet50", 1, 3, 64, 7, 2, 224));
  all.push_back(conv("mobilenet_v2", 1, 3, 32, 3, 2, 224));
  all.push_back(conv("nhwc", 1, 64, 64, 1, 1, 56, true));
  all.push_back(conv("nhwc", 1, 256, 256, 3, 1, 14, true));
  all.push_back(conv("nhwc", 1, 512, 2048, 1, 1, 7, true));
  all.push_back(conv("nhwc", 1, 3, 64, 7, 2, 224, true));
  return all;
}

constexpr int kProbeSteps = 20000;

__attribute__((target("avx512f"), noinline)) float probe_avx512() {
  __m512 sums[24];
  for (int i = 0; i < 24; ++i) sums[i] = _mm512_set1_ps(static_cast<float>(i));
  __m512 a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(0.001f);
  for (int step = 0; step < kProbeSteps; ++step) {
#pragma GCC unroll 24
    for (int i = 0; i < 24; ++i) sums[i] = _mm512_fmadd_ps(sums[i], a, b);
  }
  float total = 0;
  for (int i = 0; i < 24; ++i) total += _mm512_cvtss_f32(sums[i]);
  return total;
}

__attribute__((target("avx2,fma"), noinline)) float probe_avx2() {
  __m256 sums[12];
  for (int i = 0; i < 12; ++i) sums[i] = _mm256_set1_ps(static_cast<float>(i));
  __m256 a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(0.001f);
  for (int step = 0; step < kProbeSteps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < 12; ++i) sums[i] = _mm256_fmadd_ps(sums[i], a, b);
  }
  float total = 0;
  for (int i = 0; i < 12; ++i) total += _mm256_cvtss_f32(sums[i]);
  return total;
}

__attribute__((noinline)) float probe_baseline() {
  __m128 sums[12];
  for (int i = 0; i < 12; ++i) sums[i] = _mm_set1_ps(static_cast<float>(i));
  __m128 a = _mm_set1_ps(0.999f), b = _mm_set1_ps(0.001f);
  for (int step = 0; step < kProbeSteps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < 12; ++i) sums[i] = _mm_add_ps(_mm_mul_ps(sums[i], a), b);
  }
  float total = 0;
  for (int i = 0; i < 12; ++i) total += _mm_cvtss_f32(sums[i]);
  return total;
}

/// Operations a second that the instruction set's multiply-adds come to.
struct ArithmeticProbe {
  float (*run)();
  double flops;
  explicit ArithmeticProbe(const codegen::Target& target) {
    const bool wide = target.isa == codegen::Target::Isa::kAvx512;
    run = wide                                        ? probe_avx512
          : target.isa == codegen::Target::Isa::kAvx2 ? probe_avx2
                                                      : probe_baseline;
    flops = 2.0 * kProbeSteps * (wide ? 24 : 12) * target.vector_bytes() / 4;
  }
};

/// A contraction, compiled, with memory to run on.
class Compiled {
 public:
  Compiled(const te::Computation& c, const codegen::Target& target) {
    auto kernel = std::make_shared<lower::Kernel>();
    kernel->name = "bench";
    kernel->body = *contraction_of(c);
    kernel_ = kernel;
    std::shared_ptr<const lower::Kernel> kernels[] = {kernel_};
    codegen::CompiledKernel compiled = codegen::compile(kernels, target, {1, {}})[0];
    blob_ = compiled.blob;
    const KernelBlob* blobs[] = {blob_.get()};
    code_ = CodeMemory::map(blobs);
    for (const te::TensorInfo& info : c.inputs) add(info);
    add(c.stages.back().outputs[0]);
    scratch_ = std::make_unique<Memory>(static_cast<size_t>(compiled.scratch_bytes.as_int()));
  }

  void operator()() {
    FailureDetail detail;
    ShareOfTasks tasks;
    KernelArgs args{buffers_.data(),    nullptr, &tasks, scratch_->data,
                    kernel_functions(), &detail, 1};
    code_->kernel(0)(&args);
  }
  std::string assembly(const codegen::Target& target) const {
    return codegen::emit_text(*kernel_, target, codegen::Text::kAssembly);
  }

 private:
  void add(const te::TensorInfo& info) {
    auto bytes = static_cast<size_t>(product(info.dims).as_int()) * info.dtype.size();
    memory_.push_back(std::make_unique<Memory>(bytes));
    buffers_.push_back(memory_.back()->data);
  }

  std::shared_ptr<const lower::Kernel> kernel_;
  std::shared_ptr<const KernelBlob> blob_;
  std::shared_ptr<const CodeMemory> code_;
  std::vector<std::unique_ptr<Memory>> memory_;
  std::vector<void*> buffers_;
  std::unique_ptr<Memory> scratch_;
};

double timed(const std::function<void()>& action) { return bench::timed(action, 0.003, true); }

}  // namespace

int main(int argc, char** argv) {
  const std::string only = bench::option(argc, argv, "--only", "");
  const int turns = std::atoi(bench::option(argc, argv, "--turns", "9").c_str());
  const bool assembly = bench::option(argc, argv, "--asm", "0") == "1";
  bench::set_openmp_threads(1, argv);
  auto target = codegen::Target::parse(bench::option(argc, argv, "--target", "host"));
  ArithmeticProbe probe(target);
  std::printf("%-13s %-28s %8s %6s %9s %9s %8s %8s %8s\n", "model", "problem", "packed", "width",
              "ms", "GFLOP/s", "of probe", "of plain", "of own");
  for (const Problem& problem : problems()) {
    if ((problem.model + " " + problem.text).find(only) == std::string::npos) continue;
    auto packed = lower::packing_of(
        problem.computation, [](size_t input) { return input == 1; }, target.processor);
    Compiled plain(problem.computation, target);
    std::unique_ptr<Compiled> ours;
    if (packed) ours = std::make_unique<Compiled>(packed->computation, target);
    if (assembly) {
      std::puts((ours ? *ours : plain).assembly(target).c_str());
      continue;
    }
    std::unique_ptr<onednn::Primitive> peer = problem.peer(true);
    std::unique_ptr<Memory> data, weight, out;
    if (peer) {
      data = std::make_unique<Memory>(peer->data_bytes());
      weight = std::make_unique<Memory>(peer->weight_bytes());
      out = std::make_unique<Memory>(peer->out_bytes());
    }
    std::vector<double> times, of_probe, of_plain, of_own;
    volatile float keep = 0;
    for (int turn = 0; turn < turns; ++turn) {
      const double mine = timed([&] { ours ? (*ours)() : plain(); });
      const double limit = timed([&] { keep = keep + probe.run(); });
      times.push_back(mine);
      of_probe.push_back(problem.flops / mine / (probe.flops / limit));
      if (ours) of_plain.push_back(timed([&] { plain(); }) / mine);
      if (peer) {
        of_own.push_back(timed([&] { peer->run(data->data, weight->data, out->data); }) / mine);
      }
    }
    const double time = median(times);
    const char* side = !packed                                             ? "no"
                       : packed->side == lower::PackedOperand::Side::kRows ? "rows"
                                                                           : "columns";
    std::printf("%-13s %-28s %8s %6ld %9.3f %9.1f %8.2f %8.2f %8.2f\n", problem.model.c_str(),
                problem.text.c_str(), side, packed ? static_cast<long>(packed->width) : 0L,
                time * 1e3, problem.flops / time / 1e9, median(of_probe),
                of_plain.empty() ? NAN : median(of_plain), of_own.empty() ? NAN : median(of_own));
    std::fflush(stdout);
  }
}
