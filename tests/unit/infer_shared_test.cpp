// Types of nodes that several programs have, typed and looked at by several threads.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <unordered_set>

#include <relay/infer/infer.h>
#include <relay/ir/equal.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/parse/parse.h>
#include <relay/print/print.h>
#include <relay/support/error.h>
#include <relay/transform/pass.h>

namespace relay::infer_shared_test {
namespace {

constexpr const char* kProgram = R"(
def @g(%x: int32) -> int32 { %x }
def @f(%x: int32) {
  let %id = fn (%y) { (%y, %y) };
  let %pair = %id(@g(%x));
  let %other = %id(1.5);
  %0 = multiply(%pair.0, 2);
  (%0, add(%0, %0), %other.1)
}
def @main(%x: int32) { @f(%x).1 }
)";

using Types = std::vector<std::pair<const Expr*, TypeRef>>;

// The types of all nodes of a function, which are kept.
Types types_of(const Function* function) {
  Types types;
  post_order(function, [&](const Expr* expr) { types.emplace_back(expr, TypeRef(expr->type())); });
  return types;
}

std::string typed_text(const Module& module) {
  PrintOptions options;
  options.show_types = true;
  return print_module(module, options);
}

bool has_errors(const std::vector<Diagnostic>& diagnostics) {
  for (const Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.severity == Severity::kError) return true;
  }
  return false;
}

// The same functions but for @g.
Module with_other_g(const Module& module, const char* g) {
  Module other = module;
  Module text = parse_module("other", g);
  other.update_function("g", FunctionRef(text.function("g")));
  other.add_source(text.sources()[0]);
  return other;
}

TEST(InferShared, AFailedCheckLeavesTypes) {
  Module module = parse_module("test", kProgram);
  infer_types_or_throw(module);
  Types before = types_of(module.function("f"));
  for (const auto& [expr, type] : before) {
    ASSERT_TRUE(expr->is<Op>() || type) << print_short(expr);
  }
  const std::string text = typed_text(module);

  Module wrong = with_other_g(module, "def @g(%x: float32) -> float32 { %x }");
  const Function* f = wrong.function("f");
  std::vector<Diagnostic> diagnostics = infer_types(wrong);
  EXPECT_TRUE(has_errors(diagnostics));
  EXPECT_EQ(wrong.function("f"), f);
  EXPECT_EQ(types_of(f), before);
  EXPECT_EQ(typed_text(module), text);
  // The same is said again, and the first program still counts as typed.
  EXPECT_EQ(render(infer_types(wrong)), render(diagnostics));
  infer_types_or_throw(module);
  EXPECT_EQ(types_of(module.function("f")), before);
}

TEST(InferShared, AFailedCheckOfNewNodesLeavesNone) {
  Module module = parse_module("test", "def @main(%x: int32) { %0 = exp(1f); (%0, add(%x, %0)) }");
  EXPECT_TRUE(has_errors(infer_types(module)));
  const Function* main = module.function("main");
  EXPECT_EQ(main->type(), nullptr);
  post_order(main, [](const Expr* expr) {
    // The type of an operator or a constant does not depend on the program.
    if (!expr->is<Op>() && !expr->is<Constant>()) {
      EXPECT_EQ(expr->type(), nullptr) << print_short(expr);
    }
  });
  EXPECT_THROW(infer_expr_type(main->body(), module), Error);
}

TEST(InferShared, OtherTypesGoToACopy) {
  const char* program = "def @g(%x: int32) -> int32 { %x }\ndef @main(%x: int32) { (@g(%x), %x) }";
  Module module = parse_module("test", program);
  infer_types_or_throw(module);
  Types before = types_of(module.function("main"));

  Module other =
      with_other_g(module, "def @g(%x: int32) -> float32 { cast(%x, dtype=\"float32\") }");
  infer_types_or_throw(other);
  EXPECT_NE(other.function("main"), module.function("main"));
  EXPECT_TRUE(structural_equal(other.function("main"), module.function("main")));
  EXPECT_EQ(other.function("main")->type()->str(), "fn (int32) -> (float32, int32)");
  EXPECT_EQ(types_of(module.function("main")), before);
  // Nothing is copied again.
  FunctionRef copy(other.function("main"));
  infer_types_or_throw(other);
  EXPECT_EQ(other.function("main"), copy.get());
  infer_types_or_throw(module);
  EXPECT_EQ(types_of(module.function("main")), before);
}

TEST(InferShared, CopiesShareOnlyWhatHasOneType) {
  Module module = parse_module("test", kProgram);
  infer_types_or_throw(module);
  FunctionRef f(module.function("f"));
  ExprRef copy = copy_nodes(f);
  EXPECT_TRUE(structural_equal(copy.get(), f.get()));
  std::unordered_set<const Expr*> nodes;
  size_t count = 0, copied = 0;
  post_order(f.get(), [&](const Expr* expr) {
    nodes.insert(expr);
    ++count;
  });
  post_order(copy.get(), [&](const Expr* expr) {
    ++copied;
    if (expr->is<Op>() || expr->is<Constant>()) return;
    EXPECT_EQ(nodes.count(expr), 0u) << print_short(expr);
    EXPECT_EQ(expr->type(), nullptr) << print_short(expr);
  });
  EXPECT_EQ(copied, count);  // what was shared is shared
}

constexpr int kThreads = 4;
constexpr int kRounds = 20;

TEST(InferShared, ThreadsTypeOneProgram) {
  Module reference = parse_module("test", kProgram);
  infer_types_or_throw(reference);
  const std::string wanted = typed_text(reference);
  for (int round = 0; round < kRounds; ++round) {
    const Module module = parse_module("test", kProgram);
    std::atomic<int> ready{0}, wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        Module mine = module;
        for (++ready; ready < kThreads;) std::this_thread::yield();
        try {
          infer_types_or_throw(mine);
          if (typed_text(mine) != wanted) ++wrong;
          // All of one mind: nothing is typed again.
          std::vector<FunctionRef> functions;
          for (const auto& entry : mine.functions()) functions.push_back(entry.function);
          infer_types_or_throw(mine);
          for (size_t i = 0; i < functions.size(); ++i)
            if (mine.functions()[i].function != functions[i]) ++wrong;
        } catch (const std::exception&) {
          ++wrong;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(wrong, 0) << "round " << round;
  }
}

TEST(InferShared, ThreadsRunPassesOnSharedNodes) {
  const std::vector<const char*> kOthers = {
      "def @g(%x: int32) -> int32 { add(%x, 1) }",
      "def @g(%x: int32) -> int64 { cast(%x, dtype=\"int64\") }",
      "def @g(%x: int32) -> float32 { cast(%x, dtype=\"float32\") }",
      "def @g(%x: float32) -> float32 { %x }"};  // ill typed
  const char* passes = "SimplifyExpr,FoldConstant,EliminateCommonSubexpr,ToANormalForm,FuseOps";
  auto run = [&](const Module& module) -> std::string {
    try {
      PassContext context;
      context.opt_level = 4;
      return print_module((*make_sequential(parse_passes(passes)))(module, context));
    } catch (const Error& error) {
      return error.what();
    }
  };
  std::vector<std::string> wanted;
  for (const char* g : kOthers)
    wanted.push_back(run(with_other_g(parse_module("test", kProgram), g)));
  for (int round = 0; round < kRounds; ++round) {
    const Module shared = parse_module("test", kProgram);
    std::vector<Module> modules;
    for (const char* g : kOthers) modules.push_back(with_other_g(shared, g));
    std::atomic<int> ready{0};
    std::vector<std::string> found(kOthers.size());
    std::vector<std::thread> threads;
    for (size_t t = 0; t < kOthers.size(); ++t) {
      threads.emplace_back([&, t] {
        for (++ready; ready < static_cast<int>(kOthers.size());) std::this_thread::yield();
        for (int i = 0; i < 3; ++i) found[t] = run(modules[t]);
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(found, wanted) << "round " << round;
  }
}

}  // namespace
}  // namespace relay::infer_shared_test
