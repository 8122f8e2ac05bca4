// Functions with loops over numbers and small tensors become one kernel each, which computes what
// the reference evaluator does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>

#include <relay/eval/eval.h>
#include <relay/infer/infer.h>
#include <relay/parse/parse.h>
#include <relay/support/error.h>
#include <relay/vm/compiler/compile.h>
#include <relay/vm/machine/machine.h>
#include <tests/unit/vm_loop_testing.h>

namespace relay::vm::vm_loops_test {
namespace {

using loop_testing::compiled;
using loop_testing::expect_interruption;
using loop_testing::typed;

size_t loops_in(const Executable& executable) {
  size_t count = 0;
  for (const Kernel& kernel : executable.kernels) count += kernel.implementation == "loop";
  return count;
}

// The same, but for the rounding of sums. Of a NaN only that it is one: IEEE 754 leaves its sign
// open, and a compiler of the evaluator may exchange the operands of a product.
bool same(const Value& found, const Value& wanted) {
  if (found.is_tuple()) {
    if (!wanted.is_tuple() || found.fields().size() != wanted.fields().size()) return false;
    for (size_t i = 0; i < found.fields().size(); ++i) {
      if (!same(found.field(i), wanted.field(i))) return false;
    }
    return true;
  }
  const bool floats = found.is_tensor() && wanted.is_tensor() && found.array().dtype().is_float();
  if (!floats) return bit_equal(found, wanted);
  const NDArray a = found.array(), b = wanted.array();
  if (a.dtype() != b.dtype() || !std::ranges::equal(a.shape(), b.shape())) return false;
  for (int64_t i = 0; i < a.size(); ++i) {
    const double x = a.element_as_double(i), y = b.element_as_double(i);
    if (std::isnan(x) ? std::isnan(y) : x == y && std::signbit(x) == std::signbit(y)) continue;
    // Kernels add up in another order than the evaluator.
    constexpr double kRounding = 1e-13;
    if (!(std::abs(x - y) <= kRounding * std::min(std::abs(x), std::abs(y)))) return false;
  }
  return true;
}

struct Outcome {
  Value value;
  std::string error;
};

template <class Run>
Outcome outcome(Run run) {
  try {
    return {run(), ""};
  } catch (const Error& error) {
    std::string text;
    for (const Diagnostic& diagnostic : error.diagnostics()) text += diagnostic.message + "\n";
    return {Value(), text};
  }
}

/// Random loops: whole numbers, numbers, vectors and tuples change from turn to turn; conditions,
/// loops in loops, calls and closures decide how. Only operators whose results are exact.
class RandomLoop {
 public:
  explicit RandomLoop(uint32_t seed) : random_(seed) {}

  std::string text() {
    std::string bodies;
    for (int f = 0; f < 2; ++f) bodies += loop("l" + std::to_string(f), f);
    return bodies +
           "def @main(%k: int32, %x: float64, %s: float32, %v: Tensor[(3), float64]) {\n"
           "  let %a = @l0(%k, %x, %s, %v);\n"
           "  let %b = @l1(%k + 1, %a.0, %s, %a.2);\n"
           "  (%a, %b)\n}\n";
  }

 private:
  uint32_t below(uint32_t n) { return random_() % n; }
  template <size_t N>
  std::string any(const char* const (&choices)[N]) {
    return choices[below(N)];
  }

  std::string whole(int depth) {
    if (depth == 0) return any({"%i", "3", "7", "%n"});
    switch (below(3)) {
      case 0:
        return "(" + whole(depth - 1) + any({" + ", " - ", " * "}) + whole(depth - 1) + ")";
      case 1:
        return "maximum(" + whole(depth - 1) + ", " + whole(depth - 1) + ")";
      default:
        return "mod(" + whole(depth - 1) + ", 5)";
    }
  }
  std::string number(int depth) {
    if (depth == 0)
      return any({"%x", "0.5f64", "-1.25f64", "%x", "cast(%i, dtype=\"float64\")",
                  "cast(%s, dtype=\"float64\")"});
    switch (below(7)) {
      case 0:
        return "(" + number(depth - 1) + any({" + ", " - ", " * ", " / "}) + number(depth - 1) +
               ")";
      case 1:
        return any({"abs(", "negative(", "floor(", "sqrt("}) + number(depth - 1) + ")";
      case 2:
        return "where(" + condition(depth - 1) + ", " + number(depth - 1) + ", " +
               number(depth - 1) + ")";
      case 3:
        return "sum(" + vector(depth - 1) + ")";
      case 4:
        return "max(" + vector(depth - 1) + ")";
      case 5:
        return "take(" + vector(depth - 1) + ", " + whole(depth - 1) +
               any({")", ", mode=\"wrap\")"});
      default:
        return "minimum(" + number(depth - 1) + ", " + number(depth - 1) + ")";
    }
  }
  std::string vector(int depth) {
    if (depth == 0) return any({"%v", "%v", "ones_like(%v)"});
    switch (below(6)) {
      case 0:
        return "(" + vector(depth - 1) + any({" + ", " - ", " * "}) + vector(depth - 1) + ")";
      case 1:
        return "(" + number(depth - 1) + " * " + vector(depth - 1) + ")";
      case 2:
        return "reverse(" + vector(depth - 1) + ", axis=0)";
      case 3:
        return "concatenate((strided_slice(" + vector(depth - 1) +
               ", begin=[1], end=[3]), reshape(" + number(depth - 1) + ", newshape=[1])), axis=0)";
      case 4:
        return "cumsum(" + vector(depth - 1) + ", axis=0)";
      default:
        return "where(" + vector(depth - 1) + " < " + vector(depth - 1) + ", " + vector(depth - 1) +
               ", " + vector(depth - 1) + ")";
    }
  }
  std::string condition(int depth) {
    switch (below(3)) {
      case 0:
        return "(" + number(depth > 0 ? depth - 1 : 0) + any({" < ", " >= "}) + "%x)";
      case 1:
        return "(mod(" + whole(depth > 0 ? depth - 1 : 0) + ", 2) == 0)";
      default:
        return "(%i > 4)";
    }
  }

  std::string loop(const std::string& name, int calls) {
    const std::string state = "%i: int32, %x: float64, %s: float32, %v: Tensor[(3), float64]";
    auto turn = [&] {
      const std::string x = below(4) == 0 ? "%x" : number(3);
      const std::string v = below(4) == 0 ? "%v" : vector(2);
      const std::string s = below(2) == 0 ? "%s" : "(%s * 0.5f + 1f)";
      return "@" + name + "(%i - 1, " + x + ", " + s + ", " + v + ")";
    };
    std::string body = "  if (%i <= 0) { (%x, (%s, %i), %v) } else {\n";
    body += any({"    let %n = mod(%i, 5) + 2;\n", "    let %n = %i * %i;\n"});
    if (below(2) == 0)
      body += "    let %x = if (" + condition(2) + ") { " + number(2) + " } else { " + number(2) +
              " };\n";
    if (below(2) == 0)
      body += "    let %f = fn (%y: float64) -> float64 { %y * %x + " + number(1) +
              " };\n    let %x = %f(%f(" + number(1) + "));\n";
    if (calls > 0 && below(2) == 0)
      body +=
          "    let %inner = @l0(minimum(mod(abs(%n), 4), 3), %x, %s, %v);\n"
          "    let %x = %inner.0;\n    let %v = %inner.2;\n";
    body += "    if (" + condition(2) + ") { " + turn() + " } else { " +
            (below(3) == 0 ? "(%x, (%s, %n), %v)" : turn()) + " }\n  }\n";
    return "def @" + name + "(" + state +
           ") -> (float64, (float32, int32), Tensor[(3), float64]) {\n" + body + "}\n";
  }

  std::mt19937 random_;
};

TEST(VmLoops, RandomLoopsComputeWhatTheEvaluatorDoes) {
  const std::vector<Value> arguments{Value::scalar<int32_t>(9), Value::scalar<double>(0.75),
                                     Value::scalar<float>(-2),
                                     Value(NDArray::from<double>({3}, {1, -0.5, 2}))};
  const char* wanted_programs = std::getenv("RELAY_RANDOM_PROGRAMS");
  const uint32_t count =
      wanted_programs == nullptr ? 40 : static_cast<uint32_t>(std::atoi(wanted_programs));
  size_t loops = 0;
  for (uint32_t seed = 0; seed < count; ++seed) {
    const std::string text = RandomLoop(seed).text();
    const Module module = typed(text);
    const Outcome wanted =
        outcome([&] { return evaluate_function(module, Name("main"), arguments); });
    for (int level : {0, 1, 3, 4}) {
      auto executable = compiled(module, level);
      if (level == 0) {
        EXPECT_EQ(loops_in(*executable), 0U);
      } else {
        loops += loops_in(*executable);
      }
      const Outcome found = outcome([&] { return Machine(executable).run("main", arguments); });
      EXPECT_EQ(found.error, wanted.error) << seed << "\n" << text;
      ASSERT_TRUE(!wanted.error.empty() || same(found.value, wanted.value))
          << "seed " << seed << ", level " << level << "\n"
          << text;
    }
  }
  EXPECT_GE(loops, 3 * count / 2);  // not all: a few are larger than a kernel may be
}

TEST(VmLoops, WholeProgramsOfLoopsAreOneKernel) {
  const Module module = typed(R"(
    def @inner(%i: int32, %x: float64) -> float64 {
      if (%i == 0) { %x } else { @inner(%i - 1, (%x + 2f64 / %x) * 0.5f64) }
    }
    def @outer(%i: int32, %p: (float64, Tensor[(2), float64])) -> (float64, Tensor[(2), float64]) {
      if (%i == 0) { %p } else { @outer(%i - 1, (@inner(3, %p.0 + 1f64), %p.1 * %p.0)) }
    }
    def @main(%p: (float64, Tensor[(2), float64])) { @outer(10, %p) })");
  auto executable = compiled(module);
  EXPECT_EQ(loops_in(*executable), 1U);
  EXPECT_EQ(executable->functions.size(), 1U);
  EXPECT_EQ(executable->kernels.size(), 1U);
  const Value vector(NDArray::from<double>({2}, {1, 2}));
  const std::vector<Value> arguments{Value::tuple({Value::scalar<double>(3), vector})};
  EXPECT_TRUE(bit_equal(Machine(executable).run("main", arguments),
                        evaluate_function(module, Name("main"), arguments)));
}

TEST(VmLoops, LargeTensorsThatStayAreRead) {
  const Module module = typed(R"(
    def @sum_up(%i: int32, %total: float64, %data: Tensor[(1000), float64]) -> float64 {
      if (%i == 1000) { %total } else {
        @sum_up(%i + 1, %total + take(%data, %i), %data)
      }
    }
    def @main(%data: Tensor[(1000), float64]) -> float64 { @sum_up(0, 0f64, %data) })");
  auto executable = compiled(module);
  EXPECT_EQ(loops_in(*executable), 1U);
  NDArray data = NDArray::zeros(Shape{1000}, kFloat64);
  for (int i = 0; i < 1000; ++i) data.data<double>()[i] = 1.0 / (i + 1);
  const std::vector<Value> arguments{Value(data)};
  EXPECT_TRUE(bit_equal(Machine(executable).run("main", arguments),
                        evaluate_function(module, Name("main"), arguments)));
}

TEST(VmLoops, FailuresHaveTheMessageAndEndTheLoop) {
  // The second would go on for ever with what a division by zero gives.
  for (const char* text : {R"(
    def @main(%a: int32, %b: int32) -> int32 {
      if (%a < -100) { %a } else { @main(%a - 1, %b + 10 / %a) }
    })",
                           R"(
    def @main(%a: int32, %b: int32) -> int32 {
      if (%a == -100) { %a } else { @main(maximum(%a - 1, 0), %b + 10 / %a) }
    })"}) {
    const Module module = typed(text);
    auto executable = compiled(module);
    EXPECT_EQ(loops_in(*executable), 1U);
    const std::vector<Value> arguments{Value::scalar<int32_t>(5), Value::scalar<int32_t>(0)};
    const Outcome found = outcome([&] { return Machine(executable).run("main", arguments); });
    const Outcome wanted =
        outcome([&] { return evaluate_function(module, Name("main"), arguments); });
    EXPECT_NE(found.error, "");
    EXPECT_EQ(found.error, wanted.error);
  }
}

TEST(VmLoops, EndlessLoopsAreStopped) {
  const Module module = typed(R"(
    def @inner(%i: int32, %x: float64) -> float64 {
      if (%i == 0) { %x } else { @inner(%i, %x * 0.5f64) }
    }
    def @main(%x: float64) -> float64 { @inner(1, %x) })");
  auto executable = compiled(module);
  ASSERT_EQ(loops_in(*executable), 1U);
  expect_interruption(executable, {Value::scalar<double>(1)});
}

TEST(VmLoops, OtherLoopsStayWithTheMachine) {
  // A large tensor that changes, recursion that is no tail call, a list that grows.
  for (const char* text :
       {"def @f(%i: int32, %x: Tensor[(100), float32]) -> Tensor[(100), float32] {"
        "  if (%i == 0) { %x } else { @f(%i - 1, %x * 0.5f) } }"
        "def @main(%x: Tensor[(100), float32]) { @f(3, %x) }",
        "def @f(%i: int32) -> int32 { if (%i < 2) { %i } else { @f(%i - 1) + @f(%i - 2) } }"
        "def @main() -> int32 { @f(10) }"}) {
    const Module module = typed(text);
    auto executable = compiled(module);
    EXPECT_EQ(loops_in(*executable), 0U);
    std::vector<Value> arguments;
    if (module.function(Name("main"))->params().size() == 1)
      arguments.emplace_back(NDArray::zeros(Shape{100}, kFloat32));
    EXPECT_TRUE(bit_equal(Machine(executable).run("main", arguments),
                          evaluate_function(module, Name("main"), arguments)));
  }
}

}  // namespace
}  // namespace relay::vm::vm_loops_test
