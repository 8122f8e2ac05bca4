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

}  // namespace

UnaryFn unary_fn(UnaryOp op, DType dtype) {
  UnaryFn fn =
      dtype.is_bool()
          ? arithmetic::with_unary<UnaryFn, Bool>(op, [](auto, auto f) { return same<uint8_t>(f); })
          : dispatch_lane(dtype, [&](auto tag) -> UnaryFn {
              using T = typename decltype(tag)::type;
              return arithmetic::with_unary<UnaryFn, T>(op, [](auto asks, auto f) {
                return loop<T, std::conditional_t<asks.value, uint8_t, T>>(f);
              });
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
          [](LaneType<From> x) { return arithmetic::cast_lane<To, From>(x); });
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
