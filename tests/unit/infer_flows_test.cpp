// T14, T15: where a value is used at another type than its own.
#include <gtest/gtest.h>

#include <relay/infer/infer.h>
#include <relay/infer/runtime/flows.h>
#include <relay/ir/visit.h>
#include <relay/parse/parse.h>

namespace relay::infer_flows_test {
namespace {

const char* const kTypes =
    "type List[A] { Cons(A, List[A]), Nil }\n"
    "type Task[A] { Do(fn (A) -> A) }\n"
    "type Named { Mk(Tensor[(4), float32]) }\n";

std::string flow(const char* from, const char* to) {
  Module module =
      parse_module("test", std::string(kTypes) + "def @t(%a: " + from + ", %b: " + to + ") { 1 }");
  auto params = module.function("t")->params();
  Flow found = Flows(module).compare(params[0]->annotation().get(), params[1]->annotation().get());
  std::string text;
  if (found.tensors) text += "t";
  if (found.inside) text += "i";
  if (found.shared) text += "s";
  return text;
}

TEST(Flows, WhatHasToBeChecked) {
  EXPECT_EQ(flow("Tensor[(4), float32]", "Tensor[(4), float32]"), "");
  EXPECT_EQ(flow("Tensor[(4), float32]", "Tensor[(?), float32]"), "");
  EXPECT_EQ(flow("Tensor[(?), float32]", "Tensor[(4), float32]"), "t");
  EXPECT_EQ(flow("(int32, Tensor[(?), float32])", "(int32, Tensor[(4), float32])"), "t");
  EXPECT_EQ(flow("List[Tensor[(?), float32]]", "List[Tensor[(4), float32]]"), "i");
  EXPECT_EQ(flow("List[Tensor[(4), float32]]", "List[Tensor[(?), float32]]"), "");
}

TEST(Flows, ReferencesAndFunctionsGoBothWays) {
  EXPECT_EQ(flow("ref(Tensor[(?), float32])", "ref(Tensor[(4), float32])"), "is");
  EXPECT_EQ(flow("ref(Tensor[(4), float32])", "ref(Tensor[(?), float32])"), "s");
  EXPECT_EQ(flow("fn (Tensor[(?), float32]) -> int32", "fn (Tensor[(4), float32]) -> int32"), "s");
  EXPECT_EQ(flow("Task[Tensor[(4), float32]]", "Task[Tensor[(?), float32]]"), "s");
  EXPECT_EQ(flow("List[fn () -> Tensor[(4), int8]]", "List[fn () -> Tensor[(?), int8]]"), "s");
}

TEST(Flows, TypesThatSaySomething) {
  auto says = [](const char* type, bool inside) {
    Module module = parse_module("test", std::string(kTypes) + "def @t(%a: " + type + ") { 1 }");
    return Flows(module).has_shapes(module.function("t")->params()[0]->annotation().get(), inside);
  };
  EXPECT_TRUE(says("(int32, Tensor[(?, 4), float32])", false));
  EXPECT_FALSE(says("(int32, Tensor[(?), float32])", true));
  EXPECT_FALSE(says("List[Tensor[(4), float32]]", false));
  EXPECT_TRUE(says("List[Tensor[(4), float32]]", true));
  EXPECT_FALSE(says("List[int32]", true));
  EXPECT_TRUE(says("List[Named]", true));
  EXPECT_TRUE(says("ref(Tensor[(4), float32])", true));
}

// The arguments that the first call of a name has to check.
std::string checked(const std::string& program, const char* callee) {
  Module module = parse_module("test", kTypes + program);
  infer_types_or_throw(module);
  Flows flows(module);
  std::string text;
  for (const Module::FunctionEntry& entry : module.functions()) {
    post_order(entry.function.get(), [&](const Expr* expr) {
      const auto* call = expr->as<Call>();
      if (call == nullptr) return;
      const auto* global = call->callee()->as<GlobalVar>();
      const auto* constructor = call->callee()->as<Constructor>();
      Name name = global != nullptr        ? global->name()
                  : constructor != nullptr ? constructor->name()
                                           : Name();
      if (name != Name(callee)) return;
      for (const auto& [operand, type] : flows.arguments(call)) {
        text += std::to_string(operand) + ":" + type->str() + " ";
      }
    });
  }
  return text;
}

TEST(Flows, ArgumentsOfCalls) {
  const std::string x = "def @main(%x: Tensor[(?), float32], %l: List[Tensor[(?), float32]]) ";
  // The function looks at its tensors itself.
  EXPECT_EQ(checked("def @f(%y: Tensor[(4), float32]) { %y }\n" + x + "{ @f(%x) }", "f"), "");
  EXPECT_EQ(checked("def @f(%y: List[Tensor[(4), float32]]) { %y }\n" + x + "{ @f(%l) }", "f"),
            "1:List[Tensor[(4), float32]] ");
  EXPECT_EQ(checked("def @f<a : Type>(%y: a, %z: a) -> a { %y }\n" + x +
                        "{ @f(ones(shape=[4], dtype=\"float32\"), %x) }",
                    "f"),
            "2:Tensor[(4), float32] ");
  // A name stands for one number in all of them.
  EXPECT_EQ(checked("def @f(%y: List[Tensor[(n), float32]], %z: Tensor[(n), float32]) { %z }\n" +
                        x + "{ @f(%l, %x) }",
                    "f"),
            "1:List[Tensor[(n), float32]] 2:Tensor[(n), float32] ");
  EXPECT_EQ(checked(x + "{ Mk(%x) }", "Mk"), "1:Tensor[(4), float32] ");
  EXPECT_EQ(checked(x + "{ Cons(%x, %l) }", "Cons"), "");
}

TEST(Flows, MixedUses) {
  auto mixes = [](const std::string& program) {
    Module module = parse_module("test", kTypes + program);
    infer_types_or_throw(module);
    return Flows(module).mixes();
  };
  const std::string x = "def @main(%x: Tensor[(?), float32]) ";
  EXPECT_FALSE(mixes(x + "{ let %r = ref(%x); ref_read(%r) }"));
  EXPECT_TRUE(mixes(x + "{ let %r: ref(Tensor[(4), float32]) = ref(%x); ref_read(%r) }"));
  EXPECT_TRUE(mixes("def @f(%g: fn (Tensor[(4), float32]) -> int32) { 1 }\n" + x +
                    "{ @f(fn (%y: Tensor[(?), float32]) { 1 }) }"));
  EXPECT_FALSE(mixes("def @f(%g: fn (Tensor[(?), float32]) -> int32) { 1 }\n" + x +
                     "{ @f(fn (%y: Tensor[(?), float32]) { 1 }) }"));
}

}  // namespace
}  // namespace relay::infer_flows_test
