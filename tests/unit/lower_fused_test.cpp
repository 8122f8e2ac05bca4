// Groups of several operators: fused chains, at fixed and at symbolic extents.
#include <gtest/gtest.h>

#include <cstdio>

#include <relay/graph/compose.h>
#include <relay/lower/lower.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/evaluate.h>

#include <tests/unit/kernel_testing.h>
#include <tests/unit/lower_cases.h>
#include <tests/unit/nest_interpreter.h>

namespace relay::lower::lower_fused_test {
namespace {

using graph::compose;
using graph::Group;

using Shape = std::vector<int64_t>;

struct Program {
  const char* name;
  const char* body;           // over %a, %b, …
  std::vector<Shape> shapes;  // of %a, %b, …
  int symbolic = 0;           // with %a's dimension 0 a symbol where it equals that of the others
};

const Program kPrograms[] = {
    {"chain", "nn.relu(add(multiply(%a, %b), %a))", {{3, 70}, {3, 70}}, 1},
    {"broadcast", "tanh(add(%a, %b))", {{4, 5, 6}, {6}}, 1},
    {"channel bias", "nn.relu(nn.bias_add(%a, %b, axis=1))", {{2, 3, 4, 5}, {3}}, 1},
    {"transpose", "add(transpose(%a, axes=[1, 0]), %b)", {{7, 9}, {9, 7}}, 0},
    {"transpose inside", "transpose(exp(%a), axes=[0, 2, 1])", {{2, 7, 9}}, 1},
    {"tiles", "add(transpose(%a, axes=[1, 0]), %b)", {{70, 130}, {130, 70}}, 0},
    {"tiles and a tail", "exp(transpose(%a, axes=[1, 0]))", {{300, 45}}, 1},
    {"tiles of two",
     "add(transpose(%a, axes=[1, 0]), transpose(%b, axes=[1, 0]))",
     {{40, 130}, {40, 130}},
     1},
    {"tiles of three", "nn.relu(transpose(%a, axes=[2, 0, 1]))", {{3, 66, 20}}, 1},
    {"long columns", "sqrt(max(abs(%a), axis=[0]))", {{67, 300}}, 1},
    {"longer columns", "divide(sum(%a, axis=[1]), 3f)", {{2, 64, 2100}}, 1},
    {"blocks of sums", "sqrt(sum(multiply(%a, %a)))", {{300, 500}}, 0},
    {"blocks of maxima", "max(%a, axis=[1, 2])", {{3, 701, 211}}, 0},
    {"blocks of positions", "argmin(%a)", {{701, 211}}, 0},
    {"reshape", "reshape(nn.relu(reshape(%a, newshape=[6, -1])), newshape=[3, -1])", {{3, 8}}, 0},
    {"reshape mixed", "add(reshape(%a, newshape=[4, 6]), %b)", {{2, 3, 4}, {4, 6}}, 0},
    {"squeeze", "add(squeeze(sum(%a, axis=[1], keepdims=True), axis=[1]), %b)", {{5, 300}, {5}}, 0},
    {"sum of products", "sum(multiply(%a, %b), axis=[1])", {{4, 520}, {4, 520}}, 1},
    {"column sums", "sum(%a, axis=[0])", {{600, 5}}, 1},
    {"full sum", "sqrt(sum(%a))", {{40, 30}}, 1},
    {"mean and variance",
     "(mean(%a, axis=[1]), variance(%a, mean(%a, axis=[1], keepdims=True), axis=[1]))",
     {{3, 40}},
     1},
    {"softmax", "nn.softmax(%a)", {{3, 50}}, 1},
    {"softmax of middle", "nn.softmax(%a, axis=1)", {{2, 5, 4}}, 1},
    {"softmax of a chain", "multiply(nn.softmax(divide(%a, 8f)), 2f)", {{3, 50}}, 1},
    {"softmax of a sum of middle",
     "nn.softmax(tanh(add(%a, %b)), axis=1)",
     {{2, 70, 33}, {2, 70, 33}},
     1},
    {"softmax of columns", "nn.softmax(add(%a, %b), axis=0)", {{300, 70}, {70}}, 1},
    {"log softmax", "nn.log_softmax(%a)", {{3, 50}}, 1},
    {"layer norm", "nn.layer_norm(add(%a, %b), %c, %d)", {{3, 50}, {3, 50}, {50}, {50}}, 1},
    {"l2 normalize", "nn.l2_normalize(%a, eps=1e-6, axis=[1])", {{3, 50}}, 1},
    {"instance norm", "nn.instance_norm(%a, %b, %c)", {{2, 3, 4, 4}, {3}, {3}}, 0},
    {"batch norm",
     "nn.relu(nn.batch_norm(%a, %b, %c, %d, %e).0)",
     {{2, 3, 4, 4}, {3}, {3}, {3}, {3}},
     1},
    {"dense", "nn.relu(nn.bias_add(nn.dense(%a, %b, units=6), %c))", {{4, 30}, {6, 30}, {6}}, 1},
    {"dense of a slice",
     "nn.dense(strided_slice(%a, begin=[0, 0], end=[4, 30]), %b, units=6)",
     {{5, 31}, {6, 30}},
     0},
    {"conv",
     "nn.relu(add(nn.conv2d(%a, %b, padding=[1, 1], channels=4, kernel_size=[3, 3]), %c))",
     {{1, 3, 6, 7}, {4, 3, 3, 3}, {4, 1, 1}},
     1},
    {"dense in another shape",
     "tanh(add(reshape(nn.dense(%a, %b), newshape=[2, 3, 8]), %c))",
     {{6, 30}, {8, 30}, {8}},
     0},
    {"dense in heads",
     "nn.silu(add(reshape(add(nn.dense(%a, %b), %c), newshape=[2, 3, 4, 5]), %d))",
     {{6, 30}, {20, 30}, {20}, {4, 5}},
     0},
    {"dense and what is added in another shape",
     "nn.relu(add(%c, reshape(nn.dense(reshape(%a, newshape=[-1, 7]), %b), newshape=[-1, 3, 8])))",
     {{2, 3, 7}, {8, 7}, {2, 3, 8}},
     1},
    {"dense and a mask in another shape",
     "add(reshape(nn.dense(%a, %b), newshape=[2, 3, 8]), %c)",
     {{6, 30}, {8, 30}, {2, 1, 8}},
     0},
    {"dense in joined axes",
     "multiply(reshape(nn.batch_matmul(%a, %b), newshape=[-1]), %c)",
     {{2, 3, 7}, {2, 7, 8}, {48}},
     0},
    {"conv in another shape",
     "nn.relu(add(reshape(nn.conv2d(%a, %b, kernel_size=[1, 1]), newshape=[1, 2, 4, 30]), %c))",
     {{1, 3, 5, 6}, {8, 3, 1, 1}, {4, 1}},
     0},
    {"dense and softmax", "nn.softmax(nn.dense(%a, %b))", {{9, 30}, {20, 30}}, 1},
    {"dense and layer norm",
     "nn.layer_norm(add(nn.dense(%a, %b), %c), %d, %e)",
     {{9, 30}, {20, 30}, {9, 20}, {20}, {20}},
     1},
    {"two dense",
     "add(nn.dense(%a, %b), multiply(nn.dense(%a, %c), 2f))",
     {{9, 30}, {20, 30}, {20, 30}},
     1},
    {"dense and a sum beside it",
     "divide(nn.dense(%a, %b), sum(%a, axis=[1], keepdims=True))",
     {{9, 30}, {20, 30}},
     1},
    {"dense twice",
     "{ let %d = nn.dense(%a, %b); (nn.relu(%d), add(%d, %c), sum(%d, axis=[1])) }",
     {{9, 30}, {20, 30}, {20}},
     1},
    {"conv and mean",
     "mean(nn.relu(nn.conv2d(%a, %b, padding=[1, 1], kernel_size=[3, 3])), axis=[2, 3])",
     {{2, 3, 6, 7}, {4, 3, 3, 3}},
     1},
    {"depthwise",
     "nn.conv2d(%a, %b, padding=[1, 1], groups=5, channels=5, kernel_size=[3, 3], strides=[2, 2])",
     {{1, 5, 9, 9}, {5, 1, 3, 3}},
     1},
    {"depthwise in bands",
     "add(nn.relu(nn.conv2d(%a, %b, padding=[1, 1], groups=2, channels=2, kernel_size=[3, 3])), "
     "%c)",
     {{1, 2, 131, 90}, {2, 1, 3, 3}, {1, 2, 131, 90}},
     1},
    {"depthwise in bands by two",
     "nn.conv2d(%a, %b, padding=[2, 2, 1, 0], groups=2, channels=2, kernel_size=[5, 4], "
     "strides=[2, "
     "2])",
     {{1, 2, 150, 203}, {2, 1, 5, 4}},
     0},
    {"depthwise dilated",
     "nn.conv2d(%a, %b, padding=[4, 2], groups=3, channels=3, kernel_size=[5, 3], dilation=[2, 2])",
     {{2, 3, 14, 7}, {3, 1, 5, 3}},
     1},
    {"depthwise of many taps",
     "nn.conv2d(%a, %b, padding=[3, 3], groups=3, channels=3, kernel_size=[7, 7])",
     {{1, 3, 13, 17}, {3, 1, 7, 7}},
     0},
    {"depthwise of short lines",
     "nn.conv2d(%a, %b, padding=[1, 1], groups=5, channels=5, kernel_size=[3, 3])",
     {{2, 5, 7, 7}, {5, 1, 3, 3}},
     1},
    {"depthwise with more in front",
     "nn.conv2d(%a, %b, padding=[1, 3, 1, 0], groups=4, channels=4, kernel_size=[3, 4])",
     {{1, 4, 9, 14}, {4, 1, 3, 4}},
     1},
    {"depthwise with more behind",
     "nn.conv2d(%a, %b, padding=[0, 0, 2, 2], groups=4, channels=4, kernel_size=[3, 3])",
     {{1, 4, 9, 31}, {4, 1, 3, 3}},
     1},
    {"depthwise of whole vectors",
     "nn.conv2d(%a, %b, padding=[1, 9], groups=3, channels=3, kernel_size=[3, 3], dilation=[1, 9])",
     {{1, 3, 5, 32}, {3, 1, 3, 3}},
     1},
    {"depthwise of columns of taps",
     "nn.relu(nn.conv2d(%a, %b, padding=[4, 4], groups=3, channels=3, kernel_size=[9, 9]))",
     {{2, 3, 7, 7}, {3, 1, 9, 9}},
     1},
    {"depthwise of wide columns of taps",
     "nn.conv2d(%a, %b, padding=[12, 15], groups=2, channels=2, kernel_size=[13, 11], "
     "dilation=[2, 3])",
     {{1, 2, 40, 33}, {2, 1, 13, 11}},
     0},
    {"pool of columns",
     "nn.max_pool2d(%a, pool_size=[13, 13], strides=[1, 1], padding=[6, 6])",
     {{1, 2, 20, 20}},
     1},
    {"two results for each channel",
     "nn.relu(nn.conv2d(%a, %b, padding=[3, 3], groups=4, channels=8, kernel_size=[7, 7], "
     "strides=[2, 2]))",
     {{2, 4, 15, 18}, {8, 1, 7, 7}},
     1},
    {"two results for each channel of few",
     "nn.conv2d(%a, %b, padding=[3, 3], groups=4, channels=8, kernel_size=[7, 7], strides=[2, 2])",
     {{1, 4, 14, 14}, {8, 1, 7, 7}},
     0},
    {"four results for each channel",
     "add(nn.conv2d(%a, %b, groups=3, channels=12, kernel_size=[3, 3]), %c)",
     {{1, 3, 11, 19}, {12, 1, 3, 3}, {12, 1, 1}},
     1},
    {"pool of short lines",
     "nn.max_pool2d(%a, pool_size=[3, 3], strides=[1, 1], padding=[1, 1])",
     {{2, 3, 6, 14}},
     1},
    {"pool along one axis",
     "nn.max_pool1d(%a, pool_size=[5], strides=[2], padding=[2, 2])",
     {{2, 3, 45}},
     1},
    {"pool without padding",
     "nn.max_pool2d(%a, pool_size=[3, 3], strides=[2, 2])",
     {{1, 3, 27, 33}},
     1},
    {"pool of means",
     "nn.avg_pool2d(%a, pool_size=[3, 3], strides=[1, 1], padding=[1, 1], count_include_pad=True)",
     {{1, 3, 7, 7}},
     1},
    {"depthwise side by side",
     "nn.relu(nn.conv2d(%a, %b, padding=[1, 1], groups=5, channels=5, kernel_size=[3, 3]))",
     {{2, 5, 8, 21}, {5, 1, 3, 3}},
     1},
    {"pool side by side",
     "nn.max_pool2d(%a, pool_size=[2, 3], strides=[1, 1], padding=[1, 1, 0, 1])",
     {{2, 3, 6, 20}},
     1},
    {"pool",
     "nn.max_pool2d(%a, pool_size=[3, 3], strides=[2, 2], padding=[1, 1])",
     {{2, 3, 9, 9}},
     1},
    {"gradient of the weight over planes of four columns",
     "nn.conv2d(%a, %b, padding=[1, 1, 1, 1], data_layout=\"CNHW\", kernel_layout=\"IHWO\", "
     "out_layout=\"NHWC\")",
     {{6, 5, 4, 4}, {6, 4, 4, 32}},
     1},
    {"gradient of the weight over planes of two columns",
     "nn.conv2d(%a, %b, padding=[1, 1, 1, 1], data_layout=\"CNHW\", kernel_layout=\"IHWO\", "
     "out_layout=\"NHWC\")",
     {{6, 5, 5, 2}, {6, 5, 2, 16}},
     1},
    {"gradient of the weight over three lines",
     "nn.conv2d(%a, %b, padding=[1, 1, 1, 1], data_layout=\"CNHW\", kernel_layout=\"IHWO\", "
     "out_layout=\"NHWC\")",
     {{3, 9, 3, 4}, {3, 3, 4, 24}},
     0},
    {"gradient of a pool of short lines",
     "nn.relu(nn.max_pool2d_grad(%a, %b, pool_size=[2, 2], strides=[2, 2]))",
     {{5, 3, 2, 2}, {5, 3, 4, 4}},
     1},
    {"gradient of a pool of lines of eight behind relu",
     "nn.relu(nn.max_pool2d_grad(%a, nn.relu(%b), pool_size=[2, 2], strides=[2, 2]))",
     {{5, 7, 4, 4}, {5, 7, 8, 8}},
     1},
    {"gradient of an average pool of short lines that is chosen by the data",
     "where(greater(%b, 0f), nn.avg_pool2d_grad(%a, %b, pool_size=[2, 2], strides=[2, 2]), 0f)",
     {{5, 7, 2, 2}, {5, 7, 4, 4}},
     1},
    {"gradient of a pool of lines",
     "nn.max_pool2d_grad(%a, nn.relu(%b), pool_size=[2, 2], strides=[2, 2])",
     {{2, 3, 3, 11}, {2, 3, 6, 22}},
     1},
    {"gradient of a pool along one axis",
     "nn.max_pool2d_grad(%a, %b, pool_size=[1, 4], strides=[1, 4])",
     {{2, 3, 5, 3}, {2, 3, 5, 12}},
     1},
    {"gradient of a pool with padding",
     "nn.max_pool2d_grad(%a, %b, pool_size=[3, 3], strides=[2, 2], padding=[1, 1])",
     {{2, 3, 5, 5}, {2, 3, 9, 9}},
     1},
    {"short lines of a large tensor in another order",
     "nn.relu(transpose(%a, axes=[1, 0, 2]))",
     {{131, 113, 9}},
     1},
    {"squares of a large tensor turned", "transpose(%a, axes=[0, 2, 1])", {{2, 131, 515}}, 1},
    {"average pool of relu",
     "nn.avg_pool2d(nn.relu(%a), pool_size=[2, 2], strides=[2, 2])",
     {{2, 3, 8, 8}},
     1},
    {"global pool", "nn.batch_flatten(nn.global_avg_pool2d(%a))", {{2, 3, 7, 7}}, 1},
    {"concatenate", "nn.relu(concatenate((%a, %b), axis=1))", {{2, 3, 4}, {2, 5, 4}}, 1},
    {"concatenate of chains", "concatenate((exp(%a), nn.relu(%b)), axis=0)", {{2, 4}, {3, 4}}, 0},
    {"split", "split(tanh(%a), indices_or_sections=2, axis=1)", {{3, 8}}, 1},
    {"cells",
     "{ %0 = split(%a, indices_or_sections=4, axis=1);"
     " let %c = add(multiply(sigmoid(%0.1), %b), multiply(sigmoid(%0.0), tanh(%0.2)));"
     " (multiply(sigmoid(%0.3), tanh(%c)), %c) }",
     {{2, 20}, {2, 5}},
     1},
    {"several outputs",
     "{ let %e = exp(%a); (%e, add(%e, %b), multiply(%e, %e)) }",
     {{3, 20}, {3, 20}},
     1},
    {"pad", "nn.pad(nn.relu(%a), 0f, pad_width=[[0, 0], [1, 2]])", {{3, 5}}, 1},
    {"cumsum", "cumsum(nn.relu(%a), axis=1)", {{3, 9}}, 1},
    {"argmax", "argmax(multiply(%a, -1f), axis=[1])", {{4, 20}}, 1},
    {"where", "where(greater(%a, 0f), log(%a), multiply(%a, %b))", {{3, 9}, {3, 9}}, 1},
    {"reverse and flip", "add(reverse(%a, axis=1), %a)", {{3, 9}}, 1},
    {"one", "add(%a, %b)", {{1, 1}, {1, 1}}, 0},
    {"nothing", "nn.softmax(add(%a, %b))", {{0, 4}, {0, 4}}, 0},
    {"nothing folded", "sum(%a, axis=[1])", {{3, 0}}, 0},
};

void expect_near(const std::vector<NDArray>& found, const std::vector<NDArray>& wanted) {
  EXPECT_EQ(relay::testing::difference(found, wanted, [](DType) { return 1e-4; }), "");
}

void check(const Group& group, const std::vector<NDArray>& inputs,
           const std::function<int64_t(const TypeVar*)>& symbols) {
  SCOPED_TRACE(group.computation.str());
  std::vector<NDArray> wanted;
  std::string failure;
  try {
    wanted = te::evaluate(group.computation, inputs, symbols);
  } catch (const RuntimeError& error) {
    failure = error.what();
  }
  Lowered lowered = lower(group.computation, "k", {});
  std::string text;
  for (const auto& kernel : lowered.kernels) {
    EXPECT_EQ(kernel->products_in_loops, 0u);
    text += kernel->implementation + "\n" + kernel->str();
  }
  if (std::getenv("RELAY_SHOW_LOOPS") != nullptr) std::printf("%s\n", text.c_str());
  SCOPED_TRACE(text);
  if (!failure.empty()) {
    EXPECT_THROW(relay::testing::interpret(lowered, inputs, symbols), RuntimeError);
    relay::testing::RunnableGroups native({lowered}, codegen::Target::host());
    EXPECT_THROW(native.run(0, inputs, 1, symbols), RuntimeError);
    return;
  }
  int64_t elements = 0;
  for (const NDArray& input : inputs) elements += input.size();
  if (elements < 20000) {
    SCOPED_TRACE("interpreted");
    expect_near(relay::testing::interpret(lowered, inputs, symbols), wanted);
  }
  // One instruction set for open extents: compiling is what takes the time.
  std::vector<codegen::Target> targets = relay::testing::targets_here();
  if (symbols) targets = {codegen::Target::host()};
  for (const codegen::Target& target : targets) {
    SCOPED_TRACE("on " + std::string(target.name()));
    relay::testing::RunnableGroups group_here({lowered}, target);
    // However many workers there are, the bits are the same.
    std::vector<NDArray> one = group_here.run(0, inputs, 1, symbols),
                         two = group_here.run(0, inputs, 3, symbols);
    expect_near(one, wanted);
    for (size_t k = 0; k < one.size(); ++k) EXPECT_TRUE(bit_equal(one[k], two[k]));
  }
}
class LowerFused : public ::testing::TestWithParam<Program> {};

std::string header(const Program& program) {
  std::string text = "def @main(";
  for (size_t k = 0; k < program.shapes.size(); ++k) {
    text += (k > 0 ? ", %" : "%") + std::string(1, static_cast<char>('a' + k)) + ": Tensor[(";
    for (size_t d = 0; d < program.shapes[k].size(); ++d) {
      text += (d > 0 ? ", " : "") + std::to_string(program.shapes[k][d]);
    }
    text += "), float32]";
  }
  return text + ") { " + program.body + " }";
}

TEST_P(LowerFused, Agrees) {
  const Program& program = GetParam();
  std::vector<NDArray> inputs;
  std::vector<TypeRef> types;
  for (size_t k = 0; k < program.shapes.size(); ++k) {
    inputs.push_back(relay::testing::random_array(program.shapes[k], kFloat32,
                                                  static_cast<uint32_t>(17 * k + 3)));
    types.push_back(relay::testing::array_type(inputs.back()));
  }
  FunctionRef function = relay::testing::main_function(header(program), types);
  check(compose(*function, types), inputs, {});
  if (program.symbolic == 0) return;
  // Dimension 0 of %a as a symbol, with several values.
  int64_t first = program.shapes[0][0];
  TypeVarRef n = TypeVar::make("n", Kind::kShapeVar);
  std::vector<TypeRef> open;
  for (const Shape& shape : program.shapes) {
    std::vector<Dim> dims(shape.begin(), shape.end());
    bool together = shape.size() == program.shapes[0].size() && shape[0] == first;
    if (together) dims[0] = Dim::symbol(n.get());
    open.push_back(TensorType::make(dims, kFloat32));
  }
  Group group = compose(*function, open);
  for (int64_t extent : {first, int64_t{0}, int64_t{1}, first + 2}) {
    SCOPED_TRACE("n = " + std::to_string(extent));
    std::vector<NDArray> arrays;
    for (size_t k = 0; k < inputs.size(); ++k) {
      Shape shape = program.shapes[k];
      if (open[k] != types[k]) shape[0] = extent;
      arrays.push_back(relay::testing::random_array(shape, kFloat32, static_cast<uint32_t>(k + 5)));
    }
    check(group, arrays, [&](const TypeVar*) { return extent; });
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, LowerFused, ::testing::ValuesIn(kPrograms),
                         [](const auto& info) {
                           std::string name = info.param.name;
                           for (char& c : name) {
                             if (c == ' ') c = '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace relay::lower::lower_fused_test
