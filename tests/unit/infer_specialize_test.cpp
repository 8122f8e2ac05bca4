// T16, T17, and the verifier.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <relay/ir/visit.h>
#include <relay/print/print.h>

#include <tests/unit/infer_test_util.h>

namespace relay::infer_specialize_test {
namespace {

using ::testing::HasSubstr;

TypeRef type(const char* text) { return parse_type(text); }

Module special(const char* program, std::vector<TypeRef> arguments, const char* entry = "main") {
  return specialize(parse_module("test", program), entry, arguments);
}

std::string type_of(const Module& module, const char* name = "main") {
  return module.function(name)->type()->str();
}

std::string error_of(const char* program, std::vector<TypeRef> arguments,
                     const char* entry = "main") {
  try {
    special(program, std::move(arguments), entry);
  } catch (const Error& error) {
    return render(error.diagnostics());
  }
  return "no error";
}

void expect_mono(const Module& module) {
  for (const auto& entry : module.functions()) {
    post_order(entry.function.get(), [&](const Expr* expr) {
      EXPECT_FALSE(expr->is<Literal>()) << print_module(module);
      if (!expr->is<Op>() && !expr->is<Constructor>()) {
        EXPECT_NE(expr->type(), nullptr) << print_short(expr);
      }
    });
  }
}

TEST(InferT16, OneInstanceForEachSetOfTypes) {
  Module module = special(
      "def @double(%x) { %x + %x }\n(@double(1), @double(2), @double(1.5), @double(2i64))", {});
  EXPECT_EQ(module.functions().size(), 4u) << print_module(module);
  EXPECT_EQ(type_of(module), "fn () -> (int32, int32, float32, int64)");
  expect_mono(module);
}

TEST(InferT16, UniformValuesShareOne) {
  Module module = special("def @id(%x) { %x }\n(@id(1), @id(True))", {});
  EXPECT_EQ(module.functions().size(), 2u) << print_module(module);
  EXPECT_EQ(type_of(module), "fn () -> (int32, bool)");
  expect_mono(module);
}

TEST(InferT16, OnlyWhatTheCodeDependsOn) {
  // The second parameter is uniform.
  Module module =
      special("def @f(%x, %y) { (%x + %x, %y) }\n(@f(1, True), @f(2, 1.5), @f(1f, 2))", {});
  EXPECT_EQ(module.functions().size(), 3u) << print_module(module);
  EXPECT_EQ(type_of(module), "fn () -> ((int32, bool), (int32, float32), (float32, int32))");
}

TEST(InferT16, LetBoundFunctions) {
  Module module =
      special("let %f = fn (%x, %y) { add(%x, %y) }; (%f(1, 2), %f(1.5, 2.25), %f(3, 4))", {});
  EXPECT_EQ(type_of(module), "fn () -> (int32, float32, int32)");
  expect_mono(module);
  EXPECT_THAT(print_module(module), HasSubstr("let %f_1"));
}

TEST(InferT16, NestedLetBoundFunctions) {
  Module module = special(
      "fn (%a) { let %f = fn (%x) { let %g = fn (%y) { %y + %x }; (%g(%x), %g(1)) }; "
      "(%f(1), %f(%a)) }",
      {type("Tensor[(3), float32]")});
  EXPECT_EQ(type_of(module),
            "fn (Tensor[(3), float32]) -> ((int32, int32), (Tensor[(3), float32], Tensor[(3), "
            "float32]))");
  expect_mono(module);
}

TEST(InferT16, NamesOfFunctions) {
  Module module = special(
      "let %f = add; let %g = %f; let %p = (%f, fn (%x) { %x * 2 }); "
      "(%g(1, 2), %f(1.5, 2.5), %p.1(3), %p.1(2.5))",
      {});
  EXPECT_EQ(type_of(module), "fn () -> (int32, float32, int32, float32)");
  expect_mono(module);
}

TEST(InferT16, LocalRecursion) {
  Module module = special(
      "let %f = fn (%n, %x) { if (%n == 0) { %x } else { %f(%n - 1, %x + %x) } }; "
      "(%f(3, 1f), %f(3i64, 1i8))",
      {});
  EXPECT_EQ(type_of(module), "fn () -> (float32, int8)");
  expect_mono(module);
}

TEST(InferT16, HigherOrder) {
  Module module = special(
      "type List[A] { Cons(A, List[A]), Nil, }\n"
      "def @map[A, B](%f: fn (A) -> B, %l: List[A]) -> List[B] "
      "{ match (%l) { Cons(%h, %t) => { Cons(%f(%h), @map(%f, %t)) }, Nil => { Nil }, } }\n"
      "def @double(%x) { %x + %x }\n"
      "(@map(@double, Cons(1, Nil)), @map(@double, Cons(1f, Nil)), @map(negative, Cons(2i64, "
      "Nil)))",
      {});
  EXPECT_EQ(type_of(module), "fn () -> (List[int32], List[float32], List[int64])");
  EXPECT_EQ(module.functions().size(), 4u) << print_module(module);  // one map, two doubles
  expect_mono(module);
}

TEST(InferT16, PolymorphicRecursion) {
  // Uniform: one instance is enough for ever new types.
  const char* uniform =
      "def @f<a : Type>(%x : a, %n : int32) -> int32 "
      "{ if (%n == 0) { 0 } else { @f((%x, %x), %n - 1) } }\n@f(True, 3)";
  EXPECT_EQ(special(uniform, {}).functions().size(), 2u);
  const char* growing =
      "def @f<s : Shape>(%x : Tensor[s, float32], %n : int32) -> int32 "
      "{ if (%n == 0) { 0 } else { @f(expand_dims(%x, axis=0), %n - 1) } }\n@f(1f, 3)";
  EXPECT_THAT(error_of(growing, {}), HasSubstr("specialisation goes deeper than 64"));
}

TEST(InferT16, TypeArgumentsAreTakenIn) {
  Module module = special(
      "def @f<a : BaseType>(%x : Tensor[(), a]) -> Tensor[(), a] { %x + 1 }\n"
      "(@f<float32>(1), @f<int8>(2))",
      {});
  EXPECT_EQ(type_of(module), "fn () -> (float32, int8)");
  expect_mono(module);
}

TEST(InferT17, TheEntryTakesItsArguments) {
  Module module = special("fn(%a, %b, %c, %d) { let %x = %a + %b; let %y = %c + %d; %x * %y }",
                          {type("int32"), type("int32"), type("int32"), type("int32")});
  EXPECT_EQ(type_of(module), "fn (int32, int32, int32, int32) -> int32");
  const char* muladd =
      "def @muladd(%x, %y, %z) { add(multiply(%x, %y), %z) }\n"
      "def @myfunc(%x) { %1 = @muladd(%x, 1, 2)\n %2 = @muladd(%1, 2, 3)\n %2 }";
  EXPECT_EQ(type_of(special(muladd, {type("float32")}, "myfunc"), "myfunc"),
            "fn (float32) -> float32");
  EXPECT_EQ(special(muladd, {type("float32")}, "myfunc").functions().size(), 2u);
  EXPECT_EQ(type_of(special(muladd, {type("Tensor[(2), int64]")}, "myfunc"), "myfunc"),
            "fn (Tensor[(2), int64]) -> Tensor[(2), int64]");
}

TEST(InferT17, RecursiveEntry) {
  const char* program =
      "def @myfunc(%x) { if (equal(%x, 1)) { %x } else { %3 = @myfunc(subtract(%x, 1)); add(%3, "
      "%3) } }";
  Module module = special(program, {type("int64")}, "myfunc");
  EXPECT_EQ(type_of(module, "myfunc"), "fn (int64) -> int64");
  EXPECT_EQ(module.functions().size(), 1u);
  expect_mono(module);
}

TEST(InferT17, ArgumentsThatDoNotFit) {
  EXPECT_THAT(
      error_of("fn (%x: Tensor[(2), float32]) { %x }", {type("Tensor[(3), float32]")}),
      HasSubstr(
          "argument 1 of @main, %x: expected Tensor[(2), float32], found Tensor[(3), float32]"));
  EXPECT_THAT(error_of("fn (%x) { %x }", {}), HasSubstr("@main takes 1 argument, found 0"));
  EXPECT_THAT(error_of("fn (%x, %y) { %x + %y }",
                       {type("Tensor[(3), float32]"), type("Tensor[(2), float32]")}),
              HasSubstr("the shapes (3) and (2) do not broadcast"));
  // The program's own errors come first.
  EXPECT_THAT(error_of("fn (%x: int32) { %x.0 }", {}), HasSubstr("needs a tuple"));
}

TEST(InferT17, WhatIsLeftInTheResultIsAScheme) {
  Module module = special("fn (%x) { %1 = log(%x); fn (%y) { add(%y, %1) } }", {type("float32")});
  const auto* signature = module.function("main")->type()->as<FuncType>();
  EXPECT_EQ(result_type(signature)->str(),
            "fn<s : Shape>(Tensor[s, float32]) -> Tensor[s, float32]");
}

TEST(Verify, FindsWhatIsWrong) {
  EXPECT_TRUE(verify(parse_module("test", "fn (%x: int32) { let %y = %x + 1; %y * %y }")).empty());
  VarRef x = make_var("x", TensorType::scalar(kInt32));
  VarRef y = make_var("y", TensorType::scalar(kInt32));
  Module unbound;
  unbound.add_function("main", make_function({x}, y));
  ASSERT_EQ(verify(unbound).size(), 1u);
  EXPECT_THAT(verify(unbound)[0].message, HasSubstr("%y is used where it is not in scope"));
  Module twice;
  twice.add_function("f", make_function({x}, x));
  twice.add_function("g", make_function({x}, x));
  ASSERT_EQ(verify(twice).size(), 1u);
  EXPECT_THAT(verify(twice)[0].message, HasSubstr("%x is bound in two places"));
  // A shared node outside the scope of its variable.
  ExprRef use = make_tuple(std::vector<ExprRef>{y});
  ExprRef inner = make_let(y, x, use);
  Module escaped;
  escaped.add_function("main", make_function({x}, make_tuple(std::vector<ExprRef>{inner, use})));
  ASSERT_EQ(verify(escaped).size(), 1u);
  ExprRef cell = make_ref_create(x);
  Module shared;
  shared.add_function("main", make_function({x}, make_tuple(std::vector<ExprRef>{cell, cell})));
  ASSERT_EQ(verify(shared).size(), 1u);
  EXPECT_THAT(verify(shared)[0].message, HasSubstr("used in two places"));

  // let %f = F; F(1), where F calls %f: the second use should be %f.
  VarRef f = make_var("f");
  VarRef n = make_var("n");
  const ExprRef argument[] = {n};
  ExprRef recursive = make_function({n}, make_call(f, argument));
  const ExprRef zero[] = {make_constant(NDArray::scalar<int32_t>(0))};
  Module loop;
  loop.add_function("main", make_function({}, make_let(f, recursive, make_call(recursive, zero))));
  ASSERT_EQ(verify(loop).size(), 1u);
  EXPECT_THAT(verify(loop)[0].message, HasSubstr("the recursive function of %f"));
}

TEST(InferIncremental, FunctionsThatAreCurrentKeepTheirTypes) {
  Module module = parse_module("test", "def @f(%x: int32) { %x + 1 }\n@f(2)");
  infer_types_or_throw(module);
  const Type* before = module.function("main")->body()->type();
  infer_types_or_throw(module);
  EXPECT_EQ(module.function("main")->body()->type(), before);
  // Another signature of @f makes its callers be looked at again.
  Module other = parse_module("test", "def @f(%x: Tensor[(), int32]) { (%x, %x) }\n@f(2)");
  module.update_function("f", FunctionRef(other.function("f")));
  infer_types_or_throw(module);
  EXPECT_EQ(module.function("main")->type()->str(), "fn () -> (int32, int32)");
}

}  // namespace
}  // namespace relay::infer_specialize_test
