#include <tests/unit/cut_testing.h>

#include <gtest/gtest.h>

#include <relay/graph/compose.h>
#include <relay/lower/lower.h>
#include <relay/lower/prepare.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/evaluate.h>

#include <tests/unit/lower_cases.h>
#include <tests/unit/nest_interpreter.h>

namespace relay::testing {

double tolerance_of_sums(DType dtype) { return dtype.bits < 32 ? 1e-2 : 2e-5; }

std::optional<te::Computation> expect_same_when_cut(const te::Computation& computation,
                                                    const std::vector<NDArray>& inputs,
                                                    const SymbolValues& value,
                                                    const CutSums& cut_sums) {
  std::optional<te::Computation> cut = cut_sums(lower::prepare(computation));
  if (!cut) return cut;
  SCOPED_TRACE(cut->str());
  cut->verify();
  const std::vector<NDArray> wanted = te::evaluate(computation, inputs, value);
  EXPECT_EQ(difference(te::evaluate(*cut, inputs, value), wanted, tolerance_of_sums), "");
  lower::LowerOptions options;
  options.prepared = true;
  const lower::Lowered lowered = lower::lower(*cut, "k", options);
  EXPECT_EQ(difference(interpret(lowered, inputs, value), wanted, tolerance_of_sums), "");
  return cut;
}

int count_recorded_convolutions(const CheckSums& check) {
  int count = 0;
  for (const std::string& file : lower_case_files()) {
    if (!file.starts_with("conv")) continue;
    for (const LowerCase& one : lower_cases(file)) {
      SCOPED_TRACE(file + ": " + one.name);
      try {
        const te::Computation computation = graph::compose(*one.function, one.types).computation;
        count += check(computation, one.inputs, {}) ? 1 : 0;
      } catch (const Error&) {
        continue;
      }
      if (::testing::Test::HasNonfatalFailure()) return count;
    }
  }
  return count;
}

te::Computation convolution_of(const std::string& conv, const std::vector<TypeRef>& types) {
  const FunctionRef function = main_function(
      "def @main(%x: " + types[0]->str() + ", %w: " + types[1]->str() + ") { nn." + conv + " }",
      types);
  return graph::compose(*function, types).computation;
}

void expect_of_convolution(const std::string& conv, const Shape& data, const Shape& weights,
                           const CheckSums& check) {
  SCOPED_TRACE(conv);
  const std::vector<NDArray> inputs{random_array(data, kFloat32, 1),
                                    random_array(weights, kFloat32, 2)};
  std::vector<TypeRef> types{array_type(inputs[0]), array_type(inputs[1])};
  EXPECT_TRUE(check(convolution_of(conv, types), inputs, {}));
  const TypeVarRef images = TypeVar::make("n", Kind::kShapeVar);
  std::vector<Dim> dims(data.begin(), data.end());
  dims[0] = Dim::symbol(images.get());
  types[0] = TensorType::make(dims, kFloat32);
  EXPECT_TRUE(check(convolution_of(conv, types), inputs, [&](const TypeVar*) { return data[0]; }));
}

}  // namespace relay::testing
