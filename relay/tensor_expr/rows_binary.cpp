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

std::string unknown(BinaryOp op, DType dtype) {
  return "no " + std::string(binary_name(op)) + " of " + std::string(dtype.name());
}

}  // namespace

BinaryFn binary_fn(BinaryOp op, DType dtype) {
  BinaryFn fn = nullptr;
  if (dtype.is_bool()) {
    fn = arithmetic::with_binary<BinaryFn, Bool>(
        op, [](auto, auto f) { return loop<uint8_t, uint8_t>(f); });
  } else {
    fn = dispatch_lane(dtype, [&](auto tag) -> BinaryFn {
      using T = typename decltype(tag)::type;
      return arithmetic::with_binary<BinaryFn, T>(op, [](auto asks, auto f) {
        return loop<T, std::conditional_t<asks.value, uint8_t, T>>(f);
      });
    });
  }
  RELAY_CHECK(fn != nullptr, unknown(op, dtype));
  return fn;
}

DivideFn divide_fn(BinaryOp op, DType dtype) {
  DivideFn fn = dispatch_lane(dtype, [&](auto tag) -> DivideFn {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>) {
      return arithmetic::with_division<DivideFn, T>(op,
                                                    [](auto, auto f) { return divide_loop<T>(f); });
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
