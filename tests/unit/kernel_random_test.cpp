// Random expressions as native code against direct evaluation: results, and whether it fails.
#include <cstdlib>

#include <gtest/gtest.h>

#include <relay/lower/lower.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/evaluate.h>

#include <tests/unit/kernel_testing.h>
#include <tests/unit/te_random.h>

namespace relay::testing::kernel_random_test {
namespace {

struct Case {
  uint32_t seed = 0;
  te::Computation computation;
  std::vector<NDArray> inputs;
  std::vector<NDArray> wanted;  // none: it fails
};

void run(uint32_t first, uint32_t count, bool failing, const codegen::Target& target) {
  std::vector<Case> cases;
  std::vector<lower::Lowered> lowered;
  for (uint32_t seed = first; seed < first + count; ++seed) {
    te::RandomComputation random(seed, failing);
    Case c;
    c.seed = seed;
    c.computation = random.run();
    for (const NDArray& input : random.inputs()) c.inputs.push_back(input.contiguous());
    try {
      c.wanted = te::evaluate(c.computation, c.inputs);
    } catch (const RuntimeError&) {
    }
    try {
      lowered.push_back(lower::lower(c.computation, "random", {}));
    } catch (const Error&) {
      continue;  // beyond a limit
    } catch (const std::exception& error) {
      FAIL() << "seed " << seed << ": " << error.what() << "\n" << c.computation.str();
    }
    cases.push_back(std::move(c));
  }
  EXPECT_GT(cases.size(), count * 9 / 10);
  RunnableGroups groups(lowered, target);
  for (size_t k = 0; k < cases.size(); ++k) {
    const Case& c = cases[k];
    std::string what = "seed " + std::to_string(c.seed) + " on " + std::string(target.name()) +
                       "\n" + c.computation.str();
    for (const auto& kernel : lowered[k].kernels) what += "\n" + kernel->str();
    std::vector<NDArray> got;
    try {
      got = groups.run(k, c.inputs, 1 + static_cast<int>(c.seed % 2));
    } catch (const RuntimeError& error) {
      ASSERT_TRUE(c.wanted.empty()) << error.what() << ": " << what;
      continue;
    }
    ASSERT_FALSE(c.wanted.empty()) << "does not fail: " << what;
    // Sums are formed in another order, and products may join sums without rounding between.
    DType dtype = c.wanted[0].dtype();
    double tolerance = dtype.is_float() && dtype.bits == 16 ? 16 : 64;
    expect_close(got[0], c.wanted[0], tolerance, what);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

/// More by the environment variable RELAY_RANDOM_CASES.
uint32_t case_count() {
  const char* text = std::getenv("RELAY_RANDOM_CASES");
  return text == nullptr ? 100 : static_cast<uint32_t>(std::strtoul(text, nullptr, 10));
}

TEST(KernelRandom, AgreesWithDirectEvaluation) {
  for (const codegen::Target& target : targets_here()) {
    run(0, case_count(), false, target);
    if (HasFatalFailure()) return;
  }
}

TEST(KernelRandom, FailsExactlyWhereDirectEvaluationDoes) {
  for (const codegen::Target& target : targets_here()) {
    run(100000, case_count(), true, target);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace relay::testing::kernel_random_test
