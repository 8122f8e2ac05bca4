// Cases that the data files under tests/op/data cannot say: blocked layouts, gradients, symbolic
// extents.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <relay/op/nn/conv_attrs.h>
#include <relay/op/nn/pad_attrs.h>
#include <relay/op/nn/pool_attrs.h>
#include <relay/op/op.h>
#include <relay/op/registry/layout.h>
#include <relay/op/sort/sort_attrs.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/evaluate.h>

namespace relay::op_nn_test {
namespace {

TypeRef type_of(const NDArray& array) {
  std::vector<Dim> dims(array.shape().begin(), array.shape().end());
  return TensorType::make(dims, array.dtype());
}

std::vector<NDArray> run(std::string_view name, std::vector<NDArray> inputs, AttrsRef attrs) {
  std::vector<TypeRef> types;
  for (const NDArray& input : inputs) types.push_back(type_of(input));
  const Operator* op = get_op(name);
  TypeRef result = infer_call_type(op, types, attrs);
  return te::evaluate(build_computation(OpCall(op, attrs, types, result)), inputs);
}

NDArray numbers(std::initializer_list<int64_t> shape, uint32_t seed) {
  NDArray result = NDArray::empty(shape, kFloat32);
  for (int64_t i = 0; i < result.size(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    result.data<float>()[i] = static_cast<float>(static_cast<int32_t>(seed >> 24) - 128) / 16;
  }
  return result;
}

void expect_near(const NDArray& a, const NDArray& b) {
  ASSERT_EQ(type_of(a)->str(), type_of(b)->str());
  for (int64_t i = 0; i < a.size(); ++i) {
    ASSERT_NEAR(a.element_as_double(i), b.element_as_double(i), 1e-4) << "element " << i;
  }
}

double dot(const NDArray& a, const NDArray& b) {
  double sum = 0;
  for (int64_t i = 0; i < a.size(); ++i) sum += a.element_as_double(i) * b.element_as_double(i);
  return sum;
}

/// The axis `axis` cut into blocks, which become the last axis.
NDArray blocked(const NDArray& x, size_t axis, int64_t block) {
  Shape cut(x.shape().begin(), x.shape().end());
  cut[axis] /= block;
  cut.insert(cut.begin() + static_cast<std::ptrdiff_t>(axis) + 1, block);
  std::vector<size_t> order;
  for (size_t i = 0; i < cut.size(); ++i) {
    if (i != axis + 1) order.push_back(i);
  }
  order.push_back(axis + 1);
  return x.contiguous().reshape(cut).transpose(order).copy();
}

TEST(Layout, Blocks) {
  Layout layout = Layout::parse("NCHW8c", "NCHW", "layout");
  std::vector<Dim> dims{1, 3, 5, 7, 8};
  EXPECT_EQ(layout.rank(), 5u);
  EXPECT_EQ(layout.extent(dims, 'C'), Dim(24));
  EXPECT_EQ(layout.positions('C'), (std::vector<size_t>{1, 4}));
  EXPECT_EQ(layout.dims([](char axis) { return Dim(axis == 'C' ? 24 : 2); }),
            (std::vector<Dim>{2, 3, 2, 2, 8}));
  EXPECT_THROW(layout.dims([](char) { return Dim(12); }), Error);
}

TEST(Layout, Errors) {
  for (const char* text : {"", "NCH", "NCHWD", "NNCHW", "NCHWc", "NCHW0c", "NCHW8", "NCHW8d",
                           "8NCHW", "NCHW-8c", "NCHW99999999999999999999c"}) {
    EXPECT_THROW(Layout::parse(text, "NCHW", "layout"), Error) << text;
  }
}

TEST(Conv, BlockedIsThePlainOne) {
  NDArray x = numbers({2, 8, 5, 6}, 1);
  NDArray w = numbers({4, 8, 3, 2}, 2);
  Conv2DAttrs plain;
  plain.padding = {1};
  plain.strides = {2, 1};
  Conv2DAttrs mixed = plain;
  mixed.data_layout = "NCHW4c";
  mixed.kernel_layout = "OIHW4i2o";
  mixed.out_layout = "NCHW2c";
  NDArray expected = run("nn.conv2d", {x, w}, Attrs::make(plain))[0];
  NDArray blocks =
      run("nn.conv2d", {blocked(x, 1, 4), blocked(blocked(w, 1, 4), 0, 2)}, Attrs::make(mixed))[0];
  expect_near(blocks, blocked(expected, 1, 2));

  mixed.kernel_layout = "OIHW8i";  // blocks that do not match the data's
  blocks = run("nn.conv2d", {blocked(x, 1, 4), blocked(w, 1, 8)}, Attrs::make(mixed))[0];
  expect_near(blocks, blocked(expected, 1, 2));

  plain.groups = 4;
  NDArray thin = numbers({4, 2, 3, 2}, 3);
  expected = run("nn.conv2d", {x, thin}, Attrs::make(plain))[0];
  mixed.groups = 4;
  mixed.kernel_layout = "OIHW";
  mixed.out_layout = "";
  blocks = run("nn.conv2d", {blocked(x, 1, 4), thin}, Attrs::make(mixed))[0];
  expect_near(blocks, blocked(expected, 1, 4));
}

TEST(Conv, TransposeIsTheAdjoint) {
  for (int64_t dilation : {1, 2}) {
    for (int64_t groups : {1, 2}) {
      Conv2DAttrs forward;
      forward.strides = {2, 3};
      forward.padding = {1, 0, 2, 1};
      forward.dilation = {dilation};
      forward.groups = groups;
      NDArray x = numbers({1, 4, 11, 12}, 4);
      NDArray w = numbers({6, 4 / groups, 3, 2}, 5);
      NDArray y = run("nn.conv2d", {x, w}, Attrs::make(forward))[0];
      Conv2DTransposeAttrs backward;
      backward.strides = forward.strides;
      backward.padding = forward.padding;
      backward.dilation = forward.dilation;
      backward.groups = groups;
      int64_t window[] = {2 * dilation + 1, dilation + 1};
      int64_t around[] = {3, 1};
      backward.output_padding = {};
      for (size_t d = 0; d < 2; ++d) {
        int64_t full = (y.extent(2 + d) - 1) * forward.strides[d] + window[d] - around[d];
        backward.output_padding.push_back(x.extent(2 + d) - full);
      }
      NDArray g = NDArray::empty(y.shape(), kFloat32);
      g.assign(numbers({1, 6, y.extent(2), y.extent(3)}, 6));
      // The forward weight (out, in / groups) is the transposed one's (in, out / groups).
      NDArray back = run("nn.conv2d_transpose", {g, w}, Attrs::make(backward))[0];
      ASSERT_EQ(type_of(back)->str(), type_of(x)->str());
      EXPECT_NEAR(dot(back, x), dot(g, y), 1e-2) << "dilation " << dilation << " groups " << groups;
    }
  }
}

TEST(Conv, SymbolicExtents) {
  TypeVarRef n = TypeVar::make("n", Kind::kShapeVar);
  TypeVarRef h = TypeVar::make("h", Kind::kShapeVar);
  Dim dims[] = {Dim::symbol(n.get()), 3, Dim::symbol(h.get()), Dim::any()};
  Dim weight[] = {4, 3, 3, 3};
  std::vector<TypeRef> inputs{TensorType::make(dims, kFloat32), TensorType::make(weight, kFloat32)};
  Conv2DAttrs attrs;
  attrs.padding = {1};
  const Operator* op = get_op("nn.conv2d");
  TypeRef result = infer_call_type(op, inputs, Attrs::make(attrs));
  EXPECT_EQ(result->str(), "Tensor[(n, 4, h, ?), float32]");
  dims[3] = 8;
  inputs[0] = TensorType::make(dims, kFloat32);
  result = infer_call_type(op, inputs, Attrs::make(attrs));
  te::Computation computation = build_computation(OpCall(op, Attrs::make(attrs), inputs, result));
  NDArray x = numbers({2, 3, 5, 8}, 7);
  NDArray w = numbers({4, 3, 3, 3}, 8);
  auto value = [&](const TypeVar* symbol) { return int64_t{symbol == n.get() ? 2 : 5}; };
  expect_near(te::evaluate(computation, std::vector<NDArray>{x, w}, value)[0],
              run("nn.conv2d", {x, w}, Attrs::make(attrs))[0]);
}

TEST(Conv, WeightIsExpected) {
  Dim dims[] = {1, 4, 8, 8};
  std::vector<TypeRef> inputs{TensorType::make(dims, kFloat32), TypeRef()};
  Conv2DAttrs attrs;
  attrs.channels = 6;
  AttrsRef open = Attrs::make(attrs);
  attrs.kernel_size = {3, 2};
  attrs.kernel_layout = "HWIO";
  attrs.groups = 2;
  AttrsRef all = Attrs::make(attrs);
  Relation::Expect expect = get_op("nn.conv2d")->relation()->expect;
  ASSERT_NE(expect, nullptr);
  EXPECT_FALSE(expect(RelationCall(inputs, open), 1));
  EXPECT_EQ(expect(RelationCall(inputs, all), 1)->str(), "Tensor[(3, 2, 2, 6), float32]");
}

TEST(Pool, AverageGradientIsTheAdjoint) {
  for (int variant = 0; variant < 16; ++variant) {
    AvgPool2DAttrs attrs;
    attrs.pool_size = {{3, 2}};
    attrs.strides = {2, 1};
    attrs.padding = {1, 1, 2, 0};
    attrs.ceil_mode = (variant & 1) != 0;
    attrs.count_include_pad = (variant & 2) != 0;
    attrs.dilation = {(variant & 4) != 0 ? 2 : 1};
    bool last = (variant & 8) != 0;
    if (last) attrs.layout = "NHWC";
    NDArray x = last ? numbers({2, 7, 6, 3}, 9) : numbers({2, 3, 7, 6}, 9);
    NDArray y = run("nn.avg_pool2d", {x}, Attrs::make(attrs))[0];
    NDArray g = numbers({y.extent(0), y.extent(1), y.extent(2), y.extent(3)}, 10);
    NDArray back = run("nn.avg_pool2d_grad", {g, x}, Attrs::make(attrs))[0];
    EXPECT_NEAR(dot(back, x), dot(g, y), 1e-3) << "variant " << variant;
  }
}

TEST(Pool, MaximumGradientGoesToTheFirst) {
  float inf = std::numeric_limits<float>::infinity();
  float nan = std::numeric_limits<float>::quiet_NaN();
  MaxPool2DAttrs attrs;
  attrs.pool_size = {{2}};
  NDArray x = NDArray::from<float>({1, 1, 2, 3}, {1, 3, 3, 3, 0, 3});
  NDArray g = NDArray::from<float>({1, 1, 1, 2}, {10, 20});
  NDArray back = run("nn.max_pool2d_grad", {g, x}, Attrs::make(attrs))[0];
  expect_near(back, NDArray::from<float>({1, 1, 2, 3}, {0, 30, 0, 0, 0, 0}));

  // Padding never wins, not even against minus infinity; windows of nothing but padding drop
  // theirs.
  attrs.padding = {1};
  x = NDArray::from<float>({1, 1, 1, 1}, {-inf});
  g = NDArray::from<float>({1, 1, 2, 2}, {1, 2, 3, 4});
  expect_near(run("nn.max_pool2d_grad", {g, x}, Attrs::make(attrs))[0],
              NDArray::from<float>({1, 1, 1, 1}, {10}));
  attrs.padding = {2};
  g = numbers({1, 1, 4, 4}, 11);
  double inner = g.element_as_double(5) + g.element_as_double(6) + g.element_as_double(9) +
                 g.element_as_double(10);
  EXPECT_NEAR(run("nn.max_pool2d_grad", {g, x}, Attrs::make(attrs))[0].element_as_double(0), inner,
              1e-5);

  attrs.padding = {0};
  x = NDArray::from<float>({1, 1, 2, 2}, {5, nan, nan, 7});
  g = NDArray::from<float>({1, 1, 1, 1}, {1});
  expect_near(run("nn.max_pool2d_grad", {g, x}, Attrs::make(attrs))[0],
              NDArray::from<float>({1, 1, 2, 2}, {0, 1, 0, 0}));
}

TEST(Pool, OutLayout) {
  NDArray x = numbers({2, 4, 6, 5}, 12);
  MaxPool2DAttrs attrs;
  attrs.pool_size = {{2, 3}};
  NDArray expected = run("nn.max_pool2d", {x}, Attrs::make(attrs))[0];
  attrs.out_layout = "NCHW2c";
  expect_near(run("nn.max_pool2d", {x}, Attrs::make(attrs))[0], blocked(expected, 1, 2));
  AdaptivePool2DAttrs adaptive;
  adaptive.output_size = {4, 2};
  expected = run("nn.adaptive_avg_pool2d", {x}, Attrs::make(adaptive))[0];
  adaptive.layout = "NCHW4c";
  expect_near(run("nn.adaptive_avg_pool2d", {blocked(x, 1, 4)}, Attrs::make(adaptive))[0],
              blocked(expected, 1, 4));
}

TEST(Upsampling, SymbolicExtentsRoundHalvesToEven) {
  TypeVarRef h = TypeVar::make("h", Kind::kShapeVar);
  for (double scale : {1.5, 2.0, 0.5, 1.3, 2.25}) {
    UpSamplingAttrs attrs;
    attrs.scale_h = {scale};
    attrs.scale_w = {1.0};
    Dim dims[] = {1, 1, Dim::symbol(h.get()), 2};
    std::vector<TypeRef> inputs{TensorType::make(dims, kFloat32)};
    TypeRef result = infer_call_type(get_op("nn.upsampling"), inputs, Attrs::make(attrs));
    Dim rows = result->as<TensorType>()->dims()[2];
    for (int64_t extent = 0; extent < 30; ++extent) {
      EXPECT_EQ(te::evaluate_dim(rows, {}, [&](const TypeVar*) { return extent; }),
                static_cast<int64_t>(std::nearbyint(static_cast<double>(extent) * scale)))
          << scale << " * " << extent;
    }
  }
}

TEST(Pad, TooFarToMirror) {
  MirrorPadAttrs attrs;
  attrs.pad_width = {{{3, 0}}};
  NDArray x = numbers({3}, 13);
  expect_near(run("nn.mirror_pad", {x}, Attrs::make(attrs))[0].slice(0, 0, 1), x.slice(0, 2, 1));
  attrs.mode = MirrorMode::kReflect;
  EXPECT_THROW(run("nn.mirror_pad", {x}, Attrs::make(attrs)), Error);
  attrs.pad_width = {{{-4, 0}}};  // takes more away than there is
  EXPECT_THROW(run("nn.mirror_pad", {x}, Attrs::make(attrs)), Error);
}

TEST(Sort, NotANumberComesLast) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  NDArray x = NDArray::from<float>({5}, {2, nan, -1, nan, 3});
  ArgsortAttrs attrs;
  NDArray up = run("argsort", {x}, Attrs::make(attrs))[0];
  expect_near(up, NDArray::from<int32_t>({5}, {2, 0, 4, 1, 3}));
  attrs.is_ascend = false;
  attrs.dtype = kInt64;
  expect_near(run("argsort", {x}, Attrs::make(attrs))[0],
              NDArray::from<int64_t>({5}, {4, 0, 2, 1, 3}));
}

TEST(Sort, StridedInputAndLongLanes) {
  NDArray x = numbers({100, 3}, 14);
  TopkAttrs attrs;
  attrs.k = {4};
  std::vector<NDArray> best = run("topk", {x.transpose()}, Attrs::make(attrs));
  ArgsortAttrs order;
  order.axis = 0;
  order.is_ascend = false;
  NDArray all = run("argsort", {x}, Attrs::make(order))[0];
  NDArray sorted = run("sort", {x}, Attrs::make(order))[0];
  expect_near(best[0], sorted.slice(0, 0, 4).transpose());
  expect_near(best[1], all.slice(0, 0, 4).transpose());
}

TEST(Sort, Bool) {
  NDArray x = NDArray::from<Bool>({4}, {Bool(true), Bool(false), Bool(true), Bool(false)});
  ArgsortAttrs attrs;
  expect_near(run("argsort", {x}, Attrs::make(attrs))[0],
              NDArray::from<int32_t>({4}, {1, 3, 0, 2}));
}

}  // namespace
}  // namespace relay::op_nn_test
