#include <gtest/gtest.h>
#include <relay/runtime/dtype.h>
#include <relay/support/error.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace relay::runtime_dtype_test {
namespace {

// Reference conversions by arithmetic instead of bit manipulation.
double half_value(uint16_t bits) {
  int exponent = bits >> 10 & 0x1f;
  int significand = bits & 0x3ff;
  double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 31) {
    return significand != 0 ? std::numeric_limits<double>::quiet_NaN()
                            : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(significand, -24);
  return sign * std::ldexp(1024 + significand, exponent - 25);
}

// The 16-bit number nearest to x, ties to even, by looking at the two neighbours.
uint16_t nearest_half(double x) {
  uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  x = std::fabs(x);
  uint16_t low = 0, high = 0x7c00;  // low <= x < high as real numbers
  while (high - low > 1) {
    uint16_t middle = static_cast<uint16_t>((low + high) / 2);
    (half_value(middle) <= x ? low : high) = middle;
  }
  double above = high == 0x7c00 ? 65536.0 : half_value(high);
  double to_low = x - half_value(low), to_high = above - x;
  bool up = to_high < to_low || (to_high == to_low && (low & 1) != 0);
  return static_cast<uint16_t>(sign | (up ? high : low));
}

TEST(RuntimeDType, NamesParseBack) {
  for (DType t : kAllDTypes) {
    EXPECT_EQ(DType::parse(t.name()), t) << t.name();
    EXPECT_EQ(dispatch(t, [](auto tag) { return sizeof(typename decltype(tag)::type); }), t.size());
    EXPECT_EQ(dispatch(t, [](auto tag) { return dtype_of<typename decltype(tag)::type>(); }), t);
  }
  EXPECT_EQ(kBFloat16.name(), "bfloat16");
  EXPECT_EQ(kBool.name(), "bool");
  EXPECT_EQ(DType().name(), "void");
  for (const char* bad : {"", "void", "float", "int", "float32 ", "Float32", "int128", "float3"})
    EXPECT_FALSE(DType::parse(bad)) << bad;
  EXPECT_THROW(dispatch(DType{DTypeCode::kInt, 24}, [](auto) { return 0; }), InternalError);
}

TEST(RuntimeDType, Predicates) {
  EXPECT_TRUE(kBFloat16.is_float());
  EXPECT_TRUE(kUInt8.is_integer());
  EXPECT_FALSE(kBool.is_integer());
  EXPECT_FALSE(kBool.is_numeric());
  EXPECT_EQ(kBool.size(), 1u);
  EXPECT_EQ(kFloat16.size(), 2u);
}

TEST(RuntimeDType, EveryHalfToFloatAndBack) {
  for (uint32_t i = 0; i < 65536; ++i) {
    Half h = Half::from_bits(static_cast<uint16_t>(i));
    double expected = half_value(h.bits);
    float got = h;
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(got)) << i;
      ASSERT_TRUE(std::isnan(static_cast<float>(Half(got)))) << i;
      continue;
    }
    ASSERT_EQ(static_cast<double>(got), expected) << i;
    ASSERT_EQ(std::signbit(got), (i & 0x8000) != 0) << i;
    ASSERT_EQ(Half(got).bits, h.bits) << i;
  }
}

TEST(RuntimeDType, EveryBFloat16ToFloatAndBack) {
  for (uint32_t i = 0; i < 65536; ++i) {
    BFloat16 b = BFloat16::from_bits(static_cast<uint16_t>(i));
    float got = b;
    ASSERT_EQ(std::bit_cast<uint32_t>(got), i << 16);
    if (std::isnan(got)) {
      ASSERT_TRUE(std::isnan(static_cast<float>(BFloat16(got)))) << i;
    } else {
      ASSERT_EQ(BFloat16(got).bits, b.bits) << i;
    }
  }
}

TEST(RuntimeDType, HalfRoundsToNearestEvenAroundEveryValue) {
  for (uint32_t i = 0; i < 0x7c00; ++i) {
    double low = half_value(static_cast<uint16_t>(i));
    double high = i + 1 == 0x7c00 ? 65536.0 : half_value(static_cast<uint16_t>(i + 1));
    double middle = (low + high) / 2;
    for (double x : {middle, std::nextafter(middle, 0.0), std::nextafter(middle, 1e9),
                     static_cast<double>(std::nextafterf(static_cast<float>(middle), 0.0f)),
                     static_cast<double>(std::nextafterf(static_cast<float>(middle), 1e9f))}) {
      ASSERT_EQ(Half(x).bits, nearest_half(x)) << x;
      ASSERT_EQ(Half(-x).bits, nearest_half(-x)) << x;
      float f = static_cast<float>(x);
      ASSERT_EQ(Half(f).bits, nearest_half(f)) << f;
    }
  }
  EXPECT_EQ(Half(1e300).bits, 0x7c00);
  EXPECT_EQ(Half(-std::numeric_limits<float>::infinity()).bits, 0xfc00);
  EXPECT_EQ(Half(1e-300).bits, 0);
}

TEST(RuntimeDType, BFloat16RoundsToNearestEven) {
  std::mt19937 random(7);
  for (int i = 0; i < 200000; ++i) {
    uint32_t bits = random() & 0x7fffffff;
    if (i % 2 == 0) bits = (bits & 0xffff0000) | 0x8000;  // ties
    float x = std::bit_cast<float>(bits);
    if (!std::isfinite(x)) continue;
    uint32_t low = bits >> 16;
    double a = std::bit_cast<float>(low << 16);
    double b = low + 1 == 0x7f80 ? std::ldexp(1.0, 128) : std::bit_cast<float>((low + 1) << 16);
    double to_a = x - a, to_b = b - x;
    uint32_t expected = to_b < to_a || (to_b == to_a && (low & 1) != 0) ? low + 1 : low;
    ASSERT_EQ(BFloat16(x).bits, expected) << bits;
    ASSERT_EQ(BFloat16(-x).bits, expected | 0x8000) << bits;
  }
  // A double just above a tie must not be rounded to the tie first.
  EXPECT_EQ(BFloat16(1.0 + 0x1p-8 + 0x1p-40).bits, BFloat16(1.0 + 0x1p-7).bits);
  EXPECT_EQ(Half(1.0 + 0x1p-11 + 0x1p-40).bits, Half(1.0 + 0x1p-10).bits);
}

TEST(RuntimeDType, ConversionsSaturate) {
  EXPECT_EQ(convert_element<int8_t>(1000.0), 127);
  EXPECT_EQ(convert_element<int8_t>(-1000.0), -128);
  EXPECT_EQ(convert_element<uint8_t>(-0.5), 0);
  EXPECT_EQ(convert_element<uint8_t>(255.9), 255);
  EXPECT_EQ(convert_element<int64_t>(1e30), INT64_MAX);
  EXPECT_EQ(convert_element<int64_t>(-0x1p63), INT64_MIN);
  EXPECT_EQ(convert_element<uint64_t>(1e30), UINT64_MAX);
  EXPECT_EQ(convert_element<uint64_t>(0x1p63), uint64_t{1} << 63);
  EXPECT_EQ(convert_element<int32_t>(std::numeric_limits<double>::quiet_NaN()), 0);
  EXPECT_EQ(convert_element<int32_t>(-1.9), -1);
  EXPECT_EQ(convert_element<int32_t>(Half(3.5f)), 3);
  EXPECT_EQ(convert_element<Bool>(0.25f).value, 1);
  EXPECT_EQ(convert_element<float>(Bool(true)), 1.0f);
  EXPECT_EQ(convert_element<Half>(int64_t{2049}).bits, Half(2048.0f).bits);
  EXPECT_EQ(convert_element<Half>(INT64_MIN).bits, 0xfc00);
  // 2^62 + 2^54 is a tie of bfloat16; one more decides.
  int64_t tie = (int64_t{1} << 62) + (int64_t{1} << 54);
  EXPECT_EQ(convert_element<BFloat16>(tie).bits, BFloat16(0x1p62).bits);
  EXPECT_EQ(convert_element<BFloat16>(tie + 1).bits, BFloat16(0x1p62).bits + 1);
  EXPECT_EQ(convert_element<BFloat16>(-tie - 1).bits, BFloat16(-0x1p62).bits + 1);
}

}  // namespace
}  // namespace relay::runtime_dtype_test
