// A small notation for the formulas of math*.cpp: values with operators over an IRBuilder.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <span>

#include <relay/codegen/codegen.h>

namespace relay::codegen::math {

class Ops;

/// A float, integer or bool value (or a vector of them) with the operators of its builder.
/// Comparisons are ordered (false on not-a-number); `>>` is arithmetic.
struct V {
  Ops* ops = nullptr;
  llvm::Value* v = nullptr;
};

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// True if the elements have 64 bits.
bool is_double(V x);

/// Builds expressions of one shape: `lanes` elements, 0 for a scalar. No fast-math flags.
class Ops {
 public:
  Ops(llvm::IRBuilderBase& builder, const Target& target, llvm::Value* functions,
      llvm::Type* shape);

  llvm::IRBuilderBase& b;
  const Target& target;
  llvm::Value* functions;
  unsigned lanes;

  V value(llvm::Value* v) { return {this, v}; }
  llvm::Type* type(llvm::Type* element) const;
  llvm::Type* float_type() const { return type(b.getFloatTy()); }
  llvm::Type* double_type() const { return type(b.getDoubleTy()); }
  /// The integer type as wide as the elements of `like`.
  llvm::Type* int_type(llvm::Type* like) const;

  /// A constant of the type of `like`.
  V constant(V like, double x);
  V constant_int(V like, int64_t x);

  bool has_fma() const { return target.isa != Target::Isa::kBaseline; }
  bool is_avx512() const { return target.isa == Target::Isa::kAvx512; }
  /// x * y + z; fused if the target can.
  V fma(V x, V y, V z);
  V fma(V x, V y, double z) { return fma(x, y, constant(x, z)); }
  V fma(V x, double y, V z) { return fma(x, constant(x, y), z); }
  /// c[0] + c[1] x + c[2] x² …
  V poly(V x, std::span<const double> c);
  V poly(V x, std::initializer_list<double> c) { return poly(x, std::span(c.begin(), c.size())); }
  V select(V condition, V a, V b);
  /// The x86 instructions: the second operand if either is not a number.
  V min2(V a, V b);
  V max2(V a, V b);
  V abs(V x);
  /// |magnitude| with the sign of `sign`.
  V copysign(V magnitude, V sign);
  V sqrt(V x);
  V floor(V x);
  V ceil(V x);
  V trunc(V x);
  /// Nearest integer, ties to even; |x| < 2^22 (float), 2^51 (double).
  V rint_small(V x);
  V is_nan(V x);
  V bits(V x);         // float → integer
  V from_bits(V x);    // integer → float
  V to_double(V x);    // float or signed integer
  V to_float(V x);     // double or signed integer
  V to_int(V x);       // float → int32, double → int32 (in range), toward zero
  V any(V condition);  // scalar i1
  V logical_not(V condition);
  /// y * 2^floor(n) rounded once, for n (a float of y's type, integer-valued if `whole`) in ±2040
  /// (±250 for float) and y about 1, or not a number.
  V scale(V y, V n, bool whole = true);
  /// A target intrinsic that takes one vector of exactly `width` elements, applied piece by piece.
  /// Lanes must be a multiple.
  V in_pieces(V x, unsigned width, const std::function<llvm::Value*(llvm::Value*)>& piece);
  /// The same for two vectors.
  V in_pieces(V x, V y, unsigned width,
              const std::function<llvm::Value*(llvm::Value*, llvm::Value*)>& piece);
  /// 1 / x, or near it (2^-14) if the target has a quick way. Floats.
  V rough_reciprocal(V x);
  /// The number of 32-bit entries in a table in a register; 0 if the target has no such look-up.
  unsigned table_size() const;
  /// table[index mod table_size()] of each lane, of int32.
  V lookup(V index, std::span<const uint32_t> table);

  /// Calls a function of the table for each lane; converts x and y to double and back. Out of line.
  V call_lanes(KernelFunction function, V x);
  V call_lanes(KernelFunction function, V x, V y);
  /// `usual`, but `fallback()` (for all lanes, behind a branch) if some lane of `rare` is set.
  V unless(V rare, V usual, const std::function<V()>& fallback);

 private:
  V call_out_of_line(KernelFunction function, std::span<llvm::Value* const> arguments);
};

V operator+(V x, V y);
V operator-(V x, V y);
V operator*(V x, V y);
V operator/(V x, V y);
V operator-(V x);
V operator&(V x, V y);
V operator|(V x, V y);
V operator^(V x, V y);
V operator<(V x, V y);
V operator<=(V x, V y);
V operator>(V x, V y);
V operator>=(V x, V y);
V operator==(V x, V y);
V operator!=(V x, V y);  // floats: true on not-a-number
V operator<<(V x, int count);
V operator>>(V x, int count);
inline V number(V like, double x) { return like.ops->constant(like, x); }
#define RELAY_MATH_MIXED(op)                                        \
  inline V operator op(V x, double y) { return x op number(x, y); } \
  inline V operator op(double x, V y) { return number(y, x) op y; }
RELAY_MATH_MIXED(+)
RELAY_MATH_MIXED(-)
RELAY_MATH_MIXED(*)
RELAY_MATH_MIXED(/)
#undef RELAY_MATH_MIXED
#define RELAY_MATH_COMPARE(op) \
  inline V operator op(V x, double y) { return x op number(x, y); }
RELAY_MATH_COMPARE(<)
RELAY_MATH_COMPARE(<=)
RELAY_MATH_COMPARE(>)
RELAY_MATH_COMPARE(>=)
RELAY_MATH_COMPARE(==)
RELAY_MATH_COMPARE(!=)
#undef RELAY_MATH_COMPARE

}  // namespace relay::codegen::math
