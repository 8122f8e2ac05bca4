#include <relay/vm/machine/scalar_ops.h>

#include <cstring>
#include <type_traits>

namespace relay::vm {

namespace {

template <class T>
using Lane = arithmetic::LaneType<T>;

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

// `T` is the stored type of the operands, `R` that of the result.
template <class T, class R, class F>
ScalarFn make_unary(F) {
  return [](uint64_t* out, uint64_t a, uint64_t) {
    store<R>(out, static_cast<Lane<R>>(F{}(load<T>(a))));
    return true;
  };
}

template <class T, class R, class F>
ScalarFn make_binary(F) {
  return [](uint64_t* out, uint64_t a, uint64_t b) {
    store<R>(out, static_cast<Lane<R>>(F{}(load<T>(a), load<T>(b))));
    return true;
  };
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

}  // namespace

ScalarFn unary_scalar(Unary op, DType dtype) {
  return dispatch(dtype, [&](auto tag) -> ScalarFn {
    using T = typename decltype(tag)::type;
    return arithmetic::with_unary<ScalarFn, T>(op, [](auto asks, auto f) {
      return make_unary<T, std::conditional_t<asks.value, Bool, T>>(f);
    });
  });
}

ScalarFn binary_scalar(Binary op, DType dtype) {
  return dispatch(dtype, [&](auto tag) -> ScalarFn {
    using T = typename decltype(tag)::type;
    auto use = [](auto asks, auto f) {
      return make_binary<T, std::conditional_t<asks.value, Bool, T>>(f);
    };
    if constexpr (std::is_integral_v<T>) {
      if (divides(op)) {
        return arithmetic::with_division<ScalarFn, T>(op,
                                                      [](auto, auto f) { return divide<T>(f); });
      }
    }
    return arithmetic::with_binary<ScalarFn, T>(op, use);
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
          store<To>(out, arithmetic::cast_lane<To, From>(load<From>(a)));
        }
        return true;
      };
    });
  });
}

}  // namespace relay::vm
