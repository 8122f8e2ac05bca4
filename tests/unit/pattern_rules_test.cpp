// Patterns and rules as text, tables of rules, and the driver.
#include <gtest/gtest.h>

#include <random>

#include <relay/infer/infer.h>
#include <relay/ir/equal.h>
#include <relay/ir/visit.h>
#include <relay/op/op.h>
#include <relay/parse/parse.h>
#include <relay/pattern/driver.h>
#include <relay/pattern/rewrite.h>
#include <relay/pattern/text.h>
#include <relay/print/print.h>
#include <relay/support/error.h>
#include <relay/transform/literals.h>

namespace relay::pattern_rules_test {
namespace {

Module typed(const std::string& text) {
  Module module = parse_module("t", text);
  infer_types_or_throw(module);
  return resolve_literals(module);
}

TEST(PatternText, ReadsWhatItPrints) {
  for (const char* text : {"_",
                           "%x",
                           "const",
                           "var",
                           "var(\"a b\")",
                           "0",
                           "-0",
                           "-1.5",
                           "1e+300",
                           "inf",
                           "-inf",
                           "exp",
                           "exp(_)",
                           "add(..)",
                           "_(..)",
                           "_()",
                           "_(_, const)",
                           "nn.softmax(%x, axis=1)",
                           "nn.conv2d(.., padding=[1, 1], data_layout=\"NCHW\")",
                           "(..)",
                           "()",
                           "(_,)",
                           "(_, %y)",
                           "_.0",
                           "_.0.1",
                           "_._",
                           "fn (..) { _ }",
                           "fn () { _ }",
                           "fn (%a, _) { add(%a, %a) }",
                           "let %v = exp(_); log(%v)",
                           "(let _ = _; _) | const",
                           "if (_) { const } else { %x }",
                           "exp(_) | log(_) | const",
                           "exp(_) | (log(_) | const)",
                           "(exp | log)(_)",
                           "%s = exp(%x)",
                           "add((%s = exp(%x)), %s)",
                           "subtract(exp(%0), %0)",
                           "_.has_type(Tensor[(2, 3), float32])",
                           "_.has_dtype(int8)",
                           "_.has_shape((2, 3))",
                           "_.has_shape(())",
                           "_.has_attr(a=1, b=[1.0, -2.5], c=\"x\", d=True, e=None, f=int8)",
                           "dominates(exp(_), _, %c = log(_))",
                           "rec(%w, exp(%w) | const)",
                           "rec(%0, exp(%0) | const)",
                           "expr(\"1f\")",
                           "exp(_).has_attr(axis=1)",
                           "nn.softmax(_).has_attr(axis=\"x\")",
                           "_.has_attr(TOpPattern=0)(_)"}) {
    SCOPED_TRACE(text);
    DFPatternRef pattern = parse_pattern("t", text);
    std::string printed = pattern_text(pattern.get());
    DFPatternRef again = parse_pattern("t", printed);
    EXPECT_TRUE(patterns_equal(pattern.get(), again.get())) << printed;
    EXPECT_EQ(pattern_text(again.get()), printed);
  }
}

TEST(PatternText, OperatorsBetweenOperands) {
  auto same = [](const char* a, const char* b) {
    return patterns_equal(parse_pattern("t", a).get(), parse_pattern("t", b).get());
  };
  EXPECT_TRUE(same("%a + %b * %c", "add(%a, multiply(%b, %c))"));
  EXPECT_TRUE(same("%a - %b - %c", "subtract(subtract(%a, %b), %c)"));
  EXPECT_TRUE(same("%a / (%b - -1)", "divide(%a, subtract(%b, -1))"));
  EXPECT_TRUE(same("%a + %b | const", "add(%a, %b) | const"));
  EXPECT_TRUE(same("/* a */ _ // b", "_"));
  EXPECT_FALSE(same("%a + %b", "%a + %a"));
}

TEST(PatternText, WhatIsNone) {
  for (const char* text : {"",
                           "(",
                           "exp(",
                           "exp(_",
                           "exp(_))",
                           "_ _",
                           "1x",
                           "1e999",
                           "%x = ",
                           "%x = _ %y",
                           "fn",
                           "fn (_) _",
                           "if (_) { _ }",
                           "let _ = _",
                           "_.",
                           "_.99999999999",
                           "_.has_attr()",
                           "_.has_attr(a)",
                           "_.has_attr(a=b)",
                           "_.has_shape((2",
                           "_.has_type(Nothing)",
                           "rec(_, _)",
                           "rec(%w)",
                           "dominates(_, _)",
                           "expr(1)",
                           "/*",
                           "\"x\"",
                           "%",
                           "\x01",
                           "var(x)",
                           "add(.., ..)",
                           "_.has_dtype(\"int8\")"}) {
    EXPECT_THROW(parse_pattern("t", text), Error) << text;
  }
}

TEST(RuleText, ReadsWhatItPrints) {
  const char* text = R"(
    rule a: %x + 0 => %x;
    inexact rule "b c": exp(%x) * exp(%y) => exp(%x + %y) where float(%x), not bool(%y), once(%x);
    rule d: nn.softmax(%s = nn.softmax(%x, axis=1), axis=1) => nn.softmax(%x, ..%s);
    rule e: (%x, %y).0 => %x where dtype(%x) == dtype(%y), rank(%x) in (1, 2), shape(%x) != [2, 3];
    rule f: %s = split(%x) => (%s.0, (), (%x,)).1 where shape(%x)[-1] >= 4, size(%x) < 1000;
    rule g: sum(%x, axis=[0]) => sum(%x, axis=[1], keepdims=True) where static(%x), scalar(%x);
    rule h: cast(%x) => cast(%x, dtype=%x.dtype) where dtype(%x) in (int8, float32), %x.dtype == "int8";
    rule i: power(%x, (%c = const)) => -1.5 where constant(%c), integer(%x), not rank(%x) > 1.5;
    rule j: cast(%x, dtype="") => %x;
  )";
  Rules rules = parse_rules("t", text);
  ASSERT_EQ(rules.rules.size(), 9u);
  std::string printed = rules_text(rules.rules);
  Rules again = parse_rules("t", printed);
  ASSERT_EQ(again.rules.size(), 9u);
  for (size_t i = 0; i < 9; ++i)
    EXPECT_TRUE(rules_equal(rules.rules[i], again.rules[i])) << printed;
  EXPECT_EQ(rules_text(again.rules), printed);
  EXPECT_FALSE(rules_equal(rules.rules[0], rules.rules[1]));
}

TEST(RuleText, AllMistakesAreReported) {
  try {
    parse_rules("t", "rule a: ad(_) => 1; rule b: %x => %y; rule c: %x => %x; rule d: ; ! /*");
    FAIL();
  } catch (const Error& error) {
    ASSERT_EQ(error.diagnostics().size(), 3u) << error.what();
  }
}

// Nothing that fits is missed, whatever the table.
TEST(Automaton, FindsAllThatFit) {
  std::mt19937 random(1);
  auto pick = [&](size_t count) { return random() % count; };
  const char* unary[] = {"exp", "log", "tanh", "negative"};
  const char* binary[] = {"add", "multiply", "divide", "subtract"};
  std::function<std::string(int)> pattern = [&](int depth) -> std::string {
    size_t kind = pick(depth == 0 ? 3 : 9);
    if (kind == 0) return "_";
    if (kind == 1) return "%" + std::string(1, static_cast<char>('a' + pick(3)));
    if (kind == 2) return "1";
    if (kind == 3) return "(" + pattern(depth - 1) + " | " + pattern(depth - 1) + ")";
    if (kind == 4) return pattern(depth - 1) + ".has_dtype(float32)";
    if (kind < 7) return std::string(unary[pick(4)]) + "(" + pattern(depth - 1) + ")";
    return std::string(binary[pick(4)]) + "(" + pattern(depth - 1) + ", " + pattern(depth - 1) +
           ")";
  };
  std::vector<DFPatternRef> patterns;
  for (int i = 0; i < 200; ++i) patterns.push_back(parse_pattern("t", pattern(4)));
  std::vector<ExprRef> nodes{make_var("x", parse_type("float32")), parse_expr("1f")};
  for (int i = 0; i < 300; ++i) {
    ExprRef a = nodes[pick(nodes.size())], b = nodes[pick(nodes.size())];
    nodes.push_back(pick(2) == 0 ? call_op(unary[pick(4)], {a}) : call_op(binary[pick(4)], {a, b}));
  }
  ExprRef all = make_tuple(nodes);
  pattern::Automaton automaton(patterns);
  pattern::Surroundings around(all);
  pattern::Matcher matcher(around);
  std::vector<pattern::CompiledPattern> compiled(patterns.begin(), patterns.end());
  size_t fitting = 0, offered = 0;
  std::vector<uint32_t> found;
  for (const ExprRef& node : nodes) {
    automaton.find(node.get(), found);
    offered += found.size();
    for (uint32_t i = 0; i < patterns.size(); ++i) {
      bool offer = std::binary_search(found.begin(), found.end(), i);
      bool fits = matcher.match(compiled[i], node.get());
      fitting += fits ? 1 : 0;
      ASSERT_TRUE(offer || !fits) << pattern_text(patterns[i].get()) << " "
                                  << print_short(node.get());
    }
  }
  EXPECT_GT(fitting, 1000u);
  EXPECT_LT(offered, nodes.size() * patterns.size() * 3 / 4);
}

std::string applied(const std::string& rules, const std::string& program) {
  Module module = typed(program);
  FunctionRef function(module.entry()->function);
  pattern::RuleSet set(parse_rules("t", rules));
  FunctionRef result = pattern::apply_rules(function, set, {});
  return print_short(result->body().get(), 200);
}

TEST(RuleDriver, Fixpoint) {
  const char* rules = "rule a: negative(negative(%x)) => %x; rule b: %x - %x => zeros_like(%x);";
  EXPECT_EQ(
      applied(rules, "def @main(%x: Tensor[(2), float32]) { negative(negative(negative(%x))) }"),
      "negative(%x)");
  EXPECT_EQ(applied(rules,
                    "def @main(%x: Tensor[(2), float32]) { negative(%x) - "
                    "negative(negative(negative(%x))) }"),
            "subtract(negative(%x), negative(%x))");
}

TEST(RuleDriver, NothingChangesNothing) {
  Module module = typed("def @main(%x: Tensor[(2), float32]) { exp(%x) }");
  FunctionRef function(module.entry()->function);
  pattern::RuleSet set(parse_rules("t", "rule a: exp(log(%x)) => %x;"));
  EXPECT_EQ(pattern::apply_rules(function, set, {}), function);
}

TEST(RuleDriver, WhatIsWrittenMeetsRulesToo) {
  const char* rules =
      "rule a: sin(%x) => exp(log(tanh(%x))); rule b: exp(log(%x)) => %x; rule c: tanh(%x) => "
      "cos(%x);";
  EXPECT_EQ(applied(rules, "def @main(%x: Tensor[(2), float32]) { sin(%x) }"), "cos(%x)");
}

TEST(RuleDriver, OtherTypesAreNotWritten) {
  EXPECT_EQ(applied("rule a: %x + %y => %x;",
                    "def @main(%x: Tensor[(1), int8], %y: Tensor[(3), int8]) { %x + %y }"),
            "add(%x, %y)");
  EXPECT_EQ(
      applied("rule a: exp(%x) => sum(%x);", "def @main(%x: Tensor[(3), float32]) { exp(%x) }"),
      "exp(%x)");
}

TEST(RuleDriver, WaitsForUsersToGo) {
  // The second use of the exponential goes in the first walk, so the product applies in the next.
  const char* table =
      "rule product: exp(%x) * exp(%y) => exp(%x + %y); rule first: (%a, %b).0 => %a;";
  EXPECT_EQ(applied(table,
                    "def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) {"
                    " %0 = exp(%x); %1 = multiply(%0, exp(%y)); (%1, %0).0 }"),
            "exp(add(%x, %y))");
}

TEST(RuleDriver, SharingStays) {
  Module module = typed(
      "def @main(%x: Tensor[(2), float32]) { %0 = negative(negative(exp(%x))); multiply(%0, %0) }");
  FunctionRef function(module.entry()->function);
  pattern::RuleSet set(parse_rules("t", "rule a: negative(negative(%x)) => %x;"));
  FunctionRef result = pattern::apply_rules(function, set, {});
  EXPECT_EQ(result->body()->operands()[1], result->body()->operands()[2]);
  EXPECT_EQ(count_nodes(result.get()), 6u);  // function, product, exp, variable, two operators
}

TEST(RuleDriver, DeepPrograms) {
  VarRef x = make_var("x", parse_type("float32"));
  ExprRef expr = x;
  for (int i = 0; i < 200000; ++i) expr = call_op("negative", {expr});
  Module module;
  module.add_function("main", make_function({x}, expr));
  infer_types_or_throw(module);
  pattern::RuleSet set(parse_rules("t", "rule a: negative(negative(%x)) => %x;"));
  FunctionRef result = pattern::apply_rules(FunctionRef(module.function("main")), set, {});
  EXPECT_EQ(result->body(), x);
}

TEST(RuleDriver, EndlessGrowthEndsEarly) {
  EXPECT_THROW(applied("rule a: exp(%x) => exp(exp(%x)) * exp(%x);",
                       "def @main(%x: Tensor[(2), float32]) { exp(%x) }"),
               Error);
}

}  // namespace
}  // namespace relay::pattern_rules_test
