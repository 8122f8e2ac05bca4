// Circular functions and their inverses. float32 is computed in double.
#include <limits>

#include <relay/codegen/llvm/math_functions.h>
#include <relay/codegen/llvm/math_tables.h>

namespace relay::codegen::math {

namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kHalfPi = kPi / 2;

/// x = q π/2 + r with |r| <= π/4: sine and cosine of r, q modulo 4 as an integer, and where x is
/// too large for that.
struct Reduced {
  V sine, cosine, quadrant, rare;
};

Reduced reduce(V x) {
  Ops& o = *x.ops;
  Reduced result;
  // Adding a number whose last place is 1 rounds to an integer and leaves it in the lowest bits.
  constexpr double kMagic = 0x1.8p52;
  V shifted = x * (1 / kHalfPi) + kMagic;
  V q = shifted - kMagic;
  result.quadrant = o.bits(shifted);
  V r;
  if (o.has_fma()) {
    result.rare = o.abs(x) >= 0x1p40;
    r = o.fma(q, -0x1.921fb54442d18p0, x);
    r = o.fma(q, -0x1.1a62633145c07p-54, r);
  } else {
    // In pieces of 33 bits, so that products with fewer than 20 are exact.
    result.rare = o.abs(x) >= 0x1p19;
    r = x - q * 0x1.921fb54400000p0;
    r = r - q * 0x1.0b4611a600000p-34;
    r = r - q * 0x1.3198a2e037073p-69;
  }
  V z = r * r;
  result.sine = o.fma(o.poly(z, kSin) * z, r, r);
  V square = z * z;
  result.cosine = o.fma(o.poly(z, kCos), square, 1.0 - z * 0.5);
  return result;
}

V flip_sign(V x, V quadrant_bit2) {  // by bit 1 of a quadrant
  Ops& o = *x.ops;
  V sign = (quadrant_bit2 & o.constant_int(quadrant_bit2, 2)) << 62;
  return o.from_bits(o.bits(x) ^ sign);
}

V is_odd(V quadrant) {
  Ops& o = *quadrant.ops;
  return (quadrant & o.constant_int(quadrant, 1)) != o.constant_int(quadrant, 0);
}

/// atan of a in [0, 1], in double.
V atan_unit(V a) {
  Ops& o = *a.ops;
  V z = a * a;
  return o.fma(o.poly(z, kAtan) * z, a, a);
}

}  // namespace

V sin(V x) {
  Ops& o = *x.ops;
  auto library = [&] { return o.call_lanes(KernelFunction::kSin, x); };
  if (is_double(x)) return library();
  Reduced r = reduce(o.to_double(x));
  V value = flip_sign(o.select(is_odd(r.quadrant), r.cosine, r.sine), r.quadrant);
  // sin(-0) is -0; small numbers are their own sine.
  V result = o.select(o.abs(x) < 0x1p-13, x, o.to_float(value));
  return o.unless(r.rare, result, library);
}

V cos(V x) {
  Ops& o = *x.ops;
  auto library = [&] { return o.call_lanes(KernelFunction::kCos, x); };
  if (is_double(x)) return library();
  Reduced r = reduce(o.to_double(x));
  V next = r.quadrant + o.constant_int(r.quadrant, 1);
  V value = flip_sign(o.select(is_odd(next), r.cosine, r.sine), next);
  return o.unless(r.rare, o.to_float(value), library);
}

V tan(V x) {
  Ops& o = *x.ops;
  auto library = [&] { return o.call_lanes(KernelFunction::kTan, x); };
  if (is_double(x)) return library();
  Reduced r = reduce(o.to_double(x));
  V odd = is_odd(r.quadrant);
  V value = o.select(odd, -r.cosine, r.sine) / o.select(odd, r.sine, r.cosine);
  V result = o.select(o.abs(x) < 0x1p-13, x, o.to_float(value));
  return o.unless(r.rare, result, library);
}

namespace {

/// asin(sqrt(z)) = s + s z P(z) with s = sqrt(z), z in [0, 1/4], in double.
V asin_root(V s, V z) {
  Ops& o = *s.ops;
  return o.fma(o.poly(z, kAsin) * z, s, s);
}

}  // namespace

V asin(V x) {
  Ops& o = *x.ops;
  if (is_double(x)) return o.call_lanes(KernelFunction::kAsin, x);
  V a = o.abs(o.to_double(x));
  V small = a <= 0.5;
  V z = o.select(small, a * a, (1.0 - a) * 0.5);
  V s = o.select(small, a, o.sqrt(z));  // not a number beyond 1
  V r = asin_root(s, z);
  r = o.select(small, r, kHalfPi - (r + r));
  return o.copysign(o.to_float(r), x);
}

V acos(V x) {
  Ops& o = *x.ops;
  if (is_double(x)) return o.call_lanes(KernelFunction::kAcos, x);
  V w = o.to_double(x);
  V a = o.abs(w);
  V small = a <= 0.5;
  V z = o.select(small, a * a, (1.0 - a) * 0.5);
  V s = o.select(small, w, o.sqrt(z));
  V r = asin_root(s, z);
  V twice = r + r;
  V far = o.select(w < 0.0, kPi - twice, twice);
  return o.to_float(o.select(small, kHalfPi - r, far));
}

V atan(V x) {
  Ops& o = *x.ops;
  if (is_double(x)) return o.call_lanes(KernelFunction::kAtan, x);
  V a = o.abs(o.to_double(x));
  V large = a > 1.0;
  V r = atan_unit(o.select(large, 1.0 / a, a));
  r = o.select(large, kHalfPi - r, r);
  return o.copysign(o.to_float(r), x);
}

V atan2(V y, V x) {
  Ops& o = *x.ops;
  if (is_double(x)) return o.call_lanes(KernelFunction::kAtan2, y, x);
  V ay = o.abs(o.to_double(y));
  V ax = o.abs(o.to_double(x));
  V steep = ay > ax;
  V numerator = o.select(steep, ax, ay);
  V denominator = o.select(steep, ay, ax);
  V ratio = numerator / denominator;
  ratio = o.select(denominator == 0.0, number(ratio, 0), ratio);
  ratio = o.select(numerator == kInfinity, number(ratio, 1), ratio);
  V r = atan_unit(ratio);
  r = o.select(steep, kHalfPi - r, r);
  V negative = o.bits(x) < o.bits(number(x, 0));  // -0 too
  r = o.select(negative, kPi - r, r);
  V result = o.copysign(o.to_float(r), y);
  // A not-a-number beside an infinity or a zero has been lost in the comparisons.
  V nan = o.is_nan(x) | o.is_nan(y);
  return o.select(nan, number(x, kNan), result);
}

}  // namespace relay::codegen::math
