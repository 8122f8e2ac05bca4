// Kinds, literals, patterns and what else inference offers by itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <relay/infer/functions/literals.h>
#include <relay/infer/solve/solver.h>
#include <relay/op/op.h>
#include <relay/print/print.h>

#include <tests/unit/infer_test_util.h>

namespace relay::infer_parts_test {
namespace {

using inference::literal_array;
using inference::literal_problem;
using inference::Solver;
using ::testing::HasSubstr;

TEST(InferKinds, BothPlacesOfATensorAreChecked) {
  TypeVarRef shape = TypeVar::make("s", Kind::kShape);
  TypeVarRef dtype = TypeVar::make("bt", Kind::kBaseType);
  DiagnosticSink sink;
  EXPECT_EQ(check_kind(TensorType::make(dtype, shape), Module(), sink), Kind::kType);
  ASSERT_EQ(sink.diagnostics().size(), 2u);
  EXPECT_EQ(sink.diagnostics()[0].message, "bt has kind BaseType where Shape is needed");
  EXPECT_EQ(sink.diagnostics()[1].message, "s has kind Shape where BaseType is needed");
}

TEST(InferKinds, DataTypes) {
  Module module = parse_module("test", "type List[A] { Cons(A, List[A]), Nil, }\n1");
  DiagnosticSink sink;
  TypeRef list = GlobalTypeVar::make("List");
  check_kind(TypeCall::make(list, {}), module, sink);
  check_kind(TypeCall::make(GlobalTypeVar::make("Tree"), {}), module, sink);
  check_kind(TypeCall::make(TypeVar::make("a", Kind::kType), {TensorType::scalar(kInt32)}), module,
             sink);
  check_kind(TypeCall::make(list, {ShapeType::make({})}), module, sink);
  check_kind(RefType::make(TypeVar::make("s", Kind::kShape)), module, sink);
  std::vector<std::string> messages;
  for (const Diagnostic& diagnostic : sink.diagnostics()) messages.push_back(diagnostic.message);
  EXPECT_THAT(messages,
              ::testing::ElementsAre("type List takes 1 argument, found 0", "unknown type Tree",
                                     HasSubstr("only a data type takes arguments"),
                                     HasSubstr("has kind Shape where Type is needed"),
                                     HasSubstr("has kind Shape where Type is needed")));
}

TEST(InferLiterals, Ranges) {
  LiteralValue value;
  value.magnitude = 255;
  EXPECT_EQ(literal_problem(value, kUInt8), "");
  EXPECT_EQ(literal_problem(value, kInt8), "literal 255 is out of range for int8");
  EXPECT_EQ(literal_problem(value, kBool), "literal 255 cannot be of dtype bool");
  value.negative = true;
  value.magnitude = 128;
  EXPECT_EQ(literal_problem(value, kInt8), "");
  EXPECT_EQ(literal_array(value, kInt8).data<int8_t>()[0], -128);
  value.magnitude = uint64_t{1} << 63;
  EXPECT_EQ(literal_problem(value, kInt64), "");
  EXPECT_EQ(literal_array(value, kInt64).data<int64_t>()[0], INT64_MIN);
  value.negative = false;
  EXPECT_EQ(literal_problem(value, kInt64),
            "literal 9223372036854775808 is out of range for int64");
  LiteralValue real;
  real.is_float = true;
  real.number = 1e39;
  EXPECT_NE(literal_problem(real, kFloat32), "");
  EXPECT_EQ(literal_problem(real, kFloat64), "");
  EXPECT_NE(literal_problem(real, kInt64), "");
}

TEST(InferMatch, ExamplesOfWhatIsMissing) {
  Module module = parse_module("test",
                               "type Opt[A] { Some(A), None, }\n"
                               "def @main(%p: (Opt[int32], Opt[bool])) "
                               "{ match? (%p) { (Some(_), None) => { 1 }, (None, _) => { 2 }, } }");
  const auto* match = module.function("main")->body()->as<Match>();
  std::vector<PatternRef> cases = unmatched_cases(*match, module).examples;
  ASSERT_EQ(cases.size(), 1u);
  EXPECT_EQ(print_pattern(cases[0].get()), "(Some(_), Some(_))");
}

TEST(InferMatch, WhatIsNotDecidedIsAnError) {
  // Values that differ from each clause are sought among 2^20, and there is none.
  constexpr int kColumns = 20;
  std::string type, rows;
  for (int i = 0; i <= kColumns; ++i) type += i > 0 ? ", B" : "B";
  for (int row = 0; row <= kColumns; ++row) {
    rows += "(";
    for (int i = 0; i <= kColumns; ++i) {
      bool named = i == row || (i == kColumns && row < kColumns);
      rows += std::string(i > 0 ? ", " : "") + (named ? "T" : "_");
    }
    rows += ") => { 1 }, ";
  }
  std::string last = "(";
  for (int i = 0; i <= kColumns; ++i) last += i == 0 ? "_" : i < kColumns ? ", _" : ", F";
  rows += last + ") => { 2 }, ";
  auto program = [&](const std::string& match, const std::string& more) {
    return "type B { T, F, }\ndef @main(%p: (" + type + ")) { " + match + " (%p) { " + rows + more +
           "} }";
  };
  std::string undecided = testing::signature(program("match", ""));
  EXPECT_EQ(
      undecided,
      "error: it is not decided whether match covers all values: its patterns take too long to "
      "compare (more than 200000 steps)");
  EXPECT_THAT(testing::report(program("match", "")),
              HasSubstr("help: add a last clause _, or write match? to fail"));
  Module module = parse_module("test", program("match?", ""));
  const auto* match = module.function("main")->body()->as<Match>();
  UnmatchedCases cases = unmatched_cases(*match, module);
  EXPECT_FALSE(cases.decided);
  EXPECT_FALSE(cases.complete());
  // As the help says.
  EXPECT_EQ(testing::signature(program("match?", "")).substr(0, 5), "fn ((");
  EXPECT_EQ(testing::signature(program("match", "_ => { 3 }, ")).substr(0, 5), "fn ((");
}

TEST(InferMatch, ManyColumnsEnd) {
  // Exponential for the algorithm; the limit on steps ends it.
  std::string program = "type B { T, F, }\ndef @main(%p: (";
  for (int i = 0; i < 20; ++i) program += i > 0 ? ", B" : "B";
  program += ")) { match (%p) { ";
  for (int row = 0; row < 20; ++row) {
    program += "(";
    for (int i = 0; i < 20; ++i) program += std::string(i > 0 ? ", " : "") + (i == row ? "T" : "_");
    program += ") => { 1 }, ";
  }
  program += "_ => { 0 }, } }";
  EXPECT_EQ(testing::signature(program).substr(0, 5), "fn ((");
}

TEST(InferSolver, DimensionsAreSolvedLinearly) {
  Solver solver;
  solver.enter_level();
  Dim n = solver.fresh_dim();
  EXPECT_TRUE(solver.unify_dims(Dim(2) * n + Dim(1), Dim(7)));  // T14
  EXPECT_EQ(solver.zonk(n), Dim(3));
  EXPECT_FALSE(solver.unify_dims(n + Dim(1), Dim(5)));
  Dim m = solver.fresh_dim();
  EXPECT_FALSE(solver.unify_dims(Dim(2) * m, Dim(5)));  // no whole number
  Dim k = solver.fresh_dim();
  EXPECT_TRUE(solver.unify_dims(Dim(2) * m, Dim(3) * k));  // waits for one of the two
  EXPECT_FALSE(solver.zonk(m).is_int());
  EXPECT_TRUE(solver.unify_dims(k, Dim(4)));
  EXPECT_TRUE(solver.retry_dims().empty());
  EXPECT_EQ(solver.zonk(m), Dim(6));
  m = solver.fresh_dim();
  EXPECT_FALSE(solver.unify_dims(m + Dim(5), Dim(4)));  // a dimension is not negative
}

TEST(InferSolver, NoDimensionIsBelowZero) {
  Solver solver;
  solver.enter_level();
  Dim n = solver.fresh_dim();
  Dim m = solver.fresh_dim();
  EXPECT_FALSE(solver.unify_dims(n + m + Dim(1), Dim(0)));
  EXPECT_TRUE(solver.unify_dims(n + m, Dim(2)));
  EXPECT_TRUE(solver.retry_dims().empty());
  EXPECT_FALSE(solver.unify_dims(n, Dim(3)));  // n is 2 - m
  EXPECT_TRUE(solver.unify_dims(m, Dim(3)));
  std::vector<Solver::DimEquality> refuted = solver.retry_dims();
  ASSERT_EQ(refuted.size(), 1u);
  EXPECT_EQ(refuted[0].open_a, n + m);
  EXPECT_EQ(refuted[0].open_b, Dim(2));
  EXPECT_TRUE(solver.retry_dims().empty());  // told once
}

TEST(InferSolver, TermsOfOneDimension) {
  Solver solver;
  solver.enter_level();
  Dim n = solver.fresh_dim();
  Dim m = solver.fresh_dim();
  EXPECT_TRUE(solver.unify_dims(n * m, Dim(12)));
  EXPECT_TRUE(solver.unify_dims(n * n, Dim(16)));
  EXPECT_TRUE(solver.retry_dims().empty());
  EXPECT_EQ(solver.zonk(n), Dim(4));
  EXPECT_TRUE(solver.retry_dims().empty());
  EXPECT_EQ(solver.zonk(m), Dim(3));
  Dim k = solver.fresh_dim();
  EXPECT_TRUE(solver.unify_dims(k * k, Dim(8)));
  EXPECT_EQ(solver.retry_dims().size(), 1u);
}

TEST(InferSolver, TermsWithoutValue) {
  Solver solver;
  solver.enter_level();
  Dim n = solver.fresh_dim();
  Dim m = solver.fresh_dim();
  EXPECT_TRUE(solver.unify_dims(n, Dim(2)));
  EXPECT_TRUE(solver.unify_dims(m, Dim(3)));
  EXPECT_TRUE(solver.zonk(*broadcast(n, m)).is_any());
  EXPECT_FALSE(solver.unify_dims(*broadcast(n, m), Dim(3)));
  EXPECT_EQ(solver.mismatch().no_value, "dimensions 2 and 3 do not broadcast together");
}

TEST(InferSolver, TypesTooDeep) {
  std::string program = "fn (%x0) { ";
  for (int i = 0; i < 300; ++i) {
    program += "let %x" + std::to_string(i + 1) + " = ref_read(%x" + std::to_string(i) + "); ";
  }
  EXPECT_THAT(testing::signature(program + "%x300 }"), HasSubstr("nested deeper than 200"));
}

TEST(InferExpr, FreeVariablesCarryAnnotations) {
  VarRef x = make_var("x", TensorType::make(std::vector<Dim>{2, 3}, kFloat32));
  ExprRef call = call_op("add", {ExprRef(x), ExprRef(x)});
  EXPECT_EQ(infer_expr_type(call, Module())->str(), "Tensor[(2, 3), float32]");
  EXPECT_EQ(call->type()->str(), "Tensor[(2, 3), float32]");
  EXPECT_THROW(infer_expr_type(call_op("add", {ExprRef(x), ExprRef(make_var("y"))}), Module()),
               Error);
}

// Its node is shared by all programs and has a type as soon as one of them was inferred.
TEST(InferExpr, OperatorsAsArgumentsAreRefusedByInferenceAlone) {
  ExprRef exp = make_op(get_op("exp"));
  VarRef f = make_var("f");
  infer_expr_type(make_let(f, exp, f), Module());
  ASSERT_NE(exp->type(), nullptr);
  ExprRef call = call_op("multiply", {exp, exp});
  EXPECT_THROW(infer_expr_type(call, Module()), Error);
}

TEST(InferErrors, UnknownFunction) {
  Module module;
  ExprRef call = make_call(make_global_var("mainn"), std::vector<ExprRef>{});
  module.add_function("main", make_function({}, call));
  std::vector<Diagnostic> diagnostics = infer_types(module);
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics[0].message, "unknown function @mainn");
  EXPECT_THAT(render(diagnostics), HasSubstr("did you mean @main?"));
}

TEST(InferErrors, OneMistakeOneMessage) {
  EXPECT_EQ(
      testing::signature(
          "fn (%x: float32) { let %y = %x.0; let %f = fn (%z) { nn.dense(%y, %z, units=None) }; "
          "let %u = ref(%f(%y)); %y + 1 }"),
      "error: projection .0 needs a tuple, found float32");
}

}  // namespace
}  // namespace relay::infer_parts_test
