// The loops of `Code`, for vectors of kBytes bytes: included by one source for each instruction
// set, which defines RELAY_FFT_BYTES. Nothing here may call what other sources share.
#include <relay/runtime/kernels/fft/code.h>

#include <utility>

namespace relay::fft {
namespace {

template <class T>
struct Vectors {
  static constexpr int64_t kLanes = RELAY_FFT_BYTES / static_cast<int64_t>(sizeof(T));
  typedef T Type __attribute__((vector_size(RELAY_FFT_BYTES), aligned(sizeof(T)), may_alias));
};

/// A complex number for each lane.
template <class T>
struct Complex {
  using V = typename Vectors<T>::Type;
  V r, i;
  static Complex load(const T* re, const T* im, int64_t at) {
    return {*reinterpret_cast<const V*>(re + at), *reinterpret_cast<const V*>(im + at)};
  }
  void store(T* re, T* im, int64_t at) const {
    *reinterpret_cast<V*>(re + at) = r;
    *reinterpret_cast<V*>(im + at) = i;
  }
  Complex operator+(const Complex& b) const { return {r + b.r, i + b.i}; }
  Complex operator-(const Complex& b) const { return {r - b.r, i - b.i}; }
  Complex scaled(T by) const { return {r * by, i * by}; }
  /// -i z.
  Complex turned() const { return {i, -r}; }
  Complex times(const Complex& w) const { return {r * w.r - i * w.i, r * w.i + i * w.r}; }
  Complex times(T wr, T wi) const { return {r * wr - i * wi, r * wi + i * wr}; }
};

/// Where the inputs and outputs of a step are.
template <class T>
struct Step {
  const T* xr;
  const T* xi;
  T* yr;
  T* yi;
  int64_t m, s;
  const T* twiddles;

  Complex<T> in(int64_t p, int64_t j, int64_t q) const {
    return Complex<T>::load(xr, xi, q + s * (p + m * j));
  }
  void out(int64_t radix, int64_t p, int64_t k, int64_t q, const Complex<T>& z) const {
    z.store(yr, yi, q + s * (radix * p + k));
  }
};

/// Runs `butterfly(a, b)`, from radix inputs to as many outputs, everywhere.
template <int radix, class T, class F>
void run_step(const Step<T>& step, F butterfly) {
  constexpr int64_t kLanes = Vectors<T>::kLanes;
  for (int64_t p = 0; p < step.m; ++p) {
    const T* w = step.twiddles + p * 2 * (radix - 1);
    for (int64_t q = 0; q < step.s; q += kLanes) {
      Complex<T> a[radix], b[radix];
      for (int j = 0; j < radix; ++j) a[j] = step.in(p, j, q);
      butterfly(a, b);
      step.out(radix, p, 0, q, b[0]);
      if (p == 0) {
        for (int k = 1; k < radix; ++k) step.out(radix, 0, k, q, b[k]);
      } else {
        for (int k = 1; k < radix; ++k)
          step.out(radix, p, k, q, b[k].times(w[2 * k - 2], w[2 * k - 1]));
      }
    }
  }
}

template <class T>
inline void butterfly4(const Complex<T>& a0, const Complex<T>& a1, const Complex<T>& a2,
                       const Complex<T>& a3, Complex<T>* b, int step) {
  Complex<T> t0 = a0 + a2, t1 = a0 - a2, t2 = a1 + a3, t3 = (a1 - a3).turned();
  b[0] = t0 + t2;
  b[step] = t1 + t3;
  b[2 * step] = t0 - t2;
  b[3 * step] = t1 - t3;
}

template <class T>
void pass2(const Step<T>& step) {
  run_step<2>(step, [](const Complex<T>* a, Complex<T>* b) {
    b[0] = a[0] + a[1];
    b[1] = a[0] - a[1];
  });
}

template <class T>
void pass3(const Step<T>& step) {
  constexpr T kSine = static_cast<T>(0.866025403784438646763723170752936183L);
  run_step<3>(step, [](const Complex<T>* a, Complex<T>* b) {
    Complex<T> sum = a[1] + a[2];
    Complex<T> middle = a[0] + sum.scaled(static_cast<T>(-0.5));
    Complex<T> side = (a[1] - a[2]).turned().scaled(kSine);
    b[0] = a[0] + sum;
    b[1] = middle + side;
    b[2] = middle - side;
  });
}

template <class T>
void pass4(const Step<T>& step) {
  run_step<4>(step,
              [](const Complex<T>* a, Complex<T>* b) { butterfly4(a[0], a[1], a[2], a[3], b, 1); });
}

template <class T>
void pass5(const Step<T>& step) {
  constexpr T c1 = static_cast<T>(0.309016994374947424102293417182819059L);
  constexpr T s1 = static_cast<T>(0.951056516295153572116439333379382143L);
  constexpr T c2 = static_cast<T>(-0.809016994374947424102293417182819059L);
  constexpr T s2 = static_cast<T>(0.587785252292473129168705954639072769L);
  run_step<5>(step, [](const Complex<T>* a, Complex<T>* b) {
    Complex<T> p1 = a[1] + a[4], p2 = a[2] + a[3];
    Complex<T> d1 = (a[1] - a[4]).turned(), d2 = (a[2] - a[3]).turned();
    Complex<T> m1 = a[0] + p1.scaled(c1) + p2.scaled(c2);
    Complex<T> m2 = a[0] + p1.scaled(c2) + p2.scaled(c1);
    Complex<T> e1 = d1.scaled(s1) + d2.scaled(s2);
    Complex<T> e2 = d1.scaled(s2) - d2.scaled(s1);
    b[0] = a[0] + p1 + p2;
    b[1] = m1 + e1;
    b[4] = m1 - e1;
    b[2] = m2 + e2;
    b[3] = m2 - e2;
  });
}

template <class T>
void pass8(const Step<T>& step) {
  constexpr T kHalf = static_cast<T>(0.707106781186547524400844362104849039L);
  run_step<8>(step, [](const Complex<T>* a, Complex<T>* b) {
    Complex<T> even[4], odd[4];
    butterfly4(a[0], a[2], a[4], a[6], even, 1);
    butterfly4(a[1], a[3], a[5], a[7], odd, 1);
    // Times the powers of the eighth root of 1.
    Complex<T> o1{(odd[1].r + odd[1].i) * kHalf, (odd[1].i - odd[1].r) * kHalf};
    Complex<T> o2 = odd[2].turned();
    Complex<T> o3{(odd[3].i - odd[3].r) * kHalf, -(odd[3].r + odd[3].i) * kHalf};
    b[0] = even[0] + odd[0];
    b[4] = even[0] - odd[0];
    b[1] = even[1] + o1;
    b[5] = even[1] - o1;
    b[2] = even[2] + o2;
    b[6] = even[2] - o2;
    b[3] = even[3] + o3;
    b[7] = even[3] - o3;
  });
}

/// An odd radix: outputs k and radix - k share their products. `roots` are the radix powers
/// exp(-2 pi i k / radix), real and imaginary parts.
template <class T>
void pass_odd(int64_t radix, const Step<T>& step, const T* roots) {
  constexpr int64_t kLanes = Vectors<T>::kLanes;
  int64_t half = (radix - 1) / 2;
  for (int64_t p = 0; p < step.m; ++p) {
    const T* w = step.twiddles + p * 2 * (radix - 1);
    for (int64_t q = 0; q < step.s; q += kLanes) {
      Complex<T> sums[kLargestRadix / 2 + 1], sides[kLargestRadix / 2 + 1];
      Complex<T> first = step.in(p, 0, q), total = first;
      for (int64_t j = 1; j <= half; ++j) {
        Complex<T> a = step.in(p, j, q), b = step.in(p, radix - j, q);
        sums[j] = a + b;
        sides[j] = (a - b).turned();
        total = total + sums[j];
      }
      step.out(radix, p, 0, q, total);
      for (int64_t k = 1; k <= half; ++k) {
        Complex<T> middle = first + sums[1].scaled(roots[2 * k]);
        Complex<T> side = sides[1].scaled(-roots[2 * k + 1]);
        int64_t power = k;
        for (int64_t j = 2; j <= half; ++j) {
          power += k;
          if (power >= radix) power -= radix;
          middle = middle + sums[j].scaled(roots[2 * power]);
          side = side + sides[j].scaled(-roots[2 * power + 1]);
        }
        Complex<T> low = middle + side, high = middle - side;
        const T* up = w + 2 * (k - 1);
        const T* down = w + 2 * (radix - k - 1);
        step.out(radix, p, k, q, p == 0 ? low : low.times(up[0], up[1]));
        step.out(radix, p, radix - k, q, p == 0 ? high : high.times(down[0], down[1]));
      }
    }
  }
}

template <class T>
void pass(int64_t radix, const T* xr, const T* xi, T* yr, T* yi, int64_t m, int64_t s,
          const T* twiddles, const T* roots) {
  Step<T> step{xr, xi, yr, yi, m, s, twiddles};
  switch (radix) {
    case 2:
      return pass2(step);
    case 3:
      return pass3(step);
    case 4:
      return pass4(step);
    case 5:
      return pass5(step);
    case 8:
      return pass8(step);
    default:
      return pass_odd(radix, step, roots);
  }
}

/// Of two vectors the lanes whose number lacks `bit`, those of `b` where `a` has the others.
template <int bit, class V, int... k>
inline V lanes_without(V a, V b, std::integer_sequence<int, k...>) {
  constexpr int n = static_cast<int>(sizeof...(k));
  return __builtin_shufflevector(a, b, ((k & bit) == 0 ? k : n + k - bit)...);
}
template <int bit, class V, int... k>
inline V lanes_with(V a, V b, std::integer_sequence<int, k...>) {
  constexpr int n = static_cast<int>(sizeof...(k));
  return __builtin_shufflevector(a, b, ((k & bit) == 0 ? k + bit : n + k)...);
}

/// Turns a square of vectors: lane i of vector j goes to lane j of vector i. Exchanges one bit of
/// the two numbers at a time, which stays within the halves of a vector for all but the last.
template <class T, int bit = 1>
inline void turn(typename Vectors<T>::Type* v) {
  constexpr int kLanes = static_cast<int>(Vectors<T>::kLanes);
  if constexpr (bit < kLanes) {
    using Places = std::make_integer_sequence<int, kLanes>;
    for (int j = 0; j < kLanes; ++j) {
      if ((j & bit) != 0) continue;
      auto a = v[j], b = v[j + bit];
      v[j] = lanes_without<bit>(a, b, Places());
      v[j + bit] = lanes_with<bit>(a, b, Places());
    }
    turn<T, 2 * bit>(v);
  }
}

template <class T>
void gather(const T* const* rows, int64_t n, T* tile, int64_t width) {
  using V = typename Vectors<T>::Type;
  constexpr int64_t kLanes = Vectors<T>::kLanes;
  for (int64_t first = 0; first < width; first += kLanes) {
    const T* const* from = rows + first;
    int64_t j = 0;
    for (; j + kLanes <= n; j += kLanes) {
      V square[kLanes];
      for (int64_t v = 0; v < kLanes; ++v) square[v] = *reinterpret_cast<const V*>(from[v] + j);
      // The same place of the rows that come next.
      for (int64_t v = 0; v < kLanes; ++v) __builtin_prefetch(from[v] + j + n * width);
      turn<T>(square);
      for (int64_t k = 0; k < kLanes; ++k)
        *reinterpret_cast<V*>(tile + (j + k) * width + first) = square[k];
    }
    for (; j < n; ++j) {
      for (int64_t v = 0; v < kLanes; ++v) tile[j * width + first + v] = from[v][j];
    }
  }
}

template <class T>
void scatter(const T* tile, int64_t n, int64_t width, T factor, T* const* rows) {
  using V = typename Vectors<T>::Type;
  constexpr int64_t kLanes = Vectors<T>::kLanes;
  for (int64_t first = 0; first < width; first += kLanes) {
    T* const* to = rows + first;
    int64_t j = 0;
    for (; j + kLanes <= n; j += kLanes) {
      V square[kLanes];
      for (int64_t k = 0; k < kLanes; ++k)
        square[k] = *reinterpret_cast<const V*>(tile + (j + k) * width + first) * factor;
      turn<T>(square);
      for (int64_t v = 0; v < kLanes; ++v) {
        *reinterpret_cast<V*>(to[v] + j) = square[v];
        __builtin_prefetch(to[v] + j + n * width, 1);
      }
    }
    for (; j < n; ++j) {
      for (int64_t v = 0; v < kLanes; ++v) to[v][j] = tile[j * width + first + v] * factor;
    }
  }
}

template <class T>
void read_columns(const T* from, int64_t stride, int64_t n, int64_t count, T* tile, int64_t width) {
  using V = typename Vectors<T>::Type;
  constexpr int64_t kLanes = Vectors<T>::kLanes;
  for (int64_t j = 0; j < n; ++j, from += stride, tile += width) {
    int64_t v = 0;
    for (; v + kLanes <= count; v += kLanes)
      *reinterpret_cast<V*>(tile + v) = *reinterpret_cast<const V*>(from + v);
    for (; v < count; ++v) tile[v] = from[v];
    for (; v < width; ++v) tile[v] = T{};
    // The columns that come next; rows are too far apart for the processor to see it.
    __builtin_prefetch(from + width);
  }
}

template <class T>
void write_columns(const T* tile, int64_t n, int64_t width, int64_t count, T factor, T* to,
                   int64_t stride) {
  using V = typename Vectors<T>::Type;
  constexpr int64_t kLanes = Vectors<T>::kLanes;
  for (int64_t j = 0; j < n; ++j, to += stride, tile += width) {
    int64_t v = 0;
    for (; v + kLanes <= count; v += kLanes)
      *reinterpret_cast<V*>(to + v) = *reinterpret_cast<const V*>(tile + v) * factor;
    for (; v < count; ++v) to[v] = tile[v] * factor;
    __builtin_prefetch(to + width, 1);
  }
}

template <class T>
void write_products(const T* tr, const T* ti, int64_t n, int64_t width, int64_t count, const T* wr,
                    const T* wi, T* to_r, T* to_i, int64_t stride) {
  constexpr int64_t kLanes = Vectors<T>::kLanes;
  for (int64_t j = 0; j < n; ++j) {
    int64_t v = 0, from = j * width, to = j * stride;
    for (; v + kLanes <= count; v += kLanes) {
      Complex<T> z = Complex<T>::load(tr, ti, from + v), w = Complex<T>::load(wr, wi, to + v);
      z.times(w).store(to_r, to_i, to + v);
    }
    for (; v < count; ++v) {
      T r = tr[from + v], i = ti[from + v];
      to_r[to + v] = r * wr[to + v] - i * wi[to + v];
      to_i[to + v] = r * wi[to + v] + i * wr[to + v];
    }
  }
}

template <class T>
void multiply(T* zr, T* zi, const T* wr, const T* wi, int64_t n) {
  constexpr int64_t kLanes = Vectors<T>::kLanes;
  int64_t at = 0;
  for (; at + kLanes <= n; at += kLanes) {
    Complex<T> z = Complex<T>::load(zr, zi, at), w = Complex<T>::load(wr, wi, at);
    z.times(w).store(zr, zi, at);
  }
  for (; at < n; ++at) {
    T r = zr[at], i = zi[at];
    zr[at] = r * wr[at] - i * wi[at];
    zi[at] = r * wi[at] + i * wr[at];
  }
}

template <class T>
void multiply_rows(T* zr, T* zi, const T* wr, const T* wi, int64_t n, int64_t width) {
  constexpr int64_t kLanes = Vectors<T>::kLanes;
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t v = 0; v < width; v += kLanes) {
      int64_t at = j * width + v;
      Complex<T>::load(zr, zi, at).times(wr[j], wi[j]).store(zr, zi, at);
    }
  }
}

template <class T>
const Code<T>& code() {
  static const Code<T> code{
      Vectors<T>::kLanes, pass<T>,           gather<T>,   scatter<T>,       read_columns<T>,
      write_columns<T>,   write_products<T>, multiply<T>, multiply_rows<T>,
  };
  return code;
}

}  // namespace
}  // namespace relay::fft
