// The numbers that indices may be, and loads that are inside whatever conditions say.
#include <gtest/gtest.h>

#include <relay/codegen/llvm/index_ranges.h>
#include <relay/tensor_expr/rewrite.h>

namespace relay::codegen::codegen_ranges_test {
namespace {

using te::Scalar;

Scalar index(uint32_t axis) { return te::index_of({axis, Dim(0)}); }
Scalar var(uint32_t id) { return te::placeholder(id, kInt64); }
Scalar number(int64_t value) { return te::index_constant(value); }

lower::For loop(uint32_t axis, const Scalar& begin, const Scalar& end) {
  lower::For result;
  result.axis = axis;
  result.begin = begin.ref();
  result.end = end.ref();
  return result;
}

/// "low high", or "unknown".
std::string text(const IndexRanges& ranges, const Scalar& index) {
  const std::optional<IndexRange> range = ranges.of(index.ref());
  return range ? std::to_string(range->low) + " " + std::to_string(range->high) : "unknown";
}

TEST(CodegenRanges, FollowsLoopsAndRegisters) {
  IndexRanges ranges;
  ranges.add(loop(0, number(0), number(8)));
  ranges.add(loop(1, index(0) * 512, te::min(index(0) * 512 + 512, number(4000))));
  ranges.add(lower::Let{5, te::floor_mod(index(1), number(7)).ref()});
  EXPECT_EQ(text(ranges, index(0)), "0 7");
  EXPECT_EQ(text(ranges, index(1)), "0 3999");
  EXPECT_EQ(text(ranges, index(1) * 8 + 3), "3 31995");
  EXPECT_EQ(text(ranges, number(3) - index(0)), "-4 3");
  EXPECT_EQ(text(ranges, (index(0) - 5) * -2), "-4 10");
  EXPECT_EQ(text(ranges, var(5)), "0 6");
  EXPECT_EQ(text(ranges, te::floor_div(index(0) - 5, number(2))), "-3 1");
  EXPECT_EQ(text(ranges, te::floor_mod(index(0), number(9))), "0 7");
  EXPECT_EQ(text(ranges, te::max(index(0), number(3))), "3 7");
}

TEST(CodegenRanges, LeavesTheRestUnknown) {
  IndexRanges ranges;
  ranges.add(loop(0, number(0), number(8)));
  ranges.add(loop(1, number(0), number(0)));
  ranges.add(loop(2, number(0), index(9)));
  const Scalar big = number(int64_t{1} << 40);
  for (const Scalar& one : {index(1), index(2), index(9), var(5), big, index(0) + big,
                            te::floor_div(index(0), index(0)), te::cast(var(6), kInt64) + index(9)})
    EXPECT_EQ(text(ranges, one), "unknown");
}

TEST(CodegenRanges, LoadsInside) {
  IndexRanges ranges;
  ranges.add(loop(0, number(0), number(8)));
  auto inside = [&](const Scalar& at, Dim extent) {
    auto load = te::new_node(te::ScalarKind::kLoad, kFloat32);
    load->args = {at.ref()};
    return ranges.is_inside(*load, {lower::Buffer::Role::kInput, "x", kFloat32, {extent}});
  };
  EXPECT_TRUE(inside(index(0), 8));
  EXPECT_TRUE(inside(index(0) * 2 + 1, 16));
  EXPECT_FALSE(inside(index(0), 7));
  EXPECT_FALSE(inside(index(0) - 1, 8));
  EXPECT_FALSE(inside(index(0), Dim::variable(3)));
  EXPECT_FALSE(inside(index(4), 8));
}

}  // namespace
}  // namespace relay::codegen::codegen_ranges_test
