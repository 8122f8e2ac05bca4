// Windows in parts: which are cut, and that parts give what the sum does.
#include <gtest/gtest.h>

#include <relay/lower/lower.h>
#include <relay/lower/prepare.h>
#include <relay/lower/tap_ranges.h>

#include <tests/unit/cut_testing.h>

namespace relay::lower::lower_cut_windows_test {
namespace {

std::string text(const std::vector<TapRange>& ranges) {
  std::string text;
  for (const TapRange& range : ranges) {
    text += (text.empty() ? "" : "; ") + std::to_string(range.tap) + "+" +
            std::to_string(range.taps) + ": " + std::to_string(range.begin) + "+" +
            std::to_string(range.length);
  }
  return text;
}

TEST(CutWindows, RangesOfTaps) {
  // Each tap for itself: the outer ones read four of sixteen.
  EXPECT_EQ(text(tap_ranges({16, 3, 1, 12, -12, 16})), "0+1: 12+4; 1+1: 0+16; 2+1: 0+4");
  // Taps that read nothing are gone.
  EXPECT_EQ(text(tap_ranges({16, 3, 1, 24, -24, 16})), "1+1: 0+16");
  EXPECT_EQ(text(tap_ranges({4, 3, 1, 20, 16, 16})), "");
  // The borders of usual windows are not worth a range.
  EXPECT_EQ(text(tap_ranges({56, 3, 1, 1, -1, 56})), "0+3: 0+56");
  // Inner taps stay together.
  EXPECT_EQ(text(tap_ranges({7, 9, 1, 1, -4, 7})), "0+3: 2+5; 3+3: 0+7; 6+3: 0+5");
  // Steps: result y reads 3 y + 7 t - 7.
  EXPECT_EQ(text(tap_ranges({5, 3, 3, 7, -7, 14})), "0+1: 3+2; 1+1: 0+5; 2+1: 0+3");
  // A window that goes backwards.
  EXPECT_EQ(text(tap_ranges({16, 3, 1, -12, 12, 16})), "0+1: 0+4; 1+1: 0+16; 2+1: 12+4");
  // More taps than are looked at.
  EXPECT_EQ(text(tap_ranges({16, 65, 1, 1, -32, 16})), "");
}

TEST(CutWindows, GroupsOfRanges) {
  std::vector<TapGroup> groups = tap_groups(tap_ranges({16, 3, 1, 12, -12, 16}), 16);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(text(groups[0].members), "1+1: 0+16");
  EXPECT_EQ(text(groups[1].members), "0+1: 12+4; 2+1: 0+4");
  // None is about all results.
  groups = tap_groups(tap_ranges({16, 2, 1, 12, -6, 16}), 16);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(text(groups[0].members), "0+1: 6+10; 1+1: 0+10");
}

bool expect_same(const te::Computation& computation, const std::vector<NDArray>& inputs,
                 const testing::SymbolValues& value) {
  return testing::expect_same_when_cut(computation, inputs, value,
                                       [](const te::Computation& prepared) {
                                         return cut_windows(prepared, Processor(),
                                                            CutIf::kPossible);
                                       })
      .has_value();
}

TEST(CutWindows, RecordedCases) {
  EXPECT_GT(testing::count_recorded_convolutions(expect_same), 80);
}

void expect_cut(const std::string& conv, const Shape& data, const Shape& weights) {
  testing::expect_of_convolution(conv, data, weights, expect_same);
}

TEST(CutWindows, Kinds) {
  const std::string dilated = "conv2d(%x, %w, padding=[6, 6], dilation=[6, 6])";
  expect_cut(dilated, {2, 5, 8, 9}, {4, 5, 3, 3});
  // Two ranges of taps, neither of which is about all results.
  expect_cut("conv2d(%x, %w, padding=[3, 3], dilation=[6, 6])", {2, 5, 8, 9}, {4, 5, 2, 2});
  // Along one axis only.
  expect_cut("conv2d(%x, %w, padding=[0, 6], dilation=[1, 6])", {2, 3, 6, 9}, {4, 3, 3, 3});
  expect_cut("conv2d(%x, %w, padding=[6, 6], dilation=[6, 6], strides=[2, 3])", {2, 3, 13, 12},
             {4, 3, 3, 3});
  expect_cut("conv2d(%x, %w, padding=[6, 6], dilation=[6, 6], groups=2)", {2, 4, 8, 9},
             {6, 2, 3, 3});
  expect_cut(
      "conv2d(%x, %w, padding=[6, 6], dilation=[6, 6], data_layout=\"NHWC\", "
      "kernel_layout=\"HWIO\", channels=5)",
      {2, 8, 9, 3}, {3, 3, 3, 5});
  // Padding on one side.
  expect_cut("conv1d(%x, %w, padding=[8, 0], dilation=[4])", {3, 4, 10}, {5, 4, 3});
  expect_cut("conv3d(%x, %w, padding=[3, 4, 5], dilation=[3, 4, 5])", {2, 3, 4, 5, 6},
             {4, 3, 3, 3, 3});
  // Small planes under windows of many taps.
  expect_cut("conv2d(%x, %w, padding=[2, 2])", {3, 4, 3, 4}, {5, 4, 5, 5});
}

}  // namespace
}  // namespace relay::lower::lower_cut_windows_test
