// Facts about calls that passes ask for: derived from declarations and definitions, or declared.
#include <gtest/gtest.h>

#include <relay/analysis/counts.h>
#include <relay/infer/infer.h>
#include <relay/ir/visit.h>
#include <relay/op/registry/facts.h>
#include <relay/op/registry/gradient.h>
#include <relay/parse/parse.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/facts.h>

namespace relay::op_facts_test {
namespace {

/// The first call of `op` (of any operator, if null) in the functions of a program.
std::optional<OpCall> call_in(const std::string& program, const Operator* op = nullptr) {
  Module module = parse_module("program", program);
  infer_types_or_throw(module);
  std::optional<OpCall> found;
  for (const auto& entry : module.functions()) {
    post_order(entry.function.get(), [&](const Expr* expr) {
      const auto* call = expr->as<Call>();
      const auto* callee = call == nullptr ? nullptr : call->callee()->as<Op>();
      if (callee == nullptr || found || (op != nullptr && callee->op() != op)) return;
      std::vector<TypeRef> types;
      for (const ExprRef& arg : call->args()) types.emplace_back(arg->type());
      found.emplace(callee->op(), call->attrs(), std::move(types), TypeRef(call->type()));
    });
  }
  return found;
}

OpCall call_of(const std::string& body) {
  std::optional<OpCall> call = call_in("def @main" + body);
  if (!call) throw InternalError("no call in " + body);
  return *call;
}

// Names of dimensions in the example's types are unknown to some, which is fine: no fact may throw.
TEST(OpFacts, EveryOperatorHasThem) {
  size_t kernels = 0;
  for (const Operator* op : all_ops()) {
    for (const OpExample& example : op->examples()) {
      std::optional<OpCall> call = call_in(example.program, op);
      ASSERT_TRUE(call) << op->name().view() << " is not called in its example";
      layout_rule(*call);
      quantised_rule(*call);
      cost_of(*call);
      kernels += costs().find(op) != nullptr;
      if (op->definition() != DefinitionKind::kCompute) continue;
      EXPECT_TRUE(costs().find(op) != nullptr || !te::work_of(build_computation(*call)).has_library)
          << op->name().view() << " has a library kernel: declare .column(costs(), …)";
    }
  }
  EXPECT_GE(kernels, 9u);
}

TEST(OpFacts, Layout) {
  const std::pair<const char*, LayoutRule> cases[] = {
      {"(%x: Tensor[(2, 3), float32]) { exp(%x) }", LayoutRule::kFollows},
      {"(%x: Tensor[(2, 3), float32]) { clip(%x, a_min=0f64, a_max=6f64) }", LayoutRule::kFollows},
      {"(%x: Tensor[(2, n), float32]) { nn.relu(%x) }", LayoutRule::kFollows},
      {"(%x: Tensor[(2, 3), float32], %y: Tensor[(2, 3), float32]) { add(%x, %y) }",
       LayoutRule::kFollows},
      {"(%x: Tensor[(2, 3), float32], %y: Tensor[(3), float32]) { add(%x, %y) }",
       LayoutRule::kBroadcasts},
      {"(%c: bool, %x: Tensor[(2, 3), float32]) { where(%c, %x, %x) }", LayoutRule::kFollows},
      {"(%x: Tensor[(2, 3), float32], %y: Tensor[(2, 1), float32]) { add(%x, %y) }",
       LayoutRule::kFollows},
      {"(%x: Tensor[(2, 3), float32]) { nn.gelu(%x) }", LayoutRule::kFollows},
      {"(%x: Tensor[(2, 3), float32]) { tile(%x, reps=[1, 2]) }", LayoutRule::kFixed},
      {"(%x: Tensor[(2), float32], %y: Tensor[(3), float32]) { meshgrid((%x, %y)) }",
       LayoutRule::kFixed},
      {"(%x: Tensor[(1, 3, 8, 8), float32]) { nn.max_pool2d(%x, pool_size=[2, 2]) }",
       LayoutRule::kNamed},
      {"(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32]) { "
       "nn.conv2d(%x, %w) }",
       LayoutRule::kNamed},
      {"(%x: Tensor[(2, 3), float32], %b: Tensor[(3), float32]) { nn.bias_add(%x, %b) }",
       LayoutRule::kAxes},
      {"(%x: Tensor[(2, 3), float32]) { nn.softmax(%x) }", LayoutRule::kAxes},
      {"(%x: Tensor[(2, 3), float32]) { concatenate((%x, %x), axis=1) }", LayoutRule::kAxes},
      {"(%x: Tensor[(2, 3), float32]) { transpose(%x, axes=[1, 0]) }", LayoutRule::kAxes},
      {"(%x: Tensor[(2, 3), float32]) { sort(%x) }", LayoutRule::kAxes},
      {"(%x: Tensor[(2, 3), float32]) { sum(%x) }", LayoutRule::kAxes},
      {"(%x: Tensor[(2, 3), float32]) { argmax(%x, axis=[1]) }", LayoutRule::kAxes},
      // The position is one among all elements.
      {"(%x: Tensor[(2, 3), float32]) { argmax(%x) }", LayoutRule::kFixed},
      {"(%x: Tensor[(2, 3), float32]) { argmax(%x, axis=[0, 1]) }", LayoutRule::kFixed},
      {"(%x: Tensor[(2, 3), float32]) { reshape(%x, newshape=[6]) }", LayoutRule::kFixed},
      {"(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) { nn.dense(%x, %w) }",
       LayoutRule::kFixed},
      {"(%x: Tensor[(3), float32]) { shape_of(%x) }", LayoutRule::kFixed},
      // The second input is read at the first axis of the result, which has the extent of the last.
      {"(%x: Tensor[(3, 3), float32], %y: Tensor[(3), float32]) { vmap.multiply(%x, %y) }",
       LayoutRule::kFixed},
      {"(%x: Tensor[(3, n), float32], %y: Tensor[(3, n), float32]) { vmap.multiply(%x, %y) }",
       LayoutRule::kFollows},
  };
  for (const auto& [body, rule] : cases) {
    EXPECT_EQ(word_text(layout_rule(call_of(body))), word_text(rule)) << body;
  }
}

TEST(OpFacts, FiniteEverywhere) {
  const std::pair<const char*, bool> cases[] = {
      {"multiply(%x, %x)", true},
      {"tanh(%x)", true},
      {"maximum(%x, %x)", true},
      {"sum(%x)", true},
      {"minimum(%x, %x)", true},
      {"transpose(%x)", true},
      {"sqrt(%x)", false},
      {"divide(%x, %x)", false},
      {"exp(%x)", false},
      {"power(%x, %x)", false},
      {"prod(%x)", false},
      {"nn.softmax(%x)", false},
      {"cumsum(%x, axis=1)", false},  // a scan: not looked into
  };
  for (const auto& [body, finite] : cases) {
    const OpCall call = call_of("(%x: Tensor[(2, 3), float32]) { " + std::string(body) + " }");
    EXPECT_EQ(te::is_finite_everywhere(build_computation(call)), finite) << body;
  }
}

TEST(OpFacts, QuantisedNumbers) {
  const std::pair<const char*, QuantisedRule> cases[] = {
      {"(%x: Tensor[(2, 3), float32]) { reshape(%x, newshape=[6]) }", QuantisedRule::kKeeps},
      {"(%x: Tensor[(2, 3), float32]) { transpose(%x) }", QuantisedRule::kKeeps},
      {"(%x: Tensor[(2, 3), float32]) { concatenate((%x, %x), axis=1) }", QuantisedRule::kKeeps},
      {"(%x: Tensor[(4), float32], %i: Tensor[(2), int32]) { take(%x, %i) }",
       QuantisedRule::kKeeps},
      {"(%x: Tensor[(1, 3, 8, 8), float32]) { nn.max_pool2d(%x, pool_size=[2, 2], padding=[1, 1])"
       " }",
       QuantisedRule::kKeeps},
      {"(%x: Tensor[(2, 3), float32]) { max(%x, axis=[1]) }", QuantisedRule::kKeeps},
      {"(%x: Tensor[(2, 3), float32]) { sort(%x) }", QuantisedRule::kKeeps},
      {"(%x: Tensor[(2, 3), float32]) { nn.relu(%x) }", QuantisedRule::kConstants},
      {"(%x: Tensor[(2, 3), float32]) { clip(%x, a_min=0f64, a_max=6f64) }",
       QuantisedRule::kConstants},
      {"(%x: Tensor[(2, 3), float32]) { nn.pad(%x, 0f, pad_width=[[1, 1], [0, 0]]) }",
       QuantisedRule::kKeeps},  // the padding is an input as well
      {"(%x: Tensor[(2, 3), float32], %y: Tensor[(2, 3), float32]) { add(%x, %y) }",
       QuantisedRule::kRequantises},
      {"(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) { nn.dense(%x, %w) }",
       QuantisedRule::kRequantises},
      {"(%x: Tensor[(2, 3), float32]) { mean(%x, axis=[1]) }", QuantisedRule::kRequantises},
      {"(%x: Tensor[(2, 3), float32]) { cumsum(%x, axis=1) }", QuantisedRule::kRequantises},
      {"(%x: Tensor[(2, 3), float32]) { cumprod(%x, axis=1) }", QuantisedRule::kFloats},
      {"(%x: Tensor[(2, 3), float32], %m: float32) { variance(%x, %m) }", QuantisedRule::kFloats},
      {"(%x: Tensor[(2, 3), float32]) { exp(%x) }", QuantisedRule::kFloats},
      {"(%x: Tensor[(2, 3), float32]) { nn.softmax(%x) }", QuantisedRule::kFloats},
      {"(%x: Tensor[(2, 3), float32], %y: Tensor[(2, 3), float32]) { divide(%x, %y) }",
       QuantisedRule::kFloats},
      {"(%x: Tensor[(2, 3), float32]) { qnn.quantize(%x, 0.5f, 0, out_dtype=\"int8\") }",
       QuantisedRule::kQuantised},
  };
  for (const auto& [body, rule] : cases) {
    EXPECT_EQ(word_text(quantised_rule(call_of(body))), word_text(rule)) << body;
  }
  EXPECT_EQ(quantised_form(*get_op("nn.conv2d")), get_op("qnn.conv2d"));
  EXPECT_EQ(quantised_form(*get_op("add")), get_op("qnn.add"));
  EXPECT_EQ(quantised_form(*get_op("multiply")), get_op("qnn.mul"));
  EXPECT_EQ(quantised_form(*get_op("reshape")), nullptr);
}

struct CostCase {
  const char* body;
  const char* operations;
  const char* macs;
  const char* bytes;
};

TEST(OpFacts, Cost) {
  const CostCase cases[] = {
      {"(%x: Tensor[(2, 3), float32]) { exp(%x) }", "6", "0", "48"},
      {"(%x: Tensor[(n, 3), float16]) { exp(%x) }", "3 * n", "0", "12 * n"},
      {"(%x: Tensor[(2, 3), float32], %y: Tensor[(3), float32]) { add(%x, %y) }", "6", "0", "60"},
      // 2 · N · K · P · Q · C · R · S, whether padded or not.
      {"(%x: Tensor[(2, 3, 8, 9), float32], %w: Tensor[(4, 3, 3, 3), float32]) { "
       "nn.conv2d(%x, %w, padding=[1, 1]) }",
       "31104", "15552", "4464"},
      {"(%x: Tensor[(2, 4, 8, 9), float32], %w: Tensor[(6, 2, 3, 3), float32]) { "
       "nn.conv2d(%x, %w, groups=2) }",
       "18144", "9072", "4752"},
      {"(%x: Tensor[(5, 7), float32], %w: Tensor[(6, 7), float32]) { nn.dense(%x, %w) }", "420",
       "210", "428"},
      {"(%x: Tensor[(m, 7), float32], %w: Tensor[(6, 7), float32]) { nn.dense(%x, %w) }", "84 * m",
       "42 * m", "52 * m + 168"},
      {"(%x: Tensor[(2, 3), float32]) { reshape(%x, newshape=[6]) }", "0", "0", "0"},
      {"(%x: Tensor[(2, 3), float32]) { transpose(%x) }", "0", "0", "48"},
      // Two rows of a large table, and where they are.
      {"(%x: Tensor[(1000, 4), float32], %i: Tensor[(2), int64]) { take(%x, %i, axis=0) }", "0",
       "0", "80"},
      {"(%x: Tensor[(2, 8), float32]) { sum(%x, axis=[1]) }", "16", "0", "72"},
      {"(%x: Tensor[(2, 8), float32]) { sort(%x) }", "48", "0", "128"},
  };
  for (const CostCase& one : cases) {
    Cost cost = cost_of(call_of(one.body));
    EXPECT_EQ(cost.operations.str(), one.operations) << one.body;
    EXPECT_EQ(cost.macs.str(), one.macs) << one.body;
    EXPECT_EQ(cost.bytes.str(), one.bytes) << one.body;
  }
}

// An operator that is defined by others costs what these cost.
TEST(OpFacts, OfExpansions) {
  OpCall stack = call_of("(%x: Tensor[(2, 3), float32]) { stack((%x, %x), axis=0) }");
  if (stack.op()->definition() == DefinitionKind::kExpand) {
    EXPECT_GT(primitive_calls(stack).size(), 1u);
  }
  EXPECT_EQ(quantised_rule(stack), QuantisedRule::kKeeps);
  EXPECT_EQ(layout_rule(stack), LayoutRule::kAxes);
  OpCall norm = call_of(
      "(%x: Tensor[(2, 4, 3), float32], %g: Tensor[(4), float32], %b: Tensor[(4), float32]) { "
      "nn.group_norm(%x, %g, %b, num_groups=2) }");
  std::vector<OpCall> parts = primitive_calls(norm);
  ASSERT_GT(parts.size(), 3u);
  Dim sum = 0;
  for (const OpCall& part : parts) {
    EXPECT_NE(part.op()->definition(), DefinitionKind::kExpand);
    sum = sum + cost_of(part).operations;
  }
  EXPECT_EQ(cost_of(norm).operations, sum);
  EXPECT_EQ(quantised_rule(norm), QuantisedRule::kFloats);
}

// An operator from outside says what cannot be derived.
TEST(OpFacts, Declared) {
  declare_op("test.kernel_with_facts")
      .doc("A kernel.")
      .input("data", "Tensor.", tensor())
      .relation(identity_relation())
      .column(layout_rules(), LayoutRule::kFollows)
      .column(quantised_rules(), QuantisedRule::kKeeps)
      .column(costs(), [](const OpCall& call) { return kernel_cost(call, elements_of(call) * 5); })
      .kernel("sort", [](const OpCall&) -> KernelParams {
        return {{"axis", int64_t{0}}, {"ascending", true}};
      });
  OpCall call = call_of("(%x: Tensor[(2, n), float32]) { test.kernel_with_facts(%x) }");
  EXPECT_EQ(layout_rule(call), LayoutRule::kFollows);
  EXPECT_EQ(quantised_rule(call), QuantisedRule::kKeeps);
  EXPECT_EQ(cost_of(call).operations.str(), "10 * n");
  EXPECT_EQ(cost_of(call).bytes.str(), "16 * n");
  remove_op("test.kernel_with_facts");
}

TEST(OpFacts, TotalOfAProgram) {
  Module module = parse_module(
      "program",
      "def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32], %v: Tensor[(5, 4), "
      "float32]) { nn.dense(nn.relu(nn.dense(%x, %w)), %v) }");
  infer_types_or_throw(module);
  EXPECT_EQ(total_macs(module.function("main")), 2 * 3 * 4 + 2 * 4 * 5);
}

}  // namespace
}  // namespace relay::op_facts_test
