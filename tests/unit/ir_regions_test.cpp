// The schedule of graph nodes (E1, E2) and effects (E3).
#include <gtest/gtest.h>

#include <relay/ir/effects.h>
#include <relay/ir/regions.h>
#include <relay/ir/visit.h>
#include <tests/support/random_program.h>
#include <tests/unit/ir_testing.h>

namespace relay::ir_regions_test {
namespace {

using ir_testing::call;
using ir_testing::number;
using ir_testing::tuple;

ExprRef op(const char* name) { return make_op(get_op(name)); }

/// Runs the schedule as an evaluator would: everything that a step needs must be there.
class Checker {
 public:
  explicit Checker(const Expr* root) : regions_(root) {
    std::unordered_set<const Var*> bound;
    for (const VarRef& var : bound_vars(root)) bound.insert(var.get());
    all_bound_ = bound;
    run(0);
    size_t steps = 0;
    for (uint32_t region = 0; region < regions_.num_regions(); ++region) {
      for (Regions::Step step : regions_.steps(region)) steps += step.bind ? 0 : 1;
    }
    EXPECT_EQ(steps, regions_.num_nodes());
  }

 private:
  void need(uint32_t node, size_t i) {
    const Expr* operand = regions_.expr(node)->operands()[i].get();
    uint32_t id = regions_.operand(node, i);
    if (id != Regions::kNone) {
      EXPECT_TRUE(done_.count(id)) << "operand has not run";
    } else if (const Var* var = operand->as<Var>()) {
      EXPECT_TRUE(visible_.count(var) || !all_bound_.count(var)) << var->name().view();
    }
  }
  void run(uint32_t region) {
    std::vector<uint32_t> ran;
    std::vector<const Var*> bound;
    for (Regions::Step step : regions_.steps(region)) {
      const Expr* expr = regions_.expr(step.node);
      EXPECT_EQ(regions_.home(step.node), region);
      if (step.bind) {
        need(step.node, 0);
        bound.push_back(static_cast<const Let*>(expr)->var().get());
        visible_.insert(bound.back());
        continue;
      }
      std::vector<uint32_t> inner;
      for (size_t i = 0; i < expr->operands().size(); ++i) {
        uint32_t r = regions_.region_of(step.node, i);
        if (r == Regions::kNone) {
          if (expr->is<Let>() && i == 0) continue;  // checked when it was bound
          need(step.node, i);
        } else {
          inner.push_back(r);
        }
      }
      if (expr->is<Function>()) {
        closures_.push_back(inner[0]);  // its body runs later
      } else {
        for (uint32_t r : inner) enter(r);
      }
      EXPECT_TRUE(done_.insert(step.node).second) << "runs twice";
      ran.push_back(step.node);
    }
    // By now everything that a closure captures is there.
    std::vector<uint32_t> closures;
    closures.swap(closures_);
    for (uint32_t body : closures) enter(body);
    Regions::Result result = regions_.result(region);
    if (result.node != Regions::kNone) {
      EXPECT_TRUE(done_.count(result.node));
    }
    for (uint32_t node : ran) done_.erase(node);
    for (const Var* var : bound) visible_.erase(var);
  }
  void enter(uint32_t region) {
    std::vector<uint32_t> closures;
    closures.swap(closures_);
    const Expr* owner = regions_.expr(regions_.region(region).owner);
    std::vector<VarRef> vars;
    if (const Function* function = owner->as<Function>()) vars = function->params();
    if (const Match* match = owner->as<Match>()) {
      vars = pattern_vars(match->patterns()[regions_.region(region).operand - 1].get());
    }
    for (const VarRef& var : vars) visible_.insert(var.get());
    run(region);
    for (const VarRef& var : vars) visible_.erase(var.get());
    closures_.swap(closures);
  }

  Regions regions_;
  std::unordered_set<uint32_t> done_;
  std::unordered_set<const Var*> visible_;
  std::unordered_set<const Var*> all_bound_;
  std::vector<uint32_t> closures_;
};

TEST(IrRegions, SchedulesOfRandomProgramsRun) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    testing::RandomProgramOptions options;
    options.size = 80;
    Module module = testing::RandomProgram(seed, options).module();
    for (const auto& entry : module.functions()) {
      Checker check(entry.function.get());
      ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
    }
  }
}

TEST(IrRegions, HomeIsCommonToAllUses) {
  VarRef c = make_var("c");
  VarRef x = make_var("x");
  ExprRef both = call(op("exp"), x);
  ExprRef once = call(op("abs"), x);
  ExprRef root = make_if(c, call(op("add"), both, once), both);
  Regions regions(root.get());
  ASSERT_EQ(regions.num_regions(), 3u);
  ASSERT_EQ(regions.steps(0).size(), 2u);
  EXPECT_EQ(regions.expr(regions.steps(0)[0].node), both.get());
  EXPECT_EQ(regions.expr(regions.steps(0)[1].node), root.get());
  ASSERT_EQ(regions.steps(1).size(), 2u);
  EXPECT_EQ(regions.expr(regions.steps(1)[0].node), once.get());
  EXPECT_EQ(regions.result(2).expr, both.get());
}

TEST(IrRegions, NodeWaitsForRecursiveName) {
  // let %f = fn () { %0 }; %0 where %0 = (%f, 1)
  VarRef f = make_var("f");
  ExprRef pair = tuple(f, number(1));
  ExprRef root = make_let(f, make_function({}, pair), pair);
  Regions regions(root.get());
  auto steps = regions.steps(0);
  ASSERT_EQ(steps.size(), 5u);  // 1, fn, bind, pair, let
  EXPECT_TRUE(steps[2].bind);
  EXPECT_EQ(regions.expr(steps[3].node), pair.get());
}

TEST(IrRegions, DeepGraphs) {
  VarRef x = make_var("x");
  ExprRef chain = x;
  for (int i = 0; i < 200000; ++i) chain = call(op("exp"), chain);
  ExprRef nested = x;
  for (int i = 0; i < 100000; ++i) nested = make_function({}, nested);
  ir_testing::with_small_stack([&] {
    EXPECT_EQ(Regions(chain.get()).steps(0).size(), 200000u);
    EXPECT_EQ(Regions(nested.get()).num_regions(), 100001u);
  });
}

TEST(IrEffects, PureUnlessReferencesAreReached) {
  VarRef x = make_var("x");
  VarRef y = make_var("y");
  Module module;
  module.add_function("writes", make_function({x}, make_ref_read(make_ref_create(x))));
  module.add_function("calls", make_function({x}, call(make_global_var("writes"), x)));
  module.add_function("pure", make_function({x}, call(op("exp"), x)));
  module.add_function("loop", make_function({x}, call(make_global_var("loop"), x)));
  module.add_function("makes", make_function({x}, make_function({y}, make_ref_create(y))));
  module.add_function("applies", make_function({x}, call(x, x)));
  Effects effects(module);
  EXPECT_TRUE(effects.any());
  auto pure = [&](const char* name) { return effects.pure_callee(make_global_var(name).get()); };
  EXPECT_FALSE(pure("writes"));
  EXPECT_FALSE(pure("calls"));
  EXPECT_TRUE(pure("pure"));
  EXPECT_TRUE(pure("loop"));
  EXPECT_TRUE(pure("makes"));
  EXPECT_FALSE(pure("applies"));
  EXPECT_FALSE(pure("unknown"));
  Module without;
  without.add_function("applies", make_function({x}, call(x, x)));
  EXPECT_FALSE(Effects(without).any());
  EXPECT_TRUE(Effects(without).pure_callee(x.get()));
}

}  // namespace
}  // namespace relay::ir_regions_test
