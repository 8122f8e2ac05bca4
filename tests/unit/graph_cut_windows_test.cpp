// Convolutions whose windows are cut, as machine code.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <relay/eval/eval.h>
#include <relay/infer/infer.h>
#include <relay/ir/rewrite.h>
#include <relay/parse/parse.h>
#include <relay/tensor_expr/walk.h>
#include <relay/vm/compiler/compile.h>
#include <relay/vm/machine/machine.h>

#include <tests/unit/graph_testing.h>
#include <tests/unit/kernel_testing.h>

namespace relay::graph::graph_cut_windows_test {
namespace {

using testing::random_array;

constexpr double kTolerance = 2e-5;  // 5×5 windows are computed in tiles

std::string tensor(ShapeView shape, bool open_batch = false) {
  std::string text = "Tensor[(";
  for (size_t i = 0; i < shape.size(); ++i) {
    text += (i > 0 ? ", " : "") + (open_batch && i == 0 ? "n" : std::to_string(shape[i]));
  }
  return text + "), float32]";
}

struct Conv {
  std::string op = "conv2d";
  Shape data, weights;
  std::string attributes;
  std::string epilogue = "%c";  // of the convolution %c, the bias %b, the input %x
  size_t products = 0;          // contractions that it becomes
  bool open_batch = false;
};

/// Sums of products in the stages of the program's works.
size_t count_products(const Module& module) {
  size_t count = 0;
  for (const Graph& graph : vm::compile_graphs(module, Name("main"))) {
    for (const Node& node : graph.nodes) {
      for (const te::Stage& stage : node.work->computation().stages) {
        const std::vector<te::ScalarRef> roots = te::stage_roots(stage);
        const std::vector<const te::ScalarNode*> nodes = te::post_order(roots);
        count += std::any_of(nodes.begin(), nodes.end(), [](const te::ScalarNode* each) {
          return each->kind == te::ScalarKind::kFold;
        });
      }
    }
  }
  return count;
}

void expect_same(const Conv& conv) {
  const std::string text = "def @main(%x: " + tensor(conv.data, conv.open_batch) +
                           ", %w: " + tensor(conv.weights) + ") {\n  let %c = nn." + conv.op +
                           "(%x, %w, " + conv.attributes + ");\n  " + conv.epilogue + "\n}\n";
  SCOPED_TRACE(text);
  Module parsed = parse_module("cut.rly", text);
  infer_types_or_throw(parsed);
  const relay::Function& function = *parsed.function("main");
  std::vector<Value> arguments{Value(random_array(conv.data, kFloat32, 1))};
  ExprRef body = substitute(
      function.body(),
      {{function.params()[1].get(), make_constant(random_array(conv.weights, kFloat32, 2))}});
  Module module;
  module.add_function("main", make_function({function.params()[0]}, body));
  infer_types_or_throw(module);
  EXPECT_EQ(count_products(module), conv.products);
  const NDArray wanted = evaluate_function(module, "main", arguments).array();
  double products = 1;  // in a sum
  for (size_t d = 1; d < conv.weights.size(); ++d) products *= static_cast<double>(conv.weights[d]);
  for (const codegen::Target& target : testing::targets_here()) {
    SCOPED_TRACE(target.name());
    vm::CompileOptions options;
    options.target = target;
    const auto executable = vm::compile(module, Name("main"), options);
    auto run = [&](int threads) {
      return vm::Machine(executable, {threads, nullptr, 0}).run("main", arguments).array();
    };
    const NDArray found = run(1);
    EXPECT_EQ(testing::difference({found}, {wanted},
                                  [&](DType) { return kTolerance * std::sqrt(products); }),
              "");
    EXPECT_TRUE(bit_equal(found, run(3)));
  }
}

TEST(CutWindowsNative, Dilations) {
  expect_same({"conv2d",
               {1, 96, 16, 16},
               {32, 96, 3, 3},
               "padding=[12, 12], dilation=[12, 12]",
               "nn.relu(%c + 1f)",
               4});
  expect_same(
      {"conv2d", {2, 64, 33, 31}, {32, 64, 3, 3}, "padding=[18, 18], dilation=[18, 18]", "%c", 4});
  expect_same({"conv1d", {1, 128, 100}, {96, 128, 5}, "padding=[80], dilation=[40]", "%c", 3});
  expect_same({"conv2d",
               {3, 96, 16, 16},
               {64, 96, 3, 3},
               "padding=[12, 12], dilation=[12, 12]",
               "nn.relu(%c) * 2f",
               4,
               true});
}

TEST(CutWindowsNative, LeftAlone) {
  // Borders of usual windows, and so little work that more kernels would take longer.
  expect_same({"conv2d", {1, 32, 24, 24}, {32, 32, 5, 5}, "padding=[2, 2]", "%c", 1});
  expect_same(
      {"conv2d", {1, 8, 16, 16}, {8, 8, 3, 3}, "padding=[12, 12], dilation=[12, 12]", "%c", 1});
}

}  // namespace
}  // namespace relay::graph::graph_cut_windows_test
