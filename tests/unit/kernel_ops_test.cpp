// Every operator's recorded cases as native code, against direct evaluation: compose, lower,
// compile, run with one worker and with two, with extents known at compile time and at run time; on
// the best instruction set (`relay_conformance ops --target` has the others).
#include <gtest/gtest.h>

#include <relay/graph/compose.h>
#include <relay/lower/lower.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/evaluate.h>

#include <tests/unit/kernel_testing.h>
#include <tests/unit/lower_cases.h>

namespace relay::testing::kernel_ops_test {
namespace {

struct Case {
  std::string name;
  std::vector<NDArray> inputs, wanted;
  Symbols symbols;
};

double tolerance(DType dtype) {
  return !dtype.is_float()    ? 0
         : dtype == kBFloat16 ? 2e-2
         : dtype == kFloat16  ? 4e-3
         : dtype == kFloat32  ? 2e-5
                              : 1e-12;
}

/// All cases of a file that can be composed, lowered.
void prepare(const std::string& file, bool symbolic, std::vector<Case>& cases,
             std::vector<lower::Lowered>& lowered) {
  for (LowerCase& one : lower_cases(file)) {
    Case c{one.name, one.inputs, {}, {}};
    std::vector<TypeRef> types = symbolic ? symbolic_types(one.inputs, c.symbols) : one.types;
    if (symbolic && c.symbols.empty()) continue;
    auto value = [&](const TypeVar* symbol) { return value_of(c.symbols, symbol); };
    graph::Group group;
    try {
      group = graph::compose(*one.function, types);
      c.wanted = te::evaluate(group.computation, one.inputs, value);
    } catch (const Error&) {
      continue;  // attributes that speak of extents, or contradict them
    }
    try {
      lowered.push_back(lower::lower(group.computation, "test", {}));
      cases.push_back(std::move(c));
    } catch (const std::exception& error) {
      ADD_FAILURE() << one.name << ": " << error.what();
    }
  }
}

class KernelOps : public ::testing::TestWithParam<std::string> {};

TEST_P(KernelOps, AsDirectEvaluation) {
  for (bool symbolic : {false, true}) {
    std::vector<Case> cases;
    std::vector<lower::Lowered> lowered;
    prepare(GetParam(), symbolic, cases, lowered);
    const codegen::Target target = codegen::Target::host();
    RunnableGroups groups(lowered, target);
    for (size_t k = 0; k < cases.size(); ++k) {
      const Case& c = cases[k];
      std::string what = c.name + (symbolic ? " with symbols" : "");
      for (const auto& kernel : lowered[k].kernels) what += "\n" + kernel->str();
      auto value = [&](const TypeVar* symbol) { return value_of(c.symbols, symbol); };
      try {
        std::vector<NDArray> one = groups.run(k, c.inputs, 1, value);
        std::vector<NDArray> two = groups.run(k, c.inputs, 2, value);
        ASSERT_EQ(difference(one, c.wanted, tolerance), "") << what;
        for (size_t i = 0; i < one.size(); ++i)
          expect_close(two[i], one[i], 0, "two workers: " + what);
      } catch (const Error& error) {
        ADD_FAILURE() << error.what() << ": " << what;
      }
      if (HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, KernelOps, ::testing::ValuesIn(lower_case_files()),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name) {
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace relay::testing::kernel_ops_test
