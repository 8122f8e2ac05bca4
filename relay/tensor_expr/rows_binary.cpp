#include <cmath>
#include <limits>

#include <relay/support/error.h>
#include <relay/tensor_expr/rows.h>

namespace relay::te::rows {
namespace {

template <class In, class Out, class F>
BinaryFn loop(F) {
  return [](void* out, const void* a, const void* b, int64_t n) {
    Out* to = static_cast<Out*>(out);
    const In* x = static_cast<const In*>(a);
    const In* y = static_cast<const In*>(b);
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<Out>(F{}(x[i], y[i]));
  };
}

template <class T, class F>
BinaryFn same(F f) {
  return loop<T, T>(f);
}

template <class T>
BinaryFn compare_fn(BinaryOp op) {
  switch (op) {
    case BinaryOp::kEq:
      return loop<T, uint8_t>([](T a, T b) { return a == b; });
    case BinaryOp::kNe:
      return loop<T, uint8_t>([](T a, T b) { return a != b; });
    case BinaryOp::kLt:
      return loop<T, uint8_t>([](T a, T b) { return a < b; });
    case BinaryOp::kLe:
      return loop<T, uint8_t>([](T a, T b) { return a <= b; });
    case BinaryOp::kGt:
      return loop<T, uint8_t>([](T a, T b) { return a > b; });
    case BinaryOp::kGe:
      return loop<T, uint8_t>([](T a, T b) { return a >= b; });
    default:
      return nullptr;
  }
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
BinaryFn float_fn(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd:
      return same<T>([](T a, T b) { return a + b; });
    case BinaryOp::kSub:
      return same<T>([](T a, T b) { return a - b; });
    case BinaryOp::kMul:
      return same<T>([](T a, T b) { return a * b; });
    case BinaryOp::kDiv:
      return same<T>([](T a, T b) { return a / b; });
    case BinaryOp::kMod:
      return same<T>([](T a, T b) { return std::fmod(a, b); });
    case BinaryOp::kFloorDiv:
      return same<T>([](T a, T b) { return floor_div_float(a, b); });
    case BinaryOp::kFloorMod:
      return same<T>([](T a, T b) { return floor_mod_float(a, b); });
    case BinaryOp::kPow:
      return same<T>([](T a, T b) {
        return static_cast<T>(std::pow(static_cast<double>(a), static_cast<double>(b)));
      });
    // Not-a-number on either side is the result.
    case BinaryOp::kMin:
      return same<T>([](T a, T b) { return a < b || a != a ? a : b; });
    case BinaryOp::kMax:
      return same<T>([](T a, T b) { return a > b || a != a ? a : b; });
    case BinaryOp::kAtan2:
      return same<T>([](T a, T b) {
        return static_cast<T>(std::atan2(static_cast<double>(a), static_cast<double>(b)));
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

template <class T>
BinaryFn integer_fn(BinaryOp op) {
  // At least 32 bits wide and unsigned, so that nothing overflows in the sense of C++.
  using W = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;
  constexpr T kBits = sizeof(T) * 8;
  switch (op) {
    case BinaryOp::kAdd:
      return same<T>([](T a, T b) { return T(W(a) + W(b)); });
    case BinaryOp::kSub:
      return same<T>([](T a, T b) { return T(W(a) - W(b)); });
    case BinaryOp::kMul:
      return same<T>([](T a, T b) { return T(W(a) * W(b)); });
    case BinaryOp::kPow:
      return same<T>([](T a, T b) { return wrapping_pow(a, b); });
    case BinaryOp::kMin:
      return same<T>([](T a, T b) { return a < b ? a : b; });
    case BinaryOp::kMax:
      return same<T>([](T a, T b) { return a > b ? a : b; });
    case BinaryOp::kAnd:
      return same<T>([](T a, T b) { return T(a & b); });
    case BinaryOp::kOr:
      return same<T>([](T a, T b) { return T(a | b); });
    case BinaryOp::kXor:
      return same<T>([](T a, T b) { return T(a ^ b); });
    case BinaryOp::kShl:
      return same<T>([](T a, T b) { return b >= 0 && b < kBits ? T(W(a) << b) : T(0); });
    case BinaryOp::kShr:
      return same<T>([](T a, T b) {
        return b >= 0 && b < kBits ? T(a >> b) : T(std::is_signed_v<T> && a < 0 ? -1 : 0);
      });
    default:
      return nullptr;
  }
}

template <class T, class F>
DivideFn divide_loop(F) {
  return [](void* out, const void* a, const void* b, const uint8_t* mask, int64_t n) {
    T* to = static_cast<T*>(out);
    const T* x = static_cast<const T*>(a);
    const T* y = static_cast<const T*>(b);
    bool zero = false;
    for (int64_t i = 0; i < n; ++i) zero |= y[i] == 0;
    if (zero) {
      for (int64_t i = 0; i < n; ++i) {
        if (y[i] == 0 && (mask == nullptr || mask[i] != 0)) return false;
      }
    }
    for (int64_t i = 0; i < n; ++i) to[i] = y[i] == 0 ? T(0) : F{}(x[i], y[i]);
    return true;
  };
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

template <class T>
DivideFn divide_of(BinaryOp op) {
  switch (op) {
    case BinaryOp::kDiv:
      return divide_loop<T>([](T a, T b) { return wraps(a, b) ? negated(a) : T(a / b); });
    case BinaryOp::kMod:
      return divide_loop<T>([](T a, T b) { return wraps(a, b) ? T(0) : T(a % b); });
    case BinaryOp::kFloorDiv:
      return divide_loop<T>([](T a, T b) {
        if (wraps(a, b)) return negated(a);
        T q = T(a / b);
        return T(a % b != 0 && ((a < 0) != (b < 0)) ? q - 1 : q);
      });
    case BinaryOp::kFloorMod:
      return divide_loop<T>([](T a, T b) {
        if (wraps(a, b)) return T(0);
        T r = T(a % b);
        return T(r != 0 && ((r < 0) != (b < 0)) ? r + b : r);
      });
    default:
      return nullptr;
  }
}

std::string unknown(BinaryOp op, DType dtype) {
  return "no " + std::string(binary_name(op)) + " of " + std::string(dtype.name());
}

}  // namespace

BinaryFn binary_fn(BinaryOp op, DType dtype) {
  BinaryFn fn = nullptr;
  if (dtype.is_bool()) {
    switch (op) {
      case BinaryOp::kAnd:
      case BinaryOp::kMin:
        fn = same<uint8_t>([](uint8_t a, uint8_t b) { return a & b; });
        break;
      case BinaryOp::kOr:
      case BinaryOp::kMax:
        fn = same<uint8_t>([](uint8_t a, uint8_t b) { return a | b; });
        break;
      case BinaryOp::kXor:
        fn = same<uint8_t>([](uint8_t a, uint8_t b) { return a ^ b; });
        break;
      default:
        fn = compare_fn<uint8_t>(op);
    }
  } else {
    fn = dispatch_lane(dtype, [&](auto tag) -> BinaryFn {
      using T = typename decltype(tag)::type;
      if (op >= BinaryOp::kEq) return compare_fn<T>(op);
      if constexpr (std::is_floating_point_v<T>) {
        return float_fn<T>(op);
      } else {
        return integer_fn<T>(op);
      }
    });
  }
  RELAY_CHECK(fn != nullptr, unknown(op, dtype));
  return fn;
}

DivideFn divide_fn(BinaryOp op, DType dtype) {
  DivideFn fn = dispatch_lane(dtype, [&](auto tag) -> DivideFn {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>) {
      return divide_of<T>(op);
    } else {
      return nullptr;
    }
  });
  RELAY_CHECK(fn != nullptr, unknown(op, dtype));
  return fn;
}

BinaryFn combine_fn(Combiner::Kind kind, DType dtype) {
  switch (kind) {
    case Combiner::Kind::kSum:
      return binary_fn(BinaryOp::kAdd, dtype);
    case Combiner::Kind::kProd:
      return binary_fn(BinaryOp::kMul, dtype);
    case Combiner::Kind::kMax:
      return binary_fn(BinaryOp::kMax, dtype);
    case Combiner::Kind::kMin:
      return binary_fn(BinaryOp::kMin, dtype);
    case Combiner::Kind::kAnd:
      return binary_fn(BinaryOp::kAnd, dtype);
    case Combiner::Kind::kOr:
      return binary_fn(BinaryOp::kOr, dtype);
    case Combiner::Kind::kCustom:
      break;
  }
  RELAY_UNREACHABLE("a custom combiner has no kernel");
}

}  // namespace relay::te::rows
