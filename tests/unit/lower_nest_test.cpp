// Operators through compose() and lower(), their nests interpreted, against direct evaluation.
#include <gtest/gtest.h>

#include <cmath>

#include <relay/lower/lower.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/evaluate.h>

#include <tests/unit/lower_cases.h>
#include <tests/unit/nest_interpreter.h>

namespace relay::lower {
namespace {

using relay::testing::interpret;
using relay::testing::LowerCase;

void expect_near(const std::vector<NDArray>& found, const std::vector<NDArray>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t k = 0; k < found.size(); ++k) {
    ASSERT_EQ(testing::array_type(found[k])->str(), testing::array_type(wanted[k])->str());
    DType dtype = wanted[k].dtype();
    double tolerance = dtype.is_float() ? (dtype.bits < 32 ? 1e-2 : 2e-5) : 0;
    for (int64_t i = 0; i < found[k].size(); ++i) {
      double a = found[k].element_as_double(i), b = wanted[k].element_as_double(i);
      bool near = std::isnan(b)   ? std::isnan(a)
                  : std::isinf(b) ? a == b
                                  : std::abs(a - b) <= tolerance * std::max(1.0, std::abs(b));
      ASSERT_TRUE(near) << a << " instead of " << b << " at " << i << " of result " << k;
    }
  }
}

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
        expect_near(interpret(lowered, one.inputs), wanted);
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
      // Equal extents become one symbol.
      std::vector<std::pair<int64_t, TypeVarRef>> symbols;
      std::vector<TypeRef> types;
      for (const NDArray& input : one.inputs) {
        std::vector<Dim> dims;
        for (int64_t extent : input.shape()) {
          if (extent < 2) {
            dims.emplace_back(extent);
            continue;
          }
          auto known = std::find_if(symbols.begin(), symbols.end(),
                                    [&](const auto& s) { return s.first == extent; });
          if (known == symbols.end()) {
            symbols.emplace_back(extent,
                                 TypeVar::make("n" + std::to_string(extent), Kind::kShapeVar));
            known = symbols.end() - 1;
          }
          dims.push_back(Dim::symbol(known->second.get()));
        }
        types.push_back(TensorType::make(dims, input.dtype()));
      }
      auto value = [&](const TypeVar* symbol) {
        for (const auto& [extent, var] : symbols) {
          if (var.get() == symbol) return extent;
        }
        return int64_t{-1};
      };
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
        expect_near(interpret(lowered, one.inputs, value), wanted);
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
}  // namespace relay::lower
