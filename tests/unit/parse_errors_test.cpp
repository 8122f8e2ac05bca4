// The messages for wrong programs, and where they point.
#include <tests/unit/parse_helpers.h>

namespace relay::parse_errors_test {
namespace {

using testing::problem;
using testing::problems;

TEST(ParseErrors, Expected) {
  EXPECT_EQ(problem(""), "1:1 the program is empty: expected definitions or an expression");
  EXPECT_EQ(problem("#[version = \"0.0.5\"]\n"),
            "1:1 the program is empty: expected definitions or an expression");
  EXPECT_EQ(problem("fn(%x) { }"), "1:10 expected an expression, found '}'");
  EXPECT_EQ(problem("fn(%x) { let %y = %x; }"),
            "1:23 expected an expression after the last binding, found '}'");
  EXPECT_EQ(problem("fn(%x) { abs(%x }"), "1:17 expected ')' after the arguments, found '}'");
  EXPECT_EQ(problem("fn(%x) { abs(%x) exp(%x) }"),
            "1:18 expected an operator, ';' or '}' after the expression, found exp");
  EXPECT_EQ(
      problem("fn(%x) { %x"),
      "1:11 expected an operator, ';' or '}' after the expression, found the end of the text");
  EXPECT_EQ(problem("fn(%x { %x }"), "1:7 expected ')' after the parameters, found '{'");
  EXPECT_EQ(problem("fn(x) { 1 }"), "1:4 expected a parameter such as %x or an attribute, found x");
  EXPECT_EQ(problem("let %x = 1"),
            "1:10 expected ';' after the value of the let, found the end of the text");
  EXPECT_EQ(problem("let x = 1; x"), "1:5 expected a name such as %x after let, found x");
  EXPECT_EQ(problem("if (1) { 2 }"),
            "1:12 expected else after the first branch, found the end of the text");
  EXPECT_EQ(problem("if 1 { 2 } else { 3 }"), "1:4 expected '(' after if, found 1");
  EXPECT_EQ(problem("match (1) { }"), "1:1 a match needs at least one clause");
  EXPECT_EQ(problem("1 + * 2"), "1:5 expected an expression, found '*'");
  EXPECT_EQ(problem("(1, 2"),
            "1:5 expected ')' at the end of the tuple, found the end of the text");
  EXPECT_EQ(problem("abs(1) = 2"), "1:8 only names can be bound with '='");
  EXPECT_EQ(problem("1 2"),
            "1:3 expected an operator, ';' or the end of the text after the expression, found 2");
  EXPECT_EQ(problem("def main() { 1 }"), "1:5 expected a global name such as @main, found main");
  EXPECT_EQ(problem("def @f() -> { 1 }"), "1:13 expected a type, found '{'");
  EXPECT_EQ(problem("def @f() 1"), "1:10 expected '{' before the function's body, found 1");
  EXPECT_EQ(problem("#[version = \"0.0.9\"]\n1"),
            "1:13 unknown version \"0.0.9\" of the text format; the latest is 0.0.5");
  EXPECT_EQ(problem("import \"a.rly\"\n1"), "1:8 the standard library has no a.rly");
}

TEST(ParseErrors, Characters) {
  EXPECT_EQ(problem("1 $ 2"), "1:3 unexpected character '$'");
  EXPECT_EQ(problem("fn(%x) { %x & %x }"), "1:13 unknown operator '&' (logical and is '&&')");
  EXPECT_EQ(problem("5 % 2"),
            "1:3 expected a name after '%' (there is no operator '%'; the remainder is mod)");
  EXPECT_EQ(problem("/* open"), "1:1 a comment without a closing '*/'");
  EXPECT_EQ(problem("fn(%x, A=\"open) { %x }"), "1:10 a string without a closing '\"'");
  EXPECT_EQ(problem("fn(%x, A=\"\\q\") { %x }"), "1:10 unknown escape in a string");
  EXPECT_EQ(problem(std::string("1\0", 2)), "1:2 not program text: byte 0x00 at offset 1");
  EXPECT_EQ(problem("\"\xff\""), "1:2 not program text: byte 0xff at offset 1");
  EXPECT_EQ(problem("\"\xc0\x80\""), "1:2 not program text: byte 0xc0 at offset 1");
  EXPECT_EQ(problem("// gr\xc3\xbc\xc3\x9f"
                    "e\n1"),
            "");
  EXPECT_EQ(problem("%\xc3\xbc"),
            "1:1 the name %\xc3\xbc has characters other than a to z, 0 to 9 and _");
  EXPECT_EQ(problem("fn(%\"\xc3\xbc\") { %\"\xc3\xbc\" }"), "");
  EXPECT_EQ(problem("(1, 2).x"), "1:7 expected a field number after '.'");
}

TEST(ParseErrors, Names) {
  EXPECT_EQ(problem("fn(%x) { %y }"), "1:10 unknown local name %y");
  EXPECT_EQ(problem("fn(%x) { nn.frobnicate(%x) }"), "1:10 unknown operator nn.frobnicate");
  EXPECT_EQ(problem("fn(%x) { Cons(%x) }"), "1:10 unknown constructor Cons");
  EXPECT_EQ(problem("fn(%x) { @f(%x) }"), "1:10 unknown global @f");
  EXPECT_EQ(problem("fn(%x: List[int32]) { %x }"), "1:8 unknown type List");
  EXPECT_EQ(problem("fn(%x: Tensor[s, float32]) { %x }"), "1:15 unknown shape s");
  EXPECT_EQ(problem("fn(%x: Tensor[(2), float]) { %x }"), "1:20 unknown element type float");
  EXPECT_EQ(problem("fn(%t) { %t.x }"), "1:10 %t is in scope, but x is not the number of a field");
  EXPECT_EQ(problem("fn(%x, %x) { %x }"), "1:8 parameter %x is declared twice");
  EXPECT_EQ(problem("def @f[A, A](%x: A) { %x }"), "1:11 type parameter A is declared twice");
  EXPECT_EQ(problem("def @f() { 1 }\ndef @f() { 2 }"), "2:5 @f is defined twice");
  EXPECT_EQ(problem("def @main() { 1 }\n2"),
            "2:1 an expression after the definitions is @main, but @main is defined as well");
  EXPECT_EQ(problem("type T { A }\ntype T { B }\n1"), "2:6 type T is defined twice");
  EXPECT_EQ(problem("type T { A }\ntype U { A }\n1"), "2:10 constructor A is defined twice");
  EXPECT_EQ(problem("type T { A, A }\n1"), "1:13 constructor A is defined twice");
  EXPECT_EQ(problem("type T { A(x) }\n1"), "1:12 unknown type x");
  EXPECT_EQ(problem("type T { A(Tensor[(n), int8]) }\n1"),
            "1:20 unknown dimension n: the fields of a constructor can only use the type's own "
            "parameters");
  EXPECT_EQ(problem("data T<a> { A : (a) -> T[int32] }\n1"),
            "1:24 constructor A must give T[a], found T[int32]");
  EXPECT_EQ(problem("type T { A(int32) }\nmatch (A(1)) { A => 1 }"),
            "2:16 constructor A has 1 field, its pattern 0");
  EXPECT_EQ(problem("match (1) { (%a, %a) => 1 }"), "1:18 %a is bound twice in one pattern");
  EXPECT_EQ(problem("match (1) { 1 => 1 }"),
            "1:13 expected a pattern: a constructor, a name such as %x, a tuple or _, found 1");
}

TEST(ParseErrors, Suggestions) {
  auto helps = [](const std::string& text) {
    std::string all;
    for (const Diagnostic& diagnostic : parse_text("t", text).diagnostics) {
      for (const DiagnosticNote& note : diagnostic.notes) all += note.message + ". ";
    }
    return all;
  };
  EXPECT_EQ(helps("fn(%value) { %valve }"), "did you mean %value?. ");
  EXPECT_NE(helps("fn(%x) { nn.sofmax(%x) }").find("nn.softmax"), std::string::npos);
  EXPECT_EQ(helps("def @length() { 1 }\n@lenght()"), "did you mean @length?. ");
  EXPECT_NE(helps("fn(%x: flaot32) { %x }").find("float32"), std::string::npos);
  EXPECT_NE(helps("type T { Cons }\nCon").find("Cons"), std::string::npos);
  EXPECT_EQ(helps("def @f() { 1 }\nf()"), "a global function is written @f. ");
}

TEST(ParseErrors, Types) {
  EXPECT_EQ(problem("fn<s : Shape, bt : BaseType>(%x : Tensor[bt, s]) { %x }"),
            "1:42 bt has kind BaseType where Shape is needed | 1:46 s has kind Shape where "
            "BaseType is needed");
  EXPECT_EQ(problem("fn<s : Shape>(%x : s) { %x }"), "1:20 s has kind Shape where Type is needed");
  EXPECT_EQ(problem("fn<t : Type>(%x : Tensor[(t), int8]) { %x }"),
            "1:27 t has kind Type where ShapeVar is needed");
  EXPECT_EQ(problem("fn<t : Kind>(%x : t) { %x }"),
            "1:8 expected a kind (Type, Shape, BaseType, ShapeVar, Constraint, AdtHandle or "
            "TypeData), found Kind");
  EXPECT_EQ(problem("fn(%x: Tensor[(-2), int8]) { %x }"),
            "1:16 a dimension cannot be negative: -2");
  EXPECT_EQ(problem("fn(%x: Tensor[(99999999999999999999), int8]) { %x }"),
            "1:16 dimension 99999999999999999999 is too large");
  EXPECT_EQ(problem("fn(%x: Tensor[(2i64), int8]) { %x }"),
            "1:16 a dimension is an integer without suffix, found 2i64");
  EXPECT_EQ(problem("def @f[A](%x: A[int32]) { %x }"),
            "1:15 A is a type parameter and takes no arguments");
  EXPECT_EQ(problem("type L[A] { C(A) }\nfn(%x: L) { %x }"),
            "2:8 type L takes 1 argument, found 0");
}

TEST(ParseErrors, Recovery) {
  // One error for each mistake.
  EXPECT_EQ(problems("def @f(%x) { let %y = ; %y + %z }\ndef @g(%x { 1 }\ndef @h(%x) { nn.foo(%x); "
                     "abs(%x) }\n%q"),
            (std::vector<std::string>{
                "1:23 expected an expression, found ';'", "1:30 unknown local name %z",
                "2:11 expected ')' after the parameters, found '{'", "3:14 unknown operator nn.foo",
                "4:1 unknown local name %q"}));
  // At most a hundred.
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "nn.foo(1);\n";
  EXPECT_EQ(problems(many + "1").size(), 100u);
}

}  // namespace
}  // namespace relay::parse_errors_test
