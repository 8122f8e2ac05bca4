// Small programs after each pass, and what it leaves alone.
#include <gtest/gtest.h>

#include <relay/infer/infer.h>
#include <relay/ir/equal.h>
#include <relay/ir/visit.h>
#include <relay/parse/parse.h>
#include <relay/print/print.h>
#include <relay/support/error.h>
#include <relay/transform/literals.h>
#include <relay/transform/pass.h>

namespace relay::transform_passes_test {
namespace {

Module typed(const std::string& text) {
  Module module = parse_module("t", text);
  infer_types_or_throw(module);
  return resolve_literals(module);
}

// After `passes`, `before` is `after` (types annotated on neither side, names free).
void expect_becomes(const std::string& passes, const std::string& before,
                    const std::string& after) {
  PassContext context;
  context.opt_level = 4;
  context.config["relay.verify_passes"] = true;
  Module found = (*make_sequential(parse_passes(passes)))(typed(before), context);
  infer_types_or_throw(found);
  found = resolve_literals(found);
  Module wanted = typed(after);
  std::string why;
  EXPECT_TRUE(structural_equal(found, wanted, {}, &why)) << why << "\n" << print_module(found);
}

// The very same function nodes come back.
void expect_unchanged(const std::string& passes, const std::string& program) {
  Module module = typed(program);
  PassContext context;
  context.opt_level = 4;
  Module found = (*make_sequential(parse_passes(passes)))(module, context);
  ASSERT_EQ(found.functions().size(), module.functions().size());
  for (size_t i = 0; i < module.functions().size(); ++i) {
    EXPECT_EQ(found.functions()[i].function, module.functions()[i].function) << print_module(found);
  }
}

// ---- Inline ----

TEST(Inline, StopsBeforeTheProgramIsTooLarge) {
  // Each function calls the one before twice: 2^35 calls of the first.
  constexpr int kChain = 35;
  std::string text = "def @f0(%x: float32, Inline=1) -> float32 { exp(%x) }\n";
  for (int i = 1; i <= kChain; ++i) {
    std::string before = "@f" + std::to_string(i - 1);
    text += "def @f" + std::to_string(i) + "(%x: float32, Inline=1) -> float32 { add(" + before +
            "(%x), " + before + "(negative(%x))) }\n";
  }
  text += "def @main(%x: float32) { @f" + std::to_string(kChain) + "(%x) }\n";
  Module module = typed(text);
  DiagnosticSink sink;
  PassContext context;
  context.diagnostics = &sink;
  Module found = (*create_pass("Inline", {{"max_nodes", int64_t{10'000}}}))(module, context);
  infer_types_or_throw(found);
  size_t nodes = 0;
  for (const auto& entry : found.functions())
    post_order(entry.function.get(), [&](const Expr*) { ++nodes; });
  EXPECT_GT(nodes, 5'000u);
  EXPECT_LT(nodes, 25'000u);
  std::vector<Diagnostic> told = sink.take();
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told[0].severity, Severity::kWarning);
  EXPECT_NE(told[0].message.find("is not inlined at all its calls: that would add more than "
                                 "10000 nodes to the program"),
            std::string::npos)
      << told[0].message;
  EXPECT_LE(told.size(), static_cast<size_t>(kChain));  // once for each function
  for (const Diagnostic& warning : told) EXPECT_TRUE(warning.span.known());
}

TEST(Inline, KeepsWhatIsShared) {
  // 60 doublings of one node: 2^60 if it were written out.
  std::string text = "def @f(%x: float32, Inline=1) -> float32 { %0 = exp(%x); ";
  for (int i = 1; i <= 60; ++i) {
    std::string before = "%" + std::to_string(i - 1);
    text += "%" + std::to_string(i) + " = add(" + before + ", " + before + "); ";
  }
  text += "%60 }\ndef @main(%x: float32) { multiply(@f(%x), @f(abs(%x))) }\n";
  Module found = (*create_pass("Inline"))(typed(text), PassContext());
  ASSERT_EQ(found.functions().size(), 1u);
  size_t nodes = 0;
  post_order(found.function("main"), [&](const Expr*) { ++nodes; });
  EXPECT_LT(nodes, 200u);
}

// ---- ToANormalForm ----

TEST(ToANormalForm, NamesWhatRunsWhereItRuns) {
  expect_becomes(
      "ToANormalForm",
      "def @main(%x: float32, %c: bool) { %0 = exp(%x); if (%c) { add(%0, 1f) } else { abs(%x) } }",
      "def @main(%x: float32, %c: bool) { let %r = if (%c) { let %a = exp(%x); let %b = 1f;"
      " let %d = add(%a, %b); %d } else { let %e = abs(%x); %e }; %r }");
  expect_becomes(
      "ToANormalForm",
      "def @main(%x: float32, %c: bool) { %0 = exp(%x); if (%c) { add(%0, 1f) } else { abs(%0) } }",
      "def @main(%x: float32, %c: bool) { let %a = exp(%x); let %r = if (%c) { let %b = 1f;"
      " let %d = add(%a, %b); %d } else { let %e = abs(%a); %e }; %r }");
}

TEST(ToANormalForm, LeavesItsOwnFormAlone) {
  expect_unchanged("ToANormalForm",
                   "def @main(%x: float32) { let %a = exp(%x); let %b = add(%a, %x); %b }");
  expect_unchanged(
      "ToANormalForm",
      "def @main(%x: int32) { let %f = fn (%a: int32) -> int32 {"
      " let %z = 0; let %c = less(%a, %z); let %r = if (%c) { %a } else { let %s = %f(%z); %s };"
      " %r }; let %q = %f(%x); %q }");
}

TEST(ToANormalForm, FlattensAndKeepsEffectsInOrder) {
  expect_becomes("ToANormalForm",
                 "def @main(%x: int32) { let %r = ref(%x); (ref_read(%r), (let %u = ref_write(%r, "
                 "2); ref_read(%r))) }",
                 "def @main(%x: int32) { let %r = ref(%x); let %a = ref_read(%r); let %k = 2;"
                 " let %u = ref_write(%r, %k); let %b = ref_read(%r); let %t = (%a, %b); %t }");
}

TEST(ToANormalForm, OneValueOfTwoLetsHasTheFirstName) {
  expect_becomes(
      "ToANormalForm",
      "def @main(%x: int32) { %0 = negative(%x); let %a = %0; let %b = %0; (%a, %b) }",
      "def @main(%x: int32) { let %a = negative(%x); let %b = %a; let %t = (%a, %b); %t }");
}

// ---- ToGraphNormalForm ----

TEST(ToGraphNormalForm, LetsBecomeSharedNodes) {
  expect_becomes("ToGraphNormalForm",
                 "def @main(%x: int32) { let %a = negative(%x); let %b = add(%a, %a); %b }",
                 "def @main(%x: int32) { %0 = negative(%x); add(%0, %0) }");
}

TEST(ToGraphNormalForm, KeepsEffectsRecursionPolymorphismAndWork) {
  expect_unchanged("ToGraphNormalForm",
                   "def @main(%x: int32) { let %r = ref(%x); let %a = ref_read(%r);"
                   " let %u = ref_write(%r, 2); let %b = ref_read(%r); (%a, %b) }");
  expect_unchanged(
      "ToGraphNormalForm",
      "def @main(%x: int32) { let %f = fn (%a: int32) -> int32 { if (less(%a, 1)) { 0 } else {"
      " %f(subtract(%a, 1)) } }; %f(%x) }");
  expect_unchanged("ToGraphNormalForm",
                   "def @main(%x: int32) { let %id = fn (%a) { %a }; (%id(%x), %id(True)) }");
  // A value computed once stays computed once.
  expect_unchanged("ToGraphNormalForm",
                   "def @main(%x: int32) { let %a = negative(%x); fn (%y: int32) { %a + %y } }");
}

TEST(ToGraphNormalForm, UndoesANormalForm) {
  for (const char* program :
       {"def @main(%x: int32, %c: bool) { %0 = negative(%x); if (%c) { add(%0, %0) } else { "
        "abs(%0) } }",
        "def @main(%x: int32) { %0 = negative(%x); %1 = fn (%a: int32) { add(%a, %0) }; (%1(2), "
        "%0) }",
        "def @main(%x: int32) { %0 = (%x, negative(%x)); multiply(%0.0, %0.1) }"}) {
    expect_becomes("ToANormalForm,ToGraphNormalForm", program, program);
  }
}

// ---- ToBasicBlockNormalForm ----

TEST(ToBasicBlockNormalForm, NamesWhatCrossesRegions) {
  expect_becomes(
      "ToBasicBlockNormalForm",
      "def @main(%x: float32, %c: bool) { %0 = exp(%x); if (%c) { add(%0, 1f) } else { abs(%0) } }",
      "def @main(%x: float32, %c: bool) { let %a = exp(%x); if (%c) { add(%a, 1f) } else { abs(%a) "
      "} }");
  expect_unchanged("ToBasicBlockNormalForm",
                   "def @main(%x: float32, %c: bool) { %0 = exp(%x); if (%c) { add(%0, %0) } else "
                   "{ abs(%x) } }");
  expect_unchanged("ToBasicBlockNormalForm",
                   "def @main(%x: int32) { let %r = ref(%x); let %u = ref_write(%r, 3); "
                   "add(ref_read(%r), %x) }");
}

// ---- DeadCodeElimination ----

TEST(DeadCodeElimination, RemovesWhatIsNotNeeded) {
  expect_becomes(
      "DeadCodeElimination",
      "def @main(%x: int32) { let %a = negative(%x); let %b = add(%a, 1); let %c = abs(%b); %x }",
      "def @main(%x: int32) { %x }");
  expect_becomes("DeadCodeElimination",
                 "def @main(%x: int32) { let %f = fn (%a: int32) -> int32 { %f(%a) }; %x }",
                 "def @main(%x: int32) { %x }");
  // A failure may go.
  expect_becomes("DeadCodeElimination", "def @main(%x: int32) { let %a = divide(%x, 0); %x }",
                 "def @main(%x: int32) { %x }");
}

TEST(DeadCodeElimination, KeepsEffects) {
  expect_unchanged(
      "DeadCodeElimination",
      "def @main(%x: int32) { let %r = ref(%x); let %u = ref_write(%r, 2); ref_read(%r) }");
  expect_unchanged("DeadCodeElimination",
                   "def @w(%r: ref(int32)) { ref_write(%r, 2) }"
                   "def @main(%x: int32) { let %r = ref(%x); let %u = @w(%r); ref_read(%r) }");
  expect_becomes("DeadCodeElimination",
                 "def @pure(%a: int32) { negative(%a) }"
                 "def @main(%x: int32) { let %r = ref(%x); let %u = @pure(3); ref_read(%r) }",
                 "def @pure(%a: int32) { negative(%a) }"
                 "def @main(%x: int32) { let %r = ref(%x); ref_read(%r) }");
}

TEST(DeadCodeElimination, DtypeOfALiteralSurvivesItsReason) {
  expect_becomes("DeadCodeElimination",
                 "def @main(%x: int64) { let %a = 1; let %b = add(%a, %x); %a }",
                 "def @main(%x: int64) { let %a = 1i64; %a }");
}

TEST(DeadCodeElimination, InlineOnce) {
  expect_becomes(
      "DeadCodeElimination(inline_once=True)",
      "def @main(%x: int32, %c: bool) { let %a = negative(%x); if (%c) { %a } else { 0 } }",
      "def @main(%x: int32, %c: bool) { if (%c) { negative(%x) } else { 0 } }");
  expect_unchanged(
      "DeadCodeElimination(inline_once=True)",
      "def @main(%x: int32) { let %a = negative(%x); fn (%y: int32) { add(%a, %y) } }");
}

// ---- EliminateCommonSubexpr ----

TEST(EliminateCommonSubexpr, EqualCallsBecomeOne) {
  expect_becomes("EliminateCommonSubexpr",
                 "def @main(%x: int32) { add(abs(negative(%x)), abs(negative(%x))) }",
                 "def @main(%x: int32) { %0 = abs(negative(%x)); add(%0, %0) }");
  expect_becomes("EliminateCommonSubexpr", "def @main(%x: int32) { (add(%x, 1), add(%x, 1)) }",
                 "def @main(%x: int32) { %0 = add(%x, 1); (%0, %0) }");
  expect_unchanged("EliminateCommonSubexpr(fskip=abs)",
                   "def @main(%x: int32) { add(abs(%x), abs(%x)) }");
}

TEST(EliminateCommonSubexpr, OnlyWhereItRunsAnyway) {
  // Both branches: before the `if`.
  expect_becomes(
      "EliminateCommonSubexpr",
      "def @main(%x: int32, %c: bool) { if (%c) { divide(1, %x) } else { abs(divide(1, %x)) } }",
      "def @main(%x: int32, %c: bool) { %0 = divide(1, %x); if (%c) { %0 } else { abs(%0) } }");
  // One branch and outside.
  expect_becomes(
      "EliminateCommonSubexpr",
      "def @main(%x: int32, %c: bool) { %0 = divide(1, %x); %1 = if (%c) { abs(divide(1, %x)) } "
      "else { 0 };"
      " add(%0, %1) }",
      "def @main(%x: int32, %c: bool) { %0 = divide(1, %x); %1 = if (%c) { abs(%0) } else { 0 };"
      " add(%0, %1) }");
  // Not on every way: x may be 0 where both conditions are false (E5).
  expect_unchanged("EliminateCommonSubexpr",
                   "def @main(%x: int32, %c: bool, %d: bool) { if (%c) { divide(1, %x) } else {"
                   " if (%d) { abs(divide(1, %x)) } else { 0 } } }");
  // Closures may never be called.
  expect_unchanged("EliminateCommonSubexpr",
                   "def @main(%x: int32) { (fn () { divide(1, %x) }, fn () { divide(1, %x) }) }");
}

TEST(EliminateCommonSubexpr, NotCallsOfFunctions) {
  expect_unchanged(
      "EliminateCommonSubexpr",
      "def @g(%a: int32) { negative(%a) } def @main(%x: int32) { add(@g(%x), @g(%x)) }");
}

// ---- FoldConstant ----

TEST(FoldConstant, ComputesWhatIsKnown) {
  expect_becomes("FoldConstant",
                 "def @main(%x: int32) { let %a = 2; let %b = add(%a, 3); multiply(%x, %b) }",
                 "def @main(%x: int32) { multiply(%x, 5) }");
  expect_becomes(
      "FoldConstant",
      "def @main(%x: int32) { if (less(3, 2)) { add(%x, 1) } else { multiply(%x, add(1, 1)) } }",
      "def @main(%x: int32) { multiply(%x, 2) }");
  expect_becomes("FoldConstant", "def @main(%x: int32) { %0 = (add(1, 2), %x); add(%0.0, %0.1) }",
                 "def @main(%x: int32) { add(3, %x) }");
}

TEST(FoldConstant, LeavesFailuresAndLargeResults) {
  expect_unchanged("FoldConstant", "def @main(%c: bool) { if (%c) { divide(1, 0) } else { 0 } }");
  expect_unchanged("FoldConstant",
                   "def @main() { full(1f, shape=[2000000000, 2000000000], dtype=\"float32\") }");
  expect_unchanged("FoldConstant", "def @main() { arange(0i32, 1000000i32, 1i32) }");
}

TEST(FoldConstant, NeverDropsEffects) {
  expect_unchanged("FoldConstant",
                   "def @main(%x: int32) { let %r = ref(%x); (3, ref_write(%r, 2)).0 }");
}

// ---- SimplifyInference ----

TEST(SimplifyInference, EffectfulArgumentsRunOnce) {
  expect_becomes(
      "SimplifyInference",
      "def @main(%x: Tensor[(2, 4), float32]) { let %r = ref(%x); nn.l2_normalize(ref_read(%r), "
      "eps=0.0001f, axis=[1]) }",
      "def @main(%x: Tensor[(2, 4), float32]) { let %r = ref(%x); let %a = ref_read(%r);"
      " divide(%a, sqrt(maximum(sum(multiply(%a, %a), axis=[1], keepdims=True), 0.0001f))) }");
}

TEST(SimplifyInference, RemovesDropout) {
  expect_becomes("SimplifyInference",
                 "def @main(%x: Tensor[(2), float32]) { %0 = nn.dropout(exp(%x)); %0.0 }",
                 "def @main(%x: Tensor[(2), float32]) { exp(%x) }");
}

// ---- Globals ----

TEST(RemoveUnusedFunctions, UnknownEntryIsAnError) {
  Module module = typed("def @main(%x: int32) { %x }");
  EXPECT_THROW(
      (*create_pass("RemoveUnusedFunctions", {{"entry_functions", std::string("nope")}}))(module),
      Error);
}

TEST(Inline, NestedCallsAndArgumentsThatAreMoreThanNames) {
  expect_becomes("Inline",
                 "def @g(%a: int32, Inline=1) -> int32 { add(%a, %a) }"
                 "def @main(%x: int32) { @g(@g(negative(%x))) }",
                 "def @main(%x: int32) { %0 = negative(%x); %1 = add(%0, %0); add(%1, %1) }");
  expect_becomes("Inline",
                 "def @g(%a: int32, Inline=1) -> int32 { add(%a, %a) }"
                 "def @main(%r: ref(int32)) { @g(ref_read(%r)) }",
                 "def @main(%r: ref(int32)) { let %a: int32 = ref_read(%r); add(%a, %a) }");
  expect_unchanged(
      "Inline",
      "def @g(%n: int32, Inline=1) -> int32 { if (less(%n, 1)) { 0 } else { @g(subtract(%n, 1)) } }"
      "def @main(%x: int32) { @g(%x) }");
}

}  // namespace
}  // namespace relay::transform_passes_test
