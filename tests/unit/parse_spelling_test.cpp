// Every construct in both spellings (language.md §1).
#include <tests/unit/parse_helpers.h>

namespace relay::parse_spelling_test {
namespace {

using testing::expect_same;
using testing::problem;

TEST(ParseSpelling, GraphBindings) {
  expect_same("fn(%a, %b) {\n  %1 = %a + %b\n  %2 = %1 + %1\n  %2 * %2\n}",
              "fn (%a, %b) { %1 = add(%a, %b); %2 = add(%1, %1); multiply(%2, %2) }");
  // A parenthesis that is first on its line begins the next expression.
  expect_same("fn(%a) {\n %1 = abs(%a)\n (%1, %1)\n}", "fn(%a) { %1 = abs(%a); (%1, %1) }");
  expect_same("fn(%f, %a) {\n %1 = %f\n (%a)\n}", "fn(%f, %a) { %a }");
  // Not inside other brackets.
  expect_same("fn(%f, %a) { (%f\n(%a)) }", "fn(%f, %a) { %f(%a) }");
  // A name binds the node, not a copy.
  ParseResult shared = parse_text("t", "fn(%a) { %1 = abs(%a); (%1, %1) }");
  ParseResult apart = parse_text("t", "fn(%a) { (abs(%a), abs(%a)) }");
  EXPECT_FALSE(structural_equal(shared.module, apart.module));
}

TEST(ParseSpelling, MinusFirstOnItsLine) {
  EXPECT_EQ(problem("fn(%a) {\n %1 = %a\n -%a\n}"),
            "3:2 a '-' at the beginning of a line continues the expression before it | "
            "4:1 expected an expression after the last binding, found '}'");
  EXPECT_EQ(problem("fn(%a) {\n (%a\n -%a)\n}"), "");
}

TEST(ParseSpelling, DataTypes) {
  expect_same(
      "data Nat { Z : () -> Nat # zero\n S : (Nat) -> Nat }\ndef @f(%n : Nat[]) -> Nat { S(Z()) }",
      "type Nat { Z, S(Nat), }\ndef @f(%n: Nat) -> Nat[] { S(Z) }");
  expect_same("data D<a, b> { C1 : (a, b) -> D[a, b]  C2 : fun() -> D[a, b] }\n1",
              "type D[a, b] { C1(a, b), C2 }\n1");
  expect_same("extern type T\ndef @f(%t: T) { %t }", "extern type T;\ndef @f(%t: T[]) { %t }");
  // Before their definition, and each other's.
  EXPECT_EQ(problem("def @f(%t: A) -> B { X(%t) }\ntype B { X(A) }\ntype A { Y(B), N }"), "");
}

TEST(ParseSpelling, Match) {
  const char* data = "type Nat { Z, S(Nat) }\n";
  expect_same(
      std::string(data) +
          "def @f(%v: Nat) { match(%v) { case S(S(%n)) { %n } case Z() { %v } case _ { %v } } }",
      std::string(data) +
          "def @f(%v: Nat) { match (%v) { S(S(%n)) => %n, Z => { %v }, _ => %v, } }");
  EXPECT_EQ(problem(std::string(data) + "def @f(%v: Nat) { match? (%v) { Z => 1 } }"), "");
  ParseResult partial =
      parse_text("t", std::string(data) + "def @f(%v: Nat) { match? (%v) { Z => 1 } }");
  EXPECT_FALSE(partial.module.function(Name("f"))->body()->as<Match>()->complete());
  EXPECT_EQ(problem("def @f(%t) { match (%t) { (%a, (%b, _)) => %a } }"), "");
  EXPECT_EQ(problem("def @f(%t) { match (%t) { case (%a, %b: int32) { %b } } }"), "");
}

TEST(ParseSpelling, FunctionsAndTypes) {
  expect_same("let %f = fn<t : Type>(%x : t) -> t { %x }; %f",
              "let %f = fn[t](%x: t) -> t { %x }; %f");
  expect_same("fn(%f : fun(int32, bool) -> fun() -> int32) { %f }",
              "fn (%f: fn (int32, bool) -> fn () -> int32) { %f }");
  expect_same("def @id[A](%x: A) -> A { %x }", "def @id<A : Type>(%x : A) -> A { %x }");
  expect_same("fn(%x : (int32), %y : (int32,)) { %x }", "fn (%x: int32, %y: (int32,)) { %x }");
  expect_same("#[version = \"0.0.5\"]\nfn(%x : (int32)) { %x }", "fn (%x: (int32,)) { %x }");
  expect_same("fn(%x : Tensor[(), float32]) { %x }", "fn (%x: float32) { %x }");
  expect_same("fn(%x : ref(int32), %y : _, %z : ()) { %x }",
              "fn (%x: ref(Tensor[(), int32]), %y: _, %z: ()) { %x }");
  EXPECT_EQ(problem("fn<s : Shape, b : BaseType, n : ShapeVar>(%x : Tensor[s, b], %y : Tensor[(n, "
                    "?, 2 * n + 1), b]) { %x }"),
            "");
  EXPECT_EQ(problem("fn (%x: Tensor[_, float32], %y: Tensor[(2,), _]) { %x }"), "");
  EXPECT_EQ(problem("fn (%x: Tensor[(floordiv(n, 2), max(n, 4), n - 1), int8]) { %x }"), "");
  expect_same("fn (%x, Primitive=1, Tag=\"t\", Rate=0.5f) { %x }",
              "fn (Rate=0.5, Tag=\"t\", %x, Primitive=1) { %x }");
}

TEST(ParseSpelling, Where) {
  EXPECT_EQ(problem("fn(%x, %y) where Broadcast { %x }"), "");
  EXPECT_EQ(problem("fn<a : Type, b : Type, c : Type>(%x : a, %y : b) -> c where Broadcast(a, b, "
                    "c), Identity(a, a) { %x }"),
            "");
  ParseResult bare = parse_text("t", "fn(%x, %y) where Broadcast { %x }");
  auto constraints = bare.module.function(Name("main"))->constraints();
  ASSERT_EQ(constraints.size(), 1u);
  EXPECT_TRUE(constraints[0]->args().empty());
  EXPECT_EQ(problem("fn(%x, %y) where Broadcst { %x }"), "1:18 unknown relation Broadcst");
  EXPECT_EQ(problem("fn(%c, %x) { where(%c, %x, %x) }"), "");
}

TEST(ParseSpelling, TypeArguments) {
  const char* id = "def @id[A](%x: A) -> A { %x }\n";
  ParseResult result = parse_text("t", std::string(id) + "@id<Tensor[(2), bool]>(1)");
  ASSERT_TRUE(result.ok()) << render(result.diagnostics);
  EXPECT_EQ(result.module.function(Name("main"))->body()->as<Call>()->type_args().size(), 1u);
  // Everything else is less-than.
  expect_same("fn(%a, %b) { %a < %b }", "fn(%a, %b) { less(%a, %b) }");
  expect_same("fn(%a, %b) { (%a < (%b), %b > (%a)) }",
              "fn(%a, %b) { (less(%a, %b), greater(%b, %a)) }");
  expect_same("fn(%a) { %a<-1 }", "fn(%a) { less(%a, -1) }");
  expect_same("fn(%a, %b) { %a <= %b && %a >= 1 || !(%a == %b) }",
              "fn(%a, %b) { logical_or(logical_and(less_equal(%a, %b), greater_equal(%a, 1)), "
              "logical_not(equal(%a, %b))) }");
}

TEST(ParseSpelling, Precedence) {
  expect_same("fn(%a, %b, %c) { %a + %b * %c - %a / %b }",
              "fn(%a, %b, %c) { subtract(add(%a, multiply(%b, %c)), divide(%a, %b)) }");
  expect_same("fn(%a, %b) { %a - %b - %a }", "fn(%a, %b) { subtract(subtract(%a, %b), %a) }");
  expect_same("fn(%a, %b) { -%a * !%b }", "fn(%a, %b) { multiply(negative(%a), logical_not(%b)) }");
  expect_same("fn(%a, %b) { - -%a.0 }", "fn(%a, %b) { negative(negative(%a.0)) }");
  expect_same("fn(%a, %b) { %a != %b == %b < %a }",
              "fn(%a, %b) { equal(not_equal(%a, %b), less(%b, %a)) }");
  expect_same("fn(%a) { 10 * if (%a) { 1 } else { 2 } }",
              "fn(%a) { multiply(10, if (%a) { 1 } else { 2 }) }");
  expect_same("fn(%a) { mul(sub(%a, 1), div(%a, 2)) }",
              "fn(%a) { multiply(subtract(%a, 1), divide(%a, 2)) }");
}

TEST(ParseSpelling, Comments) {
  expect_same("# one\n// two\n/* three /* nested */ still */ 1 # four", "1");
  expect_same("#[not an attribute]\n1", "1");
  expect_same(
      "fn (%x: float32 /* ty=float32 */) -> float32 { exp(%x) /* ty=float32 span=a:1:2 */ }",
      "fn (%x: float32) -> float32 { exp(%x) }");
  expect_same("fn (%x {virtual_device=\"cpu(0)\"}: float32, virtual_device=\"\") { %x }",
              "fn (%x: float32) { %x }");
}

TEST(ParseSpelling, Names) {
  expect_same("fn(%\"layer1.0.weight\") { %\"layer1.0.weight\" }",
              "fn(%layer1.0.weight) { %layer1.0.weight }");
  expect_same("def @\"a b\"(%\"%\\\"\") { %\"%\\\"\" }", "def @\"a b\"(%x) { %x }");
  // The longest dotted name in scope, else projections.
  ParseResult longest = parse_text("t", "fn(%t, %t.0) { (%t.0, %t.1, %t.0.1) }");
  ASSERT_TRUE(longest.ok()) << render(longest.diagnostics);
  const auto* fields = longest.module.function(Name("main"))->body()->as<Tuple>();
  EXPECT_TRUE(fields->operands()[0]->is<Var>());
  EXPECT_EQ(fields->operands()[1]->as<TupleGetItem>()->index(), 1u);
  EXPECT_TRUE(fields->operands()[2]->as<TupleGetItem>()->tuple()->is<Var>());
  EXPECT_EQ(problem("fn(%t) { (%t.0.0, %t.0.1.2, ((1, 2), 3).0.1) }"), "");
  EXPECT_EQ(problem("fn(%case, %where, %type) { let %data = %case; %data + %where + %type }"), "");
  EXPECT_EQ(problem("type data { case, extern }\ncase"), "");
}

TEST(ParseSpelling, Sequences) {
  ParseResult result = parse_text("t", "fn(%r) { ref_write(%r, 1); ref_read(%r) }");
  ASSERT_TRUE(result.ok());
  const auto* let = result.module.function(Name("main"))->body()->as<Let>();
  ASSERT_NE(let, nullptr);
  EXPECT_EQ(let->var()->name().view(), "_");
  expect_same("fn(%a) { (abs(%a); exp(%a); %a) }",
              "fn(%a) { let %_ = abs(%a); let %_ = exp(%a); %a }");
  expect_same("fn(%a) { (let %b = %a; %b) + 1 }", "fn(%a) { { let %b = %a; %b } + 1 }");
  // A let as a value ends with its expression, as TVM prints it.
  expect_same("fn(%x) { let %a = let %b = exp(%x); add(%b, 1); %a }",
              "fn(%x) { let %a = { let %b = exp(%x); add(%b, 1) }; %a }");
  expect_same("fn(%t) { let (%a, (%b, _)) = %t; %a + %b }",
              "fn(%t) { let %p = %t; let %a = %p.0; let %q = %p.1; let %b = %q.0; %a + %b }");
}

TEST(ParseSpelling, WholeInputs) {
  expect_same("fn(%x) { %x }", "def @main(%x) { %x }");
  expect_same("1 + 2", "def @main() { 1 + 2 }");
  expect_same("def @f() { 1 }\n@f()", "def @main() { @f() } def @f() { 1 }");
  expect_same("free_var %x : int32;\n%x + 1", "fn(%x : int32) { %x + 1 }");
  ParseResult data = parse_text("t", "type T { C }");
  EXPECT_TRUE(data.ok());
  EXPECT_EQ(print_expr(parse_expr("1 + 2").get()), "add(1, 2)");
  EXPECT_EQ(parse_type("Tensor[(2, ?), float32]")->str(), "Tensor[(2, ?), float32]");
  EXPECT_THROW(parse_type("Tensor["), Error);
  EXPECT_THROW(parse_expr(""), Error);
  EXPECT_THROW(parse_module("t", "%x"), Error);
}

}  // namespace
}  // namespace relay::parse_spelling_test
