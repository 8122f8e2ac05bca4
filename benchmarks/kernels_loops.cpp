// Generated loops, one kernel or group at a time: least milliseconds of several runs and GB/s of
// the bytes that must move. `bench_kernels_loops [--only TEXT] [--threads N] [--target NAME]
// [--loops] [--file PROGRAM]`; with --loops the loops are printed too.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <relay/graph/compose.h>
#include <relay/infer/infer.h>
#include <relay/lower/lower.h>
#include <relay/parse/parse.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/evaluate.h>

#include <benchmarks/kernel_cases.h>
#include <benchmarks/measure.h>
#include <tests/unit/lower_cases.h>
#include <tests/unit/native_runner.h>

using namespace relay;
using bench::KernelCase;

namespace {

/// Those that have a peer elsewhere, and more.
std::vector<KernelCase> cases() {
  using Kind = KernelCase::Kind;
  std::vector<KernelCase> all = bench::kernel_cases();
  all.push_back({Kind::kOther,
                 "batch norm relu",
                 "nn.relu(nn.batch_norm(%a, %b, %c, %d, %e).0)",
                 {{8, 64, 56, 56}, {64}, {64}, {64}, {64}}});
  all.push_back({Kind::kOther,
                 "bias gelu",
                 "{ %0 = add(%a, %b); multiply(multiply(%0, 0.5f), add(1f, erf(multiply(%0, "
                 "0.70710678f)))) }",
                 {{128, 3072}, {3072}}});
  all.push_back(
      {Kind::kOther, "upsampling", "nn.upsampling(%a, scale_h=2f, scale_w=2f)", {{1, 64, 56, 56}}});
  all.push_back({Kind::kOther,
                 "concatenate",
                 "concatenate((%a, %b), axis=1)",
                 {{8, 64, 28, 28}, {8, 64, 28, 28}}});
  all.push_back({Kind::kOther, "cumsum", "cumsum(%a, axis=1)", {{1024, 1024}}});
  all.push_back({Kind::kOther, "global avg pool", "nn.global_avg_pool2d(%a)", {{1, 2048, 7, 7}}});
  return all;
}

}  // namespace

/// The loops of a program's @main.
void print_loops(const std::string& path) {
  std::ifstream in(path);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  Module module = parse_module(path, text);
  infer_types_or_throw(module);
  FunctionRef function(module.function("main"));
  std::vector<TypeRef> types;
  for (const VarRef& param : function->params()) types.push_back(param->annotation());
  graph::Group group = graph::compose(*function, types);
  std::printf("%s", group.computation.str().c_str());
  for (const auto& kernel : lower::lower(group.computation, "k", {}).kernels) {
    std::printf("%s\n%s", kernel->implementation.c_str(), kernel->str().c_str());
  }
}

int main(int argc, char** argv) {
  std::string only, target = "host";
  int threads = 1;
  bool loops = false;
  for (int i = 1; i < argc; ++i) {
    std::string flag = argv[i];
    if (flag == "--loops") {
      loops = true;
    } else if (i + 1 < argc) {
      std::string value = argv[++i];
      if (flag == "--only") only = value;
      if (flag == "--threads") threads = std::max(1, std::atoi(value.c_str()));
      if (flag == "--target") target = value;
      if (flag == "--file") {
        print_loops(value);
        return 0;
      }
    }
  }
  std::printf("%-46s %10s %8s\n", "", "ms", "GB/s");
  for (const KernelCase& one : cases()) {
    if (one.name.find(only) == std::string::npos) continue;
    try {
      std::vector<NDArray> inputs;
      std::vector<TypeRef> types;
      for (size_t k = 0; k < one.shapes.size(); ++k) {
        inputs.push_back(testing::random_array(one.shapes[k], kFloat32, static_cast<uint32_t>(k)));
        if (one.name == "batch norm relu" && k == 4) inputs.back() = inputs.back().copy();
        types.push_back(testing::array_type(inputs.back()));
      }
      FunctionRef function = testing::main_function(bench::program_text(one), types);
      graph::Group group = graph::compose(*function, types);
      codegen::Target isa = codegen::Target::parse(target);
      lower::LowerOptions options;
      options.processor = isa.processor;
      lower::Lowered lowered = lower::lower(group.computation, "k", options);
      double bytes = 0;
      for (const auto& kernel : lowered.kernels) {
        bytes += static_cast<double>(kernel->bytes.as_int());
        if (loops) std::printf("%s\n%s", kernel->implementation.c_str(), kernel->str().c_str());
      }
      testing::NativeGroup native(std::move(lowered), isa);
      native.bind(inputs, {}, threads);
      bench::Workers workers(threads);
      double best = 1e9;
      double spent = 0;
      for (int run = 0; run < 400 && (run < 5 || spent < 0.4); ++run) {
        auto begin = std::chrono::steady_clock::now();
        for (size_t launch = 0; launch < native.num_launches(); ++launch) {
          workers.run([&](int worker) { native.run_launch(launch, worker); });
        }
        double time =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        best = std::min(best, time);
        spent += time;
      }
      std::printf("%-46s %10.4f %8.2f  %s\n", one.name.c_str(), best * 1e3, bytes / best * 1e-9,
                  native.num_launches() > 0 ? native.describe(0).c_str() : "");
    } catch (const std::exception& error) {
      std::printf("%-46s %s\n", one.name.c_str(), error.what());
    }
    std::fflush(stdout);
  }
  return 0;
}
