// Scopes, graph names (G1), effects (E4), dimension names (T13), spans.
#include <tests/unit/parse_helpers.h>

#include <relay/ir/visit.h>

namespace relay::parse_bindings_test {
namespace {

using testing::expect_same;
using testing::problem;
using testing::text_at;

const Function* function(const ParseResult& result, const char* name = "main") {
  return result.module.function(Name(name));
}

TEST(ParseScopes, Shadowing) {
  expect_same("let %a = 1; let %b = 2 * %a; let %a = %a + %a; %a + %b",
              "let %x = 1; let %b = 2 * %x; let %y = %x + %x; %y + %b");
  expect_same("fn(%x) { let %f = fn(%x) { %x }; %f(%x) }",
              "fn(%x) { let %f = fn(%y) { %y }; %f(%x) }");
  // A let that binds a function may refer to itself, another may not.
  EXPECT_EQ(problem("let %f = fn(%x) { %f(%x) }; %f(1)"), "");
  EXPECT_EQ(problem("let %a = %a + 1; %a"), "1:10 unknown local name %a");
  EXPECT_EQ(problem("fn(%x) { { let %y = %x; %y } + %y }"), "1:32 unknown local name %y");
}

TEST(ParseScopes, GraphNames) {
  // The latest of a closed block is known until the definition ends.
  EXPECT_EQ(problem("fn(%x, %c) { if (%c) { %0 = exp(%x); %0 } else { %0 } }"), "");
  EXPECT_EQ(problem("def @f(%x) { %0 = exp(%x); %0 }\ndef @g(%x) { %0 }"),
            "2:14 unknown local name %0");
  EXPECT_EQ(problem("fn(%x) { %0 = exp(%x); %0 = abs(%x); %0 }"),
            "1:24 %0 is bound twice in one block");
  EXPECT_EQ(problem("fn(%x, %c) { %0 = exp(%x); if (%c) { %0 = abs(%x); %0 } else { %0 } }"), "");
  // The innermost enclosing binding counts before a closed one.
  expect_same(
      "fn(%x, %c) { %0 = exp(%x); %1 = if (%c) { %0 = abs(%x); %0 } else { %x }; (%0, %1) }",
      "fn(%x, %c) { %0 = exp(%x); %1 = if (%c) { abs(%x) } else { %x }; (%0, %1) }");
  EXPECT_EQ(problem("fn(%x) { %0 = fn(%y) { %1 = %x + %y; %1 }; %1 }"),
            "1:44 %1 depends on %y, which is not in scope here");
  EXPECT_EQ(
      problem("fn(%x) { %0 = fn(%y) { %1 = abs(%x); %2 = fn(%z) { %z + %1 }; %2(%y) }; %2(%1) }"),
      "");
  EXPECT_EQ(problem("fn(%x) { %0 = %0 + 1; %0 }"), "1:15 unknown local name %0");
}

TEST(ParseScopes, ManyClosedUses) {
  // Uses of names of a closed block are checked once each, not from the ground up.
  std::string text = "fn(%x, %c) { %r = if (%c) { %0 = exp(%x);\n";
  for (int i = 1; i < 20000; ++i)
    text += "%" + std::to_string(i) + " = abs(%" + std::to_string(i - 1) + ");\n";
  text += "%19999 } else { %x };\n";
  for (int i = 19999; i > 0; --i)
    text += "%a" + std::to_string(i) + " = %" + std::to_string(i) + ";\n";
  EXPECT_EQ(problem(text + "%a1 }"), "");
}

TEST(ParseEffects, GraphBindingBecomesLet) {
  ParseResult result =
      parse_text("t", "fn(%x) { %r = ref(%x); %v = ref_read(%r); %w = abs(%x); (%v, %w) }");
  ASSERT_TRUE(result.ok()) << render(result.diagnostics);
  const auto* outer = function(result)->body()->as<Let>();
  ASSERT_NE(outer, nullptr);
  EXPECT_EQ(outer->var()->name().view(), "r");
  const auto* inner = outer->body()->as<Let>();
  ASSERT_NE(inner, nullptr);
  EXPECT_TRUE(inner->value()->is<RefRead>());
  EXPECT_TRUE(inner->body()->is<Tuple>());
}

TEST(ParseEffects, CallsProvenPure) {
  const char* text =
      "def @pure(%x: int32) -> int32 { abs(%x) }\n"
      "def @write(%r: ref(int32)) { ref_write(%r, 1) }\n"
      "def @main(%x: int32, %r: ref(int32)) { %1 = @pure(%x); %2 = @write(%r); %3 = fn(%y) { "
      "@write(%r) }; (%1, %1, %2, %3) }";
  ParseResult result = parse_text("t", text);
  ASSERT_TRUE(result.ok()) << render(result.diagnostics);
  const auto* let = function(result)->body()->as<Let>();
  ASSERT_NE(let, nullptr);
  EXPECT_EQ(let->var()->name().view(), "2");
  const auto* tuple = let->body()->as<Tuple>();
  ASSERT_NE(tuple, nullptr);
  EXPECT_TRUE(tuple->operands()[0]->is<Call>());
  EXPECT_EQ(tuple->operands()[0], tuple->operands()[1]);
  // Without references every call is pure.
  ParseResult pure = parse_text("t", "def @f(%x) { %x }\ndef @main(%x) { %1 = @f(%x); (%1, %1) }");
  EXPECT_TRUE(function(pure)->body()->is<Tuple>());
}

TEST(ParseDimensions, ImplicitParameters) {
  ParseResult result =
      parse_text("t",
                 "fn(%x: Tensor[(n, m), float32]) -> Tensor[(n, k), float32] { let %y: Tensor[(n, "
                 "j), float32] = %x; fn(%z: Tensor[(n, i), float32]) { %y } }");
  ASSERT_TRUE(result.ok()) << render(result.diagnostics);
  auto names = [](const Function* f) {
    std::string all;
    for (const TypeVarRef& var : f->type_params()) {
      EXPECT_TRUE(var->implicit());
      EXPECT_EQ(var->kind(), Kind::kShapeVar);
      all += var->name().str() + " ";
    }
    return all;
  };
  EXPECT_EQ(names(function(result)), "k m n ");
  const auto* let = function(result)->body()->as<Let>();
  const auto* inner = let->body()->as<Function>();
  EXPECT_EQ(names(inner), "i ");
  auto dim = [](const Var* var, size_t i) {
    return var->annotation()->as<TensorType>()->dims()[i];
  };
  EXPECT_EQ(dim(let->var().get(), 0), dim(function(result)->params()[0].get(), 0));
  EXPECT_EQ(dim(inner->params()[0].get(), 0), dim(function(result)->params()[0].get(), 0));
  EXPECT_TRUE(dim(let->var().get(), 1).as_symbol()->implicit());
}

TEST(ParseDimensions, OrderDoesNotDependOnSpelling) {
  expect_same("fn(%x: Tensor[(n + m), int8]) { %x }", "fn(%x: Tensor[(m + n), int8]) { %x }");
  expect_same("fn(%x: Tensor[(n - n, ? * k), int8]) { %x }", "fn(%x: Tensor[(0, ?), int8]) { %x }");
  expect_same("free_var %x : Tensor[(n), int8]; free_var %y : Tensor[(n), int8]; (%x, %y)",
              "fn(%x: Tensor[(n), int8], %y: Tensor[(n), int8]) { (%x, %y) }");
  EXPECT_EQ(problem("def @f() { free_var %x; %x }"),
            "1:12 free_var can only stand before an expression that is the whole input");
}

TEST(ParseSpans, Expressions) {
  std::string text = "fn(%a : int32) {\n  %1 = %a * 2\n  (%1 + abs(%a)).0 == ref(%a)\n}";
  ParseResult result = parse_text("t", text);
  ASSERT_TRUE(result.ok()) << render(result.diagnostics);
  const Function* f = function(result);
  EXPECT_EQ(text_at(text, f->span()), text);
  EXPECT_EQ(text_at(text, f->params()[0]->span()), "%a");
  const auto* equal = f->body()->as<Call>();
  EXPECT_EQ(text_at(text, equal->span()), "(%1 + abs(%a)).0 == ref(%a)");
  EXPECT_EQ(text_at(text, equal->args()[0]->span()), "(%1 + abs(%a)).0");
  EXPECT_EQ(text_at(text, equal->args()[1]->span()), "ref(%a)");
  const Expr* sum = equal->args()[0]->as<TupleGetItem>()->tuple().get();
  EXPECT_EQ(text_at(text, sum->span()), "%1 + abs(%a)");
  EXPECT_EQ(text_at(text, sum->as<Call>()->args()[0]->span()), "%a * 2");
}

TEST(ParseSpans, EveryNodeHasOne) {
  std::string text =
      "type L { N, C(int32, L) }\ndef @f(%x: int32, %l: L) { let %r = ref(%x); ref_write(%r, -1); "
      "let (%a, %b) = (True, 2f);\n"
      "  if (%a) { match (%l) { C(%h, %t) => %h, N => ref_read(%r) } } else { fn(%y) { Constant(1, "
      "(), int32) }(%b) } }";
  ParseResult result = parse_text("t", text);
  ASSERT_TRUE(result.ok()) << render(result.diagnostics);
  post_order(function(result, "f"), [&](const Expr* expr) {
    if (expr->is<Op>()) return;
    EXPECT_TRUE(expr->span().known()) << expr_kind_name(expr->kind());
  });
}

}  // namespace
}  // namespace relay::parse_bindings_test
