// Products and convolutions as calls of oneDNN's kernels: the same results as direct evaluation.
#include <gtest/gtest.h>

#include <relay/lower/lower.h>
#include <relay/lower/onednn.h>
#include <relay/op/nn/conv_attrs.h>
#include <relay/op/nn/nn_attrs.h>
#include <relay/runtime/onednn.h>
#include <relay/tensor_expr/builder.h>
#include <relay/tensor_expr/evaluate.h>
#include <tests/unit/contraction_testing.h>

namespace relay {
namespace {

NDArray numbers(std::vector<int64_t> shape, uint32_t seed) {
  NDArray result = NDArray::empty(shape, kFloat32);
  for (int64_t i = 0; i < result.size(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    result.data<float>()[i] = static_cast<float>(static_cast<int32_t>(seed >> 28) - 8);
  }
  return result;
}

/// Names of the library kernels, and that they give what the definition gives.
std::string calls(const te::Computation& computation) {
  te::Computation other = lower::with_onednn(computation);
  other.verify();
  std::string names;
  for (const te::Stage& stage : other.stages) {
    if (const auto* call = std::get_if<te::Library>(&stage.body)) names += call->kernel + " ";
  }
  if (names.empty() || !onednn::available()) return names;
  std::vector<NDArray> inputs;
  for (const te::TensorInfo& info : computation.inputs) {
    std::vector<int64_t> shape;
    for (Dim dim : info.dims) shape.push_back(dim.as_int());
    inputs.push_back(numbers(shape, static_cast<uint32_t>(inputs.size())));
  }
  NDArray expected = te::evaluate(computation, inputs)[0];
  NDArray found = te::evaluate(other, inputs)[0];
  for (int64_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(found.element_as_double(i), expected.element_as_double(i), 1e-3) << i;
  }
  return names;
}

TypeRef f32(std::vector<Dim> dims) { return TensorType::make(dims, kFloat32); }

template <class A>
std::string conv(const char* op, std::vector<Dim> data, std::vector<Dim> weight, A attrs = {}) {
  return calls(computation_of(op, Attrs::make(attrs), {f32(data), f32(weight)}));
}

TEST(OneDnn, Products) {
  AttrsRef dense = Attrs::make(DenseAttrs{});
  EXPECT_EQ(calls(computation_of("nn.dense", dense, {f32({2, 5, 7}), f32({3, 7})})),
            "onednn.matmul ");
  for (bool transposed : {false, true}) {
    BatchMatmulAttrs attrs;
    attrs.transpose_a = attrs.transpose_b = transposed;
    std::vector<Dim> a{4, 5, 7}, b{4, 7, 3};
    if (transposed) std::swap(a[1], a[2]);
    if (transposed) std::swap(b[1], b[2]);
    EXPECT_EQ(calls(computation_of("nn.batch_matmul", Attrs::make(attrs), {f32(a), f32(b)})),
              "onednn.matmul ");
  }
}

TEST(OneDnn, Convolutions) {
  EXPECT_EQ(conv<Conv2DAttrs>("nn.conv2d", {2, 3, 8, 9}, {4, 3, 3, 2}), "onednn.convolution ");
  Conv2DAttrs attrs;
  attrs.strides = {2, 1};
  attrs.dilation = {1, 2};
  attrs.padding = {1, 2, 0, 1};
  attrs.groups = 2;
  EXPECT_EQ(conv("nn.conv2d", {1, 6, 11, 9}, {4, 3, 3, 2}, attrs), "onednn.convolution ");
  EXPECT_EQ(conv<Conv1DAttrs>("nn.conv1d", {2, 3, 9}, {4, 3, 3}), "onednn.convolution ");
  EXPECT_EQ(conv<Conv3DAttrs>("nn.conv3d", {1, 3, 5, 6, 7}, {4, 3, 3, 2, 1}),
            "onednn.convolution ");
}

TEST(OneDnn, WhatFollowsIsAStageOfItsOwn) {
  te::Builder b({{{5, 7}, kFloat32}, {{7, 3}, kFloat32}, {{3}, kFloat32}});
  te::Tensor x = b.input(0), w = b.input(1), bias = b.input(2);
  std::vector<Dim> out{5, 3}, fold{7};
  te::Tensor doubled = b.map(out, [&](te::Indices i) { return bias({i[1]}) * 2; });
  te::Tensor sum = b.map(out, [&](te::Indices i) {
    return b.sum(fold, [&](te::Indices k) {
      return x({i[0], k[0]}) * w({k[0], i[1]});
    }) + doubled(i);
  });
  b.output(b.map(out, [&](te::Indices i) { return sum(i) * sum(i) + doubled(i); }));
  te::Computation c = b.finish();
  EXPECT_EQ(calls(c), "onednn.matmul ");
  lower::LowerOptions options;
  options.onednn = true;
  lower::Lowered lowered = lower::lower(c, "product", options);
  ASSERT_EQ(lowered.launches.size(), 2u);
  EXPECT_EQ(std::get<lower::LibraryLaunch>(lowered.launches[0]).name, "onednn.matmul");
}

TEST(OneDnn, Others) {
  // Integers, and windows without channels to fold over.
  BatchMatmulAttrs attrs;
  auto i32 = [](std::vector<Dim> dims) { return TensorType::make(dims, kInt32); };
  EXPECT_EQ(calls(computation_of("nn.batch_matmul", Attrs::make(attrs),
                                 {i32({2, 5, 7}), i32({2, 7, 3})})),
            "");
}

}  // namespace
}  // namespace relay
