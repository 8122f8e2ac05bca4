#include <cstring>
#include <limits>

#include <relay/support/error.h>
#include <relay/tensor_expr/rows.h>

namespace relay::te::rows {
namespace {

template <class T>
LaneType<T> to_lane(T x) {
  if constexpr (std::is_same_v<T, Bool>) {
    return x.value != 0 ? 1 : 0;
  } else {
    return static_cast<LaneType<T>>(x);
  }
}

template <class T>
T to_stored(LaneType<T> x) {
  if constexpr (std::is_same_v<T, Bool>) {
    return Bool(x != 0);
  } else {
    return static_cast<T>(x);
  }
}

template <class F>
void by_width(size_t bytes, F&& f) {
  switch (bytes) {
    case 1:
      return f(std::type_identity<uint8_t>{});
    case 2:
      return f(std::type_identity<uint16_t>{});
    case 4:
      return f(std::type_identity<uint32_t>{});
    default:
      return f(std::type_identity<uint64_t>{});
  }
}

/// The operation of a simple combiner on row values.
template <class T, class F>
void with_combiner(Combiner::Kind kind, F&& f) {
  // Sums of integers wrap: unsigned arithmetic of at least 32 bits.
  switch (kind) {
    case Combiner::Kind::kSum:
      return f([](T a, T b) {
        if constexpr (std::is_integral_v<T>) {
          return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
        } else {
          return a + b;
        }
      });
    case Combiner::Kind::kProd:
      return f([](T a, T b) {
        if constexpr (std::is_integral_v<T>) {
          return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
        } else {
          return a * b;
        }
      });
    case Combiner::Kind::kMax:
      return f([](T a, T b) { return a > b || a != a ? a : b; });
    case Combiner::Kind::kMin:
      return f([](T a, T b) { return a < b || a != a ? a : b; });
    case Combiner::Kind::kAnd:
      return f([](T a, T b) { return static_cast<T>(a != 0 && b != 0); });
    case Combiner::Kind::kOr:
      return f([](T a, T b) { return static_cast<T>(a != 0 || b != 0); });
    case Combiner::Kind::kCustom:
      break;
  }
  RELAY_UNREACHABLE("a custom combiner has no kernel");
}

}  // namespace

void splat(DType dtype, void* out, const void* value, int64_t n) {
  by_width(lane_size(dtype), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T v;
    std::memcpy(&v, value, sizeof v);
    T* to = static_cast<T*>(out);
    for (int64_t i = 0; i < n; ++i) to[i] = v;
  });
}

void select(DType dtype, void* out, const uint8_t* c, const void* a, const void* b, int64_t n) {
  by_width(lane_size(dtype), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = static_cast<T*>(out);
    const T* x = static_cast<const T*>(a);
    const T* y = static_cast<const T*>(b);
    for (int64_t i = 0; i < n; ++i) to[i] = c[i] != 0 ? x[i] : y[i];
  });
}

void write_constant(DType dtype, void* out, const Immediate& value) {
  dispatch_lane(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T v;
    if constexpr (std::is_floating_point_v<T>) {
      v = static_cast<T>(value.f);
    } else {
      v = static_cast<T>(value.u);
    }
    std::memcpy(out, &v, sizeof v);
  });
}

void write_identity(Combiner::Kind kind, DType dtype, void* out) {
  dispatch_lane(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Limits = std::numeric_limits<T>;
    T low = Limits::has_infinity ? static_cast<T>(-Limits::infinity()) : Limits::lowest();
    T high = Limits::has_infinity ? Limits::infinity() : Limits::max();
    if (dtype.is_bool()) {
      low = T(0);
      high = T(1);
    }
    T v{};
    switch (kind) {
      case Combiner::Kind::kSum:
      case Combiner::Kind::kOr:
      case Combiner::Kind::kCustom:
        break;
      case Combiner::Kind::kProd:
      case Combiner::Kind::kAnd:
        v = T(1);
        break;
      case Combiner::Kind::kMax:
        v = low;
        break;
      case Combiner::Kind::kMin:
        v = high;
        break;
    }
    std::memcpy(out, &v, sizeof v);
  });
}

void load_strided(DType dtype, void* out, const void* from, int64_t step, int64_t n) {
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto* to = static_cast<LaneType<T>*>(out);
    const T* x = static_cast<const T*>(from);
    if (step == 1) {
      for (int64_t i = 0; i < n; ++i) to[i] = to_lane(x[i]);
    } else if (step == 0) {
      LaneType<T> v = to_lane(x[0]);
      for (int64_t i = 0; i < n; ++i) to[i] = v;
    } else {
      for (int64_t i = 0; i < n; ++i) to[i] = to_lane(x[i * step]);
    }
  });
}

void load_gather(DType dtype, void* out, const void* from, const int64_t* offsets, int64_t n) {
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto* to = static_cast<LaneType<T>*>(out);
    const T* x = static_cast<const T*>(from);
    for (int64_t i = 0; i < n; ++i) to[i] = to_lane(x[offsets[i]]);
  });
}

void load_valid(DType dtype, void* out, const void* from, const int64_t* offsets,
                const uint8_t* valid, const void* fill, int64_t n) {
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    LaneType<T> outside;
    std::memcpy(&outside, fill, sizeof outside);
    auto* to = static_cast<LaneType<T>*>(out);
    const T* x = static_cast<const T*>(from);
    for (int64_t i = 0; i < n; ++i) to[i] = valid[i] != 0 ? to_lane(x[offsets[i]]) : outside;
  });
}

void store(DType dtype, void* to, const void* row, int64_t n) {
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* out = static_cast<T*>(to);
    const auto* from = static_cast<const LaneType<T>*>(row);
    for (int64_t i = 0; i < n; ++i) out[i] = to_stored<T>(from[i]);
  });
}

void store_scattered(DType dtype, void* to, const int64_t* offsets, const void* row, int64_t n) {
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* out = static_cast<T*>(to);
    const auto* from = static_cast<const LaneType<T>*>(row);
    for (int64_t i = 0; i < n; ++i) out[offsets[i]] = to_stored<T>(from[i]);
  });
}

void update(const Combiner::Kind* kind, DType dtype, void* to, const int64_t* offsets,
            const void* row, int64_t n) {
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using L = LaneType<T>;
    T* out = static_cast<T*>(to);
    const L* from = static_cast<const L*>(row);
    if (kind == nullptr) {
      for (int64_t i = 0; i < n; ++i) {
        if (offsets[i] >= 0) out[offsets[i]] = to_stored<T>(from[i]);
      }
      return;
    }
    with_combiner<L>(*kind, [&](auto combine) {
      for (int64_t i = 0; i < n; ++i) {
        if (offsets[i] < 0) continue;
        T& element = out[offsets[i]];
        element = to_stored<T>(combine(to_lane(element), from[i]));
      }
    });
  });
}

void reduce(Combiner::Kind kind, DType dtype, void* accumulator, const void* row,
            const uint8_t* mask, int64_t n) {
  UnaryFn round = round_fn(dtype);
  dispatch_lane(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    with_combiner<T>(kind, [&](auto combine) {
      T acc;
      std::memcpy(&acc, accumulator, sizeof acc);
      const T* x = static_cast<const T*>(row);
      if (mask == nullptr && round == nullptr) {
        for (int64_t i = 0; i < n; ++i) acc = combine(acc, x[i]);
      } else {
        for (int64_t i = 0; i < n; ++i) {
          if (mask != nullptr && mask[i] == 0) continue;
          acc = combine(acc, x[i]);
          if (round != nullptr) round(&acc, &acc, 1);
        }
      }
      std::memcpy(accumulator, &acc, sizeof acc);
    });
  });
}

void prefix(Combiner::Kind kind, DType dtype, void* carry, void* out, const void* row, int64_t n,
            bool reverse, bool exclusive) {
  UnaryFn round = round_fn(dtype);
  dispatch_lane(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    with_combiner<T>(kind, [&](auto combine) {
      T acc;
      std::memcpy(&acc, carry, sizeof acc);
      const T* x = static_cast<const T*>(row);
      T* to = static_cast<T*>(out);
      for (int64_t k = 0; k < n; ++k) {
        int64_t i = reverse ? n - 1 - k : k;
        if (exclusive) to[i] = acc;
        acc = combine(acc, x[i]);
        if (round != nullptr) round(&acc, &acc, 1);
        if (!exclusive) to[i] = acc;
      }
      std::memcpy(carry, &acc, sizeof acc);
    });
  });
}

void deinterleave(size_t lane_bytes, void* evens, void* odds, const void* row, int64_t n) {
  by_width(lane_bytes, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* x = static_cast<const T*>(row);
    T* even = static_cast<T*>(evens);
    T* odd = static_cast<T*>(odds);
    for (int64_t i = 0; i < n; ++i) {
      even[i] = x[2 * i];
      odd[i] = x[2 * i + 1];
    }
  });
}

}  // namespace relay::te::rows
