// Multiplication of integers by a real factor, exactly rounded, in 64-bit integer arithmetic.
#pragma once

#include <optional>

#include <relay/op/registry/formula.h>

namespace relay {

/// Decides how products that are not integers are rounded.
enum class Rounding : uint8_t {
  kUpward,    // to the nearest integer, halves up
  kToNearest  // to the nearest integer, halves away from zero
};

/// A factor f as an integer of 31 bits and a power of two: f ≈ sign · multiplier · 2^-(shift + 1),
/// with the nearest possible multiplier. Factors beyond 2^32 act as 2^32 or more, which takes every
/// integer but 0 out of 32 bits; not-a-number acts as infinity.
struct FixedPoint {
  Formula multiplier;            // int64, not negative, below 2^34
  Formula shift;                 // int64, 0 … 63
  std::optional<Formula> sign;   // int64, 1 or -1; nothing for 1
  std::optional<Formula> limit;  // int64: integers count as no larger; nothing for any size
  bool is_one = false;           // the factor is known to be 1
};

/// `factor` is float64, a scalar or of a shape that broadcasts to that of the integers.
FixedPoint fixed_point(const Formula& factor);

/// Integers in int64 with |value| < 2^bits.
struct BoundedInt {
  Formula value;
  int bits;
};

/// value · factor, rounded: int64. Exact for |value| < 2^62; of results beyond 32 bits only that
/// fact is exact.
Formula multiply(const BoundedInt& value, const FixedPoint& factor, Rounding rounding);

}  // namespace relay
