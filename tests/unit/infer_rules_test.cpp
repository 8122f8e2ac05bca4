// The typing rules, by their numbers in language.md §4.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tests/unit/infer_test_util.h>

namespace relay::infer_rules_test {
namespace {

using ::testing::HasSubstr;
using testing::report;
using testing::signature;
using ::testing::StartsWith;

// ---- T1: unification ----

TEST(InferT1, UnifiesThroughCalls) {
  EXPECT_EQ(signature("fn (%x: float32) { let %f = fn (%y) { (%y, %x) }; %f(True) }"),
            "fn (float32) -> (bool, float32)");
}

TEST(InferT1, OccursCheck) {
  EXPECT_THAT(signature("fn (%f) { %f(%f) }"), StartsWith("error: "));
  EXPECT_THAT(report("fn (%f) { %f(%f) }"), HasSubstr("a type would contain itself"));
  EXPECT_THAT(signature("fn (%r) { ref_write(%r, %r) }"), StartsWith("error: "));
}

TEST(InferT1, ArityOfCalls) {
  EXPECT_EQ(
      signature("def @f(%a: int32, %b: int32) -> int32 { %a }\ndef @main(%x: int32) { @f(%x) }"),
      "error: @f takes 2 arguments, found 1");
  EXPECT_EQ(signature("def @main(%x: float32) { %x(1f) }"),
            "error: %x is called, but it is not a function: it is float32");
}

// ---- T2, T3: constraints and improvement ----

TEST(InferT3, OneDtypeForAll) {
  EXPECT_EQ(signature("fn (%x, %y: Tensor[(2), float32]) { add(%x, %y) }"),
            "fn<s : Shape, s1 : Shape>(Tensor[s, float32], Tensor[(2), float32]) -> "
            "Tensor[s1, float32] where Broadcast(Tensor[s, float32], Tensor[(2), float32], "
            "Tensor[s1, float32])");
  EXPECT_THAT(signature("fn (%x: Tensor[(2), float32], %y: Tensor[(2), int32]) { add(%x, %y) }"),
              HasSubstr("dtypes float32 and int32 differ"));
}

TEST(InferT3, ScalarIsTheUnit) {
  EXPECT_EQ(signature("fn (%x, %y: float32) { add(%x, %y) }"),
            "fn<s : Shape>(Tensor[s, float32], float32) -> Tensor[s, float32]");
}

TEST(InferT3, WithItself) {
  EXPECT_EQ(signature("fn (%x) { add(%x, %x) }"),
            "fn<s : Shape, d : BaseType>(Tensor[s, d]) -> Tensor[s, d]");
}

TEST(InferT3, ScalarResultMakesScalars) {
  EXPECT_EQ(signature("fn (%x, %y: int32) { if (%x == %y) { 1 } else { 2 } }"),
            "fn (int32, int32) -> int32");
}

TEST(InferT3, ShapesThatCannotBroadcast) {
  EXPECT_THAT(
      signature("fn (%x: Tensor[(3, 2), float32], %y: Tensor[(4, 5), float32]) { %x + %y }"),
      HasSubstr("the shapes (3, 2) and (4, 5) do not broadcast"));
}

TEST(InferT3, InputsThatTheOthersDetermine) {
  EXPECT_EQ(signature("fn (%x: Tensor[(2, 3), float32], %w) { nn.dense(%x, %w, units=5) }"),
            "fn (Tensor[(2, 3), float32], Tensor[(5, 3), float32]) -> Tensor[(2, 5), float32]");
  EXPECT_EQ(signature("fn (%x: Tensor[(2, 3), float32], %g, %b) { nn.layer_norm(%x, %g, %b) }"),
            "fn (Tensor[(2, 3), float32], Tensor[(3), float32], Tensor[(3), float32]) -> "
            "Tensor[(2, 3), float32]");
  EXPECT_THAT(
      signature(
          "fn (%x: Tensor[(2, 3), float32]) { let %f = fn (%w) { nn.dense(%x, %w, units=5) }; "
          "%f(1f) }"),
      StartsWith("error: "));
}

// ---- T4, T8: literals ----

TEST(InferT4, TakesTheDtypeOfItsContext) {
  EXPECT_EQ(signature("fn (%x: Tensor[(2), float16]) { %x * 2 + 1 }"),
            "fn (Tensor[(2), float16]) -> Tensor[(2), float16]");
  EXPECT_EQ(signature("let %f = fn (%x: float32) { %x }; %f(10)"), "fn () -> float32");
}

TEST(InferT4, FloatNeedsAFloat) {
  EXPECT_THAT(report("let %f = fn (%x: int32) { %x }; %f(2.5)"),
              HasSubstr("the literal needs a float dtype, and int32 is not one"));
  EXPECT_THAT(signature("fn (%x: bool) { add(%x, 1) }"), StartsWith("error: "));
}

TEST(InferT4, RangeIsChecked) {
  EXPECT_EQ(signature("fn (%x: int8) { %x + 300 }"), "error: literal 300 is out of range for int8");
  EXPECT_EQ(signature("fn (%x: uint8) { %x + -1 }"), "error: literal -1 is out of range for uint8");
  EXPECT_EQ(signature("fn (%x: int8) { %x + -128 }"), "fn (int8) -> int8");
}

TEST(InferT8, Defaults) {
  EXPECT_EQ(signature("(1, 2.5, 3000000000)"), "fn () -> (int32, float32, int64)");
  EXPECT_EQ(signature("1 + 2.5"), "fn () -> float32");
  EXPECT_EQ(signature("def @wide() { 3000000000 }\n(@wide(), @wide() + 1.5)"),
            "fn () -> (int64, float32)");
}

// ---- T5, T6, T7: generalisation ----

TEST(InferT5, FunctionsAreGeneralised) {
  EXPECT_EQ(signature("let %f = fn (%x, %y) { add(%x, %y) }; (%f(1, 2), %f(1.5, 2.25))"),
            "fn () -> (int32, float32)");
  EXPECT_EQ(signature("let %f = add; (%f(1, 2), %f(1f, Constant(0, (3), float32)))"),
            "fn () -> (int32, Tensor[(3), float32])");
  EXPECT_EQ(signature("let %f = fn (%x) { %x }; let %p = (%f, %f); (%p.0(1), %p.0(True))"),
            "fn () -> (int32, bool)");
}

TEST(InferT5, OtherValuesAreNot) {
  std::string text = report("let %c = 1; (%c + 1i64, %c + 1f)");
  EXPECT_THAT(text, HasSubstr("dtypes int64 and float32 differ"));
  EXPECT_THAT(text, HasSubstr("int64 was decided here"));
}

TEST(InferT5, ASharedNodeBelongsWhereItsUsesMeet) {
  // %1 is used in %f and outside: one type for both.
  EXPECT_EQ(signature("fn (%x: Tensor[(2), int64]) { %1 = 1 + 2; let %f = fn (%y) { (%y, %1) }; "
                      "(%f(%x), %1 + %x) }"),
            "fn (Tensor[(2), int64]) -> ((Tensor[(2), int64], int64), Tensor[(2), int64])");
}

TEST(InferT6, OuterVariablesStay) {
  EXPECT_EQ(signature("fn (%x: Tensor[(2), float32]) { let %f = fn (%y) { add(%x, %y) }; "
                      "(%f(1), %f(Constant(1, (3, 1), float32))) }"),
            "fn (Tensor[(2), float32]) -> (Tensor[(2), float32], Tensor[(3, 2), float32])");
}

TEST(InferT6, AnUnusedFunctionIsCheckedWhenOuterVariablesAreSolved) {
  EXPECT_THAT(signature("let %g = fn (%x, %z: (int32,)) { let %f = fn (%y) { exp(%x) }; "
                        "if (True) { %x } else { %z } }; 1"),
              StartsWith("error: "));
}

TEST(InferT7, AmbiguousLiteralsTakeTheDefault) {
  EXPECT_EQ(signature("def @f(%x: bool) { let %c = 1 + 2; %x }\n@f(True)"), "fn () -> bool");
}

TEST(InferT7, AmbiguousConstraintsAreReportedAtTheCall) {
  const char* definition =
      "def @f(%x) { let %r = (fn (%y) { exp(reshape(%y, newshape=[2])) }); %x }\n";
  EXPECT_EQ(signature(std::string(definition) + "@f(1)"),
            "fn () -> int32");  // generalised, never called
  EXPECT_THAT(signature(std::string(
                  "def @f(%x) { ref(fn (%y) { reshape(%y, newshape=[2]) }); %x }\n@f(1)")),
              HasSubstr("cannot be determined"));
}

// ---- T9 ----

TEST(InferT9, BroadcastsAreJoined) {
  EXPECT_EQ(signature("fn (%a, %b, %c) { (%a + %b) * %c + %a }"),
            "fn<s : Shape, d : BaseType, s1 : Shape, s2 : Shape, s3 : Shape>(Tensor[s, d], "
            "Tensor[s1, d], Tensor[s2, d]) -> Tensor[s3, d] where Broadcast(Tensor[s, d], "
            "Tensor[s1, d], Tensor[s2, d], Tensor[s3, d])");
}

// ---- T10, T11 ----

TEST(InferT10, DeclaredVariablesAreRigid) {
  EXPECT_THAT(signature("def @f[A](%x: A) -> A { 1 }"), StartsWith("error: "));
  EXPECT_EQ(signature("fn<s : Shape>(%x: Tensor[s, float32]) { %x + 1 }"),
            "fn<s : Shape>(Tensor[s, float32]) -> Tensor[s, float32]");
  EXPECT_EQ(signature("fn<d : BaseType>(%x: Tensor[(2), d]) { %x + 1 }"),
            "fn<d : BaseType>(Tensor[(2), d]) -> Tensor[(2), d] where Num(d)");
}

TEST(InferT10, WhereIsGiven) {
  EXPECT_EQ(signature("let %f = fn (%x, %y) where Broadcast { add(%x, %y) }; "
                      "(%f(Constant(1, (3, 1), float32), Constant(2, (1, 4), float32)), %f(1, 2))"),
            "fn () -> (Tensor[(3, 4), float32], int32)");
}

TEST(InferT10, WhereMustSuitTheParameters) {
  EXPECT_THAT(signature("fn (%x: Tensor[(2), float32]) where nn.batch_matmul { %x }"),
              HasSubstr("tensor_a must have rank 3 or more"));
  EXPECT_THAT(signature("fn () where Broadcast { 1 }"), HasSubstr("needs at least one parameter"));
}

TEST(InferT11, InstantiatesAtEachUse) {
  EXPECT_EQ(signature("let %id = fn<t : Type>(%x : t) -> t { %x }; "
                      "(%id(3), %id((1.0, True)), %id(%id)(7))"),
            "fn () -> (int32, (float32, bool), int32)");
  EXPECT_THAT(signature("fn (%f: fn<a : Type>(a) -> a) { %f(1) }"),
              HasSubstr("cannot have a polymorphic type"));
}

TEST(InferT11, TypeArguments) {
  EXPECT_EQ(signature("def @f<a : Type, b : Type>(%x : a, %y : b) -> b { %y }\n"
                      "@f<float32, int64>(1, 2)"),
            "fn () -> int64");
  EXPECT_THAT(signature("def @f<a : Type>(%x : a) -> a { %x }\n@f<float32, int64>(1)"),
              HasSubstr("too many type arguments"));
}

// ---- T12 ----

TEST(InferT12, MutualRecursion) {
  const char* program =
      "def @even(%n) { if (%n == 0) { True } else { @odd(%n - 1) } }\n"
      "def @odd(%n) { if (%n == 0) { False } else { @even(%n - 1) } }\n"
      "(@even(10), @odd(7i64))";
  EXPECT_EQ(signature(program), "fn () -> (bool, bool)");
  EXPECT_EQ(signature(program, "odd"), "fn<d : BaseType>(Tensor[(), d]) -> bool where Num(d)");
}

TEST(InferT12, PolymorphicRecursionWhenAnnotated) {
  EXPECT_EQ(signature("def @f<a : Type>(%x : a, %n : int32) -> int32 "
                      "{ if (%n == 0) { 0 } else { @f((%x, %x), %n - 1) } }\n@f(True, 3)"),
            "fn () -> int32");
}

// ---- T13, T14, T15: dimensions ----

TEST(InferT13, NamesAreUniversal) {
  EXPECT_EQ(signature("def @f(%x: Tensor[(n, m), float32]) { %x + %x }\n"
                      "@f(Constant(1, (2, 3), float32))"),
            "fn () -> Tensor[(2, 3), float32]");
  EXPECT_THAT(signature("def @g(%y: Tensor[(4), float32]) -> Tensor[(4), float32] { %y }\n"
                        "def @f(%x: Tensor[(n), float32]) { @g(%x) }"),
              StartsWith("error: "));
  EXPECT_THAT(signature("def @f(%x: Tensor[(n), float32], %y: Tensor[(n), float32]) { %x }\n"
                        "@f(Constant(1, (2), float32), Constant(1, (3), float32))"),
              StartsWith("error: "));
}

TEST(InferT13, NamesOfTheResultAreExistential) {
  const char* program =
      "def @f(%x: Tensor[(2), float32]) -> Tensor[(m), float32] { %x }\n"
      "def @g(%x: Tensor[(7), float32]) -> float32 { sum(%x) }\n"
      "@g(@f(Constant(1, (2), float32)))";
  EXPECT_EQ(signature(program), "fn () -> float32");  // checked at run time
}

TEST(InferT14, LinearEquations) {
  EXPECT_EQ(signature("def @f(%x: Tensor[(n + 1), float32], %y: Tensor[(n), float32]) { %y }\n"
                      "fn (%x: Tensor[(5), float32], %y) { @f(%x, %y) }",
                      "f"),
            "fn (Tensor[(n + 1), float32], Tensor[(n), float32]) -> Tensor[(n), float32]");
  EXPECT_EQ(
      signature("def @f(%x: Tensor[(n + 1), float32], %y: Tensor[(n), float32]) { %y }\n"
                "def @main(%x: Tensor[(5), float32], %y: Tensor[(4), float32]) { @f(%x, %y) }"),
      "fn (Tensor[(5), float32], Tensor[(4), float32]) -> Tensor[(4), float32]");
}

TEST(InferT15, UnknownDimensions) {
  EXPECT_EQ(signature("fn (%c: bool, %x: Tensor[(?), float32], %y: Tensor[(2), float32]) "
                      "{ if (%c) { %x } else { %y } }"),
            "fn (bool, Tensor[(?), float32], Tensor[(2), float32]) -> Tensor[(?), float32]");
  EXPECT_THAT(signature("fn (%c: bool, %x: Tensor[(4), float32], %y: Tensor[(5), float32]) "
                        "{ if (%c) { %x } else { %y } }"),
              HasSubstr("the branches of an if have different types"));
  EXPECT_EQ(signature("def @f(%x: Tensor[(4), float32]) { %x }\n"
                      "def @main(%x: Tensor[(?), float32]) { @f(%x) }"),
            "fn (Tensor[(?), float32]) -> Tensor[(4), float32]");
  EXPECT_EQ(signature("def @f(%x: Tensor[(n), float32]) { %x }\n"
                      "def @main(%x: Tensor[(?), float32]) { @f(%x) }"),
            "fn (Tensor[(?), float32]) -> Tensor[(?), float32]");
}

// ---- if, match ----

TEST(InferIf, NeedsOneBool) {
  std::string text =
      report("fn (%x: Tensor[(10, 10), float32]) { if (%x == %x) { 1 } else { 2 } }");
  EXPECT_THAT(text, HasSubstr("if needs Tensor[(), bool], found Tensor[(10, 10), bool]"));
  EXPECT_THAT(text, HasSubstr("help: write all(%x == %x)"));
}

constexpr const char* kList = "type List[A] { Cons(A, List[A]), Nil, }\n";

TEST(InferMatch, Completeness) {
  EXPECT_THAT(signature(std::string(kList) +
                        "def @main(%l: List[int32]) { match (%l) { Cons(%h, _) => { %h }, } }"),
              HasSubstr("match does not cover Nil"));
  EXPECT_THAT(
      signature(
          std::string(kList) +
          "def @main(%l: List[int32]) { match (%l) { Cons(%h, Nil) => { %h }, Nil => { 0 }, } }"),
      HasSubstr("match does not cover Cons(_, Cons(_, _))"));
  EXPECT_EQ(signature(std::string(kList) +
                      "def @main(%l: List[int32]) { match? (%l) { Cons(%h, _) => { %h }, } }"),
            "fn (List[int32]) -> int32");
}

TEST(InferMatch, ClausesThatNeverRun) {
  EXPECT_THAT(report(std::string(kList) +
                     "def @main(%l: List[int32]) { match (%l) { Cons(%h, _) => { %h }, _ => { 0 }, "
                     "Nil => { 1 }, } }"),
              HasSubstr("warning: the clause Nil can never run"));
  EXPECT_EQ(
      report(std::string(kList) +
             "def @main(%l: List[(int32, bool)]) { match (%l) { Cons((%h, _), Nil) => { %h }, "
             "Cons(_, Cons((%h, _), _)) => { %h }, Nil => { 1 }, } }"),
      "");
}

TEST(InferMatch, PatternsMustFit) {
  EXPECT_THAT(signature(std::string(kList) +
                        "def @main(%x: float32) { match (%x) { Nil => { 0 }, _ => { 1 }, } }"),
              HasSubstr("pattern Nil matches List[_], found float32"));
  EXPECT_THAT(signature("def @main(%t: (int32, int32)) { match (%t) { (%a, %b, %c) => { %a }, } }"),
              HasSubstr("a pattern of 3 fields cannot match (int32, int32)"));
}

TEST(InferRef, ReadAndWrite) {
  EXPECT_EQ(
      signature("fn (%x: float32) { let %r = ref(%x); let %u = ref_write(%r, 1); ref_read(%r) }"),
      "fn (float32) -> float32");
  EXPECT_EQ(signature("fn (%x: float32) { ref_read(%x) }"),
            "error: ref_read needs a reference, found float32");
}

TEST(InferAnnotation, ContradictionNamesBothPlaces) {
  std::string text =
      report("fn (%x: Tensor[(2), float32]) { let %a: Tensor[(3), float32] = exp(%x); %a }");
  EXPECT_THAT(text, HasSubstr("expected Tensor[(3), float32], found Tensor[(2), float32]"));
  EXPECT_THAT(text, HasSubstr("%a is annotated here"));
  EXPECT_THAT(text, HasSubstr("dimensions 3 and 2 differ"));
}

TEST(InferProjection, OfUnknownTuples) {
  EXPECT_EQ(signature("let %f = fn (%t) { %t.1 }; %f((1f, True))"), "fn () -> bool");
  EXPECT_THAT(signature("fn (%t: (int32, bool)) { %t.2 }"), HasSubstr("out of range"));
}

}  // namespace
}  // namespace relay::infer_rules_test
