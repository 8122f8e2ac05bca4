// Sums at quotients and remainders of axes in parts: which are cut, and that parts give what the
// sum does.
#include <gtest/gtest.h>

#include <relay/graph/compose.h>
#include <relay/lower/lower.h>
#include <relay/lower/prepare.h>
#include <relay/runtime/value.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/evaluate.h>

#include <tests/unit/kernel_testing.h>
#include <tests/unit/lower_cases.h>
#include <tests/unit/nest_interpreter.h>

namespace relay::lower::lower_cut_phases_test {
namespace {

using graph::compose;
using relay::testing::interpret;
using relay::testing::LowerCase;

double tolerance(DType dtype) { return dtype.bits < 32 ? 1e-2 : 2e-5; }

te::Computation computation_of(const std::string& conv, const std::vector<TypeRef>& types) {
  FunctionRef function = relay::testing::main_function(
      "def @main(%x: " + types[0]->str() + ", %w: " + types[1]->str() + ") { nn." + conv + " }",
      types);
  return compose(*function, types).computation;
}

TypeRef tensor(const std::vector<Dim>& dims) { return TensorType::make(dims, kFloat32); }
std::vector<Dim> dims_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

/// Evaluates the computation cut wherever that is possible, as it is, as loops and as machine code
/// with several numbers of workers, whose results have equal bits. False if it cannot be cut.
bool expect_same(const te::Computation& computation, const std::vector<NDArray>& inputs,
                 const testing::SymbolValues& value, bool native = true) {
  std::optional<te::Computation> cut =
      cut_phases(prepare(computation), Processor(), CutIf::kPossible);
  if (!cut) return false;
  SCOPED_TRACE(cut->str());
  cut->verify();
  const std::vector<NDArray> wanted = te::evaluate(computation, inputs, value);
  EXPECT_EQ(testing::difference(te::evaluate(*cut, inputs, value), wanted, tolerance), "");
  LowerOptions options;
  options.prepared = true;
  Lowered lowered = lower(*cut, "k", options);
  EXPECT_EQ(testing::difference(interpret(lowered, inputs, value), wanted, tolerance), "");
  if (!native) return true;
  for (const codegen::Target& target : relay::testing::targets_here()) {
    SCOPED_TRACE(target.name());
    options.processor = target.processor;
    relay::testing::RunnableGroups group({lower(*cut, "k", options)}, target);
    const std::vector<NDArray> one = group.run(0, inputs, 1, value);
    EXPECT_EQ(testing::difference(one, wanted, tolerance), "");
    EXPECT_TRUE(bit_equal(group.run(0, inputs, 3, value)[0], one[0]));
  }
  return true;
}

TEST(CutPhases, RecordedCases) {
  int count = 0;
  for (const std::string& file : relay::testing::lower_case_files()) {
    if (!file.starts_with("conv")) continue;
    for (const LowerCase& one : relay::testing::lower_cases(file)) {
      SCOPED_TRACE(file + ": " + one.name);
      try {
        const te::Computation computation = compose(*one.function, one.types).computation;
        count += expect_same(computation, one.inputs, {}, false) ? 1 : 0;
      } catch (const Error&) {
        continue;
      }
      if (::testing::Test::HasNonfatalFailure()) return;
    }
  }
  EXPECT_GT(count, 10);
}

/// A convolution of data with these extents, also with the number of images open.
void expect_cut(const std::string& conv, const Shape& data, const Shape& weights) {
  SCOPED_TRACE(conv);
  const std::vector<NDArray> inputs{testing::random_array(data, kFloat32, 1),
                                    testing::random_array(weights, kFloat32, 2)};
  std::vector<TypeRef> types{tensor(dims_of(data)), tensor(dims_of(weights))};
  EXPECT_TRUE(expect_same(computation_of(conv, types), inputs, {}));
  TypeVarRef images = TypeVar::make("n", Kind::kShapeVar);
  std::vector<Dim> dims = dims_of(data);
  dims[0] = Dim::symbol(images.get());
  types[0] = tensor(dims);
  EXPECT_TRUE(
      expect_same(computation_of(conv, types), inputs, [&](const TypeVar*) { return data[0]; }));
}

TEST(CutPhases, Kinds) {
  const std::string half = "strides=[2, 2], padding=[1, 1, 1, 1], output_padding=[1, 1]";
  expect_cut("conv2d_transpose(%x, %w, " + half + ")", {2, 5, 8, 9}, {5, 4, 3, 3});
  // Results end within a step.
  expect_cut("conv2d_transpose(%x, %w, strides=[2, 2])", {2, 5, 6, 7}, {5, 4, 3, 3});
  // Remainders that nothing reaches.
  expect_cut("conv2d_transpose(%x, %w, strides=[2, 2], output_padding=[1, 1])", {2, 5, 6, 7},
             {5, 4, 1, 1});
  expect_cut("conv2d_transpose(%x, %w, strides=[2, 1], padding=[1, 1, 1, 1])", {2, 5, 6, 7},
             {5, 4, 3, 3});
  expect_cut("conv2d_transpose(%x, %w, strides=[2, 2], padding=[2, 2, 2, 2])", {2, 3, 6, 7},
             {3, 4, 5, 5});
  expect_cut("conv2d_transpose(%x, %w, groups=2, " + half + ")", {2, 4, 6, 8}, {4, 3, 3, 3});
  expect_cut("conv1d_transpose(%x, %w, strides=[3])", {2, 5, 11}, {5, 4, 4});
  expect_cut("conv3d_transpose(%x, %w, strides=[2, 2, 2])", {1, 3, 4, 3, 5}, {3, 4, 3, 2, 3});
}

std::optional<te::Computation> if_cheaper(const std::string& conv, const Shape& data,
                                          const Shape& weights) {
  const te::Computation computation =
      computation_of(conv, {tensor(dims_of(data)), tensor(dims_of(weights))});
  return cut_phases(prepare(computation), Processor());
}

/// Products of a result's channel and all places of a step.
int64_t products(const te::Computation& computation) {
  int64_t sum = 0;
  for (const te::Stage& stage : computation.stages) {
    const auto& map = std::get<te::Map>(stage.body);
    if (map.values[0]->kind != te::ScalarKind::kFold) continue;
    int64_t taps = 1;
    for (const te::Axis& axis : map.values[0]->axes) taps *= axis.extent.as_int();
    sum += taps;
  }
  return sum;
}

TEST(CutPhases, WhereProductsAreSaved) {
  const std::string half = "strides=[2, 2], padding=[1, 1, 1, 1], output_padding=[1, 1]";
  const auto cut =
      if_cheaper("conv2d_transpose(%x, %w, " + half + ")", {1, 64, 32, 32}, {64, 32, 3, 3});
  ASSERT_TRUE(cut.has_value());
  EXPECT_EQ(cut->stages.size(), 5u);
  EXPECT_EQ(products(*cut), 9 * 64);
  // Each place of a step has as many taps.
  EXPECT_FALSE(if_cheaper("conv2d_transpose(%x, %w, strides=[2, 2], padding=[1, 1, 1, 1])",
                          {1, 64, 32, 32}, {64, 32, 4, 4}));
  EXPECT_FALSE(
      if_cheaper("conv2d_transpose(%x, %w, strides=[2, 2])", {1, 64, 32, 32}, {64, 32, 2, 2}));
  // So little that kernels of their own take longer.
  EXPECT_FALSE(if_cheaper("conv2d_transpose(%x, %w, " + half + ")", {1, 8, 8, 8}, {8, 8, 3, 3}));
}

}  // namespace
}  // namespace relay::lower::lower_cut_phases_test
