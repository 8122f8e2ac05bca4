// Formulas: Relay expressions of known dtype with operators, in which expansions are written.
#pragma once

#include <string_view>
#include <vector>

#include <relay/ir/expr.h>
#include <relay/op/op.h>

namespace relay {

/// An expression whose value is a tensor of a known dtype. Operands of one operator have one dtype;
/// C++ numbers adapt to the other side's. Shapes broadcast as in NumPy.
struct Formula {
  ExprRef expr;
  DType dtype;

  /// The scalars that an expansion is free to write.
  static Formula number(int64_t value, DType dtype);
  static Formula real(double value, DType dtype);
  /// The elements, row-major, if they are known while the program is compiled; else an empty
  /// handle.
  NDArray constant() const;
  /// True if all elements are known and equal to `value`.
  bool is_all(int64_t value) const;
};

Formula cast(const Formula& x, DType dtype);  // x itself if it has the dtype
/// A unary operator that keeps the dtype: "round", "exp", …
Formula apply(std::string_view op, const Formula& x);
/// A binary operator of one dtype: "right_shift", "minimum", …; `result` is bool for comparisons.
Formula apply(std::string_view op, const Formula& a, const Formula& b);
Formula compare(std::string_view op, const Formula& a, const Formula& b);
/// max(min(x, high), low)
Formula clip(const Formula& x, double low, double high);
Formula where(const Formula& condition, const Formula& a, const Formula& b);
Formula reinterpret(const Formula& x, DType dtype);
/// A vector shaped so that it broadcasts along `axis` of tensors of a rank.
Formula along(const Formula& vector, size_t axis, size_t rank);

// Adding or subtracting a known 0 and multiplying by a known 1 gives the other side, unless that is
// a scalar beside a tensor.
Formula operator+(const Formula& a, const Formula& b);
Formula operator-(const Formula& a, const Formula& b);
Formula operator*(const Formula& a, const Formula& b);
Formula operator/(const Formula& a, const Formula& b);
Formula operator+(const Formula& a, int64_t b);
Formula operator-(const Formula& a, int64_t b);
Formula operator*(const Formula& a, int64_t b);
Formula operator>>(const Formula& a, const Formula& b);
Formula operator>>(const Formula& a, int64_t b);

}  // namespace relay
