// Tables of rules: a walk over a program with 1, 20 and 200 patterns, none of which fits, at 10⁴,
// 10⁵ and 10⁶ calls; and SimplifyExpr on programs in which its rules apply everywhere.
//   bench_patterns [--most N]
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/core.h>

#include <benchmarks/measure.h>
#include <relay/infer/infer.h>
#include <relay/op/op.h>
#include <relay/parse/parse.h>
#include <relay/pattern/driver.h>
#include <relay/transform/literals.h>
#include <relay/transform/pass.h>

using namespace relay;

namespace {

const std::vector<std::string> kUnary{"exp", "tanh", "sigmoid", "negative", "nn.relu"};
const std::vector<std::string> kBinary{"add", "multiply", "subtract", "maximum"};

Module program(int64_t calls) {
  std::string text =
      "def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) {\n  %0 = exp(%x);\n";
  for (int64_t i = 1; i < calls; ++i) {
    auto k = static_cast<size_t>(i * 7919 % 9973);
    if (k % 3 == 0) {
      text += fmt::format("  %{} = {}(%{});\n", i, kUnary[k % kUnary.size()], i - 1);
    } else {
      text += fmt::format("  %{} = {}(%{}, %{});\n", i, kBinary[k % kBinary.size()], i - 1,
                          k % 2 == 0 ? "x" : "y");
    }
  }
  // The last call has the operator that all patterns end in, so that none is left out at once.
  text += fmt::format("  erf(%{})\n}}\n", calls - 1);
  Module module = parse_module("bench", text);
  infer_types_or_throw(module);
  return resolve_literals(module);
}

// Patterns over the program's operators, four calls deep, which all end in an operator whose result
// the program does not use.
pattern::RuleSet table(size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    const std::string &outer = kBinary[i % kBinary.size()], &middle = kUnary[i / 4 % kUnary.size()],
                      &inner = kBinary[i / 20 % kBinary.size()],
                      &last = kUnary[i / 80 % kUnary.size()];
    text += fmt::format("rule r{}: {}({}({}({}(erf(%x)), _)), %y) => %y;\n", i, outer, middle,
                        inner, last);
  }
  return pattern::RuleSet(parse_rules("table", text));
}

void tables(int64_t calls) {
  Module module = program(calls);
  FunctionRef main(module.function("main"));
  std::vector<double> times;
  for (size_t count : {1, 20, 200}) {
    pattern::RuleSet rules = table(count);
    std::vector<double> runs;
    for (int run = 0; run < 5; ++run)
      runs.push_back(bench::timed([&] { pattern::apply_rules(main, rules, {}); }, 0.1, true));
    times.push_back(bench::median(runs));
  }
  fmt::print(
      "{:>8} calls: 1 rule {:8.2f} ms, 20 rules {:8.2f} ms, 200 rules {:8.2f} ms, 200 over 1: "
      "{:.2f}\n",
      calls, 1e3 * times[0], 1e3 * times[1], 1e3 * times[2], times[2] / times[0]);
}

// Sums of zero, products by one and double negation, everywhere.
void simplify(int64_t calls) {
  std::string text = "def @main(%x: Tensor[(2), int32]) {\n  %0 = add(%x, 0);\n";
  const char* forms[] = {"add(%{}, 0)", "multiply(1, %{})", "add(%{}, 3)", "add(7, %{})"};
  for (int64_t i = 1; i < calls; ++i)
    text += fmt::format("  %{} = {};\n", i, fmt::format(fmt::runtime(forms[i % 4]), i - 1));
  Module module = parse_module("bench", text + fmt::format("  %{}\n}}\n", calls - 1));
  infer_types_or_throw(module);
  module = resolve_literals(module);
  PassRef pass = create_pass("SimplifyExpr");
  std::vector<double> runs;
  for (int run = 0; run < 3; ++run)
    runs.push_back(bench::timed([&] { (*pass)(module); }, 0.1, true));
  fmt::print("{:>8} calls: SimplifyExpr {:8.2f} ms, {:.0f} ns a call\n", calls,
             1e3 * bench::median(runs), 1e9 * bench::median(runs) / static_cast<double>(calls));
}

}  // namespace

int main(int argc, char** argv) {
  int64_t most = 1000000;
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], "--most") == 0) most = std::atoll(argv[i + 1]);
  }
  for (int64_t calls = 10000; calls <= most; calls *= 10) tables(calls);
  for (int64_t calls = 10000; calls <= most; calls *= 10) simplify(calls);
  return 0;
}
