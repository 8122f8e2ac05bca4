// Inference after a rewrite: the same types and errors as on a copy that has no types yet, although
// nodes that are settled are not visited.
#include <gtest/gtest.h>

#include <random>

#include <relay/infer/again.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/op/op.h>
#include <relay/parse/parse.h>
#include <relay/print/print.h>
#include <relay/transform/literals.h>

#include <tests/support/typed_program.h>

namespace relay::infer_incremental_test {
namespace {

std::string typed_text(const Module& module) {
  PrintOptions options;
  options.show_types = true;
  return print_module(module, options);
}

std::string inferred(Module& module) {
  std::string text;
  for (const Diagnostic& diagnostic : infer_types(module)) text += render(diagnostic) + "\n";
  return text;
}

Module untyped(const Module& module) {
  Module result = module;
  for (const auto& entry : module.functions())
    result.update_function(entry.name, FunctionRef(copy_nodes(entry.function)->as<Function>()));
  return result;
}

Module with_main(const Module& module, const FunctionRef& main) {
  Module result = module;
  result.update_function("main", main);
  return result;
}

// Types and errors with what is known of nodes, and without.
void expect_as_from_scratch(const Module& module, const std::string& where) {
  Module known = module, fresh = untyped(module);
  const std::string text = print_module(module);
  const std::string wanted = inferred(fresh);
  EXPECT_EQ(inferred(known), wanted) << where << "\n" << text;
  if (!wanted.empty()) return;
  EXPECT_EQ(typed_text(known), typed_text(fresh)) << where << "\n" << text;
}

using Types = std::vector<std::pair<ExprRef, TypeRef>>;

Types types_of(const Function* function) {
  Types types;
  post_order(function,
             [&](const Expr* expr) { types.emplace_back(ExprRef(expr), TypeRef(expr->type())); });
  return types;
}

// Something else in the place of one node: mostly of its type, sometimes of another one.
ExprRef changed(const Expr* expr, std::mt19937& random) {
  auto op = [](const char* name) { return make_op(find_op(name)); };
  const ExprRef self(expr);
  const ExprRef twice[] = {self, self};
  switch (random() % 7) {
    case 0:
      return make_call(op("add"), twice);
    case 1:
      return make_call(op("negative"), {twice, 1});
    case 2: {  // the dtype must fit
      const ExprRef args[] = {self, make_constant(NDArray::scalar<float>(2))};
      return make_call(op("multiply"), args);
    }
    case 3: {  // the dtype follows
      LiteralValue two;
      two.magnitude = 2;
      two.text = Name("2");
      const ExprRef args[] = {self, make_literal(two)};
      return make_call(op("subtract"), args);
    }
    case 4: {
      VarRef bound = make_var("bound");
      const ExprRef args[] = {bound, bound};
      return make_let(bound, self, make_call(op("maximum"), args));
    }
    case 5:
      return make_call(op("equal"), twice);
    default: {
      // Takes any type, and has its own one where it is called.
      VarRef param = make_var("p");
      return make_call(make_function({param}, param), {twice, 1});
    }
  }
}

FunctionRef with_change(const FunctionRef& function, std::mt19937& random) {
  std::vector<const Expr*> candidates;
  post_order(function.get(), [&](const Expr* expr) {
    switch (expr->kind()) {
      case ExprKind::kCall:
      case ExprKind::kTuple:
      case ExprKind::kTupleGetItem:
      case ExprKind::kIf:
      case ExprKind::kConstant:
        candidates.push_back(expr);
        break;
      default:
        break;
    }
  });
  const Expr* target = candidates[random() % candidates.size()];
  ExprRef result = rewrite_post_order(function, [&](const Expr* expr, std::span<const ExprRef>) {
    return expr == target ? changed(expr, random) : ExprRef();
  });
  return FunctionRef(result->as<Function>());
}

TEST(InferIncremental, RandomRewrites) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    Module module = testing::TypedProgram(seed, seed % 3 == 0).module();
    infer_types_or_throw(module);
    if (seed % 2 == 0) module = resolve_literals(module);
    const Types before = types_of(module.function("main"));
    for (int step = 0; step < 12; ++step) {
      const FunctionRef main(module.function("main"));
      Module next = with_main(module, with_change(main, random));
      const std::string where = "seed " + std::to_string(seed) + ", step " + std::to_string(step);
      expect_as_from_scratch(next, where);
      if (::testing::Test::HasFailure()) return;
      if (inferred(next).empty()) module = next;  // go on from it
    }
    for (const auto& [expr, type] : before) EXPECT_EQ(expr->type(), type.get());
  }
}

constexpr const char* kTree = R"(
def @main(%x: Tensor[(3), float32], %y: Tensor[(3), float32]) {
  %0 = add(%x, %y);
  let %f = fn (%a: Tensor[(3), float32]) { multiply(%a, %0) };
  %1 = tanh(%0);
  (%f(%1), if (any(greater(%1, %x))) { exp(%1) } else { %y })
}
)";

TEST(InferIncremental, NodesAreSettled) {
  Module module = parse_module("test", kTree);
  infer_types_or_throw(module);
  post_order(module.function("main"), [](const Expr* expr) {
    EXPECT_TRUE(expr->settled() || expr->operands().empty()) << print_short(expr);
  });
}

// Types that depend on what is around a node, and on the module, are looked at again.
TEST(InferIncremental, OthersAreNot) {
  for (const char* text :
       {"def @main() { 1 }", "def @main(%x) { add(%x, 1f) }",
        "def @g() { 1f } def @main() { exp(@g()) }", "type T { A } def @main() { (A, A) }",
        "def @main(%x: Tensor[(n), float32]) { exp(%x) }",
        "def @main() { let %id = fn (%x) { %x }; %id(True) }"}) {
    Module module = parse_module("test", text);
    infer_types_or_throw(module);
    EXPECT_FALSE(module.function("main")->settled()) << text;
  }
}

TEST(InferIncremental, ANewAnnotationOfAKnownFunction) {
  Module module =
      parse_module("test", "def @main(%x: int32) { (fn (%a: int32) { add(%a, %a) })(%x) }");
  infer_types_or_throw(module);
  const auto* call = module.function("main")->body()->as<Call>();
  ASSERT_TRUE(call->callee()->settled());
  for (const char* type : {"fn (int32) -> int32", "fn (int32) -> float32"}) {
    TypeRef annotation = parse_type(type);
    VarRef var = make_var("f", annotation);
    ExprRef body = make_let(var, call->callee(), make_call(var, call->args()));
    expect_as_from_scratch(with_main(module, with_body(FunctionRef(module.function("main")), body)),
                           type);
  }
}

// A parameter without annotation has its type from its uses: from those that are left.
TEST(InferIncremental, AParameterLosesAUse) {
  Module module = parse_module("test", R"(
def @main(%x, %y: Tensor[(2), float32]) { (add(%x, %y), negative(multiply(%x, %x))) }
)");
  infer_types_or_throw(module);
  const FunctionRef main(module.function("main"));
  const auto* fields = main->body()->as<Tuple>();
  expect_as_from_scratch(with_main(module, with_body(main, fields->fields()[1])), "one use");
  expect_as_from_scratch(with_main(module, with_body(main, fields->fields()[0])), "the other use");
}

// A variable that another value is bound to: what was known of its uses is wrong now.
TEST(InferIncremental, AVariableChangesItsType) {
  Module module = parse_module("test", R"(
def @main(%x: int32) { let %v = 1.5f; (add(%v, %v), %x) }
)");
  infer_types_or_throw(module);
  module = resolve_literals(module);
  const FunctionRef main(module.function("main"));
  const auto* let = main->body()->as<Let>();
  ASSERT_TRUE(let->body()->settled());
  ExprRef body = make_let(let->var(), main->params()[0], let->body());
  expect_as_from_scratch(with_main(module, with_body(main, body)), "without annotation");
  const TypeRef wanted = parse_type("(int32, int32)");
  expect_as_from_scratch(with_main(module, make_function(main->params(), body, wanted)),
                         "the type that is right now");
  const TypeRef before = parse_type("(float32, int32)");
  expect_as_from_scratch(with_main(module, make_function(main->params(), body, before)),
                         "the type that was right before");
}

TEST(InferIncremental, TypesSetByHandAreNotSettled) {
  Module module = parse_module("test", kTree);
  infer_types_or_throw(module);
  ExprRef copy = clone_node(module.function("main")->body().get());
  EXPECT_FALSE(copy->settled());
  EXPECT_EQ(copy->type(), nullptr);
}

TEST(ExprParts, AreThoseOfAllNodesBelow) {
  Module module = parse_module("test", R"(
type T { A }
def @g() { 1 }
def @numbers(%x: int32) { fn () { add(%x, 1) } }
def @calls() { (@g(), True) }
def @data(%t: T) { match (%t) { A => True } }
def @effects(%x: int32) { fn () { ref_read(ref(%x)) } }
def @none(%x: int32) { add(%x, %x) }
)");
  auto parts = [&](const char* name) {
    std::string text;
    const Function* function = module.function(name);
    if (function->contains(ExprPart::kNumber)) text += "number ";
    if (function->contains(ExprPart::kGlobal)) text += "global ";
    if (function->contains(ExprPart::kData)) text += "data ";
    if (function->contains(ExprPart::kEffect)) text += "effect ";
    if (function->contains(ExprPart::kTemp)) text += "temp ";
    return text;
  };
  EXPECT_EQ(parts("numbers"), "number ");
  EXPECT_EQ(parts("calls"), "global ");
  EXPECT_EQ(parts("data"), "data ");
  EXPECT_EQ(parts("effects"), "effect ");
  EXPECT_EQ(parts("none"), "");
}

// A warning tells that a function was looked at.
TEST(InferIncremental, TypedFunctionsThatCallOperatorsAreNotVisitedAgain) {
  Module module = parse_module("test",
                               "def @f(%x: Tensor[(n), float32]) "
                               "{ match (%x) { %y => exp(%y) * 2f, %z => %z } }\n"
                               "def @main(%x: Tensor[(n), float32]) { @f(%x) }\n");
  InferredAs known;
  EXPECT_EQ(infer_types_again(module, known).size(), 1u);
  EXPECT_EQ(infer_types_again(module, known).size(), 0u);
}

// An entry decides what is left open in it; another function leaves it to its callers.
TEST(InferIncremental, AFunctionThatIsNoEntryAnyMoreIsInferredAnew) {
  const std::string main = "def @main(%x: int64) { (fn (%q) { %q * 2 }, %x + 1) }\n";
  Module module = parse_module("test", main);
  InferredAs known;
  EXPECT_TRUE(infer_types_again(module, known).empty());
  Module user = parse_module("user", main + "def @g() { @main(1i64) }\n");
  module.add_function("g", FunctionRef(user.function("g")));
  EXPECT_TRUE(infer_types_again(module, known).empty());
  EXPECT_NE(module.function("main")->type()->str().find("Num("), std::string::npos);
}

}  // namespace
}  // namespace relay::infer_incremental_test
