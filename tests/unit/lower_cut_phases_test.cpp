// Sums at quotients and remainders of axes in parts: which are cut, and that parts give what the
// sum does.
#include <gtest/gtest.h>

#include <relay/lower/lower.h>
#include <relay/lower/prepare.h>
#include <relay/runtime/value.h>
#include <relay/tensor_expr/evaluate.h>

#include <tests/unit/cut_testing.h>
#include <tests/unit/kernel_testing.h>
#include <tests/unit/lower_cases.h>

namespace relay::lower::lower_cut_phases_test {
namespace {

std::optional<te::Computation> cut_wherever_possible(const te::Computation& prepared) {
  return cut_phases(prepared, Processor(), CutIf::kPossible);
}

/// Also as machine code with several numbers of workers, whose results have equal bits.
bool expect_same(const te::Computation& computation, const std::vector<NDArray>& inputs,
                 const testing::SymbolValues& value) {
  const std::optional<te::Computation> cut =
      testing::expect_same_when_cut(computation, inputs, value, cut_wherever_possible);
  if (!cut) return false;
  const std::vector<NDArray> wanted = te::evaluate(computation, inputs, value);
  LowerOptions options;
  options.prepared = true;
  for (const codegen::Target& target : relay::testing::targets_here()) {
    SCOPED_TRACE(target.name());
    options.processor = target.processor;
    relay::testing::RunnableGroups group({lower(*cut, "k", options)}, target);
    const std::vector<NDArray> one = group.run(0, inputs, 1, value);
    EXPECT_EQ(testing::difference(one, wanted, testing::tolerance_of_sums), "");
    EXPECT_TRUE(bit_equal(group.run(0, inputs, 3, value)[0], one[0]));
  }
  return true;
}

TEST(CutPhases, RecordedCases) {
  EXPECT_GT(testing::count_recorded_convolutions([](const auto&... of) {
              return testing::expect_same_when_cut(of..., cut_wherever_possible).has_value();
            }),
            10);
}

void expect_cut(const std::string& conv, const Shape& data, const Shape& weights) {
  testing::expect_of_convolution(conv, data, weights, expect_same);
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
  auto tensor = [](const Shape& shape) {
    return TensorType::make(std::vector<Dim>(shape.begin(), shape.end()), kFloat32);
  };
  const te::Computation computation =
      testing::convolution_of(conv, {tensor(data), tensor(weights)});
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
