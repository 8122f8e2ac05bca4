// Exponentials, logarithms and functions made from them.
#include <bit>
#include <limits>
#include <vector>

#include <relay/codegen/llvm/math_functions.h>
#include <relay/codegen/llvm/math_tables.h>

namespace relay::codegen::math {

namespace {

constexpr double kLog2E = 1.4426950408889634074;

/// exp(x) in float for x in [-104, 89] (or not a number).
V exp_in_range_float(V x) {
  Ops& o = *x.ops;
  // x = n ln 2 + r; the upper part of ln 2 has so few bits that n times it is exact.
  V n = o.rint_small(x * kLog2E);
  V r = o.fma(n, -0.693359375, x);
  r = o.fma(n, 2.12194440054690583e-4, r);
  V p = o.poly(r, kExpFloat);
  // 1 + (r + r² P)
  p = o.fma(p, r, 1.0);
  return o.scale(o.fma(p, r, 1.0), n);
}

/// n ln 2 + r, n in steps of 1 / table_size(): how many they are is where `sum` ends as bits.
struct Steps {
  V sum, n, r;
};

/// x in steps, or -x (written so that the sign costs no instruction). In float, |x| <= 1000.
Steps in_steps(V x, bool negative = false) {
  Ops& o = *x.ops;
  const double large = 0x1.8p23 / o.table_size();  // a sum with it is rounded to steps
  const double sign = negative ? -1 : 1;
  V sum = o.fma(x, number(x, sign * kLog2E), number(x, large));
  V n = sum - large;
  V r = o.fma(n, sign * -0.693359375, x);
  r = o.fma(n, sign * 2.12194440054690583e-4, r);
  return {sum, n, negative ? -r : r};
}

/// exp(r) - 1 for the rest after steps.
V exp_of_rest(V r) {
  Ops& o = *r.ops;
  return o.fma(o.poly(r, o.table_size() == 16 ? kExpSixteenth : kExpEighth), r * r, r);
}

/// 2^(i / table_size()) as bits.
std::vector<uint32_t> roots_of_two(const Ops& o) {
  const size_t size = o.table_size();
  std::vector<uint32_t> table;
  for (size_t i = 0; i < size; ++i) {
    double root = kRootsOfTwo[i * (std::size(kRootsOfTwo) / size)];
    table.push_back(std::bit_cast<uint32_t>(static_cast<float>(root)));
  }
  return table;
}

/// 2^(n + bias), where that is a normal number.
V power_of_two(const Steps& steps, int bias) {
  Ops& o = *steps.sum.ops;
  const int shift = 23 - std::countr_zero(o.table_size());
  // Whole numbers of n end up as exponent, steps between them in the mantissa, which the table
  // corrects.
  std::vector<uint32_t> table = roots_of_two(o);
  for (uint32_t i = 0; i < table.size(); ++i) {
    table[i] += (static_cast<uint32_t>(bias) << 23) - (i << shift);
  }
  V bits = o.bits(steps.sum);
  return o.from_bits((bits << shift) + o.lookup(bits, table));
}

/// exp(x) in double for |x| <= 1400; `coefficients` of P decide about the error.
V exp_in_range_double(V x, std::span<const double> coefficients) {
  Ops& o = *x.ops;
  V n = o.rint_small(x * kLog2E);
  V r = o.fma(n, -0x1.62e42fee00000p-1, x);
  r = o.fma(n, -0x1.a39ef35793c76p-33, r);
  V p = o.poly(r, coefficients);
  p = o.fma(p, r * r, r);
  return o.scale(p + 1.0, n);
}

/// x = 2^e m with m from `least` to twice that; e as an integer, x positive and not denormal.
void split(V x, double least, V* exponent, V* mantissa) {
  Ops& o = *x.ops;
  V bits = o.bits(x);
  const int width = is_double(x) ? 52 : 23;
  V from_least = bits - o.bits(number(x, least));
  V e = from_least >> width;
  *exponent = e;
  *mantissa = o.from_bits(bits - (e << width));
}

/// An exponent (as wide as double) to double, without the conversion that AVX2 and SSE2 lack.
V exponent_to_double(V e) {
  Ops& o = *e.ops;
  V narrow = o.value(o.b.CreateTrunc(e.v, o.type(o.b.getInt32Ty())));
  return o.to_double(narrow);
}

/// The results of logarithms outside of the formula's range.
V log_special(V x, V usual) {
  Ops& o = *x.ops;
  V result = o.select(x == kInfinity, x, usual);
  result = o.select(x == 0.0, number(x, -kInfinity), result);
  V valid = o.value(o.b.CreateFCmpOGE(x.v, number(x, 0.0).v));
  return o.select(valid, result, number(x, kNan));
}

/// log(x) in double for normal positive x.
V log_normal_double(V x, std::span<const double> coefficients) {
  Ops& o = *x.ops;
  V e, m;
  split(x, 0x1.6a09e667f3bcdp-1, &e, &m);
  V n = exponent_to_double(e);
  V f = m - 1.0;
  V s = f / (f + 2.0);
  V z = s * s;
  // log(1 + f) = f - (f²/2 - s (f²/2 + z P(z))): f is exact, the rest is small.
  V half = f * f * 0.5;
  V p = o.poly(z, coefficients) * z;
  V tail = half - o.fma(s, half + p, n * 1.90821492927058770002e-10);
  return o.fma(n, 6.93147180369123816490e-01, f - tail);
}

// In double, for results in float.
V exp_short(V x) { return exp_in_range_double(x, kExpShort); }
V log_short(V x) { return log_normal_double(x, kLogShort); }

/// log(x) in double for any x that came from a float.
V log_of_float(V x) { return log_special(x, log_normal_double(x, kLogShort)); }

}  // namespace

V exp(V x) {
  Ops& o = *x.ops;
  if (is_double(x)) {
    return exp_in_range_double(o.min2(number(x, 710), o.max2(number(x, -746), x)), kExpDouble);
  }
  V c = o.min2(number(x, 89), o.max2(number(x, -104), x));
  if (o.table_size() == 0) return exp_in_range_float(c);
  Steps steps = in_steps(c);
  V root = o.from_bits(o.lookup(o.bits(steps.sum), roots_of_two(o)));
  return o.scale(o.fma(root, exp_of_rest(steps.r), root), steps.n, false);
}

V sigmoid(V x) {
  Ops& o = *x.ops;
  if (!is_double(x) && o.table_size() != 0) {
    // s / (s + s exp(-x)): s keeps the sum in range where the quotient is denormal.
    V c = o.min2(number(x, 20), o.max2(number(x, -104), x));
    Steps steps = in_steps(c, true);
    V s = number(x, 0x1p-30);
    V w = power_of_two(steps, -30);
    return s / o.fma(w, exp_of_rest(steps.r), w + s);
  }
  // For e = exp(-|x|) at most 1: 1 / (1 + e), or e / (1 + e) for negative x.
  V a = -o.abs(x);
  V e = is_double(x) ? exp_in_range_double(o.max2(number(x, -746), a), kExpDouble)
                     : exp_in_range_float(o.max2(number(x, -104), a));
  V numerator = o.select(x < 0.0, e, number(x, 1));
  return numerator / (e + 1.0);
}

namespace {

/// Σ c[i] u^i by pairs: half as many roundings one after the other as in Horner's way. `lost`: the
/// part that the last rounding lost.
V poly_by_pairs(V u, V square, std::span<const double> c, V* lost = nullptr) {
  Ops& o = *u.ops;
  auto pair = [&](size_t i) {
    return i + 1 < c.size() ? o.fma(number(u, c[i + 1]), u, c[i]) : number(u, c[i]);
  };
  size_t i = (c.size() - 1) / 2 * 2;
  V result = pair(i);
  while (i > 2) {
    i -= 2;
    result = o.fma(result, square, pair(i));
  }
  V first = pair(0);
  V sum = o.fma(result, square, first);
  if (lost != nullptr) *lost = o.fma(result, square, -sum) + first;
  return sum;
}

V limit(V x, double most) {
  Ops& o = *x.ops;
  return o.max2(number(x, -most), o.min2(number(x, most), x));
}

}  // namespace

V tanh(V x) {
  Ops& o = *x.ops;
  if (!is_double(x)) {
    V c = limit(x, 9.04);
    // Near 1 errors count double; without fused operations they would exceed 4 units.
    if (!o.has_fma()) c = o.to_double(c);
    // For t = N / D = tanh(x / 2): 2 t / (1 + t²), which forgives errors of t near 1.
    V u = c * c;
    V n = o.poly(u, kHalfTanhNumerator) * c;
    V d = o.poly(u, kHalfTanhDenominator);
    V above = (n + n) * d;
    V below = o.fma(n, n, d * d);
    V t = above / below;
    return o.has_fma() ? t : o.to_float(t);
  }
  V z = x * x;
  V small = o.fma(o.poly(z, kTanhDouble) * z, x, x);
  V a = o.min2(number(x, 22), o.abs(x));
  V large = 1.0 - 2.0 / (exp_in_range_double(a + a, kExpDouble) + 1.0);
  return o.copysign(o.select(o.abs(x) < 0.625, small, large), x);
}

V erf(V x) {
  Ops& o = *x.ops;
  if (is_double(x)) return o.call_lanes(KernelFunction::kErf, x);
  V c = limit(x, 3.92);
  if (!o.has_fma()) c = o.to_double(c);
  V u = c * c;
  V square = u * u;
  V p = poly_by_pairs(u, square, kErfNumerator);
  V lost;
  V q = poly_by_pairs(u, square, kErfDenominator, &lost);
  if (!o.has_fma()) return o.to_float(c * p / q);
  // c p / (q + lost): a rough quotient, and what its product with the denominator lacks. Each
  // difference is exact but for the common part t.
  V r = o.rough_reciprocal(q);
  V rough = c * p * r;
  V t = rough * q;
  V excess = o.fma(rough, q, -t) - o.fma(c, p, -t);
  return o.fma(-o.fma(rough, lost, excess), r, rough);
}

V log(V x) {
  Ops& o = *x.ops;
  const bool wide = is_double(x);
  // Denormals are brought into range; the exponent makes up for it.
  V tiny = x < (wide ? 0x1p-1022 : 0x1p-126);
  V scaled = o.select(tiny, x * (wide ? 0x1p54 : 0x1p24), x);
  if (wide) {
    V usual = log_normal_double(scaled, kLogDouble);
    V mended = usual - o.select(tiny, number(x, 37.429947750237047899), number(x, 0));
    return log_special(x, mended);
  }
  V e, m;
  split(scaled, 2.0 / 3, &e, &m);
  V n = o.to_float(e);
  n = o.select(tiny, n - 24.0, n);
  V f = m - 1.0;
  V p = o.poly(f, kLogFloat);
  V square = f * f;
  V r = o.fma(n, -2.12194440054690583e-4, p * square);
  return log_special(x, o.fma(n, 0.693359375, r + f));
}

V log2(V x) {
  Ops& o = *x.ops;
  if (is_double(x)) return o.call_lanes(KernelFunction::kLog2, x);
  return o.to_float(log_of_float(o.to_double(x)) * kLog2E);
}
V log10(V x) {
  Ops& o = *x.ops;
  if (is_double(x)) return o.call_lanes(KernelFunction::kLog10, x);
  return o.to_float(log_of_float(o.to_double(x)) * 0.43429448190325182765);
}

V pow(V x, V y) {
  Ops& o = *x.ops;
  if (is_double(x)) return o.call_lanes(KernelFunction::kPow, x, y);
  V a = o.abs(x);
  V base = o.to_double(a);
  V exponent = o.to_double(y);
  V t = exponent * log_special(base, log_short(base));
  V r = o.to_float(exp_short(o.min2(number(t, 100), o.max2(number(t, -120), t))));
  // Which y are integers, which odd ones: those half of which is none.
  V integer = o.trunc(y) == y;
  V half = y * 0.5;
  V odd = integer & (o.trunc(half) != half);
  V negative = o.bits(x) < o.bits(number(x, 0));  // -0 too
  r = o.select(negative & odd, -r, r);
  V finite_negative = (x < 0.0) & (a < kInfinity);
  r = o.select(finite_negative & o.logical_not(integer), number(x, kNan), r);
  V infinite = o.abs(y) == kInfinity;
  r = o.select((a == 1.0) & infinite, number(x, 1), r);
  return o.select((x == 1.0) | (y == 0.0), number(x, 1), r);
}

V sinh(V x) {
  Ops& o = *x.ops;
  if (is_double(x)) return o.call_lanes(KernelFunction::kSinh, x);
  V w = o.to_double(x);
  V z = w * w;
  V small = o.fma(o.poly(z, kSinh) * z, w, w);
  V e = exp_short(o.min2(number(w, 100), o.abs(w)));
  V large = o.copysign((e - 1.0 / e) * 0.5, w);
  return o.to_float(o.select(o.abs(w) < 1.0, small, large));
}

V cosh(V x) {
  Ops& o = *x.ops;
  if (is_double(x)) return o.call_lanes(KernelFunction::kCosh, x);
  V w = o.abs(o.to_double(x));
  V e = exp_short(o.min2(number(w, 100), w));
  return o.to_float((e + 1.0 / e) * 0.5);
}

namespace {

/// log(1 + u) in double for u >= 0 up to 1e39 (or > -1), for results in float.
V log1p_short(V u) {
  V w = u + 1.0;
  V lost = (u - (w - 1.0)) / w;
  return log_short(w) + lost;
}

}  // namespace

V asinh(V x) {
  Ops& o = *x.ops;
  if (is_double(x)) return o.call_lanes(KernelFunction::kAsinh, x);
  V w = o.abs(o.to_double(x));
  V square = w * w;
  V u = w + square / (o.sqrt(square + 1.0) + 1.0);
  V usual = log1p_short(u);
  V result = o.select(w < kInfinity, usual, w);  // and not-a-number
  return o.copysign(o.to_float(result), x);
}

V acosh(V x) {
  Ops& o = *x.ops;
  if (is_double(x)) return o.call_lanes(KernelFunction::kAcosh, x);
  V w = o.to_double(x);
  V t = w - 1.0;
  V usual = log1p_short(t + o.sqrt(t * (t + 2.0)));
  V result = o.select(w < kInfinity, usual, w);
  return o.select(x < 1.0, number(x, kNan), o.to_float(result));
}

V atanh(V x) {
  Ops& o = *x.ops;
  if (is_double(x)) return o.call_lanes(KernelFunction::kAtanh, x);
  V w = o.abs(o.to_double(x));
  V usual = log1p_short(2.0 * w / (1.0 - w)) * 0.5;
  V result = o.select(w < 1.0, usual, o.select(w == 1.0, number(w, kInfinity), number(w, kNan)));
  return o.copysign(o.to_float(result), x);
}

}  // namespace relay::codegen::math
