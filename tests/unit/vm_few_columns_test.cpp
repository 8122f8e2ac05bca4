// Convolutions of open extents with few columns, as machine code: the same kernels compute many.
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <utility>

#include <gtest/gtest.h>

#include <relay/eval/eval.h>
#include <relay/infer/infer.h>
#include <relay/ir/rewrite.h>
#include <relay/parse/parse.h>
#include <relay/vm/compiler/compile.h>
#include <relay/vm/machine/machine.h>

#include <tests/unit/graph_testing.h>
#include <tests/unit/kernel_testing.h>

namespace relay::vm::vm_few_columns_test {
namespace {

using testing::random_array;

std::string tensor(const std::string& dims, DType dtype) {
  return "Tensor[(" + dims + "), " + (dtype == kFloat64 ? "float64" : "float32") + "]";
}

std::string list(ShapeView shape) {
  std::string text;
  for (int64_t extent : shape) text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return text;
}

/// A program of data %x, with constants for its weights %w and bias %b, on data of these shapes.
void expect_same(const std::string& text, const Shape& weights, DType dtype,
                 const std::vector<Shape>& shapes) {
  SCOPED_TRACE(text);
  Module parsed = parse_module("few.rly", text);
  infer_types_or_throw(parsed);
  const relay::Function& function = *parsed.function("main");
  const ExprRef of_weights = make_constant(random_array(weights, dtype, 2));
  const ExprRef bias = make_constant(random_array(Shape{weights[0], 1}, dtype, 3));
  const ExprRef body = substitute(function.body(), {{function.params()[1].get(), of_weights},
                                                    {function.params()[2].get(), bias}});
  Module module;
  module.add_function("main", make_function({function.params()[0]}, body));
  infer_types_or_throw(module);
  double products = 1;  // in a sum
  for (size_t d = 1; d < weights.size(); ++d) products *= static_cast<double>(weights[d]);
  const double tolerance = 1e-5 * std::sqrt(products);
  for (const codegen::Target& target : testing::targets_here()) {
    SCOPED_TRACE(target.name());
    CompileOptions options;
    options.target = target;
    const auto executable = compile(module, Name("main"), options);
    Machine alone(executable, {1, nullptr, 0}), team(executable, {3, nullptr, 0});
    for (const Shape& shape : shapes) {
      SCOPED_TRACE(list(shape));
      std::vector<Value> arguments{Value(random_array(shape, dtype, 1))};
      const NDArray wanted = evaluate_function(module, "main", arguments).array();
      const NDArray found = alone.run("main", arguments).array();
      EXPECT_EQ(relay::testing::difference({found}, {wanted}, [&](DType) { return tolerance; }),
                "");
      EXPECT_TRUE(bit_equal(found, team.run("main", arguments).array()));
      if (::testing::Test::HasNonfatalFailure()) return;
    }
  }
}

struct Conv {
  Shape weights;
  std::string attributes;
  std::string epilogue = "%c";  // of the convolution %c, the bias %b
  int64_t shortest = 1;         // data that there may be
  int64_t groups = 1;
  DType dtype = kFloat32;
};

/// Any number of signals of any length.
void expect_same(const Conv& conv) {
  const int64_t channels = conv.weights[1] * conv.groups;
  std::vector<Shape> shapes;
  for (int64_t images : {1, 2, 7, 40}) {
    for (int64_t more : {0, 1, 2, 7, 8, 9, 25})
      shapes.push_back({images, channels, conv.shortest + more});
  }
  expect_same("def @main(%x: " + tensor("n, " + std::to_string(channels) + ", t", conv.dtype) +
                  ", %w: " + tensor(list(conv.weights), conv.dtype) +
                  ", %b: " + tensor(list(Shape{conv.weights[0], 1}), conv.dtype) +
                  ") {\n  let %c = nn.conv1d(%x, %w, " + conv.attributes + ");\n  " +
                  conv.epilogue + "\n}\n",
              conv.weights, conv.dtype, shapes);
}

TEST(VmFewColumns, Convolutions) {
  // Rows of output channels that are whole vectors, and that are not.
  expect_same({{32, 25, 3}, "padding=[1, 1]", "nn.relu(%c + %b)"});
  expect_same({{40, 26, 3}, "padding=[1, 1], strides=[2]", "nn.relu(%c + %b)"});
  expect_same({{130, 13, 8}, "strides=[4]", "%c", 8});
  expect_same({{24, 69, 1}, "padding=[0, 0]", "%c * sigmoid(%c) + %b"});
  expect_same({{17, 24, 3}, "padding=[2, 0], dilation=[2]", "tanh(%c)", 3});
}

TEST(VmFewColumns, OtherKinds) {
  expect_same({{48, 24, 3}, "padding=[1, 1], groups=2", "%c", 1, 2});
  expect_same({{20, 24, 3}, "padding=[1, 1]", "%c", 1, 1, kFloat64});
  expect_same({{8, 24, 3}, "padding=[1, 1]", "%c"});  // fewer than a vector
}

// The same where all extents are known.
TEST(VmFewColumns, KnownExtents) {
  auto images = [](const Shape& data, const Shape& weights, const std::string& attributes,
                   const std::string& epilogue = "nn.relu(%c)") {
    expect_same("def @main(%x: " + tensor(list(data), kFloat32) +
                    ", %w: " + tensor(list(weights), kFloat32) +
                    ", %b: " + tensor(list(Shape{weights[0], 1}), kFloat32) +
                    ") {\n  let %c = nn.conv2d(%x, %w, " + attributes + ");\n  " + epilogue +
                    "\n}\n",
                weights, kFloat32, {data});
  };
  images({5, 24, 2, 2}, {40, 24, 3, 3}, "padding=[1, 1]",
         "nn.relu(%c + reshape(%b, newshape=[40, 1, 1]))");
  images({1, 70, 1, 3}, {33, 70, 1, 1}, "padding=[0, 0]");
  images({6, 16, 4, 4}, {48, 16, 3, 3}, "padding=[1, 1], strides=[2, 2]");
  images({3, 64, 2, 1}, {64, 32, 3, 3}, "padding=[1, 1], groups=2");
}

/// Images of known or any extents under a two-dimensional operator.
void expect_same_images(const std::string& call, const Shape& weights, const std::string& data,
                        const std::vector<Shape>& shapes, const std::string& prefix = "nn.") {
  expect_same(
      "def @main(%x: " + tensor(data, kFloat32) + ", %w: " + tensor(list(weights), kFloat32) +
          ", %b: " + tensor(list(Shape{weights[0], 1}), kFloat32) + ") { " + prefix + call + " }\n",
      weights, kFloat32, shapes);
}

// The steps of a transposed convolution are its last columns: too few to fill vectors.
TEST(VmFewColumns, TransposedConvolutions) {
  const std::string two = "relu(nn.conv2d_transpose(%x, %w, strides=[2, 2]))";
  const std::vector<Shape> shapes{{1, 6, 5, 7}, {2, 6, 3, 40}, {1, 6, 1, 1}, {1, 6, 16, 16}};
  expect_same_images(two, {6, 5, 2, 2}, "n, 6, h, w", shapes);
  expect_same_images(two, {6, 1, 2, 2}, "n, 6, h, w", shapes);
  for (const Shape& shape : shapes) expect_same_images(two, {6, 5, 2, 2}, list(shape), {shape});
  expect_same_images("conv2d_transpose(%x, %w, strides=[3, 3], padding=[1, 1])", {6, 4, 5, 5},
                     "1, 6, 9, 20", {{1, 6, 9, 20}});
  expect_same_images("conv2d_transpose(%x, %w, strides=[2, 2], padding=[1, 1])", {6, 4, 4, 4},
                     "n, 6, h, w", shapes);
}

// Rows of weights whose results lie between each other's are stored together: lines that are whole
// vectors, that end within one, and that are shorter; tiles of rows that are not all equal.
TEST(VmFewColumns, InterleavedRows) {
  std::vector<Shape> shapes;
  for (int64_t width : {1, 3, 7, 8, 13, 16, 31, 40}) shapes.push_back({1 + width % 2, 6, 5, width});
  for (const char* step : {"2", "3", "4"}) {
    SCOPED_TRACE(step);
    const std::string call = "conv2d_transpose(%x, %w, strides=[2, " + std::string(step) + "])";
    const int64_t window = step[0] - '0';
    for (int64_t channels : {1, 2, 5, 9}) {
      expect_same_images(call, {6, channels, 2, window}, "n, 6, h, w", shapes);
      expect_same_images(call, {6, channels, 2, window}, list(shapes[4]), {shapes[4]});
      expect_same_images(call, {6, channels, 2, window}, list(shapes[7]), {shapes[7]});
    }
    expect_same_images("sigmoid(nn." + call + " + reshape(%b, newshape=[6, 1, 1]))",
                       {6, 6, 2, window}, "n, 6, h, w", shapes, "");
  }
  expect_same_images("conv2d_transpose(%x, %w, strides=[2, 2], groups=3)", {6, 4, 2, 2},
                     "n, 6, h, w", shapes);
}

TEST(VmFewColumns, InterleavedRowsOfOtherRanks) {
  auto transposed = [](const std::string& name, const std::string& data, const Shape& weights,
                       const std::string& strides, const std::vector<Shape>& shapes, DType dtype) {
    expect_same("def @main(%x: " + tensor(data, dtype) + ", %w: " + tensor(list(weights), dtype) +
                    ", %b: " + tensor(list(Shape{weights[0], 1}), dtype) + ") { nn." + name +
                    "(%x, %w, strides=" + strides + ") }\n",
                weights, dtype, shapes);
  };
  transposed("conv1d_transpose", "n, 6, l", {6, 12, 4}, "[4]", {{1, 6, 9}, {2, 6, 30}}, kFloat32);
  transposed("conv3d_transpose", "n, 4, d, h, w", {4, 3, 2, 2, 2}, "[2, 2, 2]",
             {{1, 4, 2, 3, 9}, {2, 4, 3, 2, 8}}, kFloat32);
  transposed("conv2d_transpose", "n, 6, h, w", {6, 5, 2, 2}, "[2, 2]", {{1, 6, 3, 7}, {2, 6, 4, 8}},
             kFloat64);
}

// Results that end within a step, where the window is not as long as its step or lacks padding.
TEST(VmFewColumns, StepsThatEndEarly) {
  const std::vector<Shape> shapes{{1, 6, 5, 7}, {2, 6, 3, 17}, {1, 6, 1, 1}};
  for (const char* attributes :
       {"strides=[2, 2]", "strides=[4, 4]", "strides=[2, 2], padding=[1, 1]",
        "strides=[3, 2], padding=[1, 0], output_padding=[1, 0]",
        "strides=[5, 5], dilation=[2, 2]"}) {
    const std::string call = "conv2d_transpose(%x, %w, " + std::string(attributes) + ")";
    expect_same_images(call, {6, 5, 3, 3}, "n, 6, h, w", shapes);
    expect_same_images(call, {6, 5, 3, 3}, list(shapes[1]), {shapes[1]});
  }
  expect_same_images("relu(nn.conv2d_transpose(%x, %w, strides=[2, 2]))", {6, 1, 3, 3},
                     "n, 6, h, w", shapes);
  expect_same_images("conv2d_transpose(%x, %w, strides=[2, 2], groups=6)", {6, 1, 3, 3},
                     "n, 6, h, w", shapes);
}

// Vectors of columns that lie in one line of pixels, in two, and in lines shorter than a vector.
TEST(VmFewColumns, LinesOfOpenLength) {
  std::vector<Shape> shapes;
  for (int64_t width : {3, 14, 15, 16, 17, 29, 30, 31, 32, 33, 34, 47, 80})
    shapes.push_back({1 + width % 2, 5, 9, width});
  for (const char* attributes :
       {"padding=[1, 1], strides=[2, 2]", "padding=[0, 0], strides=[2, 2]", "padding=[0, 0]",
        "padding=[2, 0], strides=[1, 2]", "padding=[1, 1], dilation=[2, 2], strides=[2, 1]"})
    expect_same_images("conv2d(%x, %w, " + std::string(attributes) + ")", {20, 5, 3, 3},
                       "n, 5, h, w", shapes);
}

// A copy of an array whose memory ends where the process may not read on.
NDArray at_the_end_of_memory(const NDArray& array) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t bytes = array.contiguous().size() * array.dtype().size();
  const size_t pages = (bytes + page - 1) / page * page;
  void* memory =
      mmap(nullptr, pages + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Error("no memory for the test");
  std::byte* end = static_cast<std::byte*>(memory) + pages;
  mprotect(end, page, PROT_NONE);
  std::memcpy(end - bytes, array.contiguous().raw(), bytes);
  auto* mapped = new std::pair<void*, size_t>(memory, pages + page);
  auto unmap = [](void* context) {
    auto* of = static_cast<std::pair<void*, size_t>*>(context);
    munmap(of->first, of->second);
    delete of;
  };
  return NDArray::wrap(end - bytes, array.shape(), nullptr, array.dtype(), unmap, mapped);
}

// Weights that are arguments are copied when the kernel runs: no row behind the last one is read.
TEST(VmFewColumns, WeightsAtTheEndOfMemory) {
  struct Case {
    const char* data;
    Shape given, weights;
    const char* attributes;
  };
  for (const Case& of :
       std::vector<Case>{{"(1, 8, 9, 9)", {1, 8, 9, 9}, {8, 8, 4, 4}, ""},
                         {"(1, 4, 2, 16)", {1, 4, 2, 16}, {4, 5, 4, 4}, ""},
                         {"(n, 6, h, w)", {2, 6, 5, 7}, {6, 3, 3, 3}, ""},
                         {"(n, 6, h, w)", {1, 6, 3, 9}, {6, 1, 2, 2}, ", groups=6"}}) {
    SCOPED_TRACE(of.data + (" " + list(of.weights)));
    Module module =
        parse_module("end.rly", "def @main(%x: Tensor[" + std::string(of.data) +
                                    ", float32], %w: Tensor[(" + list(of.weights) +
                                    "), float32]) { nn.conv2d_transpose(%x, %w, strides=[2, 2]" +
                                    of.attributes + ") }");
    infer_types_or_throw(module);
    std::vector<Value> arguments{
        Value(at_the_end_of_memory(random_array(of.given, kFloat32, 1))),
        Value(at_the_end_of_memory(random_array(of.weights, kFloat32, 2)))};
    const NDArray wanted = evaluate_function(module, "main", arguments).array();
    for (const codegen::Target& target : testing::targets_here()) {
      SCOPED_TRACE(target.name());
      CompileOptions options;
      options.target = target;
      Machine machine(compile(module, Name("main"), options), {1, nullptr, 0});
      const NDArray found = machine.run("main", arguments).array();
      EXPECT_EQ(relay::testing::difference({found}, {wanted}, [](DType) { return 1e-4; }), "");
    }
  }
}

}  // namespace
}  // namespace relay::vm::vm_few_columns_test
