// Convolutions in tiles: which are, and that they give what the sums do, but for rounding.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>

#include <relay/eval/eval.h>
#include <relay/infer/infer.h>
#include <relay/ir/rewrite.h>
#include <relay/parse/parse.h>
#include <relay/tensor_expr/evaluate.h>
#include <relay/transform/pass_context.h>
#include <relay/vm/compiler/compile.h>
#include <relay/vm/machine/executable_file.h>
#include <relay/vm/machine/machine.h>

#include <tests/unit/graph_testing.h>
#include <tests/unit/kernel_testing.h>

namespace relay::graph::graph_winograd_test {
namespace {

using testing::random_array;

/// Largest difference to the sums in float32, relative to the root of the mean square.
constexpr double kTolerance = 4e-5;

/// A program of %x; its other parameters are constants.
struct Program {
  Module module;
  std::vector<Value> arguments;

  Program(const std::string& text, const std::vector<NDArray>& values) {
    Module parsed = parse_module("winograd.rly", text);
    infer_types_or_throw(parsed);
    const relay::Function& function = *parsed.function("main");
    std::unordered_map<const Var*, ExprRef> constants;
    arguments.emplace_back(values[0]);
    for (size_t i = 1; i < values.size(); ++i)
      constants[function.params()[i].get()] = make_constant(values[i]);
    module.add_function(
        "main", make_function({function.params()[0]}, substitute(function.body(), constants)));
    infer_types_or_throw(module);
  }

  /// How many of its convolutions are computed in tiles of 4 × 4 and 2 × 2.
  std::pair<int, int> tiled(const vm::CompileOptions& options = {}) const {
    std::pair<int, int> count{};
    for (const Graph& graph : vm::compile_graphs(module, Name("main"), options)) {
      for (const Node& node : graph.nodes) {
        for (uint32_t input : node.inputs) {
          const Tensor& tensor = graph.tensors[input];
          // Transformed weights, perhaps packed: their points come first.
          if (tensor.constant == nullptr || tensor.info.rank() < 4) continue;
          count.first += tensor.info.dims[0].is_int(6) && tensor.info.dims[1].is_int(6);
          count.second += tensor.info.dims[0].is_int(4) && tensor.info.dims[1].is_int(4);
        }
      }
    }
    return count;
  }

  std::shared_ptr<const vm::Executable> compiled(const vm::CompileOptions& options = {}) const {
    return vm::compile(module, Name("main"), options);
  }
  NDArray run(const std::shared_ptr<const vm::Executable>& executable, int threads = 1) const {
    return vm::Machine(executable, {threads, nullptr, 0}).run("main", arguments).array();
  }
};

bool has_blocks(const vm::Executable& executable) {
  return std::any_of(executable.kernels.begin(), executable.kernels.end(),
                     [](const auto& kernel) { return kernel.implementation == "blocks"; });
}

double distance(const NDArray& found, const NDArray& wanted) {
  EXPECT_EQ(found.size(), wanted.size());
  double squares = 0, most = 0;
  for (int64_t i = 0; i < wanted.size(); ++i) {
    const double a = found.data<float>()[i], b = wanted.data<float>()[i];
    squares += b * b;
    if (!(std::abs(a - b) <= most)) most = std::abs(a - b);
  }
  return most / std::sqrt(squares / static_cast<double>(wanted.size()));
}

std::string tensor(ShapeView shape, DType dtype = kFloat32) {
  std::string text = "Tensor[(";
  for (size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text + (shape.size() == 1 ? ",)" : ")") + ", " + std::string(dtype.name()) + "]";
}

struct Conv {
  Shape data, weights;
  std::string attributes = "padding=[1, 1]";
  std::string epilogue = "%c";  // of the convolution %c, the bias %b, the input %x
  std::string open = "";        // the name of the extent of images, if the type leaves that open
  std::string plane = "";       // names of open extents of lines and columns: "h, w", "12, w", …
  DType dtype = kFloat32;       // of data and weights

  Program program() const {
    const Shape bias{weights[2] == weights[3] ? weights[0] : weights[3], 1, 1};
    std::vector<NDArray> values;
    for (const Shape& shape : {data, weights, bias}) {
      const DType type = values.size() < 2 ? dtype : kFloat32;
      values.push_back(random_array(shape, type, static_cast<uint32_t>(values.size() + 1)));
    }
    std::string type = tensor(data, dtype);
    if (!plane.empty()) {
      const std::string known = std::to_string(data[2]) + ", " + std::to_string(data[3]);
      type.replace(type.find(known), known.size(), plane);
    }
    if (!open.empty()) type.replace(type.find('(') + 1, std::to_string(data[0]).size(), open);
    return Program("def @main(%x: " + type + ", %w: " + tensor(weights, dtype) +
                       ", %b: " + tensor(bias) + ") {\n  let %c = nn.conv2d(%x, %w, " + attributes +
                       ");\n  " + epilogue + "\n}\n",
                   values);
  }
};

void expect_same(const Conv& conv) {
  const Program program = conv.program();
  SCOPED_TRACE("data " + tensor(conv.data) + ", weights " + tensor(conv.weights) + ", " +
               conv.attributes + ": " + conv.epilogue);
  vm::CompileOptions counted;  // on a processor without instructions for narrow products
  if (conv.dtype != kFloat32) counted.target = codegen::Target::named("avx512");
  const auto [four, two] = program.tiled(counted);
  EXPECT_EQ(four + two, 1);
  const NDArray wanted = evaluate_function(program.module, "main", program.arguments).array();
  vm::CompileOptions options;
  options.direct = true;
  EXPECT_LT(distance(program.run(program.compiled(options)), wanted), kTolerance);
  options.direct = false;
  for (const codegen::Target& target : testing::targets_here()) {
    SCOPED_TRACE(target.name());
    options.target = target;
    const auto executable = program.compiled(options);
    const NDArray found = program.run(executable);
    EXPECT_LT(distance(found, wanted), kTolerance);
    EXPECT_TRUE(bit_equal(found, program.run(executable, 3)));
  }
}

TEST(Winograd, SizesAndPadding) {
  // Planes that are whole tiles, and one, two, three columns and rows more.
  for (int64_t size = 12; size < 16; ++size)
    expect_same({{1, 32, size, 27 - size}, {32, 32, 3, 3}});
  expect_same({{1, 32, 10, 37}, {32, 32, 3, 3}, "padding=[0, 0]"});
  expect_same({{1, 32, 13, 17}, {32, 32, 3, 3}, "padding=[2, 0, 1, 2]"});
  expect_same({{1, 48, 70, 67}, {24, 48, 3, 3}});  // several bands of lines
  expect_same({{3, 32, 12, 9}, {40, 32, 3, 3}});
}

// Few tiles in a line: vectors take those of all lines, and of several channels.
TEST(Winograd, FewTilesInALine) {
  expect_same({{1, 128, 7, 7}, {32, 128, 3, 3}});
  expect_same({{1, 37, 28, 28}, {40, 37, 3, 3}});
  expect_same({{2, 32, 14, 14}, {32, 32, 3, 3}, "padding=[1, 1]", "nn.relu(%c + %b + %x)"});
}

TEST(Winograd, WindowsOfFive) {
  for (int64_t size = 13; size < 15; ++size)
    expect_same({{1, 32, size, 28 - size}, {32, 32, 5, 5}, "padding=[2, 2]"});
  expect_same({{2, 32, 18, 21}, {40, 32, 5, 5}, "padding=[0, 1, 2, 3]", "nn.relu(%c + %b)"});
}

TEST(Winograd, Groups) {
  expect_same({{1, 64, 16, 15}, {96, 32, 3, 3}, "padding=[1, 1], groups=2", "nn.relu(%c + %b)"});
  expect_same({{1, 72, 14, 14}, {96, 24, 5, 5}, "padding=[2, 2], groups=3"});
}

TEST(Winograd, NarrowOperandsAreWidened) {
  Conv conv{{1, 64, 28, 28}, {64, 64, 3, 3}, "padding=[1, 1], out_dtype=\"float32\"", "%c + %b"};
  for (DType dtype : {kBFloat16, kFloat16}) {
    conv.dtype = dtype;
    expect_same(conv);
  }
}

TEST(Winograd, InfinitiesOfFloat16StayInTheirWindows) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (float element : {infinity, -infinity}) {
    Conv conv{{1, 64, 28, 28}, {64, 64, 3, 3}, "padding=[1, 1]", "clip(%c, a_min=0f, a_max=6f)"};
    conv.dtype = kFloat16;
    Program program = conv.program();
    NDArray data = program.arguments[0].array().cast(kFloat32).copy();
    data.data<float>()[9 * 28 + 9] = element;
    program.arguments[0] = Value(data.cast(kFloat16));
    vm::CompileOptions options;
    options.target = testing::targets_here().back();
    const NDArray found = program.run(program.compiled(options)).cast(kFloat32);
    for (int64_t i = 0; i < found.size(); ++i)
      ASSERT_FALSE(std::isnan(found.data<float>()[i])) << i;
  }
}

TEST(Winograd, PairsOfBFloat16CostHalf) {
  Conv conv{{1, 64, 56, 56}, {64, 64, 3, 3}, "padding=[1, 1], out_dtype=\"float32\""};
  conv.dtype = kBFloat16;
  vm::CompileOptions options;
  for (const auto& [target, tiles] : {std::pair("avx512", 1), std::pair("avx512-bf16", 0)}) {
    options.target = codegen::Target::named(target);
    EXPECT_EQ(conv.program().tiled(options).first, tiles) << target;
  }
}

// One compiled program takes any number of images.
TEST(Winograd, OpenImages) {
  for (int64_t images : {1, 2, 3}) {
    expect_same(
        {{images, 32, 14, 13}, {32, 32, 3, 3}, "padding=[1, 1]", "nn.relu(%c + %b + %x)", "n"});
    expect_same({{images, 64, 16, 15}, {96, 32, 3, 3}, "padding=[1, 1], groups=2", "%c", "n"});
    expect_same({{images, 48, 70, 67}, {24, 48, 3, 3}, "padding=[1, 1]", "nn.relu(%c + %b)", "n"});
    // Planes of which several fill a vector.
    expect_same({{images, 32, 8, 16}, {16, 32, 3, 3}, "padding=[1, 1]", "%c", "n"});
    expect_same({{images, 32, 16, 8}, {16, 32, 3, 3}, "padding=[1, 1]", "%c", "n"});
    expect_same({{images, 48, 8, 14}, {40, 48, 3, 3}, "padding=[1, 1]", "nn.relu(%c + %b)", "n"});
  }
}

/// One compiled program on data of many shapes: what it gives is what the evaluator gives, on any
/// number of threads.
void expect_same_at(const Conv& conv, const std::vector<Shape>& shapes) {
  Program program = conv.program();
  SCOPED_TRACE("data of " + conv.open + ", " + conv.plane + ", weights " + tensor(conv.weights) +
               ", " + conv.attributes + ": " + conv.epilogue);
  vm::CompileOptions options;
  if (conv.dtype != kFloat32) options.target = codegen::Target::named("avx512");
  const auto [four, two] = program.tiled(options);
  EXPECT_EQ(four + two, 1);
  std::vector<NDArray> wanted;
  std::vector<std::vector<Value>> arguments;
  for (const Shape& shape : shapes) {
    const auto seed = static_cast<uint32_t>(wanted.size());
    arguments.push_back({Value(random_array(shape, conv.dtype, seed))});
    wanted.push_back(evaluate_function(program.module, "main", arguments.back()).array());
  }
  for (const codegen::Target& target : testing::targets_here()) {
    options.target = target;
    const auto executable = program.compiled(options);
    if (conv.dtype == kFloat32) {  // on others narrow products may be faster
      EXPECT_TRUE(has_blocks(*executable));
    }
    for (size_t k = 0; k < shapes.size(); ++k) {
      SCOPED_TRACE(std::string(target.name()) + " " + tensor(shapes[k]));
      program.arguments = arguments[k];
      const NDArray found = program.run(executable);
      if (wanted[k].size() > 0) {
        EXPECT_LT(distance(found, wanted[k]), kTolerance);
      }
      EXPECT_TRUE(bit_equal(found, program.run(executable, 3)));
    }
  }
}

// Planes that a run measures: whole tiles, some rows and columns more, less than a tile.
TEST(Winograd, OpenPlanes) {
  std::vector<Shape> shapes;
  for (int64_t height : {1, 2, 4, 5, 31, 70})
    for (int64_t width : {1, 3, 4, 17, 66, 203}) shapes.push_back({1, 32, height, width});
  const Shape sample{1, 32, 16, 16};
  expect_same_at({sample, {40, 32, 3, 3}, "padding=[1, 1]", "nn.relu(%c + %b)", "", "h, w"},
                 shapes);
  std::vector<Shape> larger;
  for (int64_t height : {3, 4, 9, 22})
    for (int64_t width : {5, 8, 30, 111}) larger.push_back({1, 32, height, width});
  expect_same_at({sample, {32, 32, 3, 3}, "padding=[0, 0]", "%c", "", "h, w"}, larger);
  expect_same_at({sample, {32, 32, 3, 3}, "padding=[2, 0, 1, 2]", "%c", "", "h, w"}, larger);
  expect_same_at({sample, {32, 32, 5, 5}, "padding=[2, 3]", "nn.relu(%c + %b)", "", "h, w"},
                 larger);
}

// Tiles round differently, so bits tell which way a run took.
TEST(Winograd, OpenPlanesChooseByExtents) {
  Program program =
      Conv{{1, 32, 16, 16}, {32, 32, 3, 3}, "padding=[1, 1]", "nn.relu(%c + %b)", "", "h, w"}
          .program();
  for (const codegen::Target& target : testing::targets_here()) {
    SCOPED_TRACE(target.name());
    vm::CompileOptions options;
    options.target = target;
    const auto both = program.compiled(options);
    options.winograd = false;
    const auto plain = program.compiled(options);
    EXPECT_TRUE(has_blocks(*both));
    EXPECT_FALSE(has_blocks(*plain));
    for (const auto& [size, in_tiles] : {std::pair(2, false), std::pair(66, true)}) {
      program.arguments = {Value(random_array(Shape{1, 32, size, size}, kFloat32, 1))};
      for (int threads : {1, 3}) {
        EXPECT_NE(bit_equal(program.run(both, threads), program.run(plain, threads)), in_tiles)
            << size;
      }
    }
  }
}

// With an open plane a program keeps both forms of the weights: not of large ones.
TEST(Winograd, BothFormsOfWeightsAreBounded) {
  auto tiles = [](int64_t channels, const char* plane) {
    Conv conv{{1, channels, 28, 28}, {channels, channels, 3, 3}};
    conv.plane = plane;
    return conv.program().tiled();
  };
  EXPECT_EQ(tiles(256, "h, w"), std::pair(1, 0));
  EXPECT_EQ(tiles(320, "h, w"), std::pair(0, 1));  // the smaller of two forms
  EXPECT_EQ(tiles(384, "h, w"), std::pair(0, 0));
  EXPECT_EQ(tiles(384, ""), std::pair(1, 0));
}

// Planes of no images may have more pixels than costs can count.
TEST(Winograd, LargePlanesOfNoImages) {
  Program program =
      Conv{{1, 32, 16, 16}, {32, 32, 3, 3}, "padding=[1, 1]", "nn.relu(%c + %b)", "n", "h, w"}
          .program();
  const auto executable = program.compiled();
  const int64_t side = int64_t{1} << 27;
  program.arguments = {Value(NDArray::empty({0, 32, side, side}, kFloat32))};
  EXPECT_EQ(program.run(executable).shape().back(), side);
}

// What is between the stages of large planes takes more than memory should hold: block by block.
TEST(Winograd, LargePlanes) {
  const Conv large{{1, 16, 483, 490}, {16, 16, 3, 3}, "padding=[1, 1]", "nn.relu(%c + %b)"};
  Conv open = large;
  open.data = {2, 16, 197, 203};
  open.open = "n";
  for (const Conv& conv : {large, open}) {
    const Program program = conv.program();
    EXPECT_EQ(program.tiled(), std::pair(1, 0));
    vm::CompileOptions options;
    options.winograd = false;
    const NDArray wanted = program.run(program.compiled(options));
    const auto executable = program.compiled();
    for (const auto& kernel : executable->kernels) EXPECT_EQ(kernel.implementation, "blocks");
    const NDArray found = program.run(executable);
    EXPECT_LT(distance(found, wanted), kTolerance);
    EXPECT_TRUE(bit_equal(found, program.run(executable, 3)));
  }
}

// A part of the extents is open: lines of sound or of text are as long as they are.
TEST(Winograd, OneOpenExtent) {
  expect_same_at({{1, 32, 16, 16}, {32, 32, 3, 3}, "padding=[1, 1]", "%c + %x", "", "16, w"},
                 {{1, 32, 16, 1}, {1, 32, 16, 13}, {1, 32, 16, 100}});
  expect_same_at({{1, 32, 16, 19}, {32, 32, 3, 3}, "padding=[1, 1]", "%c + %b", "", "h, 19"},
                 {{1, 32, 1, 19}, {1, 32, 13, 19}, {1, 32, 100, 19}});
}

TEST(Winograd, OpenPlanesOfOpenImages) {
  const std::vector<Shape> shapes{{0, 32, 20, 20}, {1, 32, 20, 20}, {3, 32, 9, 13},
                                  {2, 32, 1, 40},  {5, 32, 3, 3},   {2, 32, 40, 37}};
  expect_same_at(
      {{1, 32, 20, 20}, {32, 32, 3, 3}, "padding=[1, 1]", "nn.relu(%c + %b + %x)", "n", "h, w"},
      shapes);
  expect_same_at(
      {{4, 32, 20, 20}, {24, 32, 3, 3}, "padding=[1, 1]", "%c * sigmoid(%c)", "", "h, w"},
      {{4, 32, 20, 20}, {4, 32, 3, 50}});
}

TEST(Winograd, OpenPlanesOfGroups) {
  expect_same_at(
      {{1, 64, 16, 16}, {96, 32, 3, 3}, "padding=[1, 1], groups=2", "nn.relu(%c + %b)", "", "h, w"},
      {{1, 64, 3, 3}, {1, 64, 16, 15}, {1, 64, 33, 50}});
}

TEST(Winograd, OpenPlanesInAnotherShape) {
  for (const char* epilogue : {"reshape(nn.relu(%c + %b), newshape=[1, 32, -1])",
                               "transpose(reshape(%c, newshape=[1, 32, -1]), axes=[0, 2, 1])"}) {
    expect_same_at({{1, 32, 16, 16}, {32, 32, 3, 3}, "padding=[1, 1]", epilogue, "", "h, w"},
                   {{1, 32, 2, 3}, {1, 32, 18, 19}, {1, 32, 40, 44}});
  }
}

TEST(Winograd, OpenPlanesOfNarrowOperands) {
  for (DType dtype : {kBFloat16, kFloat16}) {
    expect_same_at({{1, 64, 16, 16},
                    {64, 64, 3, 3},
                    "padding=[1, 1], out_dtype=\"float32\"",
                    "%c + %b",
                    "",
                    "h, w",
                    dtype},
                   {{1, 64, 2, 5}, {1, 64, 28, 27}, {1, 64, 9, 100}});
  }
}

TEST(Winograd, Epilogues) {
  for (const char* epilogue :
       {"nn.relu(%c + %b)", "nn.relu(%c + %b + %x)", "%c * sigmoid(%c)", "(%c + %b) * 2f"})
    expect_same({{2, 32, 14, 13}, {32, 32, 3, 3}, "padding=[1, 1]", epilogue});
}

TEST(Winograd, InAnotherShape) {
  for (const char* epilogue :
       {"reshape(nn.relu(%c + %b), newshape=[2, 8, -1])", "reshape(%c, newshape=[-1])",
        "transpose(reshape(%c, newshape=[2, 32, -1]), axes=[0, 2, 1])"}) {
    expect_same({{2, 32, 14, 13}, {32, 32, 3, 3}, "padding=[1, 1]", epilogue});
    expect_same({{2, 32, 14, 13}, {32, 32, 3, 3}, "padding=[1, 1]", epilogue, "n"});
  }
}

TEST(Winograd, RandomConvolutions) {
  std::mt19937 random(7);
  auto between = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int i = 0; i < 6; ++i) {
    const int64_t in = between(24, 40), out = between(24, 40);
    auto pad = [&] { return std::to_string(between(0, 2)); };
    expect_same({{between(1, 2), in, between(12, 18), between(12, 18)},
                 {out, in, 3, 3},
                 "padding=[" + pad() + ", " + pad() + ", " + pad() + ", " + pad() + "]",
                 i % 2 == 0 ? "nn.relu(%c + %b)" : "%c"});
  }
}

TEST(Winograd, TilesByCost) {
  auto tiles = [](const Conv& conv) { return conv.program().tiled(); };
  EXPECT_EQ(tiles({{1, 64, 28, 28}, {64, 64, 3, 3}}), std::pair(1, 0));
  // Four tiles of 4 × 4 would fill half a vector, and its weights come from memory.
  EXPECT_EQ(tiles({{1, 256, 7, 7}, {256, 256, 3, 3}}), std::pair(0, 1));
}

TEST(Winograd, LeftAlone) {
  auto tiles = [](const Conv& conv) { return conv.program().tiled(); };
  const std::pair<int, int> none{};
  EXPECT_EQ(tiles({{1, 3, 32, 32}, {64, 3, 3, 3}}), none);  // few channels
  EXPECT_EQ(tiles({{1, 64, 4, 4}, {64, 64, 3, 3}}), none);  // few pixels
  EXPECT_EQ(tiles({{1, 64, 16, 16}, {64, 64, 3, 3}, "strides=[2, 2]"}), none);
  EXPECT_EQ(tiles({{1, 64, 16, 16}, {64, 64, 3, 3}, "dilation=[2, 2]"}), none);
  EXPECT_EQ(tiles({{1, 64, 16, 16}, {64, 1, 3, 3}, "groups=64"}), none);
  EXPECT_EQ(tiles({{1, 64, 16, 16}, {64, 4, 3, 3}, "groups=16"}), none);
  EXPECT_EQ(tiles({{1, 64, 16, 16}, {64, 64, 7, 7}}), none);
  EXPECT_EQ(tiles({{1, 64, 16, 16}, {64, 64, 5, 3}}), none);
  EXPECT_EQ(tiles({{1, 64, 16, 16}, {64, 64, 1, 1}}), none);
  // Weights that are no constants.
  const std::string text = "def @main(%x: " + tensor(Shape{1, 64, 16, 16}) +
                           ", %w: " + tensor(Shape{64, 64, 3, 3}) + ") { nn.conv2d(%x, %w) }";
  Module module = parse_module("open.rly", text);
  infer_types_or_throw(module);
  for (const Graph& graph : vm::compile_graphs(module, Name("main")))
    EXPECT_EQ(graph.nodes.at(0).work->computation().stages.size(), 1u);
}

// The result computed by hand is what the computation says, also for channels that fill no run.
TEST(Winograd, TransformedWeights) {
  for (const Conv& conv :
       {Conv{{1, 40, 16, 16}, {27, 40, 3, 3}}, Conv{{1, 256, 7, 7}, {256, 256, 3, 3}},
        Conv{{1, 40, 18, 18}, {27, 40, 5, 5}},
        Conv{{1, 32, 16, 16}, {3, 3, 32, 40}, "kernel_layout=\"HWIO\", channels=40"}}) {
    size_t found = 0;
    const Program program = conv.program();
    for (const Graph& graph : vm::compile_graphs(program.module, Name("main"))) {
      for (const Tensor& tensor : graph.tensors) {
        if (tensor.constant == nullptr || tensor.constant->computation() == nullptr) continue;
        std::vector<NDArray> weights{tensor.constant->inputs().at(0)->value().array()};
        const NDArray wanted = te::evaluate(*tensor.constant->computation(), weights).at(0);
        tensor.constant->inputs()[0]->release();  // so that what is packed is packed on the way
        EXPECT_TRUE(bit_equal(tensor.constant->value().array(), wanted));
        ++found;
      }
    }
    EXPECT_EQ(found, 2u);  // the transformed weights, and these packed
  }
}

TEST(Winograd, Switches) {
  const Program program = Conv{{1, 64, 16, 16}, {64, 64, 3, 3}}.program();
  const std::pair<int, int> none{}, one{1, 0};
  vm::CompileOptions options;
  EXPECT_EQ(program.tiled(options), one);
  options.winograd = false;
  EXPECT_EQ(program.tiled(options), none);
  options.winograd = true;
  options.level = 2;
  EXPECT_EQ(program.tiled(options), none);
  options.level = 3;
  PassContext context;
  context.set_config("relay.winograd", false);
  PassContext::Scope scope(context);
  EXPECT_EQ(program.tiled(options), none);
}

// A number that is no number reaches the tiles that read it, and no other results.
TEST(Winograd, NotANumber) {
  Program program = Conv{{1, 32, 16, 16}, {32, 32, 3, 3}}.program();
  NDArray data = program.arguments[0].array().copy();
  data.data<float>()[5 * 16 + 5] = std::nanf("");
  program.arguments[0] = Value(data);
  const NDArray found = program.run(program.compiled());
  for (int64_t y = 0; y < 16; ++y) {
    for (int64_t x = 0; x < 16; ++x) {
      const bool near = std::abs(y - 5) <= 1 && std::abs(x - 5) <= 1;
      const bool in_tile = y >= 4 && y < 8 && x >= 4 && x < 8;
      const bool is_nan = std::isnan(found.data<float>()[y * 16 + x]);
      EXPECT_TRUE(!near || is_nan) << y << ' ' << x;
      EXPECT_TRUE(in_tile || !is_nan) << y << ' ' << x;
    }
  }
}

// Against sums in double: the bound that docs/numerics.md states.
TEST(Winograd, Error) {
  const int64_t channels = 128, size = 16;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  NDArray data = NDArray::empty({1, channels, size, size}, kFloat32);
  NDArray weights = NDArray::empty({channels, channels, 3, 3}, kFloat32);
  for (NDArray* array : {&data, &weights}) {
    for (int64_t i = 0; i < array->size(); ++i) array->data<float>()[i] = normal(random);
  }
  Program program("def @main(%x: " + tensor(data.shape()) + ", %w: " + tensor(weights.shape()) +
                      ") { nn.conv2d(%x, %w) }",
                  {data, weights});
  const int64_t out = size - 2;
  std::vector<double> exact(static_cast<size_t>(channels * out * out));
  for (int64_t k = 0; k < channels; ++k) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t tap = 0; tap < 9; ++tap) {
        const double w = weights.data<float>()[(k * channels + c) * 9 + tap];
        for (int64_t y = 0; y < out; ++y) {
          for (int64_t x = 0; x < out; ++x)
            exact[static_cast<size_t>((k * out + y) * out + x)] +=
                w * data.data<float>()[(c * size + y + tap / 3) * size + x + tap % 3];
        }
      }
    }
  }
  auto error = [&](bool winograd) {
    vm::CompileOptions options;
    options.winograd = winograd;
    EXPECT_EQ(program.tiled(options).first, winograd ? 1 : 0);
    const NDArray found = program.run(program.compiled(options));
    double squares = 0, wrong = 0;
    for (size_t i = 0; i < exact.size(); ++i) {
      squares += exact[i] * exact[i];
      wrong += std::pow(found.data<float>()[i] - exact[i], 2);
    }
    return std::sqrt(wrong / squares);
  };
  const double sums = error(false), tiles = error(true);
  EXPECT_LT(sums, 1e-6);
  EXPECT_LT(tiles, 2e-6);
  RecordProperty("sums", std::to_string(sums * 1e7));
  RecordProperty("tiles", std::to_string(tiles * 1e7));
}

TEST(Winograd, AnyNumberOfThreadsCompilesTheSameFile) {
  const Program program = Conv{{1, 40, 16, 16}, {27, 40, 3, 3}}.program();
  vm::CompileOptions options;
  options.threads = 1;
  const std::vector<std::byte> alone = vm::executable_bytes(*program.compiled(options));
  options.threads = 8;
  EXPECT_EQ(alone, vm::executable_bytes(*program.compiled(options)));
}

TEST(Winograd, InFiles) {
  const Program program =
      Conv{{1, 32, 14, 14}, {32, 32, 3, 3}, "padding=[1, 1]", "nn.relu(%c + %b)"}.program();
  const auto executable = program.compiled();
  std::vector<std::byte> bytes = vm::executable_bytes(*executable);
  vm::Machine again(vm::load_executable(bytes, "winograd.rlx"));
  EXPECT_TRUE(bit_equal(again.run("main", program.arguments).array(), program.run(executable)));
}

}  // namespace
}  // namespace relay::graph::graph_winograd_test
