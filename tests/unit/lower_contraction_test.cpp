// Which sums of products are recognised, and what their axes are.
#include <gtest/gtest.h>

#include <relay/op/nn/conv_attrs.h>
#include <relay/op/nn/nn_attrs.h>
#include <relay/tensor_expr/builder.h>

#include <tests/unit/contraction_testing.h>

namespace relay::lower_contraction_test {
namespace {

TypeRef f32(std::vector<Dim> dims) { return TensorType::make(dims, kFloat32); }

std::string extents(const std::vector<te::Axis>& axes) {
  std::string text;
  for (const te::Axis& axis : axes) text += (text.empty() ? "" : " ") + axis.extent.str();
  return text;
}

/// "batch | rows | columns | folded", or "no".
std::string classes(const te::Computation& computation) {
  auto c = contraction_of(computation);
  if (!c) return "no";
  return extents(c->batch) + " | " + extents(c->rows) + " | " + extents(c->columns) + " | " +
         extents(c->folded);
}

template <class A>
std::string conv(const char* op, std::vector<Dim> data, std::vector<Dim> weight,
                 const std::function<void(A&)>& set = {}) {
  A attrs;
  if (set) set(attrs);
  return classes(computation_of(op, Attrs::make(attrs), {f32(data), f32(weight)}));
}

TEST(ContractionMatch, Products) {
  AttrsRef none = Attrs::make(BatchMatmulAttrs{});
  EXPECT_EQ(classes(computation_of("nn.batch_matmul", none, {f32({2, 5, 7}), f32({2, 7, 3})})),
            "2 | 5 | 3 | 7");
  EXPECT_EQ(classes(computation_of("nn.batch_matmul", none, {f32({1, 5, 7}), f32({2, 7, 3})})),
            "2 | 5 | 3 | 7");
  AttrsRef dense = Attrs::make(DenseAttrs{});
  EXPECT_EQ(classes(computation_of("nn.dense", dense, {f32({4, 5, 7}), f32({3, 7})})),
            " | 4 5 | 3 | 7");
  EXPECT_EQ(classes(computation_of("nn.dense", dense, {f32({7}), f32({3, 7})})), " |  | 3 | 7");
  EXPECT_EQ(classes(computation_of("nn.dense", dense, {f32({5, 7}), f32({1, 7})})), " | 1 | 5 | 7");
}

TEST(ContractionMatch, Convolutions) {
  EXPECT_EQ(conv<Conv2DAttrs>("nn.conv2d", {2, 3, 8, 9}, {4, 3, 3, 3}), "2 | 4 | 6 7 | 3 3 3");
  auto grouped = [](int64_t groups) { return [groups](auto& attrs) { attrs.groups = groups; }; };
  EXPECT_EQ(conv<Conv2DAttrs>("nn.conv2d", {1, 6, 8, 9}, {4, 3, 3, 3}, grouped(2)),
            "2 1 | 2 | 6 7 | 3 3 3");
  // Depthwise: a window along the only side there is.
  EXPECT_EQ(conv<Conv2DAttrs>("nn.conv2d", {1, 6, 8, 9}, {6, 1, 3, 3}, grouped(6)), "no");
  // So few rows are not worth copies of a channel's windows; several channels are, and more rows.
  EXPECT_EQ(conv<Conv2DAttrs>("nn.conv2d", {1, 6, 8, 9}, {12, 1, 3, 3}, grouped(6)), "no");
  EXPECT_EQ(conv<Conv2DAttrs>("nn.conv2d", {1, 6, 8, 9}, {6, 2, 3, 3}, grouped(3)),
            "3 1 | 2 | 6 7 | 2 3 3");
  EXPECT_EQ(conv<Conv2DAttrs>("nn.conv2d", {1, 6, 8, 9}, {30, 1, 3, 3}, grouped(6)),
            "6 1 | 5 | 6 7 | 3 3");
  EXPECT_EQ(conv<Conv2DAttrs>("nn.conv2d", {1, 6, 8, 9}, {12, 1, 1, 1}, grouped(6)),
            "6 1 | 2 | 8 9 | 1 1");
  auto transposed = [](auto& attrs) {
    attrs.strides = {2, 2};
    attrs.padding = {1, 1};
  };
  EXPECT_EQ(
      conv<Conv2DTransposeAttrs>("nn.conv2d_transpose", {1, 3, 8, 9}, {3, 4, 4, 4}, transposed),
      "2 2 1 | 4 | 8 9 | 3 2 2");
}

TEST(ContractionMatch, Others) {
  te::Builder b({{{5, 7}, kFloat32}, {{5, 7}, kFloat32}});
  te::Tensor x = b.input(0), y = b.input(1);
  // Dot products of rows: neither rows nor columns.
  b.output(b.map({5}, [&](te::Indices i) {
    return b.sum({7}, [&](te::Indices k) { return x({i[0], k[0]}) * y({i[0], k[0]}); });
  }));
  EXPECT_EQ(classes(b.finish()), "no");
}

TEST(ContractionMatch, Symbols) {
  Dim n = Dim::symbol(TypeVar::make("n", Kind::kShapeVar).get());
  AttrsRef dense = Attrs::make(DenseAttrs{});
  EXPECT_EQ(classes(computation_of("nn.dense", dense, {f32({n, 7}), f32({3, 7})})), " | n | 3 | 7");
}

}  // namespace
}  // namespace relay::lower_contraction_test
