#include <relay/ir/equal.h>

#include <gtest/gtest.h>

#include <tests/unit/ir_testing.h>

namespace relay::ir_equal_test {
namespace {

using ir_testing::call;
using ir_testing::number;
using ir_testing::tuple;

void expect_equal(const ExprRef& a, const ExprRef& b, const EqualOptions& options = {}) {
  std::string why;
  EXPECT_TRUE(structural_equal(a.get(), b.get(), options, &why)) << why;
  EXPECT_EQ(structural_hash(a.get(), options), structural_hash(b.get(), options));
}
void expect_different(const ExprRef& a, const ExprRef& b, const EqualOptions& options = {}) {
  std::string why;
  EXPECT_FALSE(structural_equal(a.get(), b.get(), options, &why));
  EXPECT_FALSE(why.empty());
  EXPECT_FALSE(structural_equal(b.get(), a.get(), options));
}

TEST(IrEqual, BoundNamesDoNotMatter) {
  auto first = [](const char* x, const char* y, bool swap) -> ExprRef {
    VarRef a = make_var(x);
    VarRef b = make_var(y);
    return make_function({a, b}, swap ? tuple(b, a) : tuple(a, b));
  };
  expect_equal(first("x", "y", false), first("p", "q", false));
  expect_different(first("x", "y", false), first("x", "y", true));
}

TEST(IrEqual, Sharing) {
  ExprRef f = make_global_var("f");
  ExprRef shared = call(f, number(1));
  ExprRef a = tuple(shared, shared);
  ExprRef b = tuple(call(f, number(1)), call(f, number(1)));
  expect_different(a, b);
  expect_equal(a, b, {.map_free_vars = false, .respect_sharing = false});
  // Leaves have no place in the text of their own.
  ExprRef one = number(1);
  expect_equal(tuple(one, one), tuple(number(1), number(1)));
}

TEST(IrEqual, SharingOfBindersWithoutRespect) {
  auto function = [] {
    VarRef x = make_var("x");
    return ExprRef(make_function({x}, tuple(x, x)));
  };
  ExprRef shared = function();
  expect_equal(tuple(shared, shared), tuple(function(), function()),
               {.map_free_vars = false, .respect_sharing = false});
}

TEST(IrEqual, WideSharedGraphIsWalkedOnce) {
  auto build = [] {
    ExprRef expr = number(1);
    for (int i = 0; i < 200; ++i) expr = tuple(expr, expr);
    return expr;
  };
  expect_equal(build(), build());
  expect_equal(build(), build(), {.map_free_vars = false, .respect_sharing = false});
}

TEST(IrEqual, FreeVariables) {
  ExprRef x = make_var("x");
  ExprRef other = make_var("x");
  ExprRef y = make_var("y");
  expect_equal(x, x);
  expect_different(x, other);
  EqualOptions mapped{.map_free_vars = true, .respect_sharing = true};
  expect_equal(tuple(x, y), tuple(other, y), mapped);
  expect_equal(tuple(x, x), tuple(y, y), mapped);
  expect_equal(tuple(x, y), tuple(y, x), mapped);
  expect_different(tuple(x, x), tuple(x, other), mapped);
  expect_different(tuple(x, other), tuple(x, x), mapped);
  expect_different(x, make_var("x", TensorType::scalar(kFloat32)), mapped);
}

TEST(IrEqual, ConstantsToTheBit) {
  auto constant = [](float x) { return make_constant(NDArray::scalar(x)); };
  expect_equal(constant(1), constant(1));
  expect_different(constant(0.0f), constant(-0.0f));
  expect_different(number(1), constant(1));
}

TEST(IrEqual, TypesUnderBinders) {
  auto identity = [](const char* name, Kind kind) -> ExprRef {
    TypeVarRef a = TypeVar::make(name, kind);
    VarRef x = make_var("x", a);
    return make_function({x}, x, a, {a});
  };
  expect_equal(identity("a", Kind::kType), identity("b", Kind::kType));
  expect_different(identity("a", Kind::kType), identity("a", Kind::kShape));
  auto sized = [](const char* first, const char* second, bool swap) -> ExprRef {
    TypeVarRef n = TypeVar::make(first, Kind::kShapeVar, true);
    TypeVarRef m = TypeVar::make(second, Kind::kShapeVar, true);
    auto type = [](std::vector<Dim> dims) { return TensorType::make(dims, kFloat32); };
    Dim N = Dim::symbol(n.get());
    Dim M = Dim::symbol(m.get());
    VarRef x = make_var("x", type({N}));
    VarRef y = make_var("y", type({M}));
    return make_function({x, y}, x, type({swap ? M + N * 2 : N + M * 2}));
  };
  expect_equal(sized("n", "m", false), sized("b", "a", false));
  expect_different(sized("n", "m", false), sized("n", "m", true));
}

TEST(IrEqual, PublishedTypesAndSpansDoNotMatter) {
  ExprRef a = make_global_var("f", Span(3, 4));
  ExprRef b = make_global_var("f");
  a->set_type(TensorType::scalar(kInt32));
  expect_equal(a, b);
}

TEST(IrEqual, Literals) {
  LiteralValue one;
  one.magnitude = 1;
  one.text = "1";
  LiteralValue padded = one;
  padded.text = "01";
  LiteralValue minus = one;
  minus.negative = true;
  expect_equal(make_literal(one), make_literal(padded));
  expect_different(make_literal(one), make_literal(minus));
}

TEST(IrEqual, Modules) {
  auto function = [](int value) { return make_function({}, number(value)); };
  auto type = [](const char* var) {
    GlobalTypeVarRef box = GlobalTypeVar::make("Box");
    TypeVarRef a = TypeVar::make(var, Kind::kType);
    return TypeData::make(box, {a}, {make_constructor("Box1", box, 0, {a})});
  };
  Module a, b;
  a.add_function("f", function(1));
  a.add_function("g", function(2));
  a.add_type(type("A"));
  b.add_type(type("B"));
  b.add_function("g", function(2));
  b.add_function("f", function(1));
  std::string why;
  EXPECT_TRUE(structural_equal(a, b, {}, &why)) << why;
  EXPECT_EQ(structural_hash(a), structural_hash(b));
  b.update_function("f", function(3));
  EXPECT_FALSE(structural_equal(a, b, {}, &why));
  EXPECT_EQ(why, "@f: constants differ");
  EXPECT_NE(structural_hash(a), structural_hash(b));
  b.remove_function("f");
  EXPECT_FALSE(structural_equal(a, b, {}, &why));
  EXPECT_EQ(why, "@f is in one module only");
}

}  // namespace
}  // namespace relay::ir_equal_test
