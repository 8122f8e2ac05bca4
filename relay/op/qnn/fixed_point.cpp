#include <relay/op/qnn/fixed_point.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace relay {

namespace {

// A factor 1/2 ≤ significand · 2^exponent < 1 has a multiplier of so many bits.
constexpr int kMultiplierBits = 31;
constexpr int kMostShift = 63;
/// The most that a multiplier moves up for factors that need no shift to the right.
constexpr int kMostLeft = 2;
/// The largest size of integers beside such factors: the product leaves 32 bits anyway.
constexpr int64_t kLimit = int64_t{1} << 29;

struct Parts {
  int64_t multiplier, shift, sign;
  bool limited;
};

Parts parts_of(double factor) {
  auto bits = std::bit_cast<int64_t>(factor);
  int64_t exponent = (bits >> 52) & 2047;
  int64_t significand = (bits & ((int64_t{1} << 52) - 1)) | (int64_t{1} << 52);
  int64_t multiplier = (significand + (1 << 21)) >> 22;
  int64_t carry = multiplier >> kMultiplierBits;
  multiplier >>= carry;
  int64_t shift = kMultiplierBits - 1 - (exponent - 1022 + carry);
  int64_t left = std::clamp<int64_t>(-shift, 0, kMostLeft);
  return {multiplier << left, std::clamp<int64_t>(shift, 0, kMostShift), factor < 0 ? -1 : 1,
          left > 0};
}

// The same as formulas, where the factor is known when the program runs.
FixedPoint computed(const Formula& factor) {
  auto number = [](int64_t value) { return Formula::number(value, kInt64); };
  Formula bits = reinterpret(factor, kInt64);
  Formula exponent = apply("bitwise_and", bits >> 52, number(2047));
  Formula significand =
      apply("bitwise_or", apply("bitwise_and", bits, number((int64_t{1} << 52) - 1)),
            number(int64_t{1} << 52));
  Formula multiplier = (significand + (1 << 21)) >> 22;
  Formula carry = multiplier >> kMultiplierBits;
  multiplier = multiplier >> carry;
  Formula shift = number(kMultiplierBits - 1 + 1022) - (exponent + carry);
  Formula left = clip(number(0) - shift, 0, kMostLeft);
  Formula negative = compare("less", factor, Formula::real(0, kFloat64));
  return {apply("left_shift", multiplier, left), clip(shift, 0, kMostShift),
          where(negative, number(-1), number(1)),
          where(compare("greater", left, number(0)), number(kLimit), number(int64_t{1} << 62))};
}

Formula like(const NDArray& shape, const std::vector<int64_t>& values) {
  return {make_constant(NDArray::from<int64_t>(shape.shape(), values)), kInt64};
}

// (x · multiplier) >> shift of products beyond 63 bits, from the parts above and below bit 31.
Formula wide_product(const Formula& x, const FixedPoint& factor) {
  const Formula& shift = factor.shift;
  auto number = [](int64_t value) { return Formula::number(value, kInt64); };
  // Shifts below 31 belong to factors from 1/2: numbers beyond 32 bits stay beyond.
  constexpr double kMost = (int64_t{1} << 32) - 1;
  Formula narrow = (clip(x, -kMost, kMost) * factor.multiplier) >> shift;
  Formula low =
      (apply("bitwise_and", x, number((int64_t{1} << kMultiplierBits) - 1)) * factor.multiplier) >>
      kMultiplierBits;
  Formula high = (x >> kMultiplierBits) * factor.multiplier;
  Formula wide = (high + low) >> apply("maximum", shift - kMultiplierBits, number(0));
  return where(compare("less", shift, number(kMultiplierBits)), narrow, wide);
}

}  // namespace

FixedPoint fixed_point(const Formula& factor) {
  NDArray known = factor.constant();
  if (!known) return computed(factor);
  std::vector<int64_t> multipliers, shifts, signs, limits;
  bool negative = false, limited = false;
  for (int64_t i = 0; i < known.size(); ++i) {
    Parts parts = parts_of(known.element_as_double(i));
    multipliers.push_back(parts.multiplier);
    shifts.push_back(parts.shift);
    signs.push_back(parts.sign);
    limits.push_back(parts.limited ? kLimit : int64_t{1} << 62);
    negative |= parts.sign < 0;
    limited |= parts.limited;
  }
  // One shift for all channels moves whole vectors of elements alike.
  bool same_shift = std::all_of(shifts.begin(), shifts.end(),
                                [&](int64_t shift) { return shift == shifts.front(); });
  FixedPoint result{
      like(known, multipliers),
      same_shift && !shifts.empty() ? Formula::number(shifts.front(), kInt64) : like(known, shifts),
      std::nullopt, std::nullopt, factor.is_all(1)};
  if (negative) result.sign = like(known, signs);
  if (limited) result.limit = like(known, limits);
  return result;
}

Formula multiply(const BoundedInt& value, const FixedPoint& factor, Rounding rounding) {
  if (factor.is_one) return value.value;
  Formula x = value.value;
  if (factor.limit) {
    Formula least = Formula::number(0, kInt64) - *factor.limit;
    x = apply("maximum", apply("minimum", x, *factor.limit), least);
  }
  if (factor.sign) x = x * *factor.sign;
  std::optional<Formula> negative;
  if (rounding == Rounding::kToNearest) {
    negative = compare("less", x, Formula::number(0, kInt64));
    x = apply("abs", x);
  }
  Formula shifted = value.bits + kMultiplierBits > 63 ? wide_product(x, factor)
                                                      : (x * factor.multiplier) >> factor.shift;
  // The last bit that is shifted out rounds.
  Formula rounded = (shifted + 1) >> 1;
  if (!negative) return rounded;
  return where(*negative, Formula::number(0, kInt64) - rounded, rounded);
}

}  // namespace relay
