// Random expressions: the direct evaluator against the plain interpreter, results and failures.
#include <gtest/gtest.h>

#include <relay/tensor_expr/evaluate.h>

#include <tests/unit/te_naive.h>
#include <tests/unit/te_random.h>

namespace relay::te::te_random_test {
namespace {

// With `uniform`, every input is its first element all over: what does not depend on the point is
// computed once.
void run(uint32_t seed, bool failing, bool uniform = false) {
  RandomComputation random(seed, failing);
  Computation c = random.run();
  std::vector<NDArray> inputs = random.inputs();
  for (NDArray& input : inputs) {
    if (uniform && input.size() > 0) input = NDArray::uniform(input.view({}, {}), input.shape());
  }
  const std::vector<Dim>& dims = c.stages[0].outputs[0].dims;
  DType dtype = c.stages[0].outputs[0].dtype;
  NDArray got;
  std::string failure, expected_failure;
  try {
    got = evaluate(c, inputs)[0];
  } catch (const RuntimeError& error) {
    failure = error.what();
  }
  const Map& map = std::get<Map>(c.stages[0].body);
  naive::Interpreter interpreter{c, inputs, {}, {}};
  int64_t total = 1;
  for (Dim dim : dims) total *= dim.as_int();
  for (int64_t point = 0; point < total; ++point) {
    int64_t rest = point;
    for (size_t a = dims.size(); a-- > 0;) {
      interpreter.axes[map.axes[a].id] = rest % dims[a].as_int();
      rest /= dims[a].as_int();
    }
    naive::Number want;
    try {
      want = interpreter.value(*map.values[0]);
    } catch (const RuntimeError& error) {
      expected_failure = error.what();
      break;
    } catch (const naive::Interpreter::TooLong&) {
      return;
    }
    if (!failure.empty()) continue;
    if (dtype.is_float()) {
      double x = got.element_as_double(point);
      ASSERT_TRUE(x == want.f || (std::isnan(x) && std::isnan(want.f)))
          << x << " instead of " << want.f << " at " << point << "\n"
          << c.str();
    } else {
      ASSERT_EQ(got.element_as_int64(point), want.i) << " at " << point << "\n" << c.str();
    }
  }
  // Which of several failures comes first is not specified, only whether there is one.
  ASSERT_EQ(failure.empty(), expected_failure.empty())
      << failure << " / " << expected_failure << "\n"
      << c.str();
}

TEST(TeRandom, AgreesWithThePlainInterpreter) {
  for (uint32_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE(seed);
    run(seed, false);
    if (HasFatalFailure()) return;
  }
}

TEST(TeRandom, FailsExactlyWhereThePlainInterpreterDoes) {
  for (uint32_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE(seed);
    run(seed + 100000, true);
    if (HasFatalFailure()) return;
  }
}

TEST(TeRandom, UniformInputs) {
  for (uint32_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE(seed);
    run(seed, seed % 2 != 0, true);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace relay::te::te_random_test
