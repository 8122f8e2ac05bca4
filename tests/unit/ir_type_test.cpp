#include <relay/ir/constructor_tags.h>
#include <relay/ir/type.h>

#include <gtest/gtest.h>

#include <thread>

#include <relay/ir/module.h>
#include <relay/op/registry/relation.h>
#include <relay/support/error.h>

namespace relay::ir_type_test {
namespace {

TypeRef tensor(std::vector<Dim> dims, DType dtype = kFloat32) {
  return TensorType::make(dims, dtype);
}

TEST(IrType, OneObjectForEachStructure) {
  TypeRef a = tensor({2, 3});
  EXPECT_EQ(a, tensor({2, 3}));
  EXPECT_EQ(a, TensorType::make(ShapeType::make(std::vector<Dim>{2, 3}), BaseType::make(kFloat32)));
  EXPECT_NE(a, tensor({3, 2}));
  EXPECT_NE(a, tensor({2, 3}, kInt32));
  EXPECT_EQ(TupleType::make({a, a}), TupleType::make({a, a}));
  EXPECT_EQ(FuncType::make({a}, a), FuncType::make({a}, a));
  EXPECT_EQ(GlobalTypeVar::make("List"), GlobalTypeVar::make("List"));
  EXPECT_NE(TypeRef(TypeVar::make("a", Kind::kType)), TypeRef(TypeVar::make("a", Kind::kType)));
  EXPECT_EQ(IncompleteType::make(3, Kind::kShape), IncompleteType::make(3, Kind::kShape));
  EXPECT_EQ(RelationType::make(broadcast_relation(), {a, a, a}, 2),
            RelationType::make(broadcast_relation(), {a, a, a}, 2));
}

TEST(IrType, Text) {
  TypeVarRef n = TypeVar::make("n", Kind::kShapeVar, true);
  TypeVarRef a = TypeVar::make("a", Kind::kType);
  TypeVarRef a2 = TypeVar::make("a", Kind::kType);
  TypeVarRef s = TypeVar::make("s", Kind::kShape);
  TypeVarRef bt = TypeVar::make("bt", Kind::kBaseType);
  TypeRef f32 = TensorType::scalar(kFloat32);
  EXPECT_EQ(f32->str(), "float32");
  EXPECT_EQ(tensor({2, 3})->str(), "Tensor[(2, 3), float32]");
  EXPECT_EQ(tensor({2})->str(), "Tensor[(2), float32]");
  EXPECT_EQ(tensor({Dim::any(), Dim::symbol(n.get()) + 1})->str(), "Tensor[(?, n + 1), float32]");
  EXPECT_EQ(TupleType::make({})->str(), "()");
  EXPECT_EQ(TupleType::make({f32})->str(), "(float32,)");
  EXPECT_EQ(TupleType::make({f32, f32})->str(), "(float32, float32)");
  EXPECT_EQ(FuncType::make({f32}, f32)->str(), "fn (float32) -> float32");
  EXPECT_EQ(RefType::make(f32)->str(), "ref(float32)");
  EXPECT_EQ(TypeCall::make(GlobalTypeVar::make("List"), {f32})->str(), "List[float32]");
  EXPECT_EQ(TypeCall::make(GlobalTypeVar::make("Nat"), {})->str(), "Nat");
  EXPECT_EQ(IncompleteType::hole()->str(), "_");
  EXPECT_EQ(FuncType::make({TensorType::make(s, bt)}, f32, {s, bt})->str(),
            "fn<s : Shape, bt : BaseType>(Tensor[s, bt]) -> float32");
  EXPECT_EQ(
      FuncType::make({a, a2}, a, {a, a2}, {RelationType::make(broadcast_relation(), {a, a2, a}, 2)})
          ->str(),
      "fn<a, a_1>(a, a_1) -> a where Broadcast(a, a_1, a)");
}

TEST(IrType, Facts) {
  TypeVarRef n = TypeVar::make("n", Kind::kShapeVar);
  TypeVarRef a = TypeVar::make("a", Kind::kType);
  EXPECT_TRUE(tensor({2})->closed());
  EXPECT_FALSE(tensor({Dim::symbol(n.get())})->closed());
  EXPECT_TRUE(tensor({Dim::symbol(n.get())})->has_symbolic_dim());
  EXPECT_TRUE(tensor({Dim::any()})->has_any_dim());
  EXPECT_TRUE(tensor({Dim::variable(1)})->has_incomplete());
  EXPECT_TRUE(FuncType::make({a}, a, {a})->has_binder());
  EXPECT_FALSE(FuncType::make({a}, a)->has_binder());
  EXPECT_EQ(num_elements(tensor({2, 3}).get()), 6);
  EXPECT_EQ(num_elements(tensor({Dim::any()}).get()), std::nullopt);
  Dim huge = int64_t{1} << 40;
  EXPECT_EQ(num_elements(tensor({huge, huge}).get()), std::nullopt);
  EXPECT_EQ(num_elements(tensor({huge, huge, 0}).get()), 0);
}

TEST(IrType, Limits) {
  EXPECT_THROW(
      {
        TypeRef type = TupleType::make({});
        for (int i = 0; i < 1000; ++i) type = TupleType::make({type});
      },
      Error);
  EXPECT_THROW(
      {
        TypeRef type = TupleType::make({});
        for (int i = 0; i < 100; ++i) type = TupleType::make({type, type});
      },
      Error);
}

TEST(IrType, AlphaEquivalence) {
  auto identity = [](const char* name) {
    TypeVarRef a = TypeVar::make(name, Kind::kType);
    return FuncType::make({a}, a, {a});
  };
  TypeRef f = identity("a");
  TypeRef g = identity("b");
  EXPECT_NE(f, g);
  EXPECT_TRUE(types_equal(f, g));
  EXPECT_EQ(type_hash(f.get()), type_hash(g.get()));
  TypeVarRef a = TypeVar::make("a", Kind::kType);
  TypeVarRef b = TypeVar::make("b", Kind::kType);
  TypeRef first = FuncType::make({a, b}, a, {a, b});
  TypeRef second = FuncType::make({a, b}, b, {a, b});
  TypeRef swapped = FuncType::make({b, a}, b, {b, a});
  EXPECT_FALSE(types_equal(first, second));
  EXPECT_TRUE(types_equal(first, swapped));
  EXPECT_EQ(type_hash(first.get()), type_hash(swapped.get()));
  // Nested, with a free variable.
  EXPECT_TRUE(types_equal(TupleType::make({f, a}), TupleType::make({g, a})));
  EXPECT_FALSE(types_equal(TupleType::make({f, a}), TupleType::make({g, b})));
  // Dimensions, whose normal form orders by name.
  auto sized = [](const char* x, const char* y) {
    TypeVarRef n = TypeVar::make(x, Kind::kShapeVar);
    TypeVarRef m = TypeVar::make(y, Kind::kShapeVar);
    Dim N = Dim::symbol(n.get());
    Dim M = Dim::symbol(m.get());
    return FuncType::make({tensor({N}), tensor({M})}, tensor({N + 2 * M}), {n, m});
  };
  EXPECT_TRUE(types_equal(sized("n", "m"), sized("a", "b")));
  EXPECT_EQ(type_hash(sized("n", "m").get()), type_hash(sized("a", "b").get()));
}

TEST(IrType, Substitute) {
  TypeVarRef a = TypeVar::make("a", Kind::kType);
  TypeVarRef n = TypeVar::make("n", Kind::kShapeVar);
  TypeRef type = FuncType::make({a, tensor({Dim::symbol(n.get()) * 2})}, TupleType::make({a}));
  TypeRef f32 = TensorType::scalar(kFloat32);
  TypeRef result =
      substitute(type, [&](const TypeVar* var) { return var == a.get() ? f32 : DimType::make(3); });
  EXPECT_EQ(result, FuncType::make({f32, tensor({6})}, TupleType::make({f32})));
  EXPECT_EQ(substitute(type, [](const TypeVar*) { return TypeRef(); }), type);
  // Bound ones stay.
  TypeRef scheme = FuncType::make({a}, tensor({Dim::symbol(n.get())}), {a});
  auto free = free_type_vars(scheme);
  ASSERT_EQ(free.size(), 1u);
  EXPECT_EQ(free[0], n);
  TypeRef instance = substitute(TupleType::make({a, scheme}), [&](const TypeVar* var) {
    return var == a.get() ? f32 : TypeRef();
  });
  EXPECT_EQ(instance, TupleType::make({f32, scheme}));
  auto order = free_type_vars(type);
  ASSERT_EQ(order.size(), 2u);
  EXPECT_EQ(order[0], a);
}

TEST(IrType, TypeData) {
  GlobalTypeVarRef list = GlobalTypeVar::make("List");
  TypeVarRef a = TypeVar::make("A", Kind::kType);
  TypeVarRef b = TypeVar::make("B", Kind::kType);
  TypeRef self = TypeCall::make(list, {a});
  ConstructorRef cons = make_constructor("Cons", list, 0, {a, self});
  ConstructorRef nil = make_constructor("Nil", list, 1, {});
  TypeDataRef data = TypeData::make(list, {a}, {cons, nil});
  EXPECT_EQ(constructor_type(*data, *cons)->str(), "fn<A>(A, List[A]) -> List[A]");
  EXPECT_THROW(TypeData::make(list, {b}, {cons}), Error);
  EXPECT_THROW(TypeData::make(list, {a}, {nil, nil}), Error);
  EXPECT_THROW(TypeData::make(GlobalTypeVar::make("Other"), {a}, {nil}), Error);
  Module module;
  module.add_type(data);
  EXPECT_THROW(module.add_type(data), Error);
  module.add_type(data, true);
  EXPECT_EQ(module.constructor("Cons"), cons.get());
  GlobalTypeVarRef other = GlobalTypeVar::make("Other");
  EXPECT_THROW(module.add_type(TypeData::make(other, {}, {make_constructor("Nil", other, 0, {})})),
               Error);
}

// Types made, found and dropped by several threads at once.
TEST(IrType, Threads) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&wrong, t] {
      for (int i = 0; i < 20000; ++i) {
        TypeRef a = tensor({i % 7, t % 2});
        TypeRef b = TupleType::make({a, tensor({i % 5})});
        TypeRef again = TupleType::make({tensor({i % 7, t % 2}), tensor({i % 5})});
        if (b != again || b->str().empty()) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// Executors index by the tags of values: they are the places in the data type.
TEST(TypeData, ConstructorsAreNumberedByTheirPlaces) {
  GlobalTypeVarRef type = GlobalTypeVar::make("Numbered");
  ConstructorRef a = make_constructor("A", type, kUnnumbered, {});
  ConstructorRef b = make_constructor("B", type, kUnnumbered, {});
  TypeDataRef data = TypeData::make(type, {}, {a, b});
  EXPECT_EQ(a->ctor_tag(), 0u);
  EXPECT_EQ(b->ctor_tag(), 1u);
  ConstructorRef wrong = make_constructor("C", type, 100'000'000, {});
  try {
    TypeData::make(type, {}, {a, wrong});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "constructor C has tag 100000000, but its place in data type Numbered is 1");
  }
  EXPECT_THROW(TypeData::make(type, {}, {b, a}), Error);
}

}  // namespace
}  // namespace relay::ir_type_test
