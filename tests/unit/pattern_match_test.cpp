// Patterns of dataflow: every construct, what is bound, what goes back, and depth.
#include <random>

#include <gtest/gtest.h>

#include <relay/infer/infer.h>
#include <relay/op/op.h>
#include <relay/parse/parse.h>
#include <relay/pattern/matcher.h>
#include <relay/pattern/text.h>
#include <relay/support/error.h>

namespace relay::pattern_match_test {
namespace {

using P = DFPattern;

DFPatternRef call(std::string_view op, std::vector<DFPatternRef> args) {
  return P::call(P::op(get_op(op)), std::move(args));
}
DFPatternRef any() { return P::wildcard(); }

/// The body of @main, typed.
struct Program {
  explicit Program(const std::string& text) : module(parse_module("t", text)) {
    infer_types_or_throw(module);
    body = module.entry()->function->body();
  }
  Module module;
  ExprRef body;
};

bool fits(const DFPatternRef& pattern, const ExprRef& expr) {
  return pattern::match(pattern, expr);
}
bool fits(const DFPatternRef& pattern, const std::string& params, const std::string& body) {
  return fits(pattern, Program("def @main(" + params + ") { " + body + " }").body);
}
const std::string kXY = "%x: Tensor[(2, 3), float32], %y: Tensor[(2, 3), float32]";

TEST(PatternMatch, Leaves) {
  EXPECT_TRUE(fits(any(), kXY, "add(%x, %y)"));
  EXPECT_TRUE(fits(P::var(), kXY, "%x"));
  EXPECT_TRUE(fits(P::var("x"), kXY, "%x"));
  EXPECT_FALSE(fits(P::var("y"), kXY, "%x"));
  EXPECT_FALSE(fits(P::var(), kXY, "1f"));
  EXPECT_TRUE(fits(P::constant(), kXY, "1f"));
  EXPECT_FALSE(fits(P::constant(), kXY, "%x"));
  Program program("def @main(" + kXY + ") { add(%x, exp(%y)) }");
  EXPECT_TRUE(fits(P::expr(program.body), program.body));
  EXPECT_TRUE(fits(P::expr(parse_expr("add(1f, 2f)")), parse_expr("add(1f, 2f)")));
  EXPECT_FALSE(fits(P::expr(parse_expr("add(1f, 2f)")), parse_expr("add(1f, 3f)")));
  EXPECT_TRUE(fits(P::op(get_op("add")), make_op(get_op("add"))));
  EXPECT_FALSE(fits(P::op(get_op("add")), program.body));
}

TEST(PatternMatch, Numbers) {
  EXPECT_TRUE(fits(P::number(0), kXY, "0f"));
  EXPECT_FALSE(fits(P::number(-0.0), kXY, "0f"));
  EXPECT_TRUE(fits(P::number(-0.0), kXY, "0"));
  EXPECT_TRUE(fits(P::number(1), kXY, "ones_like(%x)"));
  EXPECT_FALSE(fits(P::number(1), kXY, "%x"));
}

TEST(PatternMatch, Calls) {
  EXPECT_TRUE(fits(call("subtract", {P::var("x"), P::var("y")}), kXY, "subtract(%x, %y)"));
  EXPECT_FALSE(fits(call("subtract", {P::var("y"), P::var("x")}), kXY, "subtract(%x, %y)"));
  EXPECT_TRUE(fits(call("add", {P::var("y"), P::var("x")}), kXY, "add(%x, %y)"));
  EXPECT_FALSE(fits(call("add", {any()}), kXY, "add(%x, %y)"));
  EXPECT_TRUE(fits(P::call_any(P::op(get_op("add"))), kXY, "add(%x, %y)"));
  EXPECT_TRUE(fits(P::call(any(), {any()}), kXY, "exp(%x)"));
  EXPECT_FALSE(fits(P::call(any(), {any()}), kXY, "add(%x, %y)"));
  EXPECT_TRUE(fits(P::call_any(any()), kXY, "add(%x, %y)"));
}

TEST(PatternMatch, OperatorsMeanTheSameNode) {
  DFPatternRef x = any();
  DFPatternRef twice = call("subtract", {call("exp", {x}), x});
  EXPECT_TRUE(fits(twice, kXY, "subtract(exp(%x), %x)"));
  EXPECT_FALSE(fits(twice, kXY, "subtract(exp(%x), %y)"));
  // Two equal calls are two nodes.
  DFPatternRef e = call("exp", {any()});
  EXPECT_TRUE(fits(call("subtract", {e, e}), kXY, "%0 = exp(%x); subtract(%0, %0)"));
  EXPECT_FALSE(fits(call("subtract", {e, e}), kXY, "subtract(exp(%x), exp(%x))"));
}

TEST(PatternMatch, LaterPartsDecideBetweenAlternatives) {
  DFPatternRef x = any();
  // The order of the sum that fits first does not fit the rest.
  DFPatternRef sum = call("subtract", {call("add", {x, any()}), x});
  EXPECT_TRUE(fits(sum, kXY, "subtract(add(%x, %y), %y)"));
  EXPECT_TRUE(fits(sum, kXY, "subtract(add(%x, %y), %x)"));
  DFPatternRef y = any();
  DFPatternRef either = P::alt(call("exp", {any()}), y);
  EXPECT_TRUE(fits(call("subtract", {either, y}), kXY, "%0 = exp(%x); subtract(%0, %0)"));
}

TEST(PatternMatch, WhatFailedIsNotBound) {
  DFPatternRef a = any(), b = any();
  DFPatternRef pattern = P::alt(call("exp", {call("log", {a})}), call("exp", {b}));
  Program program("def @main(" + kXY + ") { exp(tanh(%x)) }");
  pattern::MatchResult result;
  ASSERT_TRUE(pattern::match(pattern, program.body, &result));
  EXPECT_TRUE(result.nodes(a.get()).empty());
  ASSERT_EQ(result.nodes(b.get()).size(), 1u);
  EXPECT_EQ(result.nodes(pattern.get())[0], program.body);
}

TEST(PatternMatch, ProductsAndQuotientsRotate) {
  DFPatternRef a = P::var("a"), b = P::var("b"), c = P::var("c");
  const std::string abc = "%a: float32, %b: float32, %c: float32";
  DFPatternRef quotient = call("divide", {call("multiply", {a, b}), c});
  for (const char* text : {"divide(multiply(%a, %b), %c)", "divide(multiply(%b, %a), %c)",
                           "multiply(%a, divide(%b, %c))", "multiply(divide(%b, %c), %a)",
                           "multiply(%b, divide(%a, %c))"}) {
    EXPECT_TRUE(fits(quotient, abc, text)) << text;
  }
  EXPECT_FALSE(fits(quotient, abc, "multiply(%c, divide(%a, %b))"));
  DFPatternRef product = call("multiply", {a, call("divide", {b, c})});
  for (const char* text : {"multiply(%a, divide(%b, %c))", "divide(multiply(%a, %b), %c)",
                           "divide(multiply(%b, %a), %c)"}) {
    EXPECT_TRUE(fits(product, abc, text)) << text;
  }
  EXPECT_FALSE(fits(product, abc, "divide(multiply(%a, %c), %b)"));
}

TEST(PatternMatch, TuplesAndProjections) {
  EXPECT_TRUE(fits(P::tuple({P::var("x"), any()}), kXY, "(%x, %y)"));
  EXPECT_FALSE(fits(P::tuple({any()}), kXY, "(%x, %y)"));
  EXPECT_TRUE(fits(P::tuple_any(), kXY, "(%x, %y)"));
  EXPECT_TRUE(fits(P::projection(any(), 1), kXY, "(%x, %y).1"));
  EXPECT_FALSE(fits(P::projection(any(), 0), kXY, "(%x, %y).1"));
  EXPECT_TRUE(fits(P::projection(P::tuple_any()), kXY, "(%x, %y).1"));
}

TEST(PatternMatch, ScopesAndBranches) {
  EXPECT_TRUE(
      fits(P::let(P::var("v"), call("exp", {any()}), any()), kXY, "let %v = exp(%x); add(%v, %y)"));
  DFPatternRef v = P::var();
  EXPECT_TRUE(fits(P::let(v, any(), call("log", {v})), kXY, "let %v = exp(%x); log(%v)"));
  EXPECT_FALSE(fits(P::let(v, any(), call("log", {v})), kXY, "let %v = exp(%x); log(%y)"));
  EXPECT_TRUE(fits(P::if_then_else(P::var("c"), any(), any()), "%c: bool, %x: float32",
                   "if (%c) { %x } else { exp(%x) }"));
  const char* function = "fn (%a: float32, %b: float32) { subtract(%a, %b) }";
  DFPatternRef a = any(), b = any();
  EXPECT_TRUE(fits(P::function({a, b}, call("subtract", {a, b})), "", function));
  EXPECT_FALSE(fits(P::function({a, b}, call("subtract", {b, a})), "", function));
  EXPECT_FALSE(fits(P::function({a}, any()), "", function));
  EXPECT_TRUE(fits(P::function_any(any()), "", function));
}

TEST(PatternMatch, AttributesAndFacts) {
  auto attr = [](DFPatternRef pattern, const char* name, AttrValue value) {
    return P::attrs(std::move(pattern), {{name, std::move(value), {}}});
  };
  DFPatternRef softmax = P::call_any(P::op(get_op("nn.softmax")));
  EXPECT_TRUE(fits(attr(softmax, "axis", int64_t{1}), kXY, "nn.softmax(%x, axis=1)"));
  EXPECT_TRUE(fits(attr(softmax, "axis", int64_t{-1}), kXY, "nn.softmax(%x)"));
  EXPECT_FALSE(fits(attr(softmax, "axis", int64_t{0}), kXY, "nn.softmax(%x)"));
  EXPECT_FALSE(fits(attr(softmax, "nothing", int64_t{0}), kXY, "nn.softmax(%x)"));
  DFPatternRef elementwise = P::call_any(attr(any(), "TOpPattern", int64_t{0}));
  EXPECT_TRUE(fits(elementwise, kXY, "exp(%x)"));
  EXPECT_FALSE(fits(elementwise, kXY, "add(%x, %y)"));
  EXPECT_TRUE(fits(attr(P::call_any(any()), "dtype", std::string("int8")), kXY,
                   "cast(%x, dtype=\"int8\")"));
  const Operator* op = get_op("exp");
  set_op_fact(op, "TMine", AttrValue(std::string("yes")));
  EXPECT_TRUE(fits(P::call_any(attr(any(), "TMine", std::string("yes"))), kXY, "exp(%x)"));
  set_op_fact(op, "TMine", std::nullopt);
  EXPECT_FALSE(fits(P::call_any(attr(any(), "TMine", std::string("yes"))), kXY, "exp(%x)"));
  ExprRef function = parse_expr("fn (%x: float32, Primitive=1) { %x }");
  EXPECT_TRUE(fits(attr(any(), "Primitive", int64_t{1}), function));
  EXPECT_FALSE(fits(attr(any(), "Primitive", int64_t{0}), function));
}

TEST(PatternMatch, OneSizeStandsForAll) {
  const std::string params = "%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32]";
  DFPatternRef conv = P::call_any(P::op(get_op("nn.conv2d")));
  auto padded = [&](AttrValue::List list) {
    return P::attrs(conv, {{"padding", AttrValue(std::move(list)), {}}});
  };
  auto n = [](int64_t value) { return AttrValue(value); };
  const char* text = "nn.conv2d(%x, %w, padding=[1, 1])";
  EXPECT_TRUE(fits(padded({n(1), n(1)}), params, text));
  EXPECT_TRUE(fits(padded({n(1), n(1), n(1), n(1)}), params, text));
  EXPECT_TRUE(fits(padded({n(1)}), params, text));
  EXPECT_FALSE(fits(padded({n(1), n(1), n(1), n(0)}), params, text));
  EXPECT_FALSE(fits(padded({n(0)}), params, text));
}

TEST(PatternMatch, Types) {
  EXPECT_TRUE(fits(P::dtype(any(), kFloat32), kXY, "add(%x, %y)"));
  EXPECT_FALSE(fits(P::dtype(any(), kInt8), kXY, "add(%x, %y)"));
  EXPECT_TRUE(fits(P::shape(any(), {Dim(2), Dim(3)}), kXY, "add(%x, %y)"));
  EXPECT_FALSE(fits(P::shape(any(), {Dim(2)}), kXY, "add(%x, %y)"));
  EXPECT_TRUE(fits(P::type(any(), parse_type("Tensor[(2, 3), float32]")), kXY, "exp(%x)"));
  // Without types they are inferred; what has none fits nothing.
  VarRef v = make_var("v", parse_type("Tensor[(4), int8]"));
  EXPECT_TRUE(fits(P::dtype(any(), kInt8), call_op("negative", {v})));
  EXPECT_FALSE(fits(P::dtype(any(), kInt8), call_op("negative", {make_var("v")})));
}

TEST(PatternMatch, Recursion) {
  DFPatternRef rest = any();
  rest->redirect(P::alt(call("exp", {rest}), P::var("x")));
  EXPECT_TRUE(fits(rest, kXY, "exp(exp(exp(%x)))"));
  EXPECT_TRUE(fits(rest, kXY, "%x"));
  EXPECT_FALSE(fits(rest, kXY, "exp(log(exp(%x)))"));
  EXPECT_THROW(rest->redirect(any()), Error);
  DFPatternRef self = any();
  EXPECT_THROW(self->redirect(self), Error);
  EXPECT_THROW(P::constant()->redirect(self), Error);
}

class PatternDominator : public ::testing::Test {
 protected:
  DFPatternRef elementwise = P::alt(call("exp", {any()}), call("tanh", {any()}));
  DFPatternRef parent = call("sin", {any()});
  DFPatternRef child = call("add", {any(), any()});
  DFPatternRef pattern = P::dominator(parent, elementwise, child);
};

TEST_F(PatternDominator, Diamond) {
  EXPECT_TRUE(fits(pattern, kXY, "%0 = sin(%x); add(exp(%0), tanh(%0))"));
  EXPECT_TRUE(fits(pattern, kXY, "%0 = sin(%x); add(exp(exp(%0)), %0)"));
  EXPECT_FALSE(fits(pattern, kXY, "%0 = sin(%x); add(exp(%0), log(%0))"));
  EXPECT_FALSE(fits(pattern, kXY, "%0 = sin(%x); add(exp(%0), tanh(%y))"));
  EXPECT_FALSE(fits(pattern, kXY, "add(exp(sin(%x)), tanh(sin(%x)))"));
}

TEST_F(PatternDominator, NothingElseUsesTheMiddle) {
  Program program("def @main(" + kXY +
                  ") { %0 = sin(%x); %1 = exp(%0); %2 = add(%1, tanh(%0)); (%2, %1) }");
  pattern::CompiledPattern compiled(pattern);
  pattern::Surroundings around(program.body);
  pattern::Matcher matcher(around);
  EXPECT_FALSE(matcher.match(compiled, program.body->operands()[0].get()));
}

TEST_F(PatternDominator, BindsParentAndPath) {
  Program program("def @main(" + kXY + ") { %0 = sin(%x); add(exp(%0), tanh(exp(%0))) }");
  pattern::MatchResult result;
  ASSERT_TRUE(pattern::match(pattern, program.body, &result));
  EXPECT_EQ(result.nodes(parent.get()).size(), 1u);
  EXPECT_EQ(result.nodes(elementwise.get()).size(), 3u);
  EXPECT_EQ(result.nodes(child.get())[0], program.body);
}

TEST(PatternDepth, NothingRecurses) {
  constexpr int kDeep = 100000;
  VarRef x = make_var("x", parse_type("float32"));
  ExprRef expr = x;
  DFPatternRef pattern = P::var("x"), other = P::var("x");
  for (int i = 0; i < kDeep; ++i) {
    expr = call_op("exp", {expr});
    pattern = call("exp", {pattern});
    other = call("exp", {other});
  }
  EXPECT_TRUE(fits(pattern, expr));
  EXPECT_TRUE(patterns_equal(pattern.get(), other.get()));
  EXPECT_FALSE(fits(call("exp", {pattern}), expr));
  // A way as long, and one that ends nowhere, which is looked at once for all nodes.
  DFPatternRef path = call("exp", {any()});
  EXPECT_TRUE(fits(P::dominator(P::var("x"), path, path), expr));
  pattern::CompiledPattern nowhere(P::dominator(P::var("y"), path, path));
  pattern::Surroundings around(expr);
  pattern::Matcher matcher(around);
  for (uint32_t id = around.view().size(); id-- > 0;)
    ASSERT_FALSE(matcher.match(nowhere, around.view().expr(id)));
}

TEST(PatternDepth, ARecursivePatternIsAskedAboutEveryNode) {
  constexpr int kDeep = 100000;
  ExprRef expr = make_var("x", parse_type("float32"));
  for (int i = 0; i < kDeep; ++i) expr = call_op("negative", {expr});
  auto count = [&](const char* text) {
    const pattern::CompiledPattern compiled(parse_pattern("p", text));
    pattern::Surroundings around(expr);
    pattern::Matcher matcher(around);
    matcher.remember();
    int found = 0;
    for (uint32_t id = 0; id < around.view().size(); ++id)
      found += matcher.match(compiled, around.view().expr(id)) ? 1 : 0;
    return found;
  };
  EXPECT_EQ(count("rec(%w, negative(%w) | var)"), kDeep + 1);
  EXPECT_EQ(count("%a = rec(%w, negative(%w) | var)"), kDeep + 1);
  EXPECT_EQ(count("rec(%w, negative(%w) | tanh(_))"), 0);
}

// Each node costs the same, however deep what fits it is: 100,000 nodes end at all.
TEST(PatternDepth, ARecursivePatternGoesOnInOneOfSeveralArguments) {
  constexpr int kDeep = 100000;
  const TypeRef type = parse_type("float32");
  const ExprRef x = make_var("x", type), one = make_constant(NDArray::scalar(1.0f));
  auto count = [&](const char* text, auto&& next) {
    ExprRef expr = x;
    for (int i = 0; i < kDeep; ++i) expr = next(expr);
    const pattern::CompiledPattern compiled(parse_pattern("p", text));
    pattern::Surroundings around(expr);
    pattern::Matcher matcher(around);
    matcher.remember();
    int found = 0;
    for (uint32_t id = 0; id < around.view().size(); ++id)
      found += matcher.match(compiled, around.view().expr(id)) ? 1 : 0;
    return found;
  };
  auto same = [&](const ExprRef& before) { return call_op("add", {before, one}); };
  auto other = [&](const ExprRef& before) {
    return call_op("add", {before, make_constant(NDArray::scalar(2.0f))});
  };
  auto left = [&](const ExprRef& before) { return call_op("add", {x, before}); };
  EXPECT_EQ(count("rec(%w, add(%w, const) | var)", same), kDeep + 1);
  EXPECT_EQ(count("rec(%w, add(%w, (%c = const)) | %x)", same), kDeep + 3);
  EXPECT_EQ(count("rec(%w, add(%w, (%c = const)) | %x)", other), 2 * kDeep + 2);
  EXPECT_EQ(count("rec(%w, add(%w, %c) | %x)", left), kDeep + 2);
  EXPECT_EQ(count("rec(%w, add(%w, (const | tanh(_))) | %x)", same), kDeep + 3);
  EXPECT_EQ(count("rec(%w, add(%w, (const | tanh(_))) | %x)", other), 2 * kDeep + 2);
  EXPECT_EQ(count("rec(%w, add(%w, (exp(_) | tanh(_))) | var)", other), 1);
}

TEST(PatternMemory, APartThatFittedSeveralNodesIsComparedAgain) {
  const ExprRef x = make_var("x", parse_type("float32")), y = make_var("y", parse_type("float32"));
  const ExprRef inner = call_op("add", {call_op("exp", {call_op("add", {x, y})}), y});
  const ExprRef expr = call_op("add", {x, inner});
  const pattern::CompiledPattern compiled(
      parse_pattern("p", "rec(%w, add(%p = (exp(%w) | var(\"x\")), %w) | var(\"y\"))"));
  pattern::Surroundings around(expr);
  pattern::Matcher matcher(around);
  matcher.remember();
  EXPECT_TRUE(matcher.match(compiled, inner.get()));
  EXPECT_FALSE(matcher.match(compiled, expr.get()));
}

// Random sums and negations of what is there already.
ExprRef random_sums(std::mt19937& random, int size) {
  std::vector<ExprRef> nodes{make_var("x", parse_type("float32")),
                             make_var("y", parse_type("float32"))};
  auto one = [&] {
    return nodes[std::uniform_int_distribution<size_t>(0, nodes.size() - 1)(random)];
  };
  auto late = [&] {
    return nodes[nodes.size() - 1 - std::uniform_int_distribution<size_t>(0, 1)(random)];
  };
  for (int i = 0; i < size; ++i) {
    switch (std::uniform_int_distribution<int>(0, 3)(random)) {
      case 0:
        nodes.push_back(call_op("add", {late(), one()}));
        break;
      case 1:
        nodes.push_back(call_op("tanh", {late()}));
        break;
      default:
        nodes.push_back(call_op("negative", {late()}));
    }
  }
  return make_tuple(nodes);
}

TEST(PatternMemory, AnswersAsWithoutIt) {
  std::mt19937 random(7);
  size_t fitting = 0;
  for (const char* text :
       {"rec(%w, negative(%w) | %x)", "rec(%w, negative(%w) | tanh(%w) | var(\"x\"))",
        "%a = rec(%w, (%n = negative(%w)) | (%t = tanh(%w)) | %x)",
        "rec(%w, negative(%w) | add(%w, %y) | tanh(%x))", "rec(%w, add(%w, %w) | negative(%x))",
        "rec(%w, add(%w, %c) | negative(%w) | %x)", "rec(%w, add(%w, tanh(%c)) | %x)",
        "rec(%w, add(%w, ((%t = tanh(_)) | (%n = negative(_)))) | negative(%w) | %x)",
        "rec(%w, add((%x | (%n = negative(_))), %w) | tanh(%w) | %x)",
        "rec(%w, add(%w, add(%w, %c)) | tanh(%w) | negative(%x))",
        "rec(%w, add(%w, (%c | negative(%w))) | tanh(%w) | %x)",
        "rec(%w, negative(tanh(%w)) | add(%x, %w) | var(\"y\"))",
        "rec(%w, add(%p = (tanh(%w) | var(\"x\")), %w) | var(\"y\"))",
        "rec(%w, add(%p = (negative(%w) | tanh(%w) | _), %w) | var(\"x\"))",
        "rec(%w, negative(%w) | dominates(tanh(%x), negative(_), add(_, _)) | var(\"x\"))"}) {
    const DFPatternRef pattern = parse_pattern("p", text);
    const pattern::CompiledPattern compiled(pattern);
    for (int i = 0; i < 30; ++i) {
      const ExprRef expr = random_sums(random, 40);
      pattern::Surroundings around(expr);
      pattern::Matcher with(around), without(around);
      with.remember();
      for (uint32_t id = 0; id < around.view().size(); ++id) {
        const Expr* node = around.view().expr(id);
        const bool fits = without.match(compiled, node);
        ASSERT_EQ(with.match(compiled, node), fits) << text << " at " << id;
        fitting += fits ? 1 : 0;
        for (const DFPattern* part : compiled.parts())
          ASSERT_EQ(fits ? with.bound(part) : nullptr, fits ? without.bound(part) : nullptr)
              << text;
      }
    }
  }
  EXPECT_GT(fitting, 1000u);
}

TEST(PatternDepth, TooManyStepsIsAnError) {
  // Sums of sums whose operands may change places, at a leaf that never fits.
  DFPatternRef pattern = P::constant();
  ExprRef expr = make_var("x", parse_type("float32"));
  for (int i = 0; i < 40; ++i) {
    pattern = call("add", {P::wildcard(), pattern});
    expr = call_op("add", {expr, call_op("add", {expr, expr})});
  }
  EXPECT_THROW(fits(pattern, expr), Error);
}

TEST(PatternEqual, SharingCounts) {
  DFPatternRef x = any();
  EXPECT_TRUE(patterns_equal(call("add", {x, x}).get(), call("add", {x, x}).get()));
  EXPECT_FALSE(patterns_equal(call("add", {x, x}).get(), call("add", {any(), any()}).get()));
  EXPECT_FALSE(patterns_equal(P::number(0).get(), P::number(-0.0).get()));
  EXPECT_FALSE(patterns_equal(P::var("x").get(), P::var("y").get()));
}

}  // namespace
}  // namespace relay::pattern_match_test
