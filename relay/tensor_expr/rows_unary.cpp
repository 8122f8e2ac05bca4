#include <cmath>

#include <relay/support/error.h>
#include <relay/tensor_expr/rows.h>

namespace relay::te::rows {
namespace {

template <class In, class Out, class F>
UnaryFn loop(F) {
  return [](void* out, const void* a, int64_t n) {
    Out* to = static_cast<Out*>(out);
    const In* from = static_cast<const In*>(a);
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<Out>(F{}(from[i]));
  };
}

template <class T, class F>
UnaryFn same(F f) {
  return loop<T, T>(f);
}

/// Functions of the mathematics library: float32 is rounded from float64.
template <class T, class F>
UnaryFn real(F) {
  struct G {
    T operator()(T x) const { return static_cast<T>(F{}(static_cast<double>(x))); }
  };
  return loop<T, T>(G{});
}

template <class T>
UnaryFn float_fn(UnaryOp op) {
  switch (op) {
    case UnaryOp::kNeg:
      return same<T>([](T x) { return -x; });
    case UnaryOp::kAbs:
      return same<T>([](T x) { return std::abs(x); });
    case UnaryOp::kSign:
      return same<T>([](T x) { return T((x > 0) - (x < 0)); });
    case UnaryOp::kExp:
      return real<T>([](double x) { return std::exp(x); });
    case UnaryOp::kLog:
      return real<T>([](double x) { return std::log(x); });
    case UnaryOp::kLog2:
      return real<T>([](double x) { return std::log2(x); });
    case UnaryOp::kLog10:
      return real<T>([](double x) { return std::log10(x); });
    case UnaryOp::kSqrt:
      return same<T>([](T x) { return std::sqrt(x); });
    case UnaryOp::kRsqrt:
      return real<T>([](double x) { return 1.0 / std::sqrt(x); });
    case UnaryOp::kErf:
      return real<T>([](double x) { return std::erf(x); });
    case UnaryOp::kSigmoid:
      return real<T>([](double x) { return 1.0 / (1.0 + std::exp(-x)); });
    case UnaryOp::kSin:
      return real<T>([](double x) { return std::sin(x); });
    case UnaryOp::kCos:
      return real<T>([](double x) { return std::cos(x); });
    case UnaryOp::kTan:
      return real<T>([](double x) { return std::tan(x); });
    case UnaryOp::kAsin:
      return real<T>([](double x) { return std::asin(x); });
    case UnaryOp::kAcos:
      return real<T>([](double x) { return std::acos(x); });
    case UnaryOp::kAtan:
      return real<T>([](double x) { return std::atan(x); });
    case UnaryOp::kSinh:
      return real<T>([](double x) { return std::sinh(x); });
    case UnaryOp::kCosh:
      return real<T>([](double x) { return std::cosh(x); });
    case UnaryOp::kTanh:
      return real<T>([](double x) { return std::tanh(x); });
    case UnaryOp::kAsinh:
      return real<T>([](double x) { return std::asinh(x); });
    case UnaryOp::kAcosh:
      return real<T>([](double x) { return std::acosh(x); });
    case UnaryOp::kAtanh:
      return real<T>([](double x) { return std::atanh(x); });
    case UnaryOp::kFloor:
      return same<T>([](T x) { return std::floor(x); });
    case UnaryOp::kCeil:
      return same<T>([](T x) { return std::ceil(x); });
    case UnaryOp::kRound:
      return same<T>([](T x) { return std::round(x); });
    case UnaryOp::kTrunc:
      return same<T>([](T x) { return std::trunc(x); });
    case UnaryOp::kIsNan:
      return loop<T, uint8_t>([](T x) { return x != x; });
    case UnaryOp::kIsInf:
      return loop<T, uint8_t>([](T x) { return std::isinf(x); });
    case UnaryOp::kIsFinite:
      return loop<T, uint8_t>([](T x) { return std::isfinite(x); });
    case UnaryOp::kNot:
    case UnaryOp::kBitNot:
      break;
  }
  return nullptr;
}

template <class T>
UnaryFn integer_fn(UnaryOp op) {
  using U = std::make_unsigned_t<T>;
  switch (op) {
    case UnaryOp::kNeg:
      return same<T>([](T x) { return T(U(U(0) - U(x))); });
    case UnaryOp::kAbs:
      return same<T>([](T x) { return x < 0 ? T(U(U(0) - U(x))) : x; });
    case UnaryOp::kSign:
      return same<T>([](T x) { return T((x > 0) - (x < 0)); });
    case UnaryOp::kBitNot:
      return same<T>([](T x) { return T(~x); });
    default:
      return nullptr;
  }
}

UnaryFn copy_fn(size_t bytes) {
  switch (bytes) {
    case 1:
      return same<uint8_t>([](uint8_t x) { return x; });
    case 2:
      return same<uint16_t>([](uint16_t x) { return x; });
    case 4:
      return same<uint32_t>([](uint32_t x) { return x; });
    default:
      return same<uint64_t>([](uint64_t x) { return x; });
  }
}

// ---- Conversions --------------------------------------------------------------------------------

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

template <class To, class From>
LaneType<To> cast_lane(LaneType<From> x) {
  using FromLane = LaneType<From>;
  if constexpr (std::is_same_v<To, Bool>) {
    return x != FromLane{};
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<FromLane>) {
    return integer_from<To>(static_cast<double>(x));
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

}  // namespace

UnaryFn unary_fn(UnaryOp op, DType dtype) {
  if (dtype.is_bool()) {
    RELAY_CHECK(op == UnaryOp::kNot, "unary operation on bool");
    return same<uint8_t>([](uint8_t x) { return x ^ 1; });
  }
  UnaryFn fn = dispatch_lane(dtype, [&](auto tag) -> UnaryFn {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_floating_point_v<T>) {
      return float_fn<T>(op);
    } else {
      return integer_fn<T>(op);
    }
  });
  RELAY_CHECK(fn != nullptr,
              "no " + std::string(unary_name(op)) + " of " + std::string(dtype.name()));
  return fn;
}

UnaryFn cast_fn(DType from, DType to) {
  if (from == to) return copy_fn(lane_size(from));
  return dispatch(from, [&](auto from_tag) {
    using From = typename decltype(from_tag)::type;
    return dispatch(to, [&](auto to_tag) -> UnaryFn {
      using To = typename decltype(to_tag)::type;
      return loop<LaneType<From>, LaneType<To>>(
          [](LaneType<From> x) { return cast_lane<To, From>(x); });
    });
  });
}

UnaryFn bitcast_fn(DType from, DType to) {
  auto is_narrow_float = [](DType t) { return t.is_float() && t.bits == 16; };
  if (!is_narrow_float(from) && !is_narrow_float(to)) return copy_fn(from.size());
  return dispatch(from, [&](auto from_tag) {
    using From = typename decltype(from_tag)::type;
    return dispatch(to, [&](auto to_tag) -> UnaryFn {
      using To = typename decltype(to_tag)::type;
      if constexpr (sizeof(From) == 2 && sizeof(To) == 2) {
        return loop<LaneType<From>, LaneType<To>>([](LaneType<From> x) {
          return static_cast<LaneType<To>>(std::bit_cast<To>(static_cast<From>(x)));
        });
      } else {
        return nullptr;
      }
    });
  });
}

UnaryFn round_fn(DType dtype) {
  if (dtype == kFloat16) {
    return same<float>([](float x) { return static_cast<float>(Half(x)); });
  }
  if (dtype == kBFloat16) {
    return same<float>([](float x) { return static_cast<float>(BFloat16(x)); });
  }
  return nullptr;
}

}  // namespace relay::te::rows
