// Arithmetic on single values: the meaning of the number operations of tensor expressions and of
// bytecode, to the bit. The direct evaluator runs it over rows, the machine on numbers in
// registers.
#pragma once

#include <cmath>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <type_traits>

#include <relay/runtime/dtype.h>

namespace relay {

enum class UnaryOp : uint8_t {
#define RELAY_UNARY(Name, ...) k##Name,
#include <relay/runtime/scalar_ops.def>
};

/// Arithmetic on integers wraps; kMin and kMax give not-a-number if either is.
enum class BinaryOp : uint8_t {
#define RELAY_BINARY(Name, ...) k##Name,
#include <relay/runtime/scalar_ops.def>
};

/// The rough cost of an operation.
enum class ScalarCost : uint8_t {
  kStep,       // an instruction or a few, exact on floats but for Add, Sub, Mul
  kDivide,     // a division
  kRoot,       // a square root
  kRemainder,  // a division and steps after it
  kFunction    // a polynomial
};

/// The form of an operation on the numbers of some dtypes.
struct ScalarForm {
  enum class Is : uint8_t { kNothing, kValue, kTest, kDivision, kOther, kItself, kFalse, kTrue };
  Is is;
  uint8_t other;  // kOther: the number of the operation that it equals
  constexpr explicit ScalarForm(Is form = Is::kNothing, uint8_t number = 0)
      : is(form), other(number) {}
};

/// The entry of an operation in scalar_ops.def, beside its arithmetic.
struct ScalarOp {
  std::string_view text;  // in tensor expressions: "+", "exp"
  std::string_view word;  // in bytecode: "add", "exp"
  ScalarCost cost;
  ScalarForm floats, integers, bools;
  bool differentiable;

  constexpr const ScalarForm& on(DType dtype) const {
    return dtype.is_float() ? floats : dtype.is_bool() ? bools : integers;
  }
  constexpr DType result(DType operand) const {
    return on(operand).is == ScalarForm::Is::kTest ? kBool : operand;
  }
};

#define RELAY_IS_SAID(...) false __VA_OPT__(|| true)
#define RELAY_NO_DERIVATIVE
#define RELAY_NO_FORM ScalarForm()
#define RELAY_FORM(...) ScalarForm(ScalarForm::Is::kValue)
#define RELAY_TEST(...) ScalarForm(ScalarForm::Is::kTest)
#define RELAY_REAL(...) ScalarForm(ScalarForm::Is::kValue)
#define RELAY_ITSELF ScalarForm(ScalarForm::Is::kItself)
#define RELAY_ALWAYS(constant) ScalarForm(constant ? ScalarForm::Is::kTrue : ScalarForm::Is::kFalse)
#define RELAY_AS(Name) ScalarForm(ScalarForm::Is::kOther, static_cast<uint8_t>(UnaryOp::k##Name))
inline constexpr ScalarOp kUnaryOps[] = {
#define RELAY_UNARY(Name, text, cost, floats, integers, bools, derivative) \
  {text, text, ScalarCost::cost, floats, integers, bools, RELAY_IS_SAID(derivative)},
#include <relay/runtime/scalar_ops.def>
};

#define RELAY_NO_DERIVATIVE
#define RELAY_NO_FORM ScalarForm()
#define RELAY_FORM(...) ScalarForm(ScalarForm::Is::kValue)
#define RELAY_TEST(...) ScalarForm(ScalarForm::Is::kTest)
#define RELAY_REAL(...) ScalarForm(ScalarForm::Is::kValue)
#define RELAY_DIVISION(...) ScalarForm(ScalarForm::Is::kDivision)
#define RELAY_AS(Name) ScalarForm(ScalarForm::Is::kOther, static_cast<uint8_t>(BinaryOp::k##Name))
inline constexpr ScalarOp kBinaryOps[] = {
#define RELAY_BINARY(Name, text, word, cost, floats, integers, bools, by_x, by_y) \
  {text, word, ScalarCost::cost, floats, integers, bools, RELAY_IS_SAID(by_x)},
#include <relay/runtime/scalar_ops.def>
};

#undef RELAY_IS_SAID

inline constexpr size_t kNumUnaryOps = std::size(kUnaryOps);
inline constexpr size_t kNumBinaryOps = std::size(kBinaryOps);

constexpr const ScalarOp& scalar_op(UnaryOp op) { return kUnaryOps[static_cast<size_t>(op)]; }
constexpr const ScalarOp& scalar_op(BinaryOp op) { return kBinaryOps[static_cast<size_t>(op)]; }

/// True if it compares, and gives bool.
constexpr bool compares(BinaryOp op) { return scalar_op(op).floats.is == ScalarForm::Is::kTest; }
/// True if it divides, which fails on integers if the divisor is 0.
constexpr bool divides(BinaryOp op) {
  return scalar_op(op).integers.is == ScalarForm::Is::kDivision;
}

namespace arithmetic {

/// The type of arithmetic on a stored `T`: truth values are bytes 0 or 1, 16-bit floats are float.
template <class T>
using LaneType = std::conditional_t<std::is_same_v<T, Bool>, uint8_t, ComputeType<T>>;

namespace detail {

/// Quotient and remainder that round down together: q * b + r = a up to rounding.
template <class T>
T floor_mod(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    T r = T(a % b);
    return T(r != 0 && ((r < 0) != (b < 0)) ? r + b : r);
  } else {
    T r = std::fmod(a, b);
    if (r != 0 && ((r < 0) != (b < 0))) r += b;
    return r;
  }
}
template <class T>
T floor_div(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    T q = T(a / b);
    return T(a % b != 0 && ((a < 0) != (b < 0)) ? q - 1 : q);
  } else {
    if (b == 0 || !std::isfinite(a) || !std::isfinite(b)) return std::floor(a / b);
    T quotient = (a - floor_mod(a, b)) / b;
    T floored = std::floor(quotient);
    return quotient - floored > T(0.5) ? floored + 1 : floored;
  }
}

template <class T>
T wrapping_pow(T base, T exponent) {
  if (exponent < 0) {  // the truncated quotient 1 / base^-exponent; of 0, 0
    if (base == 1) return 1;
    if (std::is_signed_v<T> && base == T(-1)) return (exponent & 1) != 0 ? T(-1) : T(1);
    return 0;
  }
  auto left = static_cast<uint64_t>(exponent);
  auto square = static_cast<uint64_t>(base);
  uint64_t result = 1;
  for (; left != 0; left >>= 1) {
    if ((left & 1) != 0) result *= square;
    square *= square;
  }
  return static_cast<T>(result);
}

/// The least number divided by -1 wraps; the machine's instruction would trap.
template <class T>
constexpr bool wraps(T b) {
  return std::is_signed_v<T> && b == T(-1);
}
template <class T>
T negated(T a) {
  using U = std::make_unsigned_t<T>;
  return T(U(U(0) - U(a)));
}
template <class T>
bool is_count(T b) {
  return b >= 0 && b < T(sizeof(T) * 8);
}

/// float → integer as x86 does it: out of range gives the least int32 or int64, narrower ones take
/// the low bits.
template <class T>
T integer_from(double x) {
  if constexpr (std::is_same_v<T, uint64_t>) {
    if (x >= 9223372036854775808.0 && x < 18446744073709551616.0) {
      return static_cast<uint64_t>(x - 9223372036854775808.0) + (uint64_t{1} << 63);
    }
    return static_cast<uint64_t>(integer_from<int64_t>(x));
  } else if constexpr (std::is_same_v<T, int64_t>) {
    bool inside = x >= -9223372036854775808.0 && x < 9223372036854775808.0;
    return inside ? static_cast<int64_t>(x) : INT64_MIN;
  } else if constexpr (std::is_same_v<T, uint32_t>) {
    return static_cast<uint32_t>(integer_from<int64_t>(x));
  } else {
    bool inside = x > -2147483649.0 && x < 2147483648.0;
    return static_cast<T>(inside ? static_cast<int32_t>(x) : INT32_MIN);
  }
}

}  // namespace detail

// Each calls `use(asks, f)` with the function object of an operation on numbers stored as `Stored`
// and returns its result, an `Fn`; an empty one if the operation does not exist. `f` maps lanes and
// captures nothing, so it can be made anew from its type. `asks` is std::true_type if the result is
// a truth value.

#define RELAY_AS_COLUMN(floats, integers, bools)                                \
  if constexpr (std::is_same_v<Stored, Bool>) {                                 \
    bools                                                                       \
  } else if constexpr (std::is_integral_v<T>) {                                 \
    /* Wide and unsigned, so that nothing overflows in the sense of C++. */     \
    using W [[maybe_unused]] =                                                  \
        std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>; \
    integers                                                                    \
  } else {                                                                      \
    floats                                                                      \
  }                                                                             \
  break;
#define RELAY_NO_FORM
#define RELAY_ITSELF  // te::unary always replaces it
#define RELAY_ALWAYS(constant)

#define RELAY_FORM(...) return use(std::false_type(), [](T x) { return __VA_ARGS__; });
#define RELAY_TEST(...) return use(std::true_type(), [](T x) { return __VA_ARGS__; });
#define RELAY_REAL(...)                   \
  return use(std::false_type(), [](T v) { \
    auto x = static_cast<double>(v);      \
    return static_cast<T>(__VA_ARGS__);   \
  });
#define RELAY_AS(Name) return (with_unary<Fn, Stored>(UnaryOp::k##Name, use));
template <class Fn, class Stored, class Use>
Fn with_unary(UnaryOp op, Use use) {
  using T = LaneType<Stored>;
  using namespace detail;  // NOLINT(google-build-using-namespace)
  switch (op) {
#define RELAY_UNARY(Name, text, cost, floats, integers, bools, derivative) \
  case UnaryOp::k##Name:                                                   \
    RELAY_AS_COLUMN(floats, integers, bools)
#include <relay/runtime/scalar_ops.def>
  }
  return Fn();
}
#define RELAY_NO_FORM
#define RELAY_FORM(...) return use(std::false_type(), [](T x, T y) { return __VA_ARGS__; });
#define RELAY_TEST(...) return use(std::true_type(), [](T x, T y) { return __VA_ARGS__; });
#define RELAY_REAL(...)                        \
  return use(std::false_type(), [](T v, T w) { \
    auto x = static_cast<double>(v);           \
    auto y = static_cast<double>(w);           \
    return static_cast<T>(__VA_ARGS__);        \
  });
#define RELAY_AS(Name) return (with_binary<Fn, Stored>(BinaryOp::k##Name, use));
#define RELAY_DIVISION(...)
/// All but integer division, which may fail.
template <class Fn, class Stored, class Use>
Fn with_binary(BinaryOp op, Use use) {
  using T = LaneType<Stored>;
  using namespace detail;  // NOLINT(google-build-using-namespace)
  switch (op) {
#define RELAY_BINARY(Name, text, word, cost, floats, integers, bools, by_x, by_y) \
  case BinaryOp::k##Name:                                                         \
    RELAY_AS_COLUMN(floats, integers, bools)
#include <relay/runtime/scalar_ops.def>
  }
  return Fn();
}

#define RELAY_NO_FORM
#define RELAY_FORM(...)
#define RELAY_TEST(...)
#define RELAY_DIVISION(...) return use(std::false_type(), [](T x, T y) { return __VA_ARGS__; });
/// Division of integers; the divisor is not 0.
template <class Fn, class T, class Use>
requires std::is_integral_v<T> Fn with_division(BinaryOp op, Use use) {
  using namespace detail;  // NOLINT(google-build-using-namespace)
  switch (op) {
#define RELAY_BINARY(Name, text, word, cost, floats, integers, bools, by_x, by_y) \
  case BinaryOp::k##Name:                                                         \
    integers break;
#include <relay/runtime/scalar_ops.def>
  }
  return Fn();
}
#undef RELAY_AS_COLUMN

/// Converts a value of stored type `From` to `To`.
template <class To, class From>
LaneType<To> cast_lane(LaneType<From> x) {
  using FromLane = LaneType<From>;
  if constexpr (std::is_same_v<To, Bool>) {
    return x != FromLane{};
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<FromLane>) {
    return detail::integer_from<To>(static_cast<double>(x));
  } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
    if constexpr (std::is_same_v<From, Bool>) {
      return static_cast<float>(x);
    } else {
      return static_cast<float>(convert_element<To>(x));
    }
  } else {
    return static_cast<LaneType<To>>(x);
  }
}

}  // namespace arithmetic

}  // namespace relay
