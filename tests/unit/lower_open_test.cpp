// Windows and resizes of planes whose extents a run decides: bands of lines, pieces of columns,
// what is left; elements that are near to each other, and far apart.
#include <gtest/gtest.h>

#include <relay/graph/compose.h>
#include <relay/lower/lower.h>
#include <relay/tensor_expr/evaluate.h>

#include <tests/unit/kernel_testing.h>
#include <tests/unit/lower_cases.h>
#include <tests/unit/nest_interpreter.h>

namespace relay::lower::lower_open_test {
namespace {

using Shape = std::vector<int64_t>;

constexpr int64_t kHigh = -1, kWide = -2;  // extents that are symbols

struct Program {
  const char* name;
  const char* body;                       // over %a, %b, …
  std::vector<Shape> shapes;              // of %a, %b, …
  std::vector<Shape> extents;             // height and width of each run
  const char* implementation = "window";  // of the one kernel; null: anything
};

const std::vector<Shape> kPlanes{{9, 11}, {1, 1}, {4, 37}, {33, 300}, {20, 256}, {7, 513}, {70, 5}};

const Program kPrograms[] = {
    {"depthwise",
     "nn.relu(nn.conv2d(%a, %b, padding=[1, 1], groups=3, channels=3, kernel_size=[3, 3]))",
     {{2, 3, kHigh, kWide}, {3, 1, 3, 3}},
     kPlanes},
    {"depthwise and what is added",
     "add(nn.conv2d(%a, %b, padding=[1, 1], groups=3, channels=3, kernel_size=[3, 3]), %c)",
     {{1, 3, kHigh, kWide}, {3, 1, 3, 3}, {1, 3, kHigh, kWide}},
     kPlanes},
    {"depthwise by two",
     "nn.conv2d(%a, %b, padding=[2, 1, 1, 2], groups=2, channels=2, kernel_size=[5, 4], "
     "strides=[2, 2])",
     {{1, 2, kHigh, kWide}, {2, 1, 5, 4}},
     {{9, 11}, {3, 3}, {33, 300}, {70, 513}, {66, 259}}},
    {"depthwise by two and one",
     "nn.conv2d(%a, %b, padding=[1, 1], groups=2, channels=2, kernel_size=[3, 3], strides=[2, 1])",
     {{1, 2, kHigh, kWide}, {2, 1, 3, 3}},
     kPlanes},
    {"depthwise dilated",
     "nn.conv2d(%a, %b, padding=[4, 2], groups=2, channels=2, kernel_size=[5, 3], dilation=[2, 2])",
     {{2, 2, kHigh, kWide}, {2, 1, 5, 3}},
     kPlanes},
    {"depthwise of a known height",
     "nn.conv2d(%a, %b, padding=[1, 1], groups=3, channels=3, kernel_size=[3, 3])",
     {{2, 3, 48, kWide}, {3, 1, 3, 3}},
     {{0, 1}, {0, 37}, {0, 600}}},
    {"depthwise of a known width",
     "nn.conv2d(%a, %b, padding=[1, 1], groups=3, channels=3, kernel_size=[3, 3])",
     {{2, 3, kHigh, 48}, {3, 1, 3, 3}},
     {{1, 0}, {37, 0}, {130, 0}}},
    {"depthwise of many taps",
     "nn.conv2d(%a, %b, padding=[3, 3], groups=2, channels=2, kernel_size=[7, 7])",
     {{1, 2, kHigh, kWide}, {2, 1, 7, 7}},
     {{9, 11}, {33, 300}}},
    {"depthwise of signals",
     "nn.conv1d(%a, %b, padding=[7, 7], groups=3, channels=3, kernel_size=[15])",
     {{2, 3, kWide}, {3, 1, 15}},
     {{0, 1}, {0, 100}, {0, 2048}, {0, 5000}}},
    {"a filter of signals by two",
     "nn.conv1d(%a, %b, padding=[13, 13], channels=1, kernel_size=[28], strides=[2])",
     {{2, 1, kWide}, {1, 1, 28}},
     {{0, 3}, {0, 100}, {0, 4100}}},
    {"a filter of signals by three",
     "nn.conv1d(%a, %b, padding=[19, 22], channels=1, kernel_size=[41], strides=[3])",
     {{2, 1, kWide}, {1, 1, 41}},
     {{0, 1}, {0, 100}, {0, 2049}, {0, 6200}}},
    {"a filter of signals by eight",
     "nn.conv1d(%a, %b, padding=[3, 30], channels=1, kernel_size=[41], strides=[8])",
     {{2, 1, kWide}, {1, 1, 41}},
     {{0, 8}, {0, 100}, {0, 2049}, {0, 6200}}},
    {"depthwise by three and dilated",
     "nn.conv2d(%a, %b, padding=[4, 4], groups=2, channels=2, kernel_size=[4, 4], "
     "strides=[3, 3], dilation=[2, 2])",
     {{1, 2, kHigh, kWide}, {2, 1, 4, 4}},
     {{9, 11}, {3, 3}, {33, 300}, {66, 259}}},
    {"a window that leaves out most",
     "nn.conv2d(%a, %b, padding=[4, 4], groups=2, channels=2, kernel_size=[2, 2], "
     "strides=[4, 4], dilation=[4, 4])",
     {{1, 2, kHigh, kWide}, {2, 1, 2, 2}},
     {{9, 11}, {33, 300}}},
    {"a long filter of signals",
     "nn.conv1d(%a, %b, padding=[50, 50], channels=1, kernel_size=[101])",
     {{2, 1, kWide}, {1, 1, 101}},
     {{0, 3}, {0, 100}, {0, 4100}}},
    {"pool along one axis",
     "nn.max_pool1d(%a, pool_size=[5], strides=[2], padding=[2, 2])",
     {{2, 3, kWide}},
     {{0, 1}, {0, 45}, {0, 2050}, {0, 4100}}},
    {"pool without padding",
     "nn.max_pool2d(%a, pool_size=[3, 3], strides=[2, 2])",
     {{1, 3, kHigh, kWide}},
     {{9, 11}, {3, 3}, {33, 300}, {67, 515}}},
    {"pool up to the end",
     "nn.max_pool2d(%a, pool_size=[3, 3], strides=[2, 2], padding=[1, 1], ceil_mode=True)",
     {{1, 2, kHigh, kWide}},
     {{9, 11}, {10, 12}, {33, 300}, {68, 516}}},
    {"pool of means",
     "nn.avg_pool2d(%a, pool_size=[3, 3], strides=[1, 1], padding=[1, 1], count_include_pad=False)",
     {{1, 3, kHigh, kWide}},
     kPlanes},
    {"transposed depthwise",
     "nn.relu(nn.conv2d_transpose(%a, %b, channels=3, kernel_size=[4, 4], strides=[2, 2], "
     "padding=[1, 1, 1, 1], groups=3))",
     {{2, 3, kHigh, kWide}, {3, 1, 4, 4}},
     kPlanes},
    {"transposed depthwise and what is added",
     "add(nn.conv2d_transpose(%a, %b, channels=2, kernel_size=[3, 3], strides=[2, 2], "
     "padding=[1, 1, 1, 1], output_padding=[1, 1], groups=2), %c)",
     {{1, 2, kHigh, kWide}, {2, 1, 3, 3}, {2, 1, 1}},
     kPlanes},
    {"transposed depthwise of signals",
     "nn.conv1d_transpose(%a, %b, channels=3, kernel_size=[8], strides=[4], padding=[2, 2], "
     "groups=3)",
     {{2, 3, kWide}, {3, 1, 8}},
     {{0, 1}, {0, 37}, {0, 300}}},
    {"parts side by side",
     "nn.relu(concatenate((%a, exp(%b), multiply(%a, 2f)), axis=2))",
     {{2, 3, kWide}, {2, 3, kHigh}},
     {{9, 11}, {1, 1}, {0, 5}, {5, 0}, {300, 64}},
     "pointwise"},
    {"parts side by side and what is added",
     "add(concatenate((%a, %b), axis=1), %c)",
     {{3, kWide}, {3, kHigh}, {3, 1}},
     {{9, 11}, {0, 5}, {300, 64}},
     "pointwise"},
    {"parts of planes",
     "concatenate((reshape(concatenate((%a, %b), axis=1), newshape=[2, 5, -1]), %c), axis=2)",
     {{2, 2, kHigh, kWide}, {2, 3, kHigh, kWide}, {2, 5, kWide}},
     {{9, 11}, {1, 1}, {0, 5}, {33, 70}},
     "pointwise"},
    {"parts of parts",
     "concatenate((concatenate((%a, %b), axis=0), %a, %b, %a), axis=0)",
     {{kWide}, {kHigh}},
     {{9, 11}, {0, 5}, {5, 0}, {3000, 64}},
     "pointwise"},
    {"parts of known extents",
     "concatenate((%a, %b), axis=2)",
     {{kHigh, 3, 40}, {kHigh, 3, 100}},
     {{2, 0}, {0, 0}, {50, 0}},
     "pointwise"},
    {"elements repeated",
     "nn.relu(add(repeat(repeat(%a, repeats=2, axis=2), repeats=4, axis=3), %b))",
     {{2, 3, kHigh, kWide}, {3, 1, 1}},
     kPlanes,
     "pointwise"},
    {"elements repeated three times",
     "repeat(%a, repeats=3, axis=2)",
     {{2, 3, kWide}},
     {{0, 1}, {0, 16}, {0, 37}, {0, 300}},
     "pointwise"},
    {"nearest of twice as many",
     "image.resize2d(%a, size=[18, 74], method=\"nearest_neighbor\", "
     "coordinate_transformation_mode=\"asymmetric\", rounding_method=\"floor\")",
     {{kHigh, 3, 9, 37}},
     {{2, 0}},
     "pointwise"},
    {"nearest of half a pixel and twice as many",
     "image.resize2d(%a, size=[36, 74], method=\"nearest_neighbor\")",
     {{kHigh, 3, 9, 37}},
     {{2, 0}},
     "pointwise"},
    {"nearest of more",
     "image.resize2d(%a, size=[16, 100], method=\"nearest_neighbor\")",
     {{kHigh, 3, 9, 37}},
     {{2, 0}},
     nullptr},
    {"linear of more",
     "image.resize2d(%a, size=[18, 74], method=\"linear\")",
     {{kHigh, 3, 9, 37}},
     {{2, 0}},
     nullptr},
    {"linear of fewer",
     "image.resize2d(%a, size=[5, 14], method=\"linear\", "
     "coordinate_transformation_mode=\"align_corners\")",
     {{kHigh, 3, 9, 131}},
     {{2, 0}},
     nullptr},
    {"cubic of more",
     "image.resize2d(%a, size=[18, 93], method=\"cubic\")",
     {{kHigh, 3, 9, 37}},
     {{2, 0}},
     nullptr},
    {"linear of channels side by side",
     "image.resize2d(%a, size=[18, 74], method=\"linear\", layout=\"NHWC\")",
     {{kHigh, 9, 37, 5}},
     {{2, 0}},
     nullptr},
    {"elements anywhere",
     "take(%a, cast(multiply(%b, 200f), dtype=\"int64\"), axis=1, mode=\"clip\")",
     {{kHigh, kWide}, {70}},
     {{3, 300}, {3, 20}, {2, 1}},
     nullptr},
    {"elements nearby",
     "take(%a, cast(add(multiply(%b, 9f), 20f), dtype=\"int64\"), axis=1, mode=\"clip\")",
     {{kHigh, kWide}, {70}},
     {{3, 300}, {3, 40}, {1, 33}},
     nullptr},
};

class LowerOpen : public ::testing::TestWithParam<Program> {};

std::string header(const Program& program) {
  std::string text = "def @main(";
  for (size_t k = 0; k < program.shapes.size(); ++k) {
    text += (k > 0 ? ", %" : "%") + std::string(1, static_cast<char>('a' + k)) + ": Tensor[(";
    for (size_t d = 0; d < program.shapes[k].size(); ++d) {
      int64_t extent = program.shapes[k][d];
      text += (d > 0 ? ", " : "") + (extent == kHigh   ? std::string("h")
                                     : extent == kWide ? std::string("w")
                                                       : std::to_string(extent));
    }
    text += "), float32]";
  }
  return text + ") { " + program.body + " }";
}

void expect_near(const std::vector<NDArray>& found, const std::vector<NDArray>& wanted) {
  EXPECT_EQ(relay::testing::difference(found, wanted, [](DType) { return 1e-4; }), "");
}

/// Runs at one height and width: interpreted where that is quick, and on each instruction set.
class Runs {
 public:
  Runs(const Program& program, const graph::Group& group, const TypeVar* high)
      : program_(program), group_(group), lowered_(lower(group.computation, "k", {})), high_(high) {
    for (const codegen::Target& target : relay::testing::targets_here()) {
      natives_.emplace_back(std::vector<Lowered>{lowered_}, target);
    }
  }

  const Lowered& lowered() const { return lowered_; }

  void at(int64_t height, int64_t width) const {
    SCOPED_TRACE(std::to_string(height) + " by " + std::to_string(width));
    auto symbols = [&](const TypeVar* symbol) { return symbol == high_ ? height : width; };
    std::vector<NDArray> inputs;
    int64_t elements = 0;
    for (Shape shape : program_.shapes) {
      for (int64_t& extent : shape) {
        extent = extent == kHigh ? height : extent == kWide ? width : extent;
      }
      inputs.push_back(
          relay::testing::random_array(shape, kFloat32, static_cast<uint32_t>(inputs.size() + 5)));
      elements += inputs.back().size();
    }
    std::vector<NDArray> wanted = te::evaluate(group_.computation, inputs, symbols);
    if (elements < 20000) {
      SCOPED_TRACE("interpreted");
      expect_near(relay::testing::interpret(lowered_, inputs, symbols), wanted);
    }
    for (const relay::testing::RunnableGroups& native : natives_) {
      std::vector<NDArray> one = native.run(0, inputs, 1, symbols),
                           two = native.run(0, inputs, 3, symbols);
      expect_near(one, wanted);
      for (size_t k = 0; k < one.size(); ++k) EXPECT_TRUE(bit_equal(one[k], two[k]));
    }
  }

 private:
  const Program& program_;
  const graph::Group& group_;
  Lowered lowered_;
  const TypeVar* high_;
  std::vector<relay::testing::RunnableGroups> natives_;
};

TEST_P(LowerOpen, Agrees) {
  const Program& program = GetParam();
  TypeVarRef high = TypeVar::make("h", Kind::kShapeVar), wide = TypeVar::make("w", Kind::kShapeVar);
  std::vector<TypeRef> types;
  for (const Shape& shape : program.shapes) {
    std::vector<Dim> dims;
    for (int64_t extent : shape) {
      dims.push_back(extent == kHigh   ? Dim::symbol(high.get())
                     : extent == kWide ? Dim::symbol(wide.get())
                                       : Dim(extent));
    }
    types.push_back(TensorType::make(dims, kFloat32));
  }
  FunctionRef function = relay::testing::main_function(header(program), types);
  const graph::Group group = graph::compose(*function, types);
  Runs runs(program, group, high.get());
  std::string text;
  for (const auto& kernel : runs.lowered().kernels) text += kernel->str();
  SCOPED_TRACE(text);
  if (program.implementation != nullptr) {
    ASSERT_EQ(runs.lowered().kernels.size(), 1u);
    EXPECT_EQ(runs.lowered().kernels[0]->implementation, program.implementation);
  }
  for (const Shape& extents : program.extents) runs.at(extents[0], extents[1]);
}

INSTANTIATE_TEST_SUITE_P(Programs, LowerOpen, ::testing::ValuesIn(kPrograms), [](const auto& info) {
  std::string name = info.param.name;
  for (char& c : name) {
    if (c == ' ') c = '_';
  }
  return name;
});

}  // namespace
}  // namespace relay::lower::lower_open_test
