// Element types and their storage in memory.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>

namespace relay {

/// Family of an element type; the numbers are DLPack's.
enum class DTypeCode : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBFloat = 4, kBool = 6 };

/// An element type: a family and a width in bits. Only the widths listed below exist. The default
/// is not a type (`valid()` is false).
struct DType {
  DTypeCode code = DTypeCode::kInt;
  uint8_t bits = 0;

  /// The type named `text` ("float32", "bool", "bfloat16", …), if there is one.
  static std::optional<DType> parse(std::string_view text);
  /// The name that `parse` takes; "void" for no type.
  std::string_view name() const;

  constexpr bool valid() const { return bits != 0; }
  /// Bytes of one element in memory.
  constexpr size_t size() const { return code == DTypeCode::kBool ? 1 : bits / 8u; }
  constexpr bool is_bool() const { return code == DTypeCode::kBool; }
  constexpr bool is_signed() const { return code == DTypeCode::kInt; }
  constexpr bool is_unsigned() const { return code == DTypeCode::kUInt; }
  /// Signed or unsigned, without bool.
  constexpr bool is_integer() const { return is_signed() || is_unsigned(); }
  /// Any floating-point type, bfloat16 among them.
  constexpr bool is_float() const {
    return code == DTypeCode::kFloat || code == DTypeCode::kBFloat;
  }
  /// A type with arithmetic: all but bool.
  constexpr bool is_numeric() const { return is_integer() || is_float(); }

  friend constexpr bool operator==(DType, DType) = default;
};

inline constexpr DType kBool{DTypeCode::kBool, 1};
inline constexpr DType kInt8{DTypeCode::kInt, 8};
inline constexpr DType kInt16{DTypeCode::kInt, 16};
inline constexpr DType kInt32{DTypeCode::kInt, 32};
inline constexpr DType kInt64{DTypeCode::kInt, 64};
inline constexpr DType kUInt8{DTypeCode::kUInt, 8};
inline constexpr DType kUInt16{DTypeCode::kUInt, 16};
inline constexpr DType kUInt32{DTypeCode::kUInt, 32};
inline constexpr DType kUInt64{DTypeCode::kUInt, 64};
inline constexpr DType kFloat16{DTypeCode::kFloat, 16};
inline constexpr DType kBFloat16{DTypeCode::kBFloat, 16};
inline constexpr DType kFloat32{DTypeCode::kFloat, 32};
inline constexpr DType kFloat64{DTypeCode::kFloat, 64};

inline constexpr DType kAllDTypes[] = {kBool,     kInt8,    kInt16,  kInt32,  kInt64,
                                       kUInt8,    kUInt16,  kUInt32, kUInt64, kFloat16,
                                       kBFloat16, kFloat32, kFloat64};

namespace detail {

/// A float that rounds to the same 16-bit value as `x` does (rounding to odd keeps the sticky bit).
constexpr float round_to_odd(double x) {
  float nearest = static_cast<float>(x);
  double back = nearest;
  if (back == x || x != x) return nearest;
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  bool magnitude_grew = (back < 0 ? -back : back) > (x < 0 ? -x : x);
  if (magnitude_grew) --bits;  // truncated towards zero
  return std::bit_cast<float>(bits | 1u);
}

constexpr uint16_t half_from_float(float value) {
  uint32_t x = std::bit_cast<uint32_t>(value);
  uint32_t sign = (x >> 16) & 0x8000u;
  x &= 0x7fffffffu;
  if (x > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | ((x >> 13) & 0x3ffu));
  if (x >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // rounds to infinity
  if (x < 0x38800000u) {  // subnormal or zero: align the significand, then round
    uint32_t exponent = x >> 23;
    if (exponent < 102) return static_cast<uint16_t>(sign);  // below half the smallest
    uint32_t significand = (x & 0x7fffffu) | 0x800000u;
    uint32_t shift = 126 - exponent;
    uint32_t kept = significand >> shift;
    uint32_t rest = significand & ((1u << shift) - 1);
    uint32_t half = 1u << (shift - 1);
    kept += (rest > half || (rest == half && (kept & 1u) != 0)) ? 1 : 0;
    return static_cast<uint16_t>(sign | kept);
  }
  uint32_t rounded = x - 0x38000000u;  // rebias
  rounded += 0xfffu + ((rounded >> 13) & 1u);
  return static_cast<uint16_t>(sign | (rounded >> 13));
}

constexpr float half_to_float(uint16_t half) {
  uint32_t sign = (half & 0x8000u) << 16;
  uint32_t exponent = (half >> 10) & 0x1fu;
  uint32_t significand = half & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (significand << 13));
  if (exponent != 0) {
    return std::bit_cast<float>(sign | (((half & 0x7fffu) << 13) + 0x38000000u));
  }
  float magnitude = static_cast<float>(significand) * 0x1p-24f;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
}

constexpr uint16_t bfloat_from_float(float value) {
  uint32_t x = std::bit_cast<uint32_t>(value);
  if ((x & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((x >> 16) | 0x40u);
  return static_cast<uint16_t>((x + 0x7fffu + ((x >> 16) & 1u)) >> 16);
}

}  // namespace detail

/// Storage of one bool element: a byte, 0 or 1.
struct Bool {
  uint8_t value;
  constexpr Bool() = default;
  constexpr explicit Bool(bool v) : value(v ? 1 : 0) {}
  constexpr operator bool() const { return value != 0; }  // NOLINT(google-explicit-constructor)
};

/// Storage of an IEEE binary16 number. Converts to float exactly, from others to nearest even.
struct Half {
  uint16_t bits;
  constexpr Half() = default;
  constexpr explicit Half(float v) : bits(detail::half_from_float(v)) {}
  constexpr explicit Half(double v) : Half(detail::round_to_odd(v)) {}
  static constexpr Half from_bits(uint16_t bits) {
    Half h;
    h.bits = bits;
    return h;
  }
  constexpr operator float() const {  // NOLINT(google-explicit-constructor)
    return detail::half_to_float(bits);
  }
};

/// Storage of a bfloat16 number: the upper half of a float32. Rounds to nearest even.
struct BFloat16 {
  uint16_t bits;
  constexpr BFloat16() = default;
  constexpr explicit BFloat16(float v) : bits(detail::bfloat_from_float(v)) {}
  constexpr explicit BFloat16(double v) : BFloat16(detail::round_to_odd(v)) {}
  static constexpr BFloat16 from_bits(uint16_t bits) {
    BFloat16 b;
    b.bits = bits;
    return b;
  }
  constexpr operator float() const {  // NOLINT(google-explicit-constructor)
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
};

static_assert(sizeof(Bool) == 1 && sizeof(Half) == 2 && sizeof(BFloat16) == 2);

/// The DType that stores elements as the C++ type `T`.
template <class T>
constexpr DType dtype_of() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, Bool> || std::is_same_v<U, bool>) {
    return kBool;
  } else if constexpr (std::is_same_v<U, Half>) {
    return kFloat16;
  } else if constexpr (std::is_same_v<U, BFloat16>) {
    return kBFloat16;
  } else if constexpr (std::is_floating_point_v<U>) {
    static_assert(sizeof(U) == 4 || sizeof(U) == 8);
    return {DTypeCode::kFloat, sizeof(U) * 8};
  } else {
    static_assert(std::is_integral_v<U>, "no element type");
    return {std::is_signed_v<U> ? DTypeCode::kInt : DTypeCode::kUInt, sizeof(U) * 8};
  }
}

/// The type of arithmetic on a stored `T`: bool for Bool, float for the 16-bit floats.
template <class T>
using ComputeType = std::conditional_t<
    std::is_same_v<T, Bool>, bool,
    std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>>;

[[noreturn]] void throw_bad_dtype(DType dtype);

/// Calls `f(std::type_identity<T>{})` with the storage type of `dtype`:
/// `dispatch(t, [&](auto tag) { using T = typename decltype(tag)::type; … })`.
template <class F>
decltype(auto) dispatch(DType dtype, F&& f) {
  switch (dtype.code) {
    case DTypeCode::kBool:
      if (dtype.bits == 1) return f(std::type_identity<Bool>{});
      break;
    case DTypeCode::kInt:
      switch (dtype.bits) {
        case 8:
          return f(std::type_identity<int8_t>{});
        case 16:
          return f(std::type_identity<int16_t>{});
        case 32:
          return f(std::type_identity<int32_t>{});
        case 64:
          return f(std::type_identity<int64_t>{});
      }
      break;
    case DTypeCode::kUInt:
      switch (dtype.bits) {
        case 8:
          return f(std::type_identity<uint8_t>{});
        case 16:
          return f(std::type_identity<uint16_t>{});
        case 32:
          return f(std::type_identity<uint32_t>{});
        case 64:
          return f(std::type_identity<uint64_t>{});
      }
      break;
    case DTypeCode::kFloat:
      switch (dtype.bits) {
        case 16:
          return f(std::type_identity<Half>{});
        case 32:
          return f(std::type_identity<float>{});
        case 64:
          return f(std::type_identity<double>{});
      }
      break;
    case DTypeCode::kBFloat:
      if (dtype.bits == 16) return f(std::type_identity<BFloat16>{});
      break;
  }
  throw_bad_dtype(dtype);
}

/// A number of any element type as the storage type `T`. Integers wrap around. A float outside the
/// range of an integer type saturates and not-a-number becomes 0: nothing is undefined.
template <class T, class From>
constexpr T convert_element(From value) {
  if constexpr (std::is_same_v<T, From>) {
    return value;
  } else if constexpr (std::is_same_v<T, Bool>) {
    return Bool(static_cast<ComputeType<From>>(value) != ComputeType<From>{});
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    if constexpr (std::is_integral_v<From> && sizeof(From) == 8) {
      // 64-bit integers beyond 2^53 would round twice, but those are far over float16's range and
      // for bfloat16 a sticky bit keeps the tie apart.
      constexpr From kExact = From{1} << 53;
      if (value > kExact || (std::is_signed_v<From> && value < -kExact))
        return T(static_cast<double>(
            static_cast<From>((value & ~From{0xfff}) | ((value & From{0xfff}) != 0 ? 0x800 : 0))));
      return T(static_cast<double>(value));
    } else {
      return T(static_cast<double>(static_cast<ComputeType<From>>(value)));
    }
  } else if constexpr (std::is_integral_v<T> && std::is_floating_point_v<ComputeType<From>>) {
    double v = static_cast<double>(static_cast<ComputeType<From>>(value));
    if (v != v) return T{0};
    // The end of the range is exact in a double, the largest T may not be.
    constexpr double kEnd = 2.0 * static_cast<double>(std::numeric_limits<T>::max() / 2 + 1);
    constexpr double kBegin = static_cast<double>(std::numeric_limits<T>::min());
    if (v >= kEnd) return std::numeric_limits<T>::max();
    if (v <= kBegin) return std::numeric_limits<T>::min();
    return static_cast<T>(v);
  } else {
    return static_cast<T>(static_cast<ComputeType<From>>(value));
  }
}

}  // namespace relay

template <>
struct std::hash<relay::DType> {
  size_t operator()(relay::DType t) const noexcept {
    return static_cast<size_t>(t.code) << 8 | t.bits;
  }
};
