// Arithmetic on single values: what the number operations of tensor expressions and of bytecode
// mean, to the bit. The direct evaluator runs it over rows, the machine on numbers in registers.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include <relay/runtime/dtype.h>

namespace relay {

enum class UnaryOp : uint8_t {
  kNeg,
  kNot /* bool */,
  kBitNot,
  kAbs,
  kSign,
  kExp,
  kLog,
  kLog2,
  kLog10,
  kSqrt,
  kRsqrt,
  kErf,
  kSigmoid,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kTanh,
  kAsinh,
  kAcosh,
  kAtanh,
  kFloor,
  kCeil,
  kRound /* halves away from zero */,
  kTrunc,
  kIsNan,
  kIsInf,
  kIsFinite  // bool results
};
inline constexpr uint8_t kNumUnaryOps = static_cast<uint8_t>(UnaryOp::kIsFinite) + 1;

/// Arithmetic on integers wraps. Comparisons give bool. kMin and kMax give NaN if either is NaN.
enum class BinaryOp : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,  // floats; integers truncate toward zero and must not divide by zero (guard with fail())
  kMod,  // sign of the dividend, floats too (fmod)
  kFloorDiv,
  kFloorMod,
  kPow,
  kMin,
  kMax,
  kAtan2,
  kAnd,
  kOr,
  kXor,  // bool: logic; integers: bits
  kShl,
  kShr,  // arithmetic for signed; a count outside 0…bits-1 gives 0 (or the sign)
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe
};
inline constexpr uint8_t kNumBinaryOps = static_cast<uint8_t>(BinaryOp::kGe) + 1;

namespace arithmetic {

/// What arithmetic on a stored `T` is done in: truth values are bytes 0 or 1, 16-bit floats are
/// float.
template <class T>
using LaneType = std::conditional_t<std::is_same_v<T, Bool>, uint8_t, ComputeType<T>>;

namespace detail {

/// A function of the mathematics library: float32 is rounded from float64.
template <class T, class F>
auto real(F) {
  return [](T x) { return static_cast<T>(F{}(static_cast<double>(x))); };
}

/// Quotient and remainder that round down together: q * b + r = a up to rounding.
template <class T>
T floor_mod_float(T a, T b) {
  T r = std::fmod(a, b);
  if (r != 0 && ((r < 0) != (b < 0))) r += b;
  return r;
}
template <class T>
T floor_div_float(T a, T b) {
  if (b == 0 || !std::isfinite(a) || !std::isfinite(b)) return std::floor(a / b);
  T quotient = (a - floor_mod_float(a, b)) / b;
  T floored = std::floor(quotient);
  return quotient - floored > T(0.5) ? floored + 1 : floored;
}

template <class T>
T wrapping_pow(T base, T exponent) {
  if (exponent < 0) {  // the truncated quotient 1 / base^-exponent; of 0, 0
    if (base == 1) return 1;
    if (std::is_signed_v<T> && base == T(-1)) return (exponent & 1) != 0 ? T(-1) : T(1);
    return 0;
  }
  auto left = static_cast<uint64_t>(exponent);
  auto square = static_cast<uint64_t>(base);
  uint64_t result = 1;
  for (; left != 0; left >>= 1) {
    if ((left & 1) != 0) result *= square;
    square *= square;
  }
  return static_cast<T>(result);
}

/// The least number divided by -1 wraps; the machine's instruction would trap.
template <class T>
bool wraps(T, T b) {
  return std::is_signed_v<T> && b == T(-1);
}
template <class T>
T negated(T a) {
  using U = std::make_unsigned_t<T>;
  return T(U(U(0) - U(a)));
}

template <class Fn, class T, class Use>
Fn float_unary(UnaryOp op, Use use) {
  switch (op) {
    case UnaryOp::kNeg:
      return use(std::false_type{}, [](T x) { return -x; });
    case UnaryOp::kAbs:
      return use(std::false_type{}, [](T x) { return std::abs(x); });
    case UnaryOp::kSign:
      return use(std::false_type{}, [](T x) { return T((x > 0) - (x < 0)); });
    case UnaryOp::kExp:
      return use(std::false_type{}, detail::real<T>([](double x) { return std::exp(x); }));
    case UnaryOp::kLog:
      return use(std::false_type{}, detail::real<T>([](double x) { return std::log(x); }));
    case UnaryOp::kLog2:
      return use(std::false_type{}, detail::real<T>([](double x) { return std::log2(x); }));
    case UnaryOp::kLog10:
      return use(std::false_type{}, detail::real<T>([](double x) { return std::log10(x); }));
    case UnaryOp::kSqrt:
      return use(std::false_type{}, [](T x) { return std::sqrt(x); });
    case UnaryOp::kRsqrt:
      return use(std::false_type{}, detail::real<T>([](double x) { return 1.0 / std::sqrt(x); }));
    case UnaryOp::kErf:
      return use(std::false_type{}, detail::real<T>([](double x) { return std::erf(x); }));
    case UnaryOp::kSigmoid:
      return use(std::false_type{},
                 detail::real<T>([](double x) { return 1.0 / (1.0 + std::exp(-x)); }));
    case UnaryOp::kSin:
      return use(std::false_type{}, detail::real<T>([](double x) { return std::sin(x); }));
    case UnaryOp::kCos:
      return use(std::false_type{}, detail::real<T>([](double x) { return std::cos(x); }));
    case UnaryOp::kTan:
      return use(std::false_type{}, detail::real<T>([](double x) { return std::tan(x); }));
    case UnaryOp::kAsin:
      return use(std::false_type{}, detail::real<T>([](double x) { return std::asin(x); }));
    case UnaryOp::kAcos:
      return use(std::false_type{}, detail::real<T>([](double x) { return std::acos(x); }));
    case UnaryOp::kAtan:
      return use(std::false_type{}, detail::real<T>([](double x) { return std::atan(x); }));
    case UnaryOp::kSinh:
      return use(std::false_type{}, detail::real<T>([](double x) { return std::sinh(x); }));
    case UnaryOp::kCosh:
      return use(std::false_type{}, detail::real<T>([](double x) { return std::cosh(x); }));
    case UnaryOp::kTanh:
      return use(std::false_type{}, detail::real<T>([](double x) { return std::tanh(x); }));
    case UnaryOp::kAsinh:
      return use(std::false_type{}, detail::real<T>([](double x) { return std::asinh(x); }));
    case UnaryOp::kAcosh:
      return use(std::false_type{}, detail::real<T>([](double x) { return std::acosh(x); }));
    case UnaryOp::kAtanh:
      return use(std::false_type{}, detail::real<T>([](double x) { return std::atanh(x); }));
    case UnaryOp::kFloor:
      return use(std::false_type{}, [](T x) { return std::floor(x); });
    case UnaryOp::kCeil:
      return use(std::false_type{}, [](T x) { return std::ceil(x); });
    case UnaryOp::kRound:
      return use(std::false_type{}, [](T x) { return std::round(x); });
    case UnaryOp::kTrunc:
      return use(std::false_type{}, [](T x) { return std::trunc(x); });
    case UnaryOp::kIsNan:
      return use(std::true_type{}, [](T x) { return x != x; });
    case UnaryOp::kIsInf:
      return use(std::true_type{}, [](T x) { return std::isinf(x); });
    case UnaryOp::kIsFinite:
      return use(std::true_type{}, [](T x) { return std::isfinite(x); });
    case UnaryOp::kNot:
    case UnaryOp::kBitNot:
      break;
  }
  return nullptr;
}

template <class Fn, class T, class Use>
Fn integer_unary(UnaryOp op, Use use) {
  using U = std::make_unsigned_t<T>;
  switch (op) {
    case UnaryOp::kNeg:
      return use(std::false_type{}, [](T x) { return T(U(U(0) - U(x))); });
    case UnaryOp::kAbs:
      return use(std::false_type{}, [](T x) { return x < 0 ? T(U(U(0) - U(x))) : x; });
    case UnaryOp::kSign:
      return use(std::false_type{}, [](T x) { return T((x > 0) - (x < 0)); });
    case UnaryOp::kBitNot:
      return use(std::false_type{}, [](T x) { return T(~x); });
    default:
      return nullptr;
  }
}

template <class Fn, class T, class Use>
Fn compare(BinaryOp op, Use use) {
  switch (op) {
    case BinaryOp::kEq:
      return use(std::true_type{}, [](T a, T b) { return a == b; });
    case BinaryOp::kNe:
      return use(std::true_type{}, [](T a, T b) { return a != b; });
    case BinaryOp::kLt:
      return use(std::true_type{}, [](T a, T b) { return a < b; });
    case BinaryOp::kLe:
      return use(std::true_type{}, [](T a, T b) { return a <= b; });
    case BinaryOp::kGt:
      return use(std::true_type{}, [](T a, T b) { return a > b; });
    case BinaryOp::kGe:
      return use(std::true_type{}, [](T a, T b) { return a >= b; });
    default:
      return nullptr;
  }
}

template <class Fn, class T, class Use>
Fn float_binary(BinaryOp op, Use use) {
  switch (op) {
    case BinaryOp::kAdd:
      return use(std::false_type{}, [](T a, T b) { return a + b; });
    case BinaryOp::kSub:
      return use(std::false_type{}, [](T a, T b) { return a - b; });
    case BinaryOp::kMul:
      return use(std::false_type{}, [](T a, T b) { return a * b; });
    case BinaryOp::kDiv:
      return use(std::false_type{}, [](T a, T b) { return a / b; });
    case BinaryOp::kMod:
      return use(std::false_type{}, [](T a, T b) { return std::fmod(a, b); });
    case BinaryOp::kFloorDiv:
      return use(std::false_type{}, [](T a, T b) { return floor_div_float(a, b); });
    case BinaryOp::kFloorMod:
      return use(std::false_type{}, [](T a, T b) { return floor_mod_float(a, b); });
    case BinaryOp::kPow:
      return use(std::false_type{}, [](T a, T b) {
        return static_cast<T>(std::pow(static_cast<double>(a), static_cast<double>(b)));
      });
    // Not-a-number on either side is the result.
    case BinaryOp::kMin:
      return use(std::false_type{}, [](T a, T b) { return a < b || a != a ? a : b; });
    case BinaryOp::kMax:
      return use(std::false_type{}, [](T a, T b) { return a > b || a != a ? a : b; });
    case BinaryOp::kAtan2:
      return use(std::false_type{}, [](T a, T b) {
        return static_cast<T>(std::atan2(static_cast<double>(a), static_cast<double>(b)));
      });
    default:
      return nullptr;
  }
}

template <class Fn, class T, class Use>
Fn integer_binary(BinaryOp op, Use use) {
  // At least 32 bits wide and unsigned, so that nothing overflows in the sense of C++.
  using W = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;
  constexpr T kBits = sizeof(T) * 8;
  switch (op) {
    case BinaryOp::kAdd:
      return use(std::false_type{}, [](T a, T b) { return T(W(a) + W(b)); });
    case BinaryOp::kSub:
      return use(std::false_type{}, [](T a, T b) { return T(W(a) - W(b)); });
    case BinaryOp::kMul:
      return use(std::false_type{}, [](T a, T b) { return T(W(a) * W(b)); });
    case BinaryOp::kPow:
      return use(std::false_type{}, [](T a, T b) { return wrapping_pow(a, b); });
    case BinaryOp::kMin:
      return use(std::false_type{}, [](T a, T b) { return a < b ? a : b; });
    case BinaryOp::kMax:
      return use(std::false_type{}, [](T a, T b) { return a > b ? a : b; });
    case BinaryOp::kAnd:
      return use(std::false_type{}, [](T a, T b) { return T(a & b); });
    case BinaryOp::kOr:
      return use(std::false_type{}, [](T a, T b) { return T(a | b); });
    case BinaryOp::kXor:
      return use(std::false_type{}, [](T a, T b) { return T(a ^ b); });
    case BinaryOp::kShl:
      return use(std::false_type{},
                 [](T a, T b) { return b >= 0 && b < kBits ? T(W(a) << b) : T(0); });
    case BinaryOp::kShr:
      return use(std::false_type{}, [](T a, T b) {
        return b >= 0 && b < kBits ? T(a >> b) : T(std::is_signed_v<T> && a < 0 ? -1 : 0);
      });
    default:
      return nullptr;
  }
}

/// float → integer as x86 does it: out of range gives the least int32 or int64, narrower ones take
/// the low bits.
template <class T>
T integer_from(double x) {
  if constexpr (std::is_same_v<T, uint64_t>) {
    if (x >= 9223372036854775808.0 && x < 18446744073709551616.0) {
      return static_cast<uint64_t>(x - 9223372036854775808.0) + (uint64_t{1} << 63);
    }
    return static_cast<uint64_t>(integer_from<int64_t>(x));
  } else if constexpr (std::is_same_v<T, int64_t>) {
    bool inside = x >= -9223372036854775808.0 && x < 9223372036854775808.0;
    return inside ? static_cast<int64_t>(x) : INT64_MIN;
  } else if constexpr (std::is_same_v<T, uint32_t>) {
    return static_cast<uint32_t>(integer_from<int64_t>(x));
  } else {
    bool inside = x > -2147483649.0 && x < 2147483648.0;
    return static_cast<T>(inside ? static_cast<int32_t>(x) : INT32_MIN);
  }
}

}  // namespace detail

// Each calls `use(asks, f)` with the function object of an operation on lanes of type `T` and
// returns its result, an `Fn`; null if there is no such operation. `f` captures nothing, so it can
// be made anew from its type. `asks` is std::true_type where the result is a truth value.

template <class Fn, class T, class Use>
Fn with_unary(UnaryOp op, Use use) {
  if constexpr (std::is_floating_point_v<T>) {
    return detail::float_unary<Fn, T>(op, use);
  } else {
    return detail::integer_unary<Fn, T>(op, use);
  }
}

/// But integer division, which may fail.
template <class Fn, class T, class Use>
Fn with_binary(BinaryOp op, Use use) {
  if (op >= BinaryOp::kEq) return detail::compare<Fn, T>(op, use);
  if constexpr (std::is_floating_point_v<T>) {
    return detail::float_binary<Fn, T>(op, use);
  } else {
    return detail::integer_binary<Fn, T>(op, use);
  }
}

/// Division, remainder and their floored kin on integers; the divisor is not 0.
template <class Fn, class T, class Use>
Fn with_division(BinaryOp op, Use use) {
  switch (op) {
    case BinaryOp::kDiv:
      return use(std::false_type{},
                 [](T a, T b) { return detail::wraps(a, b) ? detail::negated(a) : T(a / b); });
    case BinaryOp::kMod:
      return use(std::false_type{}, [](T a, T b) { return detail::wraps(a, b) ? T(0) : T(a % b); });
    case BinaryOp::kFloorDiv:
      return use(std::false_type{}, [](T a, T b) {
        if (detail::wraps(a, b)) return detail::negated(a);
        T q = T(a / b);
        return T(a % b != 0 && ((a < 0) != (b < 0)) ? q - 1 : q);
      });
    case BinaryOp::kFloorMod:
      return use(std::false_type{}, [](T a, T b) {
        if (detail::wraps(a, b)) return T(0);
        T r = T(a % b);
        return T(r != 0 && ((r < 0) != (b < 0)) ? r + b : r);
      });
    default:
      return nullptr;
  }
}

/// On truth values.
template <class Fn, class Use>
Fn with_bool_binary(BinaryOp op, Use use) {
  switch (op) {
    case BinaryOp::kAnd:
    case BinaryOp::kMin:
      return use(std::true_type{}, [](uint8_t a, uint8_t b) { return a & b; });
    case BinaryOp::kOr:
    case BinaryOp::kMax:
      return use(std::true_type{}, [](uint8_t a, uint8_t b) { return a | b; });
    case BinaryOp::kXor:
      return use(std::true_type{}, [](uint8_t a, uint8_t b) { return a ^ b; });
    default:
      return detail::compare<Fn, uint8_t>(op, use);
  }
}

/// A value of stored type `From` as one of `To`.
template <class To, class From>
LaneType<To> cast_lane(LaneType<From> x) {
  using FromLane = LaneType<From>;
  if constexpr (std::is_same_v<To, Bool>) {
    return x != FromLane{};
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<FromLane>) {
    return detail::integer_from<To>(static_cast<double>(x));
  } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
    if constexpr (std::is_same_v<From, Bool>) {
      return static_cast<float>(x);
    } else {
      return static_cast<float>(convert_element<To>(x));
    }
  } else {
    return static_cast<LaneType<To>>(x);
  }
}

}  // namespace arithmetic

}  // namespace relay
