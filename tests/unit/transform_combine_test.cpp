// CombineParallel…: one wide product computes what the narrow ones did.
#include <gtest/gtest.h>

#include <relay/eval/eval.h>
#include <relay/infer/infer.h>
#include <relay/ir/equal.h>
#include <relay/ir/visit.h>
#include <relay/op/op.h>
#include <relay/parse/parse.h>
#include <relay/print/print.h>
#include <relay/transform/literals.h>
#include <relay/transform/pass.h>
#include <relay/vm/compiler/compile.h>
#include <relay/vm/machine/machine.h>

#include <tests/unit/lower_cases.h>

namespace relay::transform_combine_test {
namespace {

Module typed(const std::string& text) {
  Module module = parse_module("t", text);
  infer_types_or_throw(module);
  return resolve_literals(module);
}

Module combined(const Module& module, const std::string& passes) {
  PassContext context;
  context.opt_level = 4;
  context.config["relay.verify_passes"] = true;
  Module result = (*make_sequential(parse_passes(passes)))(module, context);
  infer_types_or_throw(result);
  return resolve_literals(result);
}

size_t calls_of(const Module& module, std::string_view op) {
  size_t count = 0;
  post_order(module.function("main"), [&](const Expr* expr) {
    const auto* call = expr->as<Call>();
    const auto* node = call == nullptr ? nullptr : call->callee()->as<Op>();
    if (node != nullptr && node->op()->name().view() == op) ++count;
  });
  return count;
}

std::vector<NDArray> flat(const Value& value) {
  if (value.is_tensor()) return {value.array()};
  std::vector<NDArray> result;
  for (const Value& field : value.fields()) result.push_back(field.array());
  return result;
}

struct Case {
  const char* passes;
  const char* op;
  size_t products;  // calls of it that are left
  size_t adds;      // and of add
  const char* program;
};

const Case kCases[] = {
    {"CombineParallelDense(to_batch=False)", "nn.dense", 1, 1,
     "def @main(%x: Tensor[(5, 3), float32], %u: Tensor[(4, 3), float32], %v: Tensor[(2, 3), "
     "float32], %w: Tensor[(3, 3), float32], %a: Tensor[(4), float32], %b: Tensor[(2), float32], "
     "%c: Tensor[(3), float32]) {"
     " (exp(nn.dense(%x, %u) + %a), nn.relu(nn.dense(%x, %v) + %b), nn.dense(%x, %w) + %c) }"},
    // A bias along the rows is the same for all columns: one for each branch stays behind.
    {"CombineParallelDense(to_batch=False, min_num_branches=2)", "nn.dense", 1, 2,
     "def @main(%x: Tensor[(4, 3), float32], %u: Tensor[(4, 3), float32], %v: Tensor[(4, 3), "
     "float32], %a: Tensor[(4, 1), float32], %b: Tensor[(4, 1), float32]) {"
     " (nn.dense(%x, %u) + %a, nn.dense(%x, %v) + %b) }"},
    // One number for both.
    {"CombineParallelDense(to_batch=False, min_num_branches=2)", "nn.dense", 1, 1,
     "def @main(%x: Tensor[(4, 3), float32], %u: Tensor[(4, 3), float32], %v: Tensor[(2, 3), "
     "float32], %a: float32) { (%a + nn.dense(%x, %u), %a + nn.dense(%x, %v)) }"},
    // A branch that is subtracted is another thing than one that is subtracted from.
    {"CombineParallelDense(to_batch=False, min_num_branches=2)", "subtract", 2, 0,
     "def @main(%x: Tensor[(4, 3), float32], %u: Tensor[(4, 3), float32], %v: Tensor[(4, 3), "
     "float32], %a: Tensor[(4), float32]) {"
     " (nn.dense(%x, %u) - %a, %a - nn.dense(%x, %v)) }"},
    // Used twice: the slice is what both use.
    {"CombineParallelDense(to_batch=False, min_num_branches=2)", "nn.dense", 1, 1,
     "def @main(%x: Tensor[(4, 3), float32], %u: Tensor[(4, 3), float32], %v: Tensor[(2, 3), "
     "float32]) { %0 = nn.dense(%x, %u); (%0 + exp(%0), nn.dense(%x, %v)) }"},
    {"CombineParallelDense(to_batch=False, min_num_branches=2)", "nn.matmul", 1, 0,
     "def @main(%x: Tensor[(2, 5, 3), float32], %u: Tensor[(3, 4), float32], %v: Tensor[(3, 2), "
     "float32]) { (nn.relu(nn.matmul(%x, %u)), nn.relu(nn.matmul(%x, %v))) }"},
    // Products of products: each tensor's are one.
    {"CombineParallelDense(to_batch=False, min_num_branches=2)", "nn.dense", 2, 1,
     "def @main(%x: Tensor[(4, 3), float32], %u: Tensor[(3, 3), float32], %v: Tensor[(3, 3), "
     "float32], %w: Tensor[(3, 3), float32], %y: Tensor[(3, 3), float32]) {"
     " %0 = nn.dense(%x, %u) + nn.dense(%x, %v); (nn.dense(%0, %w), nn.dense(%0, %y)) }"},
    {"CombineParallelDense(min_num_branches=2)", "nn.batch_matmul", 1, 1,
     "def @main(%x: Tensor[(4, 3), float32], %u: Tensor[(2, 3), float32], %v: Tensor[(2, 3), "
     "float32], %a: Tensor[(4, 1), float32], %b: Tensor[(4, 1), float32]) {"
     " (nn.dense(%x, %u) + %a, nn.dense(%x, %v) + %b) }"},
    {"CombineParallelDense(min_num_branches=2)", "nn.batch_matmul", 1, 0,
     "def @main(%x: Tensor[(3, 4), float32], %u: Tensor[(2, 3), float32], %v: Tensor[(2, 3), "
     "float32]) { (nn.matmul(%x, %u, transpose_a=True, transpose_b=True),"
     " nn.matmul(%x, %v, transpose_a=True, transpose_b=True)) }"},
    {"CombineParallelConv2D(min_num_branches=2)", "nn.conv2d", 1, 1,
     "def @main(%x: Tensor[(2, 3, 6, 6), float32], %u: Tensor[(4, 3, 3, 3), float32], %v: "
     "Tensor[(2, 3, 3, 3), float32], %a: Tensor[(4, 1, 1), float32], %b: Tensor[(2, 1, 1), "
     "float32]) {"
     " (nn.relu(nn.conv2d(%x, %u, padding=[1, 1]) + %a),"
     " nn.relu(nn.conv2d(%x, %v, padding=[1, 1]) + %b)) }"},
    // As wide as it is high: a vector along the last axis is no vector of channels.
    {"CombineParallelConv2D(min_num_branches=2)", "nn.conv2d", 1, 2,
     "def @main(%x: Tensor[(1, 3, 4, 4), float32], %u: Tensor[(4, 3, 1, 1), float32], %v: "
     "Tensor[(4, 3, 1, 1), float32], %a: Tensor[(4), float32], %b: Tensor[(4), float32]) {"
     " (nn.conv2d(%x, %u) + %a, nn.conv2d(%x, %v) + %b) }"},
    // A bias beside its axis stays where it is.
    {"CombineParallelConv2D(min_num_branches=2)", "nn.bias_add", 2, 0,
     "def @main(%x: Tensor[(1, 3, 4, 4), float32], %u: Tensor[(4, 3, 1, 1), float32], %v: "
     "Tensor[(4, 3, 1, 1), float32], %a: Tensor[(4), float32], %b: Tensor[(4), float32]) {"
     " (nn.bias_add(nn.conv2d(%x, %u), %a), nn.bias_add(nn.conv2d(%x, %v), %b)) }"},
    // Groups, other kernels and other steps stay apart.
    {"CombineParallelConv2D(min_num_branches=2)", "nn.conv2d", 6, 0,
     "def @main(%x: Tensor[(1, 4, 6, 6), float32], %u: Tensor[(4, 1, 3, 3), float32], %v: "
     "Tensor[(4, 1, 3, 3), float32], %w: Tensor[(2, 4, 3, 3), float32], %y: Tensor[(2, 4, 1, 1), "
     "float32]) {"
     " (nn.conv2d(%x, %u, groups=4), nn.conv2d(%x, %v, groups=4), nn.conv2d(%x, %w),"
     " nn.conv2d(%x, %y), nn.conv2d(%x, %w, strides=[2, 2]), nn.conv2d(%x, %w, dilation=[2, 2])) "
     "}"},
    {"CombineParallelBatchMatmul(min_num_branches=2)", "nn.batch_matmul", 1, 1,
     "def @main(%x: Tensor[(2, 5, 3), float32], %u: Tensor[(2, 4, 3), float32], %v: Tensor[(2, 2, "
     "3), float32], %a: Tensor[(2, 1, 4), float32], %b: Tensor[(2, 1, 2), float32]) {"
     " (nn.batch_matmul(%x, %u, transpose_b=True) + %a,"
     " nn.batch_matmul(%x, %v, transpose_b=True) + %b) }"},
    // Batches of other sizes, which broadcast, stay apart.
    {"CombineParallelBatchMatmul(min_num_branches=2)", "nn.batch_matmul", 2, 0,
     "def @main(%x: Tensor[(2, 5, 3), float32], %u: Tensor[(1, 4, 3), float32], %v: Tensor[(2, 4, "
     "3), float32]) {"
     " (nn.batch_matmul(%x, %u, transpose_b=True), nn.batch_matmul(%x, %v, transpose_b=True)) }"},
};

TEST(CombineParallel, SameNumbers) {
  for (const Case& c : kCases) {
    Module before = typed(c.program);
    Module after = combined(before, c.passes);
    EXPECT_EQ(calls_of(after, c.op), c.products) << c.program << "\n" << print_module(after);
    EXPECT_EQ(calls_of(after, "add"), c.adds) << c.program << "\n" << print_module(after);
    std::vector<Value> arguments;
    uint32_t seed = 5;
    for (const VarRef& param : before.function("main")->params()) {
      std::vector<int64_t> shape;
      for (Dim dim : param->type()->as<TensorType>()->dims()) shape.push_back(dim.as_int());
      arguments.emplace_back(testing::random_array(shape, kFloat32, seed++));
    }
    std::vector<NDArray> wanted = flat(evaluate_function(before, "main", arguments));
    auto tolerance = [](DType) { return 1e-5; };
    EXPECT_EQ(
        testing::difference(flat(evaluate_function(after, "main", arguments)), wanted, tolerance),
        "")
        << c.program;
    vm::Machine machine(vm::compile(after, Name("main"), {}));
    EXPECT_EQ(testing::difference(flat(machine.run("main", arguments)), wanted, tolerance), "")
        << c.program;
  }
}

// Many layers, one after another: no recursion, and no work that grows with their square.
TEST(CombineParallel, DeepPrograms) {
  std::string text =
      "def @main(%x: Tensor[(2, 3), float32], %u: Tensor[(3, 3), float32], %v: Tensor[(3, 3), "
      "float32]) {\n%0 = %x;\n";
  constexpr int kLayers = 3000;
  for (int i = 0; i < kLayers; ++i) {
    std::string a = std::to_string(3 * i), b = std::to_string(3 * i + 1);
    std::string c = std::to_string(3 * i + 2), d = std::to_string(3 * i + 3);
    text += "%" + b + " = nn.dense(%" + a + ", %u);\n%" + c + " = nn.dense(%" + a + ", %v);\n%" +
            d + " = nn.relu(%" + b + " + %" + c + ");\n";
  }
  text += "%" + std::to_string(3 * kLayers) + " }";
  Module after = combined(typed(text), "CombineParallelDense(to_batch=False, min_num_branches=2)");
  EXPECT_EQ(calls_of(after, "nn.dense"), static_cast<size_t>(kLayers));
}

}  // namespace
}  // namespace relay::transform_combine_test
