// How workers wait for one another: graphs of many kernels and small ones, alone, beside processes
// that want the cores, with callers on several threads. Microseconds of one run.
//   bench_waiting [--threads N] [--seconds S] [--only TEXT] [--burn SHARE] [--burners N]
//                 [--callers N] [--gap US]
// --burn: the share of every 100 ms that each of --burners processes works; --gap: a caller rests
// between two runs.
#include <sys/prctl.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdio>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <benchmarks/measure.h>
#include <benchmarks/program.h>

using namespace relay;

namespace {

// Products and softmaxes, one after the other.
std::string products_in_a_row(int pairs) {
  std::string text =
      "def @main(%x: Tensor[(96, 256), float32], %w: Tensor[(256, 256), float32]) {\n";
  std::string last = "%x";
  for (int i = 0; i < pairs; ++i) {
    std::string next = "%y" + std::to_string(i);
    text += "  let " + next + " = nn.softmax(nn.dense(" + last + ", %w));\n";
    last = next;
  }
  return text + "  " + last + "\n}\n";
}

struct Case {
  std::string name;
  std::string text;
  std::vector<Shape> inputs;
};

std::vector<Case> cases() {
  return {
      {"120 kernels in a row", products_in_a_row(60), {{96, 256}, {256, 256}}},
      {"4 kernels in a row", products_in_a_row(2), {{96, 256}, {256, 256}}},
      {"one kernel over 262,144 floats",
       "def @main(%x: Tensor[(512, 512), float32]) { tanh(%x) }",
       {{512, 512}}},
      {"one kernel over 32,768 floats",
       "def @main(%x: Tensor[(128, 256), float32]) { tanh(%x) }",
       {{128, 256}}},
      {"one kernel over 4 floats", "def @main(%x: Tensor[(4), float32]) { %x * 3f + 1f }", {{4}}},
      {"sort of 64 rows of 4096",
       "def @main(%x: Tensor[(64, 4096), float32]) { sort(%x) }",
       {{64, 4096}}},
  };
}

struct Options {
  int threads;
  double seconds;
  int callers;
  double gap;
};

// Times of runs in microseconds, of all callers.
std::vector<double> measure(const Case& each, const Options& options) {
  auto executable = bench::compile_text(each.text);
  std::vector<std::vector<double>> times(static_cast<size_t>(options.callers));
  auto call = [&](size_t caller) {
    vm::Machine machine(executable, {.threads = options.threads});
    std::vector<Value> arguments;
    for (const Shape& shape : each.inputs) arguments.emplace_back(bench::random_floats(shape));
    const vm::Entry& entry = machine.entry("main");
    for (int i = 0; i < 3; ++i) machine.run(entry, arguments);
    const double end = bench::now() + options.seconds;
    double begin = bench::now();
    while (begin < end) {
      machine.run(entry, arguments);
      const double after = bench::now();
      times[caller].push_back((after - begin) * 1e6);
      if (options.gap > 0) {
        std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(options.gap));
      }
      begin = options.gap > 0 ? bench::now() : after;
    }
  };
  std::vector<std::thread> others;
  for (int caller = 1; caller < options.callers; ++caller) {
    others.emplace_back(call, static_cast<size_t>(caller));
  }
  call(0);
  for (std::thread& other : others) other.join();
  std::vector<double> all;
  for (const std::vector<double>& each_time : times) {
    all.insert(all.end(), each_time.begin(), each_time.end());
  }
  return all;
}

// A process that works this share of every 100 ms, and ends with its parent.
pid_t start_burner(double share) {
  const pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  while (true) {
    const double begin = bench::now();
    while (bench::now() - begin < 0.1 * share) {
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(0.1 * (1 - share)));
  }
}

}  // namespace

int main(int argc, char** argv) {
  auto number = [&](const char* name, const char* otherwise) {
    return std::stod(bench::option(argc, argv, name, otherwise));
  };
  Options options;
  options.threads = static_cast<int>(number("--threads", "2"));
  options.seconds = number("--seconds", "1");
  options.callers = std::max(1, static_cast<int>(number("--callers", "1")));
  options.gap = number("--gap", "0");
  const std::string only = bench::option(argc, argv, "--only", "");
  const double share = number("--burn", "0");
  std::vector<pid_t> burners;
  for (int i = 0; share > 0 && i < static_cast<int>(number("--burners", "1")); ++i) {
    burners.push_back(start_burner(share));
  }
  std::printf("%-34s %10s %10s %10s %10s\n", "microseconds a run", "least", "median", "mean",
              "p99");
  for (const Case& each : cases()) {
    if (each.name.find(only) == std::string::npos) continue;
    std::vector<double> times = measure(each, options);
    std::sort(times.begin(), times.end());
    const double mean =
        std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
    std::printf("%-34s %10.2f %10.2f %10.2f %10.2f\n", each.name.c_str(), times.front(),
                times[times.size() / 2], mean, times[times.size() * 99 / 100]);
    std::fflush(stdout);
  }
  for (pid_t burner : burners) {
    kill(burner, SIGKILL);
    waitpid(burner, nullptr, 0);
  }
  return 0;
}
