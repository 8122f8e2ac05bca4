// Generated loops, one kernel or group at a time: least milliseconds of several runs and GB/s of
// the bytes that must move. `bench_kernels_loops [--only TEXT] [--threads N] [--target NAME]
// [--loops] [--file PROGRAM]`; with --loops the loops are printed too.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <relay/infer/infer.h>
#include <relay/lower/lower.h>
#include <relay/parse/parse.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/evaluate.h>

#include <tests/unit/lower_cases.h>
#include <tests/unit/native_runner.h>

using namespace relay;

namespace {

struct Case {
  std::string name;
  std::string body;
  std::vector<std::vector<int64_t>> shapes;
};

std::string list(const std::vector<int64_t>& values) {
  std::string text;
  for (int64_t v : values) text += (text.empty() ? "" : ", ") + std::to_string(v);
  return text;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  all.push_back({"ten elementwise",
                 "{ %0 = multiply(%a, 1.7f); %1 = add(%0, 0.3f); %2 = tanh(%1); %3 = sigmoid(%a);"
                 " %4 = multiply(%2, %3); %5 = abs(%a); %6 = sqrt(%5); %7 = add(%4, %6);"
                 " %8 = maximum(%7, 0.1f); subtract(%8, 0.5f) }",
                 {{16 << 20}}});
  for (std::vector<int64_t> shape : {std::vector<int64_t>{4096, 1024}, {128, 768}}) {
    all.push_back({"softmax (" + list(shape) + ")", "nn.softmax(%a)", {shape}});
    all.push_back({"log_softmax (" + list(shape) + ")", "nn.log_softmax(%a)", {shape}});
    all.push_back({"layer_norm (" + list(shape) + ")",
                   "nn.layer_norm(%a, %b, %c)",
                   {shape, {shape[1]}, {shape[1]}}});
  }
  using Axes = std::vector<int64_t>;
  for (const auto& [shape, axes] :
       std::vector<std::pair<Axes, Axes>>{{{2048, 2048}, {1, 0}},
                                          {{64, 128, 256}, {0, 2, 1}},
                                          {{64, 128, 256}, {2, 0, 1}},
                                          {{64, 128, 256}, {1, 0, 2}},
                                          {{8, 64, 56, 56}, {0, 2, 3, 1}},
                                          {{8, 56, 56, 64}, {0, 3, 1, 2}}}) {
    all.push_back({"transpose (" + list(shape) + ") " + list(axes),
                   "transpose(%a, axes=[" + list(axes) + "])",
                   {shape}});
  }
  for (int axis : {0, 1, 2}) {
    for (std::string op : {"sum", "max"}) {
      all.push_back({op + " axis " + std::to_string(axis),
                     op + "(%a, axis=[" + std::to_string(axis) + "])",
                     {{128, 256, 256}}});
    }
  }
  all.push_back({"sum all", "sum(%a)", {{128, 256, 256}}});
  all.push_back({"mean axes 1, 2", "mean(%a, axis=[1, 2])", {{128, 256, 256}}});
  all.push_back({"argmax (4096, 1024)", "argmax(%a, axis=[1])", {{4096, 1024}}});
  for (std::string op : {"max", "avg"}) {
    all.push_back({op + "_pool 3x3/2",
                   "nn." + op + "_pool2d(%a, pool_size=[3, 3], strides=[2, 2], padding=[1, 1])",
                   {{8, 64, 112, 112}}});
    all.push_back({op + "_pool 2x2/2",
                   "nn." + op + "_pool2d(%a, pool_size=[2, 2], strides=[2, 2])",
                   {{8, 64, 56, 56}}});
  }
  for (const auto& [shape, stride] : std::vector<std::pair<Axes, int>>{{{1, 96, 112, 112}, 2},
                                                                       {{1, 144, 56, 56}, 1},
                                                                       {{1, 384, 14, 14}, 1},
                                                                       {{1, 960, 7, 7}, 1}}) {
    std::string s = std::to_string(stride), c = std::to_string(shape[1]);
    all.push_back({"depthwise 3x3/" + s + " (" + list(shape) + ")",
                   "nn.conv2d(%a, %b, strides=[" + s + ", " + s +
                       "], padding=[1, 1, 1, 1], groups=" + c + ", channels=" + c +
                       ", kernel_size=[3, 3])",
                   {shape, {shape[1], 1, 3, 3}}});
  }
  all.push_back({"batch norm relu",
                 "nn.relu(nn.batch_norm(%a, %b, %c, %d, %e).0)",
                 {{8, 64, 56, 56}, {64}, {64}, {64}, {64}}});
  all.push_back({"bias gelu",
                 "{ %0 = add(%a, %b); multiply(multiply(%0, 0.5f), add(1f, erf(multiply(%0, "
                 "0.70710678f)))) }",
                 {{128, 3072}, {3072}}});
  all.push_back({"upsampling", "nn.upsampling(%a, scale_h=2f, scale_w=2f)", {{1, 64, 56, 56}}});
  all.push_back(
      {"concatenate", "concatenate((%a, %b), axis=1)", {{8, 64, 28, 28}, {8, 64, 28, 28}}});
  all.push_back({"cumsum", "cumsum(%a, axis=1)", {{1024, 1024}}});
  all.push_back({"global avg pool", "nn.global_avg_pool2d(%a)", {{1, 2048, 7, 7}}});
  return all;
}

std::string program(const Case& one) {
  std::string text = "def @main(";
  for (size_t k = 0; k < one.shapes.size(); ++k) {
    text += (k > 0 ? ", %" : "%") + std::string(1, static_cast<char>('a' + k)) + ": Tensor[(" +
            list(one.shapes[k]) + (one.shapes[k].size() == 1 ? ",), float32]" : "), float32]");
  }
  return text + ") { " + one.body + " }";
}

/// Workers that spin, so that starting them costs little.
class Workers {
 public:
  Workers(testing::NativeGroup& group, int count) : group_(group), count_(count) {
    for (int w = 1; w < count; ++w) {
      threads_.emplace_back([this, w] {
        uint64_t seen = 0;
        while (true) {
          uint64_t now;
          while ((now = turn_.load(std::memory_order_acquire)) == seen) {
          }
          seen = now;
          if (stop_) return;
          group_.run_launch(launch_, w);
          ready_.fetch_add(1, std::memory_order_release);
        }
      });
    }
  }
  ~Workers() {
    stop_ = true;
    turn_.fetch_add(1);
    for (std::thread& thread : threads_) thread.join();
  }
  void run(size_t launch) {
    launch_ = launch;
    ready_ = 0;
    turn_.fetch_add(1, std::memory_order_release);
    group_.run_launch(launch, 0);
    while (ready_.load(std::memory_order_acquire) < count_ - 1) {
    }
  }

 private:
  testing::NativeGroup& group_;
  int count_;
  std::vector<std::thread> threads_;
  std::atomic<uint64_t> turn_{0};
  std::atomic<int> ready_{0};
  std::atomic<bool> stop_{false};
  size_t launch_ = 0;
};

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
  lower::Group group = lower::compose(*function, types);
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
  for (const Case& one : cases()) {
    if (one.name.find(only) == std::string::npos) continue;
    try {
      std::vector<NDArray> inputs;
      std::vector<TypeRef> types;
      for (size_t k = 0; k < one.shapes.size(); ++k) {
        inputs.push_back(testing::random_array(one.shapes[k], kFloat32, static_cast<uint32_t>(k)));
        if (one.name == "batch norm relu" && k == 4) inputs.back() = inputs.back().copy();
        types.push_back(testing::array_type(inputs.back()));
      }
      FunctionRef function = testing::main_function(program(one), types);
      lower::Group group = lower::compose(*function, types);
      codegen::Target isa = codegen::Target::parse(target);
      lower::LowerOptions options;
      options.vector_bytes = isa.vector_bytes();
      lower::Lowered lowered = lower::lower(group.computation, "k", options);
      double bytes = 0;
      for (const auto& kernel : lowered.kernels) {
        bytes += static_cast<double>(kernel->bytes.as_int());
        if (loops) std::printf("%s\n%s", kernel->implementation.c_str(), kernel->str().c_str());
      }
      testing::NativeGroup native(std::move(lowered), isa);
      native.bind(inputs, {}, threads);
      Workers workers(native, threads);
      double best = 1e9;
      double spent = 0;
      for (int run = 0; run < 400 && (run < 5 || spent < 0.4); ++run) {
        auto begin = std::chrono::steady_clock::now();
        for (size_t launch = 0; launch < native.num_launches(); ++launch) workers.run(launch);
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
