// Products and convolutions as calls of oneDNN's kernels: the same results as direct evaluation.
#include <gtest/gtest.h>

#include <algorithm>

#include <relay/infer/infer.h>
#include <relay/ir/rewrite.h>
#include <relay/lower/lower.h>
#include <relay/lower/onednn.h>
#include <relay/lower/prepare.h>
#include <relay/op/nn/conv_attrs.h>
#include <relay/op/nn/nn_attrs.h>
#include <relay/parse/parse.h>
#include <relay/runtime/onednn.h>
#include <relay/tensor_expr/builder.h>
#include <relay/tensor_expr/evaluate.h>
#include <relay/vm/compiler/compile.h>
#include <relay/vm/machine/executable_file.h>
#include <tests/unit/contraction_testing.h>

namespace relay::lower_onednn_test {
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

// The library calls that the lowering of a group makes after it prepared it.
std::string library_calls(const te::Computation& computation) {
  lower::LowerOptions options;
  options.onednn = true;
  std::string names;
  for (const auto& launch : lower::lower(computation, "group", options).launches) {
    if (const auto* call = std::get_if<lower::LibraryLaunch>(&launch)) names += call->name + " ";
  }
  EXPECT_EQ(calls(lower::prepare(computation)), names);
  return names;
}

// An axis with one point is no axis any more where a group is prepared.
TEST(OneDnn, OnePoint) {
  auto conv_and_bias = [](std::vector<int64_t> data, std::vector<int64_t> weight, int64_t stride,
                          int64_t pad) {
    std::vector<Dim> in(data.begin(), data.end()), kernel(weight.begin(), weight.end());
    te::Builder b({{in, kFloat32}, {kernel, kFloat32}, {{kernel[0]}, kFloat32}});
    te::Tensor x = b.input(0), w = b.input(1), bias = b.input(2);
    std::vector<Dim> fold{kernel.begin() + 1, kernel.end()};
    std::vector<Dim> out{in[0], kernel[0]};
    for (size_t d = 2; d < data.size(); ++d)
      out.push_back((data[d] + 2 * pad - weight[d]) / stride + 1);
    b.output(b.map(out, [&](te::Indices i) {
      te::Scalar sum = b.sum(fold, [&](te::Indices k) {
        std::vector<te::Scalar> at{i[0], k[0]}, of{i[1], k[0]};
        for (size_t d = 2; d < data.size(); ++d) {
          at.push_back(i[d] * stride + k[d - 1] - pad);
          of.push_back(k[d - 1]);
        }
        return (pad > 0 ? x.load_or(at, te::constant(0.0, kFloat32)) : x(at)) * w(of);
      });
      return sum + bias({i[1]});
    }));
    return b.finish();
  };
  for (int64_t batch : {1, 2}) {
    for (int64_t window : {1, 3}) {
      for (int64_t stride : {1, 2}) {
        SCOPED_TRACE(std::to_string(batch) + ", " + std::to_string(window));
        EXPECT_EQ(library_calls(conv_and_bias({batch, 5, 9, 9}, {4, 5, window, window}, stride, 0)),
                  "onednn.convolution ");
      }
    }
    EXPECT_EQ(library_calls(conv_and_bias({batch, 5, 9, 9}, {4, 5, 3, 3}, 1, 1)),
              "onednn.convolution ");
    EXPECT_EQ(library_calls(conv_and_bias({batch, 1, 3, 3}, {1, 1, 3, 3}, 1, 0)),
              "onednn.convolution ");
  }
  for (auto [m, n] : {std::pair<int64_t, int64_t>{1, 3}, {5, 1}, {5, 3}}) {
    te::Builder b({{{m, 7}, kFloat32}, {{n, 7}, kFloat32}, {{n}, kFloat32}});
    te::Tensor x = b.input(0), w = b.input(1), bias = b.input(2);
    std::vector<Dim> out{m, n}, fold{7};
    b.output(b.map(out, [&](te::Indices i) {
      return b.sum(fold, [&](te::Indices k) {
        return x({i[0], k[0]}) * w({i[1], k[0]});
      }) + bias({i[1]});
    }));
    EXPECT_EQ(library_calls(b.finish()), "onednn.matmul ");
  }
}

TEST(OneDnn, Others) {
  // Integers, and windows without channels to fold over.
  BatchMatmulAttrs attrs;
  auto i32 = [](std::vector<Dim> dims) { return TensorType::make(dims, kInt32); };
  EXPECT_EQ(calls(computation_of("nn.batch_matmul", Attrs::make(attrs),
                                 {i32({2, 5, 7}), i32({2, 7, 3})})),
            "");
}

// Constant weights are neither packed nor transformed: oneDNN does that.
TEST(OneDnn, ConstantWeights) {
  if (!onednn::available()) GTEST_SKIP() << "no oneDNN here";
  struct Case {
    const char *params, *body;
    std::vector<int64_t> weights;
  };
  const std::vector<Case> cases = {
      {"%x: Tensor[(64, 64), float32], %w: Tensor[(32, 64), float32]",
       "nn.dense(%x, %w)",
       {32, 64}},
      {"%x: Tensor[(64, 64), float32], %w: Tensor[(32, 64), float32]",
       "nn.matmul(%w, %x)",
       {32, 64}},
      {"%x: Tensor[(1, 64, 9, 9), float32], %w: Tensor[(64, 64, 3, 3), float32]",
       "nn.conv2d(%x, %w, padding=[1, 1])",
       {64, 64, 3, 3}}};
  for (const Case& one : cases) {
    const std::string text =
        "def @main(" + std::string(one.params) + ") { nn.relu(" + one.body + ") }";
    Module parsed = parse_module("weights.rly", text);
    infer_types_or_throw(parsed);
    const relay::Function& function = *parsed.function("main");
    const std::unordered_map<const Var*, ExprRef> weights{
        {function.params()[1].get(), make_constant(numbers(one.weights, 1))}};
    Module module;
    module.add_function(
        "main", make_function({function.params()[0]}, substitute(function.body(), weights)));
    infer_types_or_throw(module);
    vm::CompileOptions options;
    options.onednn = true;
    const auto executable = vm::compile(module, Name("main"), options);
    const auto& kernels = executable->kernels;
    EXPECT_TRUE(std::any_of(kernels.begin(), kernels.end(), [](const auto& kernel) {
      return kernel.library.starts_with("onednn.");
    })) << one.body;
  }
}

}  // namespace
}  // namespace relay::lower_onednn_test
