// Loops that make data values and take them apart are kernels with a tape, and compute what the
// reference evaluator does.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>

#include <relay/eval/eval.h>
#include <relay/infer/infer.h>
#include <relay/parse/parse.h>
#include <relay/runtime/memory.h>
#include <relay/support/error.h>
#include <relay/vm/compiler/compile.h>
#include <relay/vm/machine/machine.h>
#include <tests/unit/vm_loop_testing.h>

namespace relay::vm::vm_data_loops_test {
namespace {

using loop_testing::compiled;
using loop_testing::expect_interruption;
using loop_testing::typed;

bool is_one_kernel(const Executable& executable) {
  return executable.functions.size() == 1 && executable.kernels.size() == 1 &&
         executable.kernels[0].implementation == "loop";
}

std::string error_of(Machine& machine, const std::vector<Value>& arguments) {
  try {
    machine.run("main", arguments);
  } catch (const Error& error) {
    return error.diagnostics()[0].message;
  }
  return "";
}

/// Random loops over two lists of records, which share what they hold: turns push, pop, drop, swap
/// and look at them.
class RandomLoop {
 public:
  explicit RandomLoop(uint32_t seed) : random_(seed) {}

  std::string text() {
    return R"(
type Step { nothing, small(float32, bool), pair(float64, (int32, Tensor[(2), float64])), half(float16) }
type Steps { start, step(Step, Steps), mark(int64, Steps), fork(Steps, uint64) }
def @value(%s: Step, %v: Tensor[(2), float64]) -> (float64, Tensor[(2), float64]) {
  match (%s) {
    nothing => { (1f64, %v) },
    small(%x, %flag) => { (if (%flag) { cast(%x, dtype="float64") } else { -2f64 }, %v * 0.5f64) },
    pair(%x, (%k, %w)) => { (%x * cast(%k, dtype="float64"), %w + %v) },
    half(%h) => { (cast(%h, dtype="float64"), %v - 1f64) }
  }
}
def @drain(%s: Steps, %x: float64, %v: Tensor[(2), float64]) -> (float64, Tensor[(2), float64]) {
  match (%s) {
    start => { (%x, %v) },
    step(%top, %rest) => {
      let %found = @value(%top, %v);
      @drain(%rest, %x * 0.5f64 + %found.0, %found.1)
    },
    mark(%n, %rest) => { @drain(%rest, %x - cast(%n, dtype="float64"), %v) },
    fork(%rest, %bits) => { @drain(%rest, %x + cast(mod(%bits, 97u64), dtype="float64"), %v) }
  }
}
)" + loop() +
           R"(def @main(%i: int32, %x: float64, %v: Tensor[(2), float64]) {
  let %first = @go(%i, start, step(small(3f, True), start), %x, %v);
  let %second = @go(%i - 2, mark(7i64, start), start, %first.0, %first.1);
  (%first, %second)
}
)";
  }

 private:
  uint32_t below(uint32_t n) { return random_() % n; }
  template <size_t N>
  std::string any(const char* const (&choices)[N]) {
    return choices[below(N)];
  }

  std::string record() {
    return any({"nothing", "small(cast(%x, dtype=\"float32\"), %i > 4)", "half(0.333f16)",
                "pair(%x, (%i, %v))", "pair(%x * 0.25f64, (3, reverse(%v, axis=0)))",
                "(if (%x > 0f64) { small(0.5f, False) } else { pair(%x, (%i, %v)) })"});
  }
  std::string list(int depth) {
    if (depth == 0) return any({"%a", "%b", "start", "%a"});
    switch (below(5)) {
      case 0:
        return "mark(cast(%i, dtype=\"int64\"), " + list(depth - 1) + ")";
      case 1:
        return "fork(" + list(depth - 1) + ", 18446744073709551557u64)";
      case 2:
        return "(if (mod(%i, 3) == 0) { " + list(depth - 1) + " } else { " + list(depth - 1) +
               " })";
      default:
        return "step(" + record() + ", " + list(depth - 1) + ")";
    }
  }
  std::string turn(const std::string& x) {
    return "@go(%i - 1, " + list(static_cast<int>(below(3))) + ", " +
           list(static_cast<int>(below(3))) + ", " + x + ", " + any({"%v", "%v * 0.5f64", "%v"}) +
           ")";
  }
  std::string clause(const std::string& pattern, const std::string& x) {
    std::string body = turn(x);
    if (below(3) == 0)
      body = "if (%x > 0.5f64) { " + body + " } else { " + turn("%x + 0.25f64") + " }";
    if (below(4) == 0)
      body = "let %d = @drain(" + list(1) + ", %x, %v);\n      let %x = %d.0 * 0.125f64;\n      " +
             body;
    return "    " + pattern + " => { " + body + " }";
  }
  std::string loop() {
    const std::string list = any({"%a", "%b"});
    std::string text =
        R"(def @go(%i: int32, %a: Steps, %b: Steps, %x: float64, %v: Tensor[(2), float64]) -> (float64, Tensor[(2), float64]) {
  if (%i <= 0) { @drain(%a, @drain(%b, %x, %v).0, %v) } else {
  match ()" +
        list + ") {\n";
    // What a clause takes out of the list hides the list's name: it pops.
    text += clause("step(pair(%y, (%k, %v)), " + list + ")", "%y * 0.5f64") + ",\n";
    text += clause("step(small(%f, %flag), " + any({"%rest", "%a", "%b"}) + ")",
                   "(if (%flag) { %x } else { cast(%f, dtype=\"float64\") })") +
            ",\n";
    text += clause("mark(%n, " + list + ")", "%x + cast(%n, dtype=\"float64\")") + ",\n";
    text += clause("fork(" + any({"%a", "%b"}) + ", _)", "%x * 0.75f64") + ",\n";
    text += clause("_", "%x - 1f64") + "\n  } }\n}\n";
    return text;
  }

  std::mt19937 random_;
};

TEST(VmDataLoops, RandomLoopsComputeWhatTheEvaluatorDoes) {
  const std::vector<Value> arguments{Value::scalar<int32_t>(9), Value::scalar<double>(0.75),
                                     Value(NDArray::from<double>({2}, {1, -0.5}))};
  const char* wanted_programs = std::getenv("RELAY_RANDOM_PROGRAMS");
  const uint32_t count =
      wanted_programs == nullptr ? 16 : static_cast<uint32_t>(std::atoi(wanted_programs));
  size_t whole = 0;
  for (uint32_t seed = 0; seed < count; ++seed) {
    const std::string text = RandomLoop(seed).text();
    const Module module = typed(text);
    const Value wanted = evaluate_function(module, Name("main"), arguments);
    for (int level : {0, 1, 3, 4}) {
      auto executable = compiled(module, level);
      whole += is_one_kernel(*executable);
      ASSERT_TRUE(bit_equal(Machine(executable).run("main", arguments), wanted))
          << "seed " << seed << ", level " << level << "\n"
          << text;
    }
  }
  EXPECT_GE(whole, 2 * count);  // not all: a few are larger than a kernel may be
}

constexpr const char* kList = R"(
    type List { empty, more(float64, List) }
    def @build(%n: int32, %x: float64, %l: List) -> List {
      if (%n == 0) { %l } else { @build(%n - 1, %x * 1.0001f64, more(%x, %l)) }
    }
    def @sum(%l: List, %total: float64) -> float64 {
      match (%l) { empty => { %total }, more(%x, %rest) => { @sum(%rest, %total * 0.5f64 + %x) } }
    })";

TEST(VmDataLoops, ListsThatALoopMakesAndAnotherReadsAreOneKernel) {
  const Module module = typed(std::string(kList) + R"(
    def @main(%n: int32, %x: float64) -> float64 { @sum(@build(%n, %x, empty), 0f64) })");
  auto executable = compiled(module);
  EXPECT_TRUE(is_one_kernel(*executable));
  Machine machine(executable);
  for (int32_t n : {0, 1, 2, 1000, 20'000}) {
    const std::vector<Value> arguments{Value::scalar<int32_t>(n), Value::scalar<double>(0.5)};
    EXPECT_TRUE(bit_equal(machine.run("main", arguments),
                          evaluate_function(module, Name("main"), arguments)));
  }
}

TEST(VmDataLoops, TypesWithParametersAreWrittenForTheirArguments) {
  const Module module = typed(R"(
    type Bag<a> { empty, item(a, Bag[a]) }
    def @fill(%n: int32, %l: Bag[(int8, bool)]) -> Bag[(int8, bool)] {
      if (%n == 0) { %l } else { @fill(%n - 1, item((cast(%n, dtype="int8"), %n > 3), %l)) }
    }
    def @count(%l: Bag[(int8, bool)], %k: int32) -> int32 {
      match (%l) {
        empty => { %k },
        item((%n, %flag), %rest) => {
          @count(%rest, 3 * %k + (if (%flag) { cast(%n, dtype="int32") } else { -1 }))
        }
      }
    }
    def @main(%n: int32) -> int32 { @count(@fill(%n, empty), 0) })");
  auto executable = compiled(module);
  EXPECT_TRUE(is_one_kernel(*executable));
  const std::vector<Value> arguments{Value::scalar<int32_t>(10)};
  EXPECT_TRUE(bit_equal(Machine(executable).run("main", arguments),
                        evaluate_function(module, Name("main"), arguments)));
}

TEST(VmDataLoops, ListsThatNothingNamesAnyMoreTakeNoMemory) {
  // 20,000 lists of 1,000 numbers, one after the other; a stack that grows and shrinks as often.
  const Module module = typed(std::string(kList) + R"(
    def @lists(%k: int32, %x: float64) -> float64 {
      if (%k == 0) { %x } else { @lists(%k - 1, @sum(@build(1000, %x, empty), 0f64) * 0.4f64) }
    }
    def @stack(%k: int32, %l: List, %x: float64) -> float64 {
      if (%k == 0) { @sum(%l, %x) } else {
        match (%l) {
          more(%a, more(%b, more(%c, %rest))) => { @stack(%k - 1, %rest, %x * 0.5f64 + %a) },
          _ => { @stack(%k - 1, more(%x, more(%x, %l)), %x) }
        }
      }
    }
    def @main(%k: int32) -> (float64, float64) {
      (@lists(%k, 1f64), @stack(1000 * %k, empty, 1f64))
    })");
  auto executable = compiled(module);
  EXPECT_TRUE(is_one_kernel(*executable));
  Machine machine(executable);
  const std::vector<Value> few{Value::scalar<int32_t>(3)};
  EXPECT_TRUE(bit_equal(machine.run("main", few), evaluate_function(module, Name("main"), few)));
  set_memory_limit(memory_in_use() + (size_t{8} << 20));
  const std::vector<Value> many{Value::scalar<int32_t>(20'000)};
  const std::string error = error_of(machine, many);
  set_memory_limit(0);
  EXPECT_EQ(error, "");
}

TEST(VmDataLoops, AListThatGrowsForEverIsAnError) {
  const Module module = typed(std::string(kList) + R"(
    def @main(%n: int32) -> float64 { @sum(@build(%n, 1f64, empty), 0f64) })");
  auto executable = compiled(module);
  ASSERT_TRUE(is_one_kernel(*executable));
  Machine machine(executable);
  const size_t before = memory_in_use();
  set_memory_limit(before + (size_t{64} << 20));
  const std::string error = error_of(machine, {Value::scalar<int32_t>(-1)});
  set_memory_limit(0);
  EXPECT_EQ(error,
            "the data values that this loop keeps need more memory than the memory limit leaves");
  // All of it is given back but what the thread keeps.
  EXPECT_LE(memory_in_use(), before + (size_t{8} << 20));
  EXPECT_EQ(error_of(machine, {Value::scalar<int32_t>(1000)}), "");
}

TEST(VmDataLoops, LoopsThatAreStoppedReadNothingBehindTheTape) {
  const Module module = typed(std::string(kList) + R"(
    def @spin(%k: int32, %l: List) -> List {
      if (%k == 0) { %l } else { @spin(%k, more(0.5f64, empty)) }
    }
    def @main(%n: int32) -> float64 { @sum(@spin(%n, @build(3, 1f64, empty)), 0f64) })");
  auto executable = compiled(module);
  ASSERT_TRUE(is_one_kernel(*executable));
  expect_interruption(executable, {Value::scalar<int32_t>(1)});
}

TEST(VmDataLoops, OtherDataStaysWithTheMachine) {
  // A list as a result; one of large tensors; one of functions.
  for (const char* text :
       {"type L { e, m(int32, L) }"
        "def @f(%i: int32, %l: L) -> L { if (%i == 0) { %l } else { @f(%i - 1, m(%i, %l)) } }"
        "def @main() -> L { @f(3, e) }",
        "type L { e, m(Tensor[(100), float32], L) }"
        "def @f(%i: int32, %l: L) -> L {"
        "  if (%i == 0) { %l } else { @f(%i - 1, m(zeros(shape=[100], dtype=\"float32\"), %l)) } }"
        "def @g(%l: L, %k: int32) -> int32 { match (%l) { e => { %k }, m(_, %r) => { @g(%r, %k + "
        "1) } } }"
        "def @main() -> int32 { @g(@f(3, e), 0) }",
        "type L { e, m(fn (int32) -> int32, L) }"
        "def @f(%i: int32, %l: L) -> L {"
        "  if (%i == 0) { %l } else { @f(%i - 1, m(fn (%x: int32) -> int32 { %x * %i }, %l)) } }"
        "def @g(%l: L, %k: int32) -> int32 { match (%l) { e => { %k }, m(%h, %r) => { @g(%r, "
        "%h(%k) + 1) } } }"
        "def @main() -> int32 { @g(@f(3, e), 0) }"}) {
    const Module module = typed(text);
    auto executable = compiled(module);
    EXPECT_FALSE(is_one_kernel(*executable)) << text;
    EXPECT_TRUE(bit_equal(Machine(executable).run("main", std::vector<Value>()),
                          evaluate_function(module, Name("main"), {})));
  }
}

}  // namespace
}  // namespace relay::vm::vm_data_loops_test
