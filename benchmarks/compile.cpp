// How long a program of 100 distinct kernels takes to compile: those of convolutional networks and
// transformers, each with shapes of its own, so that no two are the same code. The whole command
// (`relay compile`, from the start of the process to its end) and its stages in this process, with
// an empty cache of kernels and with the one that the first run left. Medians of several runs.
//   bench_compile [--turns N] [--threads N] [--print 1]
// --print 1 prints the program instead.
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <fmt/core.h>

#include <relay/support/error.h>

#include <benchmarks/measure.h>
#include <benchmarks/program.h>

using namespace relay;

extern char** environ;

namespace {

namespace fs = std::filesystem;

/// Writes @main with one result for each kernel.
class Writer {
 public:
  /// `body` names its parameters {0}, {1}, …, which have these shapes.
  void kernel(const std::vector<std::string>& shapes, std::string body) {
    for (size_t k = 0; k < shapes.size(); ++k) {
      std::string name = fmt::format("%p{}", params_++);
      parameters_ += fmt::format("{}{}: Tensor[({}), float32]", parameters_.empty() ? "" : ",\n  ",
                                 name, shapes[k]);
      const std::string hole = fmt::format("{{{}}}", k);
      for (size_t at; (at = body.find(hole)) != std::string::npos;) {
        body.replace(at, hole.size(), name);
      }
    }
    lets_ += fmt::format("  let %r{} = {};\n", kernels_, body);
    results_ += fmt::format("{}%r{}", kernels_ == 0 ? "" : ", ", kernels_);
    ++kernels_;
  }
  std::string text() const {
    return fmt::format("def @main({}) {{\n{}  ({})\n}}\n", parameters_, lets_, results_);
  }
  int kernels() const { return kernels_; }

 private:
  int params_ = 0, kernels_ = 0;
  std::string parameters_, lets_, results_;
};

struct Conv {
  int in, out, window, stride, size;
};

void convolutions(Writer& w) {
  // Convolutions of resnet50 with bias, the wide ones with what goes around them, and of
  // mobilenet_v2.
  const Conv resnet[] = {
      {3, 64, 7, 2, 224},   {64, 64, 1, 1, 56},    {64, 64, 3, 1, 56},    {64, 256, 1, 1, 56},
      {256, 64, 1, 1, 56},  {256, 128, 1, 1, 56},  {128, 128, 3, 2, 56},  {128, 512, 1, 1, 28},
      {256, 512, 1, 2, 56}, {512, 128, 1, 1, 28},  {128, 128, 3, 1, 28},  {512, 256, 1, 1, 28},
      {256, 256, 3, 2, 28}, {256, 1024, 1, 1, 14}, {512, 1024, 1, 2, 28}, {1024, 256, 1, 1, 14},
      {256, 256, 3, 1, 14}, {1024, 512, 1, 1, 14}, {512, 512, 3, 2, 14},  {512, 2048, 1, 1, 7}};
  for (const Conv& c : resnet) {
    int out = (c.size + 2 * (c.window / 2) - c.window) / c.stride + 1;
    std::string call = fmt::format(
        "nn.bias_add(nn.conv2d({{0}}, {{1}}, strides=[{0}, {0}], padding=[{1}, {1}, {1}, {1}]), "
        "{{2}})",
        c.stride, c.window / 2);
    std::vector<std::string> shapes{fmt::format("1, {0}, {1}, {1}", c.in, c.size),
                                    fmt::format("{}, {}, {}, {}", c.out, c.in, c.window, c.window),
                                    fmt::format("{},", c.out)};
    if (c.out > c.in && c.window == 1 && c.stride == 1) {
      shapes.push_back(fmt::format("1, {0}, {1}, {1}", c.out, out));
      call = fmt::format("add({}, {{3}})", call);
    }
    w.kernel(shapes, fmt::format("nn.relu({})", call));
  }
  const Conv mobilenet[] = {{3, 32, 3, 2, 224},  {32, 16, 1, 1, 112}, {16, 96, 1, 1, 112},
                            {96, 24, 1, 1, 56},  {24, 144, 1, 1, 56}, {144, 32, 1, 1, 28},
                            {32, 192, 1, 1, 28}, {192, 64, 1, 1, 14}, {64, 384, 1, 1, 14},
                            {384, 96, 1, 1, 14}, {96, 576, 1, 1, 14}, {576, 160, 1, 1, 7},
                            {160, 960, 1, 1, 7}, {960, 320, 1, 1, 7}};
  for (const Conv& c : mobilenet) {
    w.kernel(
        {fmt::format("1, {0}, {1}, {1}", c.in, c.size),
         fmt::format("{}, {}, {}, {}", c.out, c.in, c.window, c.window), fmt::format("{},", c.out)},
        fmt::format("clip(nn.bias_add(nn.conv2d({{0}}, {{1}}, strides=[{0}, {0}], "
                    "padding=[{1}, {1}, {1}, {1}]), {{2}}), a_min=0, a_max=6)",
                    c.stride, c.window / 2));
  }
  const Conv depthwise[] = {{32, 32, 3, 1, 112},  {96, 96, 3, 2, 112},  {144, 144, 3, 1, 56},
                            {144, 144, 3, 2, 56}, {192, 192, 3, 1, 28}, {192, 192, 3, 2, 28},
                            {384, 384, 3, 1, 14}, {960, 960, 3, 1, 7}};
  for (const Conv& c : depthwise) {
    w.kernel({fmt::format("1, {0}, {1}, {1}", c.in, c.size), fmt::format("{}, 1, 3, 3", c.in),
              fmt::format("{},", c.in)},
             fmt::format("clip(nn.bias_add(nn.conv2d({{0}}, {{1}}, strides=[{0}, {0}], "
                         "padding=[1, 1, 1, 1], groups={1}, channels={1}, kernel_size=[3, 3]), "
                         "{{2}}), a_min=0, a_max=6)",
                         c.stride, c.in));
  }
}

void transformers(Writer& w) {
  struct Size {
    int tokens, width, heads;
  };
  for (const Size& s : {Size{128, 768, 12}, {197, 384, 6}, {64, 1024, 16}}) {
    const int t = s.tokens, d = s.width, h = s.heads, of_head = d / h;
    const std::string rows = fmt::format("{}, {}", t, d), wide = fmt::format("{}, {}", t, 4 * d),
                      vector = fmt::format("{},", d);
    w.kernel({rows, fmt::format("{0}, {0}", d), vector},
             "add(nn.dense({0}, {1}, units=None), {2})");
    w.kernel({rows, fmt::format("{}, {}", 4 * d, d), fmt::format("{},", 4 * d)},
             "nn.relu(add(nn.dense({0}, {1}, units=None), {2}))");
    w.kernel({wide, fmt::format("{}, {}", d, 4 * d), vector, rows},
             "add(add(nn.dense({0}, {1}, units=None), {2}), {3})");
    w.kernel({fmt::format("{}, {}, {}", h, t, of_head), fmt::format("{}, {}, {}", h, t, of_head)},
             fmt::format("multiply(nn.batch_matmul({{0}}, {{1}}, transpose_b=True), {}f)",
                         1.0 / of_head));
    w.kernel({fmt::format("{0}, {1}, {1}", h, t), fmt::format("{}, {}, {}", h, t, of_head)},
             "nn.batch_matmul({0}, {1})");
    w.kernel({fmt::format("{0}, {1}, {1}", h, t), fmt::format("1, 1, {}", t)},
             "nn.softmax(add({0}, {1}))");
    w.kernel({rows, vector, vector}, "nn.layer_norm({0}, {1}, {2})");
    w.kernel({rows, rows, vector, vector}, "nn.layer_norm(add({0}, {1}), {2}, {3})");
    w.kernel({wide}, "multiply(multiply({0}, 0.5f), add(1f, erf(multiply({0}, 0.70710678f))))");
    w.kernel({fmt::format("{}, {}, {}", t, h, of_head)}, "transpose({0}, axes=[1, 0, 2])");
    w.kernel({fmt::format("{}, {}", d / 2, t)}, "transpose({0}, axes=[1, 0])");
  }
}

void others(Writer& w) {
  const int sizes[] = {28, 14};
  for (int n : sizes) {
    const std::string image = fmt::format("2, {}, {}, {}", 896 / n, n, n);
    w.kernel({image}, "nn.max_pool2d({0}, pool_size=[3, 3], strides=[2, 2], padding=[1, 1])");
    w.kernel({image}, "nn.avg_pool2d({0}, pool_size=[2, 2], strides=[2, 2])");
    w.kernel({image}, "nn.global_avg_pool2d({0})");
    w.kernel({image}, "nn.upsampling({0}, scale_h=2f, scale_w=2f)");
    w.kernel({image, image}, "concatenate(({0}, {1}), axis=1)");
    w.kernel({image}, "transpose({0}, axes=[0, 2, 3, 1])");
    w.kernel({fmt::format("{}, 1000", n)}, "argmax({0}, axis=[1])");
    w.kernel({fmt::format("{}, 1000", n)}, "nn.log_softmax({0})");
    w.kernel({fmt::format("{}, 300", n)}, "cumsum({0}, axis=1)");
    w.kernel({fmt::format("{}, 300", n), fmt::format("{}, 300", n)},
             "tanh(add(multiply({0}, 1.7f), sigmoid({1})))");
    w.kernel({fmt::format("50, 10, {}", n)}, "sum(exp({0}), axis=[0])");
    w.kernel({fmt::format("50, 10, {}", n)}, "max(abs({0}), axis=[1])");
  }
  w.kernel({"2, 32, 28, 28", "32,", "32,", "32,", "32,"},
           "nn.relu(nn.batch_norm({0}, {1}, {2}, {3}, {4}).0)");
}

std::string program_of_100() {
  Writer w;
  convolutions(w);
  transformers(w);
  others(w);
  return w.text();
}

/// A folder of our own that goes away.
struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "relay-bench-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw Error("cannot make a folder " + name);
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  fs::path path;
};

double run_command(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  double begin = bench::now();
  pid_t child = 0;
  int status = 0;
  if (posix_spawn(&child, arguments[0], nullptr, nullptr, arguments.data(), environ) != 0 ||
      waitpid(child, &status, 0) != child || status != 0) {
    throw Error(command[0] + " " + command[1] + " fails");
  }
  return bench::now() - begin;
}

struct Stages {
  double front = 0, compile = 0;
};

Stages compile(const std::string& text, const fs::path& cache, int threads, size_t* kernels) {
  double begin = bench::now();
  Module module = bench::typed_module(text);
  double typed = bench::now();
  vm::CompileOptions options;
  options.cache = cache;
  options.threads = threads;
  auto executable = vm::compile(module, "main", options);
  Stages stages{typed - begin, bench::now() - typed};
  std::set<uint32_t> blobs;
  for (const vm::Kernel& kernel : executable->kernels) {
    if (kernel.blob != vm::kNone) blobs.insert(kernel.blob);
  }
  *kernels = blobs.size();
  return stages;
}

}  // namespace

int main(int argc, char** argv) try {
  const int turns = std::max(1, std::stoi(bench::option(argc, argv, "--turns", "5")));
  const int threads = std::stoi(bench::option(argc, argv, "--threads", "2"));
  const std::string text = program_of_100();
  if (bench::option(argc, argv, "--print", "0") == "1") {
    std::fputs(text.c_str(), stdout);
    return 0;
  }
  Folder folder;
  const fs::path source = folder.path / "program.rly", model = folder.path / "program.rlx",
                 cache = folder.path / "cache";
  std::ofstream(source) << text;
  setenv("RELAY_CACHE_DIR", cache.c_str(), 1);
  std::vector<double> whole[2], front[2], back[2];
  size_t kernels = 0;
  const fs::path relay = fs::read_symlink("/proc/self/exe").parent_path() / "relay";
  const bool have_command = fs::exists(relay);
  for (int turn = 0; turn < turns; ++turn) {
    fs::remove_all(cache);
    for (int cached : {0, 1}) {
      if (!have_command) break;
      whole[cached].push_back(
          run_command({relay.string(), "compile", source.string(), "-o", model.string()}));
    }
    fs::remove_all(cache);
    for (int cached : {0, 1}) {
      Stages stages = compile(text, codegen::default_cache(), threads, &kernels);
      front[cached].push_back(stages.front);
      back[cached].push_back(stages.compile);
    }
  }
  std::printf("%zu distinct kernels, medians of %d turns\n", kernels, turns);
  std::printf("%-50s %10s %10s\n", "seconds", "cold", "cached");
  auto print = [](const char* what, const std::vector<double>* times) {
    std::printf("%-50s %10.4f %10.4f\n", what, bench::median(times[0]), bench::median(times[1]));
  };
  if (have_command) print("the command `relay compile`, start to end", whole);
  print("in this process: parse, infer, specialise", front);
  print("in this process: lower, generate code", back);
  return 0;
} catch (const Error& error) {
  fmt::print(stderr, "{}", render(error.diagnostics()));
  return 1;
}
