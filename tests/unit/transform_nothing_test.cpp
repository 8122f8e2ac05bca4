// Looks that decide early that a pass has nothing to do: they say what the pass itself would.
#include <gtest/gtest.h>

#include <relay/infer/infer.h>
#include <relay/ir/regions.h>
#include <relay/op/op.h>
#include <relay/parse/parse.h>
#include <relay/program/program.h>
#include <relay/transform/bind_nodes.h>
#include <relay/transform/fusion.h>
#include <relay/transform/pass.h>
#include <relay/transform/pass_result.h>

#include <tests/support/typed_program.h>

namespace relay::transform_nothing_test {
namespace {

Module typed(const std::string& text) {
  Module module = parse_module("test", text);
  infer_types_or_throw(module);
  return module;
}

// The work of ToANormalForm where it does not look first.
FunctionRef bound(const FunctionRef& old) {
  const Program program{Module()};
  const View& view = program.view(without_waiting_nodes(program, old));
  const Regions& regions = view.scopes().regions();
  std::vector<char> in_kernel = primitive_regions(regions);
  return bind_nodes(view, [&](uint32_t node) { return in_kernel[regions.home(node)] == 0; });
}

TEST(PassesWithNothingToDo, BoundNodesAreThoseThatBindingKeeps) {
  size_t kept = 0, changed = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    Module module = testing::TypedProgram(seed, seed % 2 == 1).module();
    for (const auto& entry : module.functions()) {
      const FunctionRef once = bound(entry.function);
      for (const FunctionRef& function : {entry.function, once}) {
        const bool same = bound(function) == function;
        if (all_nodes_are_bound(function.get())) {
          EXPECT_TRUE(same) << "seed " << seed;
          ++kept;
        }
        changed += same ? 0 : 1;
      }
      EXPECT_TRUE(all_nodes_are_bound(once.get())) << "seed " << seed;
    }
  }
  EXPECT_GT(kept, 100u);
  EXPECT_GT(changed, 100u);
}

TEST(PassesWithNothingToDo, AKernelIsNotLookedInto) {
  const char* program =
      "def @main(%x: Tensor[(2), float32]) {\n"
      "  let %f = fn (%p: Tensor[(2), float32], Primitive=1) { exp(tanh(%p)) };\n"
      "  let %a = %f(%x);\n  %a\n}\n";
  Module module = typed(program);
  const FunctionRef main(module.entry()->function);
  EXPECT_TRUE(all_nodes_are_bound(main.get()));
  EXPECT_EQ(bound(main), main);
}

TEST(PassesWithNothingToDo, AnnotatedPlacesStayUntilTheProgramChanges) {
  Module module = typed("def @main(%x: Tensor[(2), float32]) { exp(tanh(%x)) }");
  PassRef annotate = create_pass("AnnotateSpans");
  Module once = (*annotate)(module);
  EXPECT_FALSE(same_functions(module, once));
  EXPECT_TRUE(same_functions(once, (*annotate)(once)));
  Module normal = (*create_pass("ToANormalForm"))(once);
  EXPECT_FALSE(same_functions(normal, (*annotate)(normal)));
}

TEST(PassesWithNothingToDo, OperatorsOfAFunctionAreKept) {
  Module module = typed(
      "def @other(%x: Tensor[(2), float32]) { exp(%x) }\n"
      "def @main(%x: Tensor[(2), float32]) { (fn (%y: Tensor[(2), float32]) { tanh(%y) })(%x) }");
  Program program(module);
  const FunctionRef other(module.function("other")), main(module.function("main"));
  EXPECT_TRUE(program.operators(other).contains(get_op("exp")));
  EXPECT_FALSE(program.operators(other).contains(get_op("tanh")));
  EXPECT_TRUE(program.operators(main).contains(get_op("tanh")));
  Module after = module;
  after.update_function("main", other);
  Program next = program.next(after);
  EXPECT_EQ(&next.operators(other), &program.operators(other));
}

}  // namespace
}  // namespace relay::transform_nothing_test
