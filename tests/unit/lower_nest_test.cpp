// Operators through compose() and lower(), their nests interpreted, against direct evaluation.
#include <gtest/gtest.h>

#include <relay/graph/compose.h>
#include <relay/lower/lower.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/evaluate.h>

#include <tests/unit/lower_cases.h>
#include <tests/unit/nest_interpreter.h>

namespace relay::lower::lower_nest_test {
namespace {

using graph::compose;
using graph::Group;

using relay::testing::interpret;
using relay::testing::LowerCase;

double tolerance(DType dtype) { return dtype.bits < 32 ? 1e-2 : 2e-5; }

std::string texts(const Lowered& lowered) {
  std::string text;
  for (const auto& kernel : lowered.kernels) text += kernel->str();
  return text;
}

TEST(LowerNest, RecordedCases) {
  for (const std::string& file : relay::testing::lower_case_files()) {
    for (const LowerCase& one : relay::testing::lower_cases(file)) {
      Group group;
      try {
        group = compose(*one.function, one.types);
      } catch (const Error&) {
        continue;
      }
      SCOPED_TRACE(file + ": " + one.name + "\n" + group.computation.str());
      std::vector<NDArray> wanted = te::evaluate(group.computation, one.inputs);
      try {
        Lowered lowered = lower(group.computation, "k", {});
        SCOPED_TRACE(texts(lowered));
        EXPECT_EQ(testing::difference(interpret(lowered, one.inputs), wanted, tolerance), "");
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
      }
      if (::testing::Test::HasFatalFailure() || ::testing::Test::HasNonfatalFailure()) return;
    }
  }
}

// The same kernels for several extents: every extent of the inputs that the relation leaves open.
TEST(LowerNest, SymbolicExtents) {
  int count = 0;
  for (const std::string& file : relay::testing::lower_case_files()) {
    for (const LowerCase& one : relay::testing::lower_cases(file)) {
      testing::Symbols symbols;
      std::vector<TypeRef> types = testing::symbolic_types(one.inputs, symbols);
      auto value = [&](const TypeVar* symbol) { return testing::value_of(symbols, symbol); };
      Group group;
      try {
        group = compose(*one.function, types);
      } catch (const Error&) {
        continue;  // attributes that speak of extents
      }
      SCOPED_TRACE(file + ": " + one.name + "\n" + group.computation.str());
      std::vector<NDArray> wanted;
      try {
        wanted = te::evaluate(group.computation, one.inputs, value);
      } catch (const Error&) {
        continue;  // a term that the attributes contradict
      }
      try {
        Lowered lowered = lower(group.computation, "k", {});
        SCOPED_TRACE(texts(lowered));
        EXPECT_EQ(testing::difference(interpret(lowered, one.inputs, value), wanted, tolerance),
                  "");
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
      }
      ++count;
      if (::testing::Test::HasFatalFailure() || ::testing::Test::HasNonfatalFailure()) return;
    }
  }
  EXPECT_GT(count, 300);
}

}  // namespace
}  // namespace relay::lower::lower_nest_test
