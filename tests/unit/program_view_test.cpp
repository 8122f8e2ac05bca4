// Views of programs: numbers and columns.
#include <algorithm>
#include <unordered_set>

#include <gtest/gtest.h>

#include <relay/ir/visit.h>
#include <relay/program/program.h>
#include <relay/transform/pass.h>
#include <relay/transform/pass_program.h>
#include <tests/support/random_program.h>
#include <tests/unit/ir_testing.h>

namespace relay::program_view_test {
namespace {

using ir_testing::call;
using ir_testing::number;

ExprRef op(const char* name) { return make_op(get_op(name)); }

/// Checks what must hold of every view.
void check(const View& view) {
  std::unordered_set<const Expr*> distinct;
  std::vector<size_t> uses(view.size());
  for (uint32_t id = 0; id < view.size(); ++id) {
    EXPECT_TRUE(distinct.insert(view.expr(id)).second);
    EXPECT_EQ(view.id(view.expr(id)), id);
    auto operands = view.expr(id)->operands();
    ASSERT_EQ(view.operands(id).size(), operands.size());
    for (uint32_t i = 0; i < operands.size(); ++i) {
      const uint32_t operand = view.operands(id)[i];
      EXPECT_EQ(view.expr(operand), operands[i].get());
      EXPECT_LT(operand, id);
      ++uses[operand];
    }
  }
  EXPECT_EQ(view.expr(view.size() - 1), view.root().get());
  const Scopes& scopes = view.scopes();
  for (uint32_t id = 0; id < view.size(); ++id) {
    EXPECT_EQ(view.users()[id].size(), uses[id]);
    for (Users::Use use : view.users()[id]) {
      EXPECT_EQ(view.operands(use.user)[use.operand], id);
      if (view.kind(id) == ExprKind::kVar || view.is_name(id)) continue;
      EXPECT_TRUE(scopes.contains(scopes.home(id), scopes.place(use.user, use.operand)));
    }
  }
  std::vector<const Var*> free;
  for (uint32_t id : view.free_variables(view.size() - 1)) free.push_back(view.expr(id)->as<Var>());
  std::vector<VarRef> expected = free_vars(view.root().get());
  EXPECT_EQ(free.size(), expected.size());
  for (const VarRef& var : expected)
    EXPECT_NE(std::find(free.begin(), free.end(), var.get()), free.end());
}

/// The first node that all ways from `from` pass: the nearest without which nothing leads on.
uint32_t slow_post_dominator(const View& view, uint32_t from) {
  for (uint32_t at = from + 1; at < view.size(); ++at) {
    std::vector<bool> seen(view.size());
    std::vector<uint32_t> stack{from};
    bool around = false;
    bool reached = false;
    while (!stack.empty()) {
      const uint32_t id = stack.back();
      stack.pop_back();
      if (id == at) {
        reached = true;
        continue;
      }
      if (seen[id]) continue;
      seen[id] = true;
      if (view.users()[id].empty()) around = true;
      for (Users::Use use : view.users()[id]) stack.push_back(use.user);
    }
    if (reached && !around) return at;
  }
  return View::kNone;
}

TEST(ProgramView, HoldsOnRandomPrograms) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    Module module = testing::RandomProgram(seed).module();
    Program program(module);
    for (const auto& entry : module.functions()) check(program.view(entry.function));
  }
}

TEST(ProgramView, PostDominatorsAreTheNearest) {
  // Dataflow alone, so that the slow search needs no rules for lets.
  uint64_t state = 1;
  auto random = [&](size_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<size_t>(state >> 33) % below;
  };
  for (int round = 0; round < 20; ++round) {
    std::vector<ExprRef> nodes{make_var(Name("x"))};
    for (int i = 0; i < 25; ++i) {
      const size_t near = std::min<size_t>(nodes.size(), 4);
      auto pick = [&] { return nodes[nodes.size() - 1 - random(near)]; };
      nodes.push_back(call(op("add"), pick(), pick()));
    }
    View view(nodes.back());
    for (uint32_t id = 0; id < view.size(); ++id) {
      if (view.is_name(id)) continue;
      EXPECT_EQ(view.post_dominators().parent(id), slow_post_dominator(view, id)) << id;
    }
  }
}

TEST(ProgramView, ProgramsAreAMillionNodesDeep) {
  ir_testing::with_small_stack([] {
    VarRef x = make_var(Name("x"));
    ExprRef at = x;
    for (int i = 0; i < 1000000; ++i) at = call(op("add"), at, at);
    View view(make_function({x}, at));
    EXPECT_EQ(view.size(), 1000003u);
    EXPECT_EQ(view.dominators().parent(view.size() - 1), view.size() - 2);
    EXPECT_EQ(view.post_dominators().parent(0), 2u);
    EXPECT_EQ(view.liveness().last_use(0), 2u);
    EXPECT_EQ(view.free_variables(view.size() - 1).size(), 0u);
  });
}

TEST(ProgramView, RevisionsKeepViewsOfOtherFunctions) {
  Module module;
  for (const char* name : {"a", "b"}) {
    VarRef x = make_var(Name("x"));
    module.add_function(Name(name), make_function({x}, call(op("exp"), x)));
  }
  Program before(module);
  const View& a = before.view(FunctionRef(module.function(Name("a"))));
  const View& b = before.view(FunctionRef(module.function(Name("b"))));
  VarRef y = make_var(Name("y"));
  module.update_function(Name("b"), make_function({y}, call(op("log"), y)));
  Program after = before.next(module);
  EXPECT_EQ(&after.view(FunctionRef(module.function(Name("a")))), &a);
  EXPECT_NE(&after.view(FunctionRef(module.function(Name("b")))), &b);
}

// The passes of a sequence share views of functions that did not change; nothing is kept after it.
TEST(ProgramView, PassesOfASequenceShareAProgram) {
  Module module;
  for (const char* name : {"a", "b"}) {
    VarRef x = make_var(Name("x"));
    module.add_function(Name(name), make_function({x}, call(op("exp"), x)));
  }
  std::vector<const View*> a, b;
  std::vector<bool> own;
  auto look = [&](const Module& given) {
    const Program program = program_of(given);
    a.push_back(&program.view(FunctionRef(given.function(Name("a")))));
    b.push_back(&program.view(FunctionRef(given.function(Name("b")))));
    a.back()->users();  // views are compared while the sequence keeps them
    own.push_back(&program_of(Module(given)).view(FunctionRef(given.function(Name("a")))) !=
                  a.back());
  };
  PassInfo watches, changes;
  watches.name = Name("Watches");
  changes.name = Name("Changes");
  PassRef watch = make_module_pass(watches, [&](const Module& given, const PassContext&) {
    look(given);
    return given;
  });
  PassRef change = make_module_pass(changes, [&](const Module& given, const PassContext& context) {
    look(given);
    Module inner;
    inner.add_function(Name("other"), FunctionRef(given.function(Name("a"))));
    (*make_module_pass(watches, [](const Module& other, const PassContext&) {
      program_of(other).view(FunctionRef(other.function(Name("other"))));
      return other;
    }))(inner, context);
    Module result = given;
    VarRef y = make_var(Name("y"));
    result.update_function(Name("b"), make_function({y}, call(op("log"), y)));
    return result;
  });
  (*make_sequential({watch, change, watch}))(module);
  EXPECT_EQ(a, std::vector<const View*>(3, a[0]));
  EXPECT_EQ(b[1], b[0]);
  EXPECT_EQ(own, std::vector<bool>(3, true));
  ASSERT_EQ(b.size(), 3u);
  EXPECT_EQ(program_of(module).module().functions().size(), 2u);  // outside of passes
}

TEST(ProgramView, ComponentsOfTheCallGraphComeCalleesFirst) {
  Module module;
  auto add = [&](const char* name, std::vector<const char*> callees) {
    ExprRef body = number(0);
    for (const char* callee : callees)
      body = call(op("add"), body, call(make_global_var(Name(callee))));
    module.add_function(Name(name), make_function({}, body));
  };
  add("main", {"a", "c"});
  add("a", {"b"});
  add("b", {"a", "c"});
  add("c", {});
  CallGraph graph(module);
  std::vector<std::vector<Name>> expected{{Name("c")}, {Name("a"), Name("b")}, {Name("main")}};
  EXPECT_EQ(graph.components(), expected);
  EXPECT_TRUE(graph.is_recursive(Name("a")));
  EXPECT_FALSE(graph.is_recursive(Name("c")));
}

}  // namespace
}  // namespace relay::program_view_test
