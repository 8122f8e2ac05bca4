// The reducer itself, and what it runs programs in.
#include <gtest/gtest.h>

#include <unistd.h>

#include <csignal>
#include <functional>
#include <new>
#include <set>

#include <relay/infer/infer.h>
#include <relay/ir/equal.h>
#include <relay/ir/visit.h>
#include <relay/op/op.h>
#include <relay/parse/parse.h>
#include <relay/print/print.h>
#include <relay/reduce/predicates.h>
#include <relay/support/error.h>

#include <tests/support/typed_program.h>

namespace relay::reduce_test {
namespace {

Module typed(const std::string& text) {
  Module module = parse_module("test", text);
  infer_types_or_throw(module);
  return module;
}

bool has_call(const Module& module, std::string_view op) {
  bool found = false;
  for (const Module::FunctionEntry& entry : module.functions()) {
    post_order(entry.function.get(), [&](const Expr* expr) {
      const auto* callee = expr->as<Op>();
      found |= callee != nullptr && callee->op()->name().view() == op;
    });
  }
  return found;
}

// The smallest program that has a call of `op`.
std::string smallest(const std::string& text, const std::string& op) {
  reduce::Result result =
      reduce::reduce(typed(text), [&](const Module& module) { return has_call(module, op); });
  EXPECT_EQ(result.end, reduce::Result::End::kSmallest);
  return print_module(result.module, {.version_line = false});
}

TEST(Reduce, TakesPartsAway) {
  EXPECT_EQ(smallest("def @main(%x: Tensor[(2, 3), float32]) { add(tanh(exp(%x)), %x) }", "tanh"),
            "def @main() {\n  tanh(0f)\n}\n");
  EXPECT_EQ(smallest("def @f(%a: int64) { if (less(%a, 0i64)) { abs(%a) } else { @f(%a - 1i64) } }"
                     "def @main(%x: int64) { let %y = @f(%x); (%y, @f(%y)) }",
                     "abs"),
            "def @f() {\n  abs(0f)\n}\n");
}

TEST(Reduce, KeepsWhatAnOperatorNeeds) {
  // The shape is that of the parameter: of rank 4, with extents of one where that types.
  std::string text = smallest(
      "def @main(%x: Tensor[(8, 16, 12, 12), float32], %w: Tensor[(32, 16, 3, 3), float32]) {"
      "  nn.relu(nn.conv2d(%x, %w, padding=[1, 1], channels=32, kernel_size=[3, 3])) }",
      "nn.conv2d");
  EXPECT_EQ(text.find("relu"), std::string::npos) << text;
  EXPECT_EQ(text.find("32)"), std::string::npos) << text;
  EXPECT_EQ(text.find("12"), std::string::npos) << text;
}

TEST(Reduce, DataTypesAndClauses) {
  Module module = typed(
      "type List[A] { Nil, Cons(A, List[A]), }\n"
      "type Tree[A] { Leaf, Node(Tree[A], A, Tree[A]), Both(A, A), }\n"
      "def @sum(%l: List[int32]) -> int32 {"
      "  match (%l) { Nil => 0, Cons(%h, %t) => add(%h, @sum(%t)) } }\n"
      "def @main(%x: int32) {"
      "  let %t = Node(Leaf, %x, Node(Leaf, 3, Leaf));"
      "  let %s = match (%t) { Node(_, %v, _) => %v, Both(%a, %b) => %a + %b, Leaf => 7 };"
      "  @sum(Cons(%s, Cons(%x, Nil))) }");
  auto has_match = [](const Module& m) {
    bool found = false;
    for (const Module::FunctionEntry& entry : m.functions())
      post_order(entry.function.get(), [&](const Expr* e) { found |= e->is<Match>(); });
    return found;
  };
  reduce::Result result = reduce::reduce(module, has_match);
  EXPECT_LE(reduce::program_lines(result.module), 13u) << print_module(result.module);
  // The program that is left can be read again: a match has a clause, a type a constructor.
  EXPECT_TRUE(parse_text("printed", print_module(result.module)).ok())
      << print_module(result.module);
  EXPECT_LE(result.module.types().size(), 1u) << print_module(result.module);
}

TEST(Reduce, AsksOnlyOfWellTypedSmallerPrograms) {
  for (uint32_t seed = 0; seed < 12; ++seed) {
    Module module = testing::TypedProgram(seed, seed % 2 == 1).module();
    infer_types_or_throw(module);
    std::string before = print_module(module, {.show_types = true});
    std::set<uint64_t> asked;
    size_t asks = 0;
    auto predicate = [&](Module m) {
      ++asks;
      EXPECT_TRUE(asked.insert(structural_hash(m)).second);
      EXPECT_TRUE(verify(m).empty()) << print_module(m);
      for (const Diagnostic& diagnostic : infer_types(m))
        EXPECT_NE(diagnostic.severity, Severity::kError) << print_module(m);
      return has_call(m, "multiply") || has_call(m, "add");
    };
    if (!has_call(module, "add") && !has_call(module, "multiply")) continue;
    reduce::Result result = reduce::reduce(module, predicate);
    EXPECT_EQ(result.tries, asks);
    EXPECT_LE(reduce::program_lines(result.module), 5u) << print_module(result.module);
    EXPECT_EQ(print_module(module, {.show_types = true}), before) << "the program was changed";
    // And again the same.
    asked.clear();
    reduce::Result again = reduce::reduce(module, predicate);
    EXPECT_EQ(again.tries, result.tries);
    EXPECT_TRUE(structural_equal(again.module, result.module));
  }
}

TEST(Reduce, Limits) {
  Module module = typed("def @main(%x: float32) { exp(tanh(sqrt(exp(tanh(sqrt(%x)))))) }");
  auto predicate = [](const Module& m) { return has_call(m, "exp") && has_call(m, "sqrt"); };
  reduce::Options few;
  few.max_tries = 2;
  reduce::Result result = reduce::reduce(module, predicate, few);
  EXPECT_EQ(result.end, reduce::Result::End::kTries);
  EXPECT_EQ(result.tries, 2u);
  reduce::Options quick;
  quick.time_limit = 1e-9;
  EXPECT_EQ(reduce::reduce(module, predicate, quick).end, reduce::Result::End::kTime);
  std::atomic<bool> stop{false};
  reduce::Options interrupted;
  interrupted.interrupt = &stop;
  auto stops = [&](const Module& m) {
    bool yes = predicate(m);
    if (reduce::program_size(m) < 9) stop = true;
    return yes;
  };
  EXPECT_EQ(reduce::reduce(module, stops, interrupted).end, reduce::Result::End::kInterrupted);
}

TEST(Reduce, RefusesWhatItCannotStartFrom) {
  Module ill = parse_module(
      "test",
      "def @main(%x: Tensor[(2), float32]) { add(%x, ones(shape=[3], dtype=\"float32\")) }");
  auto yes = [](const Module&) { return true; };
  EXPECT_THROW(reduce::reduce(ill, yes), Error);
  Module module = typed("def @main(%x: float32) { exp(%x) }");
  EXPECT_THROW(reduce::reduce(module, [](const Module&) { return false; }), Error);
}

TEST(Reduce, DeepProgramsTakeNoStack) {
  // A chain of calls, and one of lets: each 20000 deep.
  VarRef x = make_var("x", TensorType::scalar(kFloat32));
  ExprRef chain = x;
  for (int i = 0; i < 20000; ++i) chain = call_op(i == 10000 ? "tanh" : "exp", {chain});
  Module module;
  module.add_function("main", make_function({x}, chain));
  VarRef y = make_var("y", TensorType::scalar(kFloat32));
  std::vector<VarRef> vars{y};
  for (int i = 0; i < 20000; ++i) vars.push_back(make_var("v"));
  ExprRef lets = vars.back();
  for (size_t i = vars.size() - 1; i > 0; --i)
    lets = make_let(vars[i], call_op("exp", {vars[i - 1]}), lets);
  module.add_function("f", make_function({y}, lets));
  infer_types_or_throw(module);
  reduce::Result result =
      reduce::reduce(module, [](const Module& m) { return has_call(m, "tanh"); });
  EXPECT_LE(reduce::program_size(result.module), 5u) << print_module(result.module);
}

// ---- Child processes --------------------------------------------------------------------------

using Kind = reduce::Outcome::Kind;

TEST(ReduceIsolate, EveryEndIsAnAnswer) {
  reduce::Limits limits;
  limits.seconds = 20;
  auto run = [&](std::function<reduce::Outcome()> body) {
    return reduce::run_isolated(body, limits);
  };
  EXPECT_EQ(run([] { return reduce::Outcome{}; }).kind, Kind::kFine);
  reduce::Outcome said = run([]() -> reduce::Outcome { return {Kind::kDiffers, "1 for 2"}; });
  EXPECT_EQ(said.kind, Kind::kDiffers);
  EXPECT_EQ(said.text, "1 for 2");
  reduce::Outcome thrown = run([]() -> reduce::Outcome { throw Error("no"); });
  EXPECT_EQ(thrown.kind, Kind::kThrows);
  EXPECT_EQ(thrown.text, "no");
  EXPECT_EQ(run([]() -> reduce::Outcome { throw std::bad_alloc(); }).text, "out of memory");
  reduce::Outcome killed = run([]() -> reduce::Outcome {
    std::raise(SIGKILL);
    return {};
  });
  EXPECT_EQ(killed.kind, Kind::kCrashes);
  EXPECT_EQ(killed.text, "SIGKILL");
  EXPECT_EQ(run([]() -> reduce::Outcome { _exit(9); }).text, "exit code 9");
  limits.seconds = 0.2;
  EXPECT_EQ(run([]() -> reduce::Outcome {
              for (volatile bool forever = true; forever;) {
              }
              return {};
            }).kind,
            Kind::kHangs);
  std::atomic<bool> stop{true};
  limits.seconds = 0;
  limits.interrupt = &stop;
  EXPECT_EQ(run([]() -> reduce::Outcome {
              pause();
              return {};
            }).kind,
            Kind::kInterrupted);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(ReduceIsolate, MemoryIsLimited) {
  reduce::Limits limits;
  limits.seconds = 20;
  limits.memory = size_t{1} << 30;
  reduce::Outcome outcome = reduce::run_isolated(
      []() -> reduce::Outcome {
        std::vector<char> much(size_t{3} << 30);
        return {much[5] == 0 ? Kind::kFine : Kind::kDiffers, ""};
      },
      limits);
  EXPECT_EQ(outcome.text, "out of memory");
}
#endif

TEST(ReduceIsolate, Commands) {
  reduce::Limits limits;
  limits.seconds = 20;
  reduce::CommandResult result = reduce::run_command("echo out; echo err >&2; exit 7", limits);
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(result.output, "out\nerr\n");
  result = reduce::run_command("kill -ABRT $$", limits);
  EXPECT_EQ(result.signal, "SIGABRT");
  EXPECT_EQ(result.exit_code, -1);
  result = reduce::run_command("cat; yes | head -c 3000000", limits);
  EXPECT_EQ(result.output.size(), reduce::kMostOutput);
  limits.seconds = 0.2;
  EXPECT_TRUE(reduce::run_command("sleep 100 & sleep 100", limits).hangs);
  // A process that a command leaves behind does not hold it up.
  limits.seconds = 20;
  EXPECT_EQ(reduce::run_command("sleep 100 & exit 3", limits).exit_code, 3);
}

TEST(ReduceIsolate, MessagesOfOneKind) {
  auto same = [](const char* a, const char* b) {
    return reduce::same_failure({Kind::kThrows, a}, {Kind::kThrows, b});
  };
  EXPECT_TRUE(same("%x has 3 axes", "%long.name has 14 axes"));
  EXPECT_TRUE(same("no (2, 3, 4) here", "no (1) here"));
  EXPECT_FALSE(same("%x has 3 axes", "@x has 3 axes"));
  EXPECT_FALSE(same("an error", "another error"));
  EXPECT_FALSE(reduce::same_failure({Kind::kThrows, "a"}, {Kind::kCrashes, "a"}));
}

// ---- Arguments --------------------------------------------------------------------------------

TEST(ReduceArguments, FollowTheProgram) {
  Module module = typed(
      "def @main(%x: Tensor[(2, 2), int64], %new: Tensor[(3), float32], %n: Tensor[(n), float32],"
      " %p: (int32, bool)) { (%x, %new, %n, %p) }");
  reduce::Arguments arguments;
  arguments.entry = "main";
  arguments.given["x"] = Value(NDArray::from<float>({5}, {1.5F, 2, 3, 4, 5}));
  auto values = reduce::arguments_for(module, arguments);
  ASSERT_TRUE(values.has_value());
  EXPECT_TRUE(bit_equal((*values)[0].array(), NDArray::from<int64_t>({2, 2}, {1, 2, 3, 4})));
  EXPECT_EQ((*values)[1].shape().size(), 1u);
  EXPECT_EQ((*values)[2].shape()[0], 2);
  EXPECT_TRUE((*values)[3].is_tuple());
  auto again = reduce::arguments_for(module, arguments);
  for (size_t i = 0; i < values->size(); ++i) EXPECT_TRUE(bit_equal((*values)[i], (*again)[i]));
  Module simple = typed("def @main(%x: Tensor[(2, 1), int64]) { %x }");
  EXPECT_EQ(reduce::arguments_text(simple, arguments), "--arg 'x=[[1], [2]]'");
  Module closure = typed("def @main(%f: fn (int32) -> int32) { %f(1) }");
  EXPECT_FALSE(reduce::arguments_for(closure, arguments).has_value());
}

TEST(ReduceArguments, Differences) {
  Value a(NDArray::from<float>({2}, {1, 1000})), b(NDArray::from<float>({2}, {1.5F, 1000}));
  EXPECT_EQ(reduce::difference(a, b), "");  // within a thousandth of the largest
  EXPECT_EQ(reduce::difference(a, b, {1e-5}), "element 0 is 1.0 for 1.5");
  EXPECT_EQ(reduce::difference(Value::scalar<int32_t>(1), Value::scalar<int32_t>(2)),
            "element 0 is 1 for 2");
  EXPECT_EQ(reduce::difference(Value::scalar<int32_t>(1), Value::scalar<int64_t>(1)),
            "int32() for int64()");
  EXPECT_EQ(reduce::difference(Value::tuple({a, a}), Value::tuple({a, a})), "");
  EXPECT_EQ(reduce::difference(Value::tuple({a}), Value::tuple({a, a})),
            "another number of fields");
  EXPECT_EQ(reduce::difference(Value::unit(), a), "values of different kinds");
}

}  // namespace
}  // namespace relay::reduce_test
