#include <gtest/gtest.h>
#include <pthread.h>
#include <relay/runtime/memory.h>
#include <relay/runtime/value.h>
#include <relay/support/error.h>

#include <vector>

namespace relay::runtime_value_test {
namespace {

const ConstructorInfo* nil() { return ConstructorInfo::intern("Nil", "List", 1, 0); }
const ConstructorInfo* cons() { return ConstructorInfo::intern("Cons", "List", 0, 2); }

Value make_list(int64_t length) {
  Value list = Value::data(nil());
  for (int64_t i = 0; i < length; ++i) {
    Value fields[] = {Value::scalar(i), std::move(list)};
    list = Value::data(cons(), fields);
  }
  return list;
}

// Runs f on a thread with as little stack as the system allows.
void with_small_stack(void (*f)()) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 64 * 1024), 0);
  pthread_t thread;
  auto run = [](void* argument) -> void* {
    reinterpret_cast<void (*)()>(argument)();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, reinterpret_cast<void*>(f)), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

TEST(RuntimeValue, Numbers) {
  Value v = Value::scalar(1.5f);
  EXPECT_TRUE(v.is_scalar());
  EXPECT_TRUE(v.is_tensor());
  EXPECT_EQ(v.dtype(), kFloat32);
  EXPECT_EQ(v.shape().size(), 0u);
  EXPECT_EQ(v.as<float>(), 1.5f);
  EXPECT_EQ(v.as_double(), 1.5);
  EXPECT_EQ(v.as_int64(), 1);
  EXPECT_THROW(v.as<double>(), InternalError);
  EXPECT_THROW(v.fields(), InternalError);
  EXPECT_TRUE(Value::scalar(true).as_bool());
  EXPECT_FALSE(Value::scalar(-0.0).as_bool());
  EXPECT_EQ(Value::scalar(true).dtype(), kBool);
  EXPECT_EQ(Value::scalar_of(kFloat16, 0.1).as<Half>().bits, Half(0.1).bits);
  EXPECT_EQ(Value::scalar_of(kUInt64, int64_t{-1}).as<uint64_t>(), UINT64_MAX);
  EXPECT_EQ(Value::scalar(int8_t{-5}).array().item_as_int64(), -5);
  EXPECT_TRUE(Value(NDArray::scalar(int64_t{7})).is_scalar());
  EXPECT_FALSE(Value());
}

TEST(RuntimeValue, Tensors) {
  NDArray array = NDArray::from<int32_t>({2}, {4, 5});
  Value v = array;
  EXPECT_EQ(v.kind(), Value::Kind::kTensor);
  EXPECT_EQ(v.array(), array);
  EXPECT_EQ(v.shape()[0], 2);
  EXPECT_THROW(v.as_int64(), Error);
  Value w = std::move(v);
  EXPECT_FALSE(v);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(w.array(), array);
  w = Value();
  EXPECT_TRUE(array.unique());
  EXPECT_EQ(Value(NDArray::from<int32_t>({1, 1}, {4})).as_int64(), 4);
}

TEST(RuntimeValue, Composites) {
  Value unit = Value::unit();
  EXPECT_TRUE(unit.is_tuple());
  EXPECT_EQ(unit.fields().size(), 0u);
  Value list = make_list(2);
  EXPECT_EQ(list.tag(), 0);
  EXPECT_EQ(list.constructor()->name.view(), "Cons");
  EXPECT_EQ(list.field(0).as_int64(), 1);
  EXPECT_EQ(list.field(1).field(1).tag(), 1);
  EXPECT_EQ(list.field(1).field(1).constructor(), nil());
  EXPECT_THROW(Value::data(cons()), InternalError);
  EXPECT_EQ(list.unique_fields().size(), 2u);
  Value other = list;
  EXPECT_TRUE(list.unique_fields().empty());
  EXPECT_TRUE(list.same(other));

  Value cell = Value::reference(unit);
  Value alias = cell;
  alias.set(Value::scalar(3));
  EXPECT_EQ(cell.get().as_int64(), 3);
  cell.set(list);
  EXPECT_EQ(alias.get().tag(), 0);
  EXPECT_EQ(ConstructorInfo::intern("Nil", "List", 1, 0), nil());
  EXPECT_NE(ConstructorInfo::intern("Nil", "Other", 1, 0), nil());
}

struct TestClosure final : Closure {
  static const char kKind;
  explicit TestClosure(int* count) : Closure(&kKind), alive(count) { ++*alive; }
  ~TestClosure() override { --*alive; }
  int* alive;
  std::vector<Value> captured;
};
const char TestClosure::kKind = 0;

TEST(RuntimeValue, Closures) {
  int alive = 0;
  {
    Value chain = Value::scalar(0);
    for (int i = 0; i < 100000; ++i) {
      auto closure = make_ref<TestClosure>(&alive);
      closure->captured.push_back(std::move(chain));
      chain = Value::closure(closure);
    }
    EXPECT_EQ(alive, 100000);
    EXPECT_EQ(chain.closure()->kind(), &TestClosure::kKind);
  }
  EXPECT_EQ(alive, 0);
}

TEST(RuntimeValue, LongListsAreFreedWithoutStack) {
  size_t before = memory_in_use();
  with_small_stack([] {
    Value list = make_list(10'000'000);
    Value copy = list;
    list = Value();
    Value nested = Value::scalar(1);
    for (int i = 0; i < 1'000'000; ++i) {
      nested = Value::reference(std::move(nested));
      nested = Value::tuple(std::span(&nested, 1));
    }
  });
  size_t after = memory_in_use();
  EXPECT_LE(after, before + (2 << 20));
}

TEST(RuntimeValue, EndlessListHitsTheLimit) {
  set_memory_limit(memory_in_use() + (16 << 20));
  EXPECT_THROW(make_list(10'000'000), Error);
  set_memory_limit(0);
}

TEST(RuntimeValue, BitEqual) {
  EXPECT_TRUE(bit_equal(make_list(100000), make_list(100000)));
  EXPECT_FALSE(bit_equal(make_list(1000), make_list(1001)));
  EXPECT_FALSE(bit_equal(Value::scalar(1), Value::scalar(1.0f)));
  Value a = NDArray::from<float>({2}, {1, 2});
  Value b = NDArray::from<float>({2}, {1, 2});
  EXPECT_TRUE(bit_equal(a, b));
  // Shared structure is visited once, a cycle ends.
  Value x = Value::scalar(1), y = Value::scalar(1);
  for (int i = 0; i < 100; ++i) {
    x = Value::tuple(std::vector<Value>{x, x});
    y = Value::tuple(std::vector<Value>{y, y});
  }
  EXPECT_TRUE(bit_equal(x, y));
  Value r = Value::reference(Value::scalar(1)), s = Value::reference(Value::scalar(1));
  r.set(r);
  s.set(s);
  EXPECT_TRUE(bit_equal(r, s));
  r.set(Value());
  s.set(Value());
}

}  // namespace
}  // namespace relay::runtime_value_test
