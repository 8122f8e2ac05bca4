#include <gtest/gtest.h>
#include <relay/runtime/format.h>
#include <relay/runtime/memory.h>
#include <relay/support/error.h>
#include <relay/support/quote.h>

#include <charconv>
#include <cmath>
#include <string>
#include <vector>

namespace relay::runtime_format_test {
namespace {

std::string float_text(DType dtype, double value) {
  std::string out;
  append_float(out, dtype, value);
  return out;
}

std::string json(const Value& value) {
  std::string out;
  append_json(out, value);
  return out;
}

double parse(const std::string& text) {
  double value = 0;
  auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  EXPECT_EQ(result.ptr, text.data() + text.size()) << text;
  return value;
}

TEST(RuntimeFormat, Floats) {
  EXPECT_EQ(float_text(kFloat32, 1), "1.0");
  EXPECT_EQ(float_text(kFloat64, -0.0), "-0.0");
  EXPECT_EQ(float_text(kFloat32, 0.1f), "0.1");
  EXPECT_EQ(float_text(kFloat64, 0.1f), "0.10000000149011612");
  EXPECT_EQ(float_text(kFloat16, 0.1f), "0.1");
  EXPECT_EQ(float_text(kBFloat16, BFloat16(0.1f)), "0.1");
  EXPECT_EQ(float_text(kFloat64, 3628800), "3628800.0");
  EXPECT_EQ(float_text(kFloat64, 1e15), "1000000000000000.0");
  EXPECT_EQ(float_text(kFloat64, 1e16), "1e+16");
  EXPECT_EQ(float_text(kFloat64, 1.5e-7), "1.5e-07");
  EXPECT_EQ(float_text(kFloat64, 1e-4), "0.0001");
  EXPECT_EQ(float_text(kFloat64, 123.456), "123.456");
  EXPECT_EQ(float_text(kFloat64, 1e300), "1e+300");
  EXPECT_EQ(float_text(kFloat64, 5e-324), "5e-324");
  EXPECT_EQ(float_text(kFloat32, INFINITY), "inf");
  EXPECT_EQ(float_text(kFloat32, -INFINITY), "-inf");
  EXPECT_EQ(float_text(kFloat32, -NAN), "nan");
}

TEST(RuntimeFormat, EverySmallFloatReadsBack) {
  for (uint32_t i = 0; i < 65536; ++i) {
    Half h = Half::from_bits(static_cast<uint16_t>(i));
    if (std::isfinite(static_cast<float>(h))) {
      ASSERT_EQ(Half(parse(float_text(kFloat16, static_cast<float>(h)))).bits, h.bits);
    }
    BFloat16 b = BFloat16::from_bits(static_cast<uint16_t>(i));
    if (std::isfinite(static_cast<float>(b))) {
      ASSERT_EQ(BFloat16(parse(float_text(kBFloat16, static_cast<float>(b)))).bits, b.bits);
    }
  }
}

TEST(RuntimeFormat, Arrays) {
  EXPECT_EQ(format_array(NDArray::scalar(3)), "3");
  EXPECT_EQ(format_array(NDArray::from<int32_t>({2, 2}, {1, -20, 3, 4})),
            "[[  1, -20],\n [  3,   4]]");
  EXPECT_EQ(format_array(NDArray::from<float>({4}, {1, 0.25f, NAN, -10})),
            "[  1.0 ,   0.25,    nan, -10.0 ]");
  EXPECT_EQ(format_array(NDArray::from<bool>({2}, {true, false})), "[ True, False]");
  EXPECT_EQ(format_array(NDArray::empty({0, 3}, kInt8)), "[] of shape (0, 3)");
  EXPECT_EQ(format_array(NDArray::from<int32_t>({2, 1, 1}, {1, 2})), "[[[1]],\n\n [[2]]]");
  NDArray t = NDArray::from<int32_t>({2, 2}, {1, 2, 3, 4}).transpose();
  EXPECT_EQ(format_array(t), "[[1, 3],\n [2, 4]]");
  FormatOptions options;
  options.threshold = 10;
  options.edge = 1;
  NDArray big = NDArray::zeros(Shape{5, 5}, kInt8);
  EXPECT_EQ(format_array(big, options), "[[0, ..., 0],\n ...,\n [0, ..., 0]]");
  options.threshold = 1000;
  options.line_width = 12;
  EXPECT_EQ(format_array(NDArray::zeros(Shape{7}, kInt8), options), "[0, 0, 0,\n 0, 0, 0,\n 0]");
  EXPECT_LT(format_array(NDArray::zeros(Shape{1000, 1000}, kFloat32)).size(), 400u);
}

TEST(RuntimeFormat, Values) {
  const auto* cons = ConstructorInfo::intern("Cons", "List", 0, 2);
  const auto* nil = ConstructorInfo::intern("Nil", "List", 1, 0);
  Value list = Value::data(cons, std::vector<Value>{Value::scalar(1.5f), Value::data(nil)});
  EXPECT_EQ(format_value(list), "Cons(1.5, Nil)");
  EXPECT_EQ(json(list), "{\"Cons\": [1.5, {\"Nil\": []}]}");
  Value tuple =
      Value::tuple(std::vector<Value>{Value::scalar(true), Value::scalar(int64_t{-3}),
                                      NDArray::from<float>({2, 2}, {1, NAN, INFINITY, -INFINITY}),
                                      Value::unit(), Value::reference(Value::scalar(2))});
  EXPECT_EQ(json(tuple), "[true, -3, [[1.0, \"nan\"], [\"inf\", \"-inf\"]], [], {\"ref\": 2}]");
  EXPECT_EQ(format_value(Value::tuple(std::vector<Value>{Value::scalar(false)})), "(False,)");
  EXPECT_EQ(format_value(Value::unit()), "()");
  EXPECT_EQ(json(NDArray::empty({2, 0}, kInt8)), "[[], []]");
  Value cell = Value::reference(Value());
  cell.set(Value::tuple(std::vector<Value>{cell, Value::scalar(uint8_t{255})}));
  EXPECT_EQ(json(cell), "{\"ref\": [{\"ref\": \"<cycle>\"}, 255]}");
  EXPECT_EQ(format_value(cell), "ref((<cycle>, 255))");
  cell.set(Value());
}

TEST(RuntimeFormat, DeepValues) {
  const auto* cons = ConstructorInfo::intern("Cons", "List", 0, 2);
  Value list = Value::data(ConstructorInfo::intern("Nil", "List", 1, 0));
  for (int i = 0; i < 300000; ++i) {
    list =
        Value::data(cons, std::vector<Value>{NDArray::from<int32_t>({2}, {i, i}), std::move(list)});
  }
  EXPECT_GT(json(list).size(), 300000u * 15);
  EXPECT_GT(format_value(list).size(), 300000u * 10);
}

TEST(RuntimeFormat, ExponentialTextHitsTheLimit) {
  set_memory_limit(memory_in_use() + (32 << 20));
  Value value = Value::scalar(1);
  for (int i = 0; i < 64; ++i) value = Value::tuple(std::vector<Value>{value, value});
  EXPECT_THROW(json(value), Error);
  EXPECT_THROW(format_value(value), Error);
  EXPECT_THROW(json(NDArray::zeros(Shape{1, 1}, kInt8).broadcast_to(Shape{1 << 20, 1 << 20})),
               Error);
  set_memory_limit(0);
}

TEST(RuntimeFormat, JsonStrings) {
  std::string out;
  append_json_string(out, "a\"\\\n\x01\x7f\xc3\xa9\xff\xed\xa0\x80z");
  EXPECT_EQ(
      out,
      "\"a\\\"\\\\\\n\\u0001\\u007f\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\"");
}

}  // namespace
}  // namespace relay::runtime_format_test
