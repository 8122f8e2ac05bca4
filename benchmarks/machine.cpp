// Costs of the machine apart from kernels: calls from C++, loops, data types, deep recursion. One
// thread; medians of several runs.
//   bench_machine [--turns N]
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <benchmarks/measure.h>
#include <benchmarks/program.h>

using namespace relay;

namespace {

using Arguments = std::vector<Value>;

struct Program {
  Program(const std::string& text, Arguments given)
      : arguments(std::move(given)), machine(bench::compile_text(text), {.threads = 1}) {}
  Value run() { return machine.run(entry, arguments); }

  Arguments arguments;
  vm::Machine machine;
  const vm::Entry& entry = machine.entry("main");
};

void print(const std::string& what, double figure, const char* unit) {
  std::printf("%-62s %10.4g %s\n", what.c_str(), figure, unit);
  std::fflush(stdout);
}

double seconds(int turns, double least, const std::function<void()>& action) {
  std::vector<double> times;
  for (int turn = 0; turn < turns; ++turn) times.push_back(bench::timed(action, least, true));
  return bench::median(times);
}

/// Memory of this process, from the system; 0 where it does not say.
double status_megabytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field + ":")) return std::stod(line.substr(field.size() + 1)) / 1024;
  }
  return 0;
}

/// By how much the memory in use rises during `action` at most.
double peak_megabytes(const std::function<void()>& action) {
  malloc_trim(0);  // memory that is kept for reuse would hide some
  std::ofstream("/proc/self/clear_refs") << "5";
  double before = status_megabytes("VmRSS");
  action();
  return status_megabytes("VmHWM") - before;
}

void calls(int turns) {
  Program number("def @main(%x: int32) { %x * 3 + 1 }", {Value::scalar<int32_t>(7)});
  double time = seconds(turns, 0.05, [&] { number.run(); });
  print("call of a function of a number from C++", time * 1e9, "ns");
  Program tensor("def @main(%x: Tensor[(4), float32]) { %x * 3f + 1f }",
                 {Value(bench::random_floats({4}))});
  time = seconds(turns, 0.05, [&] { tensor.run(); });
  print("call of a function of a tensor of 4 floats (one kernel)", time * 1e9, "ns");
}

void loops(int turns) {
  constexpr int32_t kSteps = 10'000'000;
  Program loop(
      "def @main(%i: int32, %sum: int32) -> int32 {"
      " if (%i == 0) { %sum } else { @main(%i - 1, %sum + %i) } }",
      {Value::scalar<int32_t>(kSteps), Value::scalar<int32_t>(0)});
  double time = seconds(turns, 0, [&] { loop.run(); });
  print("tail loop of 10,000,000 steps of two numbers", time, "s");
}

void lists(int turns) {
  constexpr int kLength = 100'000;
  // One module, so that both programs speak of the same List.
  const std::string library = R"(
    type List[A] { Nil, Cons(A, List[A]) }
    def @map[A, B](%f: fn (A) -> B, %l: List[A]) -> List[B] {
      match (%l) { Nil => Nil, Cons(%h, %t) => Cons(%f(%h), @map(%f, %t)) }
    }
    def @count(%n: int32, %l: List[int32]) -> List[int32] {
      if (%n == 0) { %l } else { @count(%n - 1, Cons(%n, %l)) }
    }
    def @sum(%l: List[int32], %s: int32) -> int32 {
      match (%l) { Nil => %s, Cons(%h, %t) => @sum(%t, %s + %h) }
    })";
  Program make(library + "def @main(%n: int32) { @count(%n, Nil) }",
               {Value::scalar<int32_t>(kLength)});
  Program map(library + "def @main(%l: List[int32]) { @map(fn (%x: int32) { %x * 2 + 1 }, %l) }",
              {make.run()});
  // The freeing of the result is part of it.
  double time = seconds(turns, 0.02, [&] { map.run(); });
  print("@map of a function of a number over a list of 100,000, each", time * 1e9 / kLength, "ns");
  Program sum(library + "def @main(%l: List[int32]) { @sum(%l, 0) }", {map.run()});
  time = seconds(turns, 0.02, [&] { sum.run(); });
  print("sum of that list, each", time * 1e9 / kLength, "ns");
}

void recursion(int turns) {
  Program deep(
      "def @main(%n: int64) -> int64 { if (%n == 0i64) { 0i64 } else { %n + @main(%n - 1i64) } }",
      {Value::scalar<int64_t>(1'000'000)});
  double peak = peak_megabytes([&] { deep.run(); });
  double time = seconds(turns, 0, [&] { deep.run(); });
  print("recursion 1,000,000 deep", time, "s");
  print("  its peak memory", peak, "MiB");
}

}  // namespace

int main(int argc, char** argv) {
  const int turns = std::max(1, std::stoi(bench::option(argc, argv, "--turns", "9")));
  recursion(turns);
  calls(turns);
  loops(turns);
  lists(turns);
  return 0;
}
