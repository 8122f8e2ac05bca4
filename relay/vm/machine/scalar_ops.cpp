// The same arithmetic as the rows of the direct evaluator (tensor_expr/rows_*.cpp); a test compares
// them on every type.
#include <relay/vm/machine/scalar_ops.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace relay::vm {

namespace {

/// What arithmetic on a stored `T` is done in: truth values are bytes, 16-bit floats are float.
template <class T>
using Lane = std::conditional_t<std::is_same_v<T, Bool>, uint8_t, ComputeType<T>>;

template <class T>
Lane<T> load(uint64_t bits) {
  T stored;
  std::memcpy(&stored, &bits, sizeof stored);
  if constexpr (std::is_same_v<T, Bool>) {
    return stored.value;
  } else {
    return static_cast<Lane<T>>(stored);
  }
}

template <class T>
void store(uint64_t* out, Lane<T> value) {
  *out = 0;
  if constexpr (std::is_same_v<T, Bool>) {
    *out = value;
  } else {
    T stored = static_cast<T>(value);
    std::memcpy(out, &stored, sizeof stored);
  }
}

// ---- Unary --------------------------------------------------------------------------------------

template <class T, class R, class F>
ScalarFn make_unary(F) {
  return [](uint64_t* out, uint64_t a, uint64_t) {
    store<R>(out, static_cast<Lane<R>>(F{}(load<T>(a))));
    return true;
  };
}

// Functions of the mathematics library: float32 is rounded from float64.
template <class T, class F>
ScalarFn real(F) {
  return [](uint64_t* out, uint64_t a, uint64_t) {
    store<T>(out, static_cast<Lane<T>>(F{}(static_cast<double>(load<T>(a)))));
    return true;
  };
}

template <class T>
ScalarFn float_unary(Unary op) {
  using L = Lane<T>;
  switch (op) {
    case Unary::kNeg:
      return make_unary<T, T>([](L x) { return -x; });
    case Unary::kAbs:
      return make_unary<T, T>([](L x) { return std::abs(x); });
    case Unary::kSign:
      return make_unary<T, T>([](L x) { return L((x > 0) - (x < 0)); });
    case Unary::kExp:
      return real<T>([](double x) { return std::exp(x); });
    case Unary::kLog:
      return real<T>([](double x) { return std::log(x); });
    case Unary::kLog2:
      return real<T>([](double x) { return std::log2(x); });
    case Unary::kLog10:
      return real<T>([](double x) { return std::log10(x); });
    case Unary::kSqrt:
      return make_unary<T, T>([](L x) { return std::sqrt(x); });
    case Unary::kRsqrt:
      return real<T>([](double x) { return 1.0 / std::sqrt(x); });
    case Unary::kErf:
      return real<T>([](double x) { return std::erf(x); });
    case Unary::kSigmoid:
      return real<T>([](double x) { return 1.0 / (1.0 + std::exp(-x)); });
    case Unary::kSin:
      return real<T>([](double x) { return std::sin(x); });
    case Unary::kCos:
      return real<T>([](double x) { return std::cos(x); });
    case Unary::kTan:
      return real<T>([](double x) { return std::tan(x); });
    case Unary::kAsin:
      return real<T>([](double x) { return std::asin(x); });
    case Unary::kAcos:
      return real<T>([](double x) { return std::acos(x); });
    case Unary::kAtan:
      return real<T>([](double x) { return std::atan(x); });
    case Unary::kSinh:
      return real<T>([](double x) { return std::sinh(x); });
    case Unary::kCosh:
      return real<T>([](double x) { return std::cosh(x); });
    case Unary::kTanh:
      return real<T>([](double x) { return std::tanh(x); });
    case Unary::kAsinh:
      return real<T>([](double x) { return std::asinh(x); });
    case Unary::kAcosh:
      return real<T>([](double x) { return std::acosh(x); });
    case Unary::kAtanh:
      return real<T>([](double x) { return std::atanh(x); });
    case Unary::kFloor:
      return make_unary<T, T>([](L x) { return std::floor(x); });
    case Unary::kCeil:
      return make_unary<T, T>([](L x) { return std::ceil(x); });
    case Unary::kRound:
      return make_unary<T, T>([](L x) { return std::round(x); });
    case Unary::kTrunc:
      return make_unary<T, T>([](L x) { return std::trunc(x); });
    case Unary::kIsNan:
      return make_unary<T, Bool>([](L x) { return x != x; });
    case Unary::kIsInf:
      return make_unary<T, Bool>([](L x) { return std::isinf(x); });
    case Unary::kIsFinite:
      return make_unary<T, Bool>([](L x) { return std::isfinite(x); });
    default:
      return nullptr;
  }
}

template <class T>
ScalarFn integer_unary(Unary op) {
  using U = std::make_unsigned_t<T>;
  switch (op) {
    case Unary::kNeg:
      return make_unary<T, T>([](T x) { return T(U(U(0) - U(x))); });
    case Unary::kAbs:
      return make_unary<T, T>([](T x) { return x < 0 ? T(U(U(0) - U(x))) : x; });
    case Unary::kSign:
      return make_unary<T, T>([](T x) { return T((x > 0) - (x < 0)); });
    case Unary::kBitNot:
      return make_unary<T, T>([](T x) { return T(~x); });
    default:
      return nullptr;
  }
}

// ---- Binary -------------------------------------------------------------------------------------

template <class T, class R, class F>
ScalarFn make_binary(F) {
  return [](uint64_t* out, uint64_t a, uint64_t b) {
    store<R>(out, static_cast<Lane<R>>(F{}(load<T>(a), load<T>(b))));
    return true;
  };
}

template <class T, class F>
ScalarFn same(F f) {
  return make_binary<T, T>(f);
}

template <class T>
ScalarFn compare(Binary op) {
  using L = Lane<T>;
  switch (op) {
    case Binary::kEq:
      return make_binary<T, Bool>([](L a, L b) { return a == b; });
    case Binary::kNe:
      return make_binary<T, Bool>([](L a, L b) { return a != b; });
    case Binary::kLt:
      return make_binary<T, Bool>([](L a, L b) { return a < b; });
    case Binary::kLe:
      return make_binary<T, Bool>([](L a, L b) { return a <= b; });
    case Binary::kGt:
      return make_binary<T, Bool>([](L a, L b) { return a > b; });
    case Binary::kGe:
      return make_binary<T, Bool>([](L a, L b) { return a >= b; });
    default:
      return nullptr;
  }
}

// Quotient and remainder that round down together.
template <class L>
L floor_mod_float(L a, L b) {
  L r = std::fmod(a, b);
  if (r != 0 && ((r < 0) != (b < 0))) r += b;
  return r;
}
template <class L>
L floor_div_float(L a, L b) {
  if (b == 0 || !std::isfinite(a) || !std::isfinite(b)) return std::floor(a / b);
  L quotient = (a - floor_mod_float(a, b)) / b;
  L floored = std::floor(quotient);
  return quotient - floored > L(0.5) ? floored + 1 : floored;
}

template <class T>
ScalarFn float_binary(Binary op) {
  using L = Lane<T>;
  switch (op) {
    case Binary::kAdd:
      return same<T>([](L a, L b) { return a + b; });
    case Binary::kSub:
      return same<T>([](L a, L b) { return a - b; });
    case Binary::kMul:
      return same<T>([](L a, L b) { return a * b; });
    case Binary::kDiv:
      return same<T>([](L a, L b) { return a / b; });
    case Binary::kMod:
      return same<T>([](L a, L b) { return std::fmod(a, b); });
    case Binary::kFloorDiv:
      return same<T>([](L a, L b) { return floor_div_float(a, b); });
    case Binary::kFloorMod:
      return same<T>([](L a, L b) { return floor_mod_float(a, b); });
    case Binary::kPow:
      return same<T>([](L a, L b) {
        return static_cast<L>(std::pow(static_cast<double>(a), static_cast<double>(b)));
      });
    // Not-a-number on either side is the result.
    case Binary::kMin:
      return same<T>([](L a, L b) { return a < b || a != a ? a : b; });
    case Binary::kMax:
      return same<T>([](L a, L b) { return a > b || a != a ? a : b; });
    case Binary::kAtan2:
      return same<T>([](L a, L b) {
        return static_cast<L>(std::atan2(static_cast<double>(a), static_cast<double>(b)));
      });
    default:
      return nullptr;
  }
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

template <class T, class F>
ScalarFn divide(F) {
  return [](uint64_t* out, uint64_t a, uint64_t b) {
    T x = load<T>(a), y = load<T>(b);
    if (y == 0) return false;
    store<T>(out, F{}(x, y));
    return true;
  };
}

// The least number divided by -1 wraps; the processor's instruction would trap.
template <class T>
bool wraps(T b) {
  return std::is_signed_v<T> && b == T(-1);
}
template <class T>
T negated(T a) {
  using U = std::make_unsigned_t<T>;
  return T(U(U(0) - U(a)));
}

template <class T>
ScalarFn integer_binary(Binary op) {
  // At least 32 bits wide and unsigned, so that nothing overflows in the sense of C++.
  using W = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;
  constexpr T kBits = sizeof(T) * 8;
  switch (op) {
    case Binary::kAdd:
      return same<T>([](T a, T b) { return T(W(a) + W(b)); });
    case Binary::kSub:
      return same<T>([](T a, T b) { return T(W(a) - W(b)); });
    case Binary::kMul:
      return same<T>([](T a, T b) { return T(W(a) * W(b)); });
    case Binary::kDiv:
      return divide<T>([](T a, T b) { return wraps(b) ? negated(a) : T(a / b); });
    case Binary::kMod:
      return divide<T>([](T a, T b) { return wraps(b) ? T(0) : T(a % b); });
    case Binary::kFloorDiv:
      return divide<T>([](T a, T b) {
        if (wraps(b)) return negated(a);
        T q = T(a / b);
        return T(a % b != 0 && ((a < 0) != (b < 0)) ? q - 1 : q);
      });
    case Binary::kFloorMod:
      return divide<T>([](T a, T b) {
        if (wraps(b)) return T(0);
        T r = T(a % b);
        return T(r != 0 && ((r < 0) != (b < 0)) ? r + b : r);
      });
    case Binary::kPow:
      return same<T>([](T a, T b) { return wrapping_pow(a, b); });
    case Binary::kMin:
      return same<T>([](T a, T b) { return a < b ? a : b; });
    case Binary::kMax:
      return same<T>([](T a, T b) { return a > b ? a : b; });
    case Binary::kAnd:
      return same<T>([](T a, T b) { return T(a & b); });
    case Binary::kOr:
      return same<T>([](T a, T b) { return T(a | b); });
    case Binary::kXor:
      return same<T>([](T a, T b) { return T(a ^ b); });
    case Binary::kShl:
      return same<T>([](T a, T b) { return b >= 0 && b < kBits ? T(W(a) << b) : T(0); });
    case Binary::kShr:
      return same<T>([](T a, T b) {
        return b >= 0 && b < kBits ? T(a >> b) : T(std::is_signed_v<T> && a < 0 ? -1 : 0);
      });
    default:
      return nullptr;
  }
}

ScalarFn bool_binary(Binary op) {
  switch (op) {
    case Binary::kAnd:
    case Binary::kMin:
      return same<Bool>([](uint8_t a, uint8_t b) { return a & b; });
    case Binary::kOr:
    case Binary::kMax:
      return same<Bool>([](uint8_t a, uint8_t b) { return a | b; });
    case Binary::kXor:
      return same<Bool>([](uint8_t a, uint8_t b) { return a ^ b; });
    default:
      return compare<Bool>(op);
  }
}

// ---- Conversions --------------------------------------------------------------------------------

// float → integer as x86 does it: out of range gives the least int32 or int64, narrower ones take
// the low bits.
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

template <class To, class From>
Lane<To> cast_lane(Lane<From> x) {
  if constexpr (std::is_same_v<To, Bool>) {
    return x != Lane<From>{};
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<Lane<From>>) {
    return integer_from<To>(static_cast<double>(x));
  } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
    if constexpr (std::is_same_v<From, Bool>) {
      return static_cast<float>(x);
    } else {
      return static_cast<float>(convert_element<To>(x));
    }
  } else {
    return static_cast<Lane<To>>(x);
  }
}

}  // namespace

ScalarFn unary_scalar(Unary op, DType dtype) {
  return dispatch(dtype, [&](auto tag) -> ScalarFn {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, Bool>) {
      if (op != Unary::kNot) return nullptr;
      return make_unary<Bool, Bool>([](uint8_t x) { return x ^ 1; });
    } else if constexpr (std::is_floating_point_v<Lane<T>>) {
      return float_unary<T>(op);
    } else {
      return integer_unary<T>(op);
    }
  });
}

ScalarFn binary_scalar(Binary op, DType dtype) {
  return dispatch(dtype, [&](auto tag) -> ScalarFn {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, Bool>) {
      return bool_binary(op);
    } else {
      if (op >= Binary::kEq) return compare<T>(op);
      if constexpr (std::is_floating_point_v<Lane<T>>) {
        return float_binary<T>(op);
      } else {
        return integer_binary<T>(op);
      }
    }
  });
}

ScalarFn cast_scalar(DType from, DType to) {
  return dispatch(from, [&](auto from_tag) {
    using From = typename decltype(from_tag)::type;
    return dispatch(to, [&](auto to_tag) -> ScalarFn {
      using To = typename decltype(to_tag)::type;
      return [](uint64_t* out, uint64_t a, uint64_t) {
        if constexpr (std::is_same_v<From, To>) {
          *out = a;
        } else {
          store<To>(out, cast_lane<To, From>(load<From>(a)));
        }
        return true;
      };
    });
  });
}

DType unary_result(Unary op, DType dtype) {
  return op == Unary::kIsNan || op == Unary::kIsInf || op == Unary::kIsFinite ? kBool : dtype;
}

DType binary_result(Binary op, DType dtype) { return op >= Binary::kEq ? kBool : dtype; }

}  // namespace relay::vm
