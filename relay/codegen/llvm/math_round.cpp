// Rounding, remainders, minimum and maximum.
#include <relay/codegen/llvm/math_functions.h>

#include <limits>

namespace relay::codegen::math {

namespace {

// A constant other than not-a-number: then one comparison is enough. (Two would also let LLVM 19
// take max(abs(x), 0) for max(x, 0).)
bool is_number(V x) {
  auto* constant = llvm::dyn_cast<llvm::Constant>(x.v);
  if (constant != nullptr && constant->getType()->isVectorTy())
    constant = constant->getSplatValue();
  auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
  return number != nullptr && !number->isNaN();
}

/// fmod by one division, right for quotients below `limit`; marks others in `rare`.
V fmod_by_division(V x, V y, double limit, V* rare) {
  Ops& o = *x.ops;
  V a = o.abs(x);
  V d = o.abs(y);
  V q = o.trunc(a / d);
  *rare = q >= limit;
  // The product is exact (by its few bits, or in the fused operation), and so is the difference.
  V r = o.fma(-q, d, a);
  r = o.select(r < 0.0, r + d, r);  // the quotient had been rounded up
  r = o.select(r >= d, r - d, r);
  r = o.select((d == kInfinity) & (a < kInfinity), a, r);
  return o.copysign(r, x);
}

}  // namespace

V round_half_away(V x) {
  Ops& o = *x.ops;
  // The number below one half: with one half itself 0.49999997 would go up.
  const double below_half = is_double(x) ? 0x1.fffffffffffffp-2 : 0x1.fffffep-2;
  return o.trunc(x + o.copysign(number(x, below_half), x));
}

V fmod(V x, V y) {
  Ops& o = *x.ops;
  V rare;
  if (is_double(x)) {
    if (!o.has_fma()) return o.call_lanes(KernelFunction::kFmod, x, y);
    V usual = fmod_by_division(x, y, 0x1p52, &rare);
    // A quotient that is not normal has lost bits.
    rare = rare | ((o.abs(x) < 0x1p-900) & (x != 0.0));
    return o.unless(rare, usual, [&] { return o.call_lanes(KernelFunction::kFmod, x, y); });
  }
  V usual = o.to_float(fmod_by_division(o.to_double(x), o.to_double(y), 0x1p28, &rare));
  // A quotient that does not exist (y is 0) does not need the branch.
  rare = rare & (y != 0.0);
  return o.unless(rare, usual, [&] { return o.call_lanes(KernelFunction::kFmod, x, y); });
}

V floor_mod(V x, V y) {
  Ops& o = *x.ops;
  V r = fmod(x, y);
  V differ = (r < 0.0) ^ (y < 0.0);
  V nonzero = o.value(o.b.CreateFCmpUNE(r.v, number(r, 0.0).v));
  return o.select(nonzero & differ, r + y, r);
}

V floor_div(V x, V y) {
  Ops& o = *x.ops;
  V simple = o.floor(x / y);
  V quotient = (x - floor_mod(x, y)) / y;
  V floored = o.floor(quotient);
  V exact = o.select(quotient - floored > 0.5, floored + 1.0, floored);
  V plain = (y == 0.0) | o.logical_not((o.abs(x) < kInfinity) & (o.abs(y) < kInfinity));
  return o.select(plain, simple, exact);
}

V min_or_nan(V x, V y) {
  Ops& o = *x.ops;
  if (is_number(x)) return o.min2(x, y);
  if (is_number(y)) return o.min2(y, x);
  return o.select(o.is_nan(x), x, o.min2(x, y));
}
V max_or_nan(V x, V y) {
  Ops& o = *x.ops;
  if (is_number(x)) return o.max2(x, y);
  if (is_number(y)) return o.max2(y, x);
  return o.select(o.is_nan(x), x, o.max2(x, y));
}

}  // namespace relay::codegen::math
