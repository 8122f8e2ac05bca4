// Random programs: rewritten graphs give what graphs as they were composed do, in the direct
// evaluator and on the machine.
#include <gtest/gtest.h>

#include <relay/eval/eval.h>
#include <relay/graph/evaluate.h>
#include <relay/infer/infer.h>
#include <relay/ir/rewrite.h>
#include <relay/print/print.h>
#include <relay/support/error.h>
#include <relay/vm/compiler/compile.h>
#include <relay/vm/machine/machine.h>

#include <tests/support/random_dataflow.h>
#include <tests/unit/graph_testing.h>

namespace relay::graph_random_test {
namespace {

/// A random program, the last of whose parameters have become constants.
struct Program {
  Module module;
  std::vector<Value> arguments;

  explicit Program(uint32_t seed) {
    testing::RandomDataflow random(seed);
    const FunctionRef& function = random.function();
    std::vector<VarRef> params;
    std::unordered_map<const Var*, ExprRef> constants;
    for (size_t i = 0; i < function->params().size(); ++i) {
      const VarRef& param = function->params()[i];
      if (i == 0) {
        params.push_back(param);
        arguments.push_back(random.arguments()[i]);
      } else {
        constants[param.get()] = make_constant(random.arguments()[i].array());
      }
    }
    module.add_function("main", make_function(params, substitute(function->body(), constants)));
    infer_types_or_throw(module);
  }
};

Value run(const Program& program, vm::CompileOptions options) {
  vm::Machine machine(vm::compile(program.module, Name("main"), options));
  return machine.run("main", program.arguments);
}

std::string text_of(const Program& program) { return print_module(program.module); }

bool close(const Value& a, const Value& b) {
  if (a.is_tuple()) {
    bool same = true;
    for (size_t i = 0; i < a.fields().size(); ++i) same &= close(a.field(i), b.field(i));
    return same;
  }
  return testing::difference({a.array()}, {b.array()},
                             [](DType dtype) { return dtype.is_float() ? 2e-5 : 0; })
      .empty();
}

TEST(GraphRandom, RewrittenInBothExecutors) {
  size_t rewritten = 0;
  for (uint32_t seed = 0; seed < 150; ++seed) {
    Program program(seed);
    Value wanted = evaluate_function(program.module, "main", program.arguments);
    for (bool direct : {false, true}) {
      if (!direct && seed % 6 != 0) continue;  // machine code takes its time
      vm::CompileOptions options;
      options.level = 1;  // constants are not folded before
      options.direct = direct;
      options.on_graphs = [&](std::string_view stage, std::span<const graph::Graph>, bool changed) {
        rewritten += changed && stage != "composed";
      };
      Value with = run(program, options);
      options.rewrite_graphs = false;
      Value without = run(program, options);
      ASSERT_TRUE(close(with, without)) << "seed " << seed << "\n" << text_of(program);
      ASSERT_TRUE(close(with, wanted)) << "seed " << seed << "\n" << text_of(program);
    }
  }
  EXPECT_GT(rewritten, 10u);
}

TEST(GraphRandom, RewrittenGraphs) {
  size_t packed = 0, compared = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    Program program(seed);
    vm::CompileOptions options;
    options.level = 1;
    options.rewrite_graphs = false;
    std::vector<graph::Graph> graphs = vm::compile_graphs(program.module, Name("main"), options);
    std::vector<graph::Graph> rewritten = graphs;
    graph::Rewriting rewriting(rewritten, {testing::panels(4)});
    graph::rewrite(rewriting, [&](std::string_view stage, std::span<const graph::Graph>,
                                  bool changed) { packed += changed && stage == "pack_operands"; });
    for (size_t g = 0; g < graphs.size(); ++g) {
      graph::verify(rewritten[g]);
      std::vector<NDArray> inputs;
      if (graphs[g].inputs.size() > 1) continue;
      if (!graphs[g].inputs.empty()) {
        // Where it is what the program is called with, and not computed by it.
        inputs.push_back(program.arguments[0].array());
        const te::TensorInfo& info = graphs[g].tensors[graphs[g].inputs[0]].info;
        std::vector<Dim> dims(inputs[0].shape().begin(), inputs[0].shape().end());
        if (info.dims != dims || info.dtype != inputs[0].dtype()) continue;
      }
      std::vector<NDArray> before = graph::evaluate(graphs[g], inputs);
      std::vector<NDArray> after = graph::evaluate(rewritten[g], inputs);
      for (size_t i = 0; i < before.size(); ++i) {
        ++compared;
        ASSERT_TRUE(close(Value(after[i]), Value(before[i]))) << "seed " << seed << "\n"
                                                              << to_string(rewritten[g]);
      }
    }
  }
  EXPECT_GE(packed, 5u);
  EXPECT_GT(compared, 200u);
}

}  // namespace
}  // namespace relay::graph_random_test
