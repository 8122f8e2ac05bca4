// Scalar expressions: the value of one element as a function of indices.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <relay/ir/dim.h>
#include <relay/runtime/arithmetic.h>
#include <relay/runtime/dtype.h>
#include <relay/support/ref.h>

namespace relay::te {

class ScalarNode;
using ScalarRef = Ref<const ScalarNode>;

/// One iteration variable: runs over 0 … extent-1. Ids are unique within a computation.
struct Axis {
  uint32_t id = 0;
  Dim extent;
};

/// Names a tensor of a computation: input `index`, or output `index` of stage `stage`.
struct TensorId {
  int32_t stage = -1;  // -1: an input
  int32_t index = 0;
  bool is_input() const { return stage < 0; }
  friend bool operator==(const TensorId&, const TensorId&) = default;
};

enum class ScalarKind : uint8_t {
  kConst,
  kIndex,    // the value of an axis, int64
  kFromDim,  // an integer term, int64
  kUnary,
  kBinary,
  kCast,     // C-like conversion: floats truncate toward zero, integers wrap, non-zero to true
  kBitcast,  // same bits, same width
  kVar,      // a placeholder bound by a combiner or a scan step
  kLoad,
  kSelect,  // args: condition, then, else. Lazy: the loads and failures of the arm not taken do not
            // happen
  kFail,    // args: condition, value. Fails with `message` where the condition is false, else the
            // value. In kernels perhaps two more, int64: an index and the extent that it is outside
            // of, evaluated for the message only
  kFold,    // args: the values to combine, then optionally a bool `where`: values are not evaluated
            // where it is false. As a value it stands for its first accumulator
  kGet      // args: a fold; its k-th accumulator
};

using relay::UnaryOp;
inline std::string_view unary_name(UnaryOp op) { return scalar_op(op).text; }

using relay::BinaryOp;
inline std::string_view binary_name(BinaryOp op) { return scalar_op(op).text; }

/// The behaviour of a load at an index outside the tensor.
enum class Bounds : uint8_t {
  kProven,  // cannot happen; checked in debug builds and by the direct evaluator
  kClamp,   // nearest element
  kWrap,    // modulo the extent
  kFill,    // the load's fill value (this is how padding is expressed)
  kFail     // run-time error "index out of range"
};

/// True if a load may fail: if the index is outside, or must be moved inside of an empty tensor.
inline bool may_miss(Bounds bounds) { return bounds != Bounds::kProven && bounds != Bounds::kFill; }

/// A typed immediate: the bits of a value of the node's dtype (floats as double).
union Immediate {
  int64_t i;
  uint64_t u;
  double f;
};

struct Combiner;

/// A node of a scalar expression. Immutable, shared: a node used twice is computed once per
/// element.
class ScalarNode {
 public:
  ScalarKind kind;
  DType dtype;
  UnaryOp unary{};
  BinaryOp binary{};
  Bounds bounds{};
  uint32_t axis = 0;  // kIndex
  uint32_t id = 0;    // kVar; kGet: which accumulator
  Immediate value{};  // kConst
  Dim dim;            // kFromDim
  TensorId tensor;    // kLoad: args are the indices (int64), one for each dimension
  ScalarRef fill;     // kLoad with kFill (a constant)
  /// kFail; in a group the message of a load or an empty fold that fails (else the usual words).
  std::string message;
  /// In a group: the operator that it belongs to (1 …), for the place of a failure.
  uint32_t origin = 0;
  std::vector<ScalarRef> args;
  std::vector<Axis> axes;                    // kFold: combined in row-major order of these axes
  std::shared_ptr<const Combiner> combiner;  // kFold

  ScalarNode(ScalarKind node_kind, DType node_dtype) : kind(node_kind), dtype(node_dtype) {}
  void retain() const noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() const noexcept {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
  }

 private:
  void destroy() const noexcept;  // without recursion
  mutable std::atomic<uint32_t> refs_{1};
};

/// The way in which a fold (or an update) joins two values.
struct Combiner {
  enum class Kind : uint8_t { kSum, kProd, kMax, kMin, kAnd, kOr, kCustom };
  Kind kind = Kind::kSum;
  /// kCustom: accumulators lhs ⊕ rhs → results, elementwise in these placeholders (kVar nodes),
  /// with the identity to start from. Must be associative up to rounding.
  std::vector<ScalarRef> lhs, rhs, result, identity;
  /// kCustom: true if lhs and rhs may change places, so that elements may be joined in any order.
  bool commutes = false;
  /// True if an extent of zero is an error ("max of nothing") instead of the identity.
  bool needs_element = false;
};

// ---- Author's view ------------------------------------------------------------------------------

/// Value handle with operators, in which `compute` functions are written. Binary operators take
/// equal dtypes; C++ numbers adapt to the other side's dtype.
class Scalar {
 public:
  Scalar() = default;
  Scalar(ScalarRef node) : node_(std::move(node)) {}  // NOLINT(google-explicit-constructor)
  const ScalarNode* node() const { return node_.get(); }
  const ScalarRef& ref() const { return node_; }
  DType dtype() const { return node_->dtype; }

 private:
  ScalarRef node_;
};

/// Constants. `constant(3, dtype)` converts to the dtype (the caller takes care of saturation).
Scalar constant(double value, DType dtype);
Scalar constant(int64_t value, DType dtype);
inline Scalar constant(int value, DType dtype) {
  return constant(static_cast<int64_t>(value), dtype);
}
Scalar index_constant(int64_t value);
Scalar from_dim(Dim dim);    // int64
Scalar index_of(Axis axis);  // int64
Scalar placeholder(uint32_t id, DType dtype);
/// Identities of max and min: -inf/+inf, or the least/greatest integer.
Scalar lowest(DType dtype);
Scalar highest(DType dtype);

Scalar unary(UnaryOp op, Scalar x);
/// Throws InternalError if the dtypes differ. Folds constants and identities on int64 (index
/// arithmetic).
Scalar binary(BinaryOp op, Scalar a, Scalar b);
Scalar cast(Scalar x, DType dtype);  // x itself if it has the dtype
Scalar bitcast(Scalar x, DType dtype);
Scalar select(Scalar condition, Scalar then_value, Scalar else_value);
Scalar fail_unless(Scalar condition, Scalar value, std::string message);
/// True if it divides integers, which fails if the divisor is 0.
bool is_integer_division(const ScalarNode& node);

#define RELAY_TE_BINARY(symbol, op)                            \
  inline Scalar operator symbol(Scalar a, Scalar b) {          \
    return binary(BinaryOp::op, std::move(a), std::move(b));   \
  }                                                            \
  inline Scalar operator symbol(Scalar a, double b) {          \
    Scalar rhs = constant(b, a.dtype());                       \
    return binary(BinaryOp::op, std::move(a), std::move(rhs)); \
  }                                                            \
  inline Scalar operator symbol(Scalar a, int64_t b) {         \
    Scalar rhs = constant(b, a.dtype());                       \
    return binary(BinaryOp::op, std::move(a), std::move(rhs)); \
  }                                                            \
  inline Scalar operator symbol(Scalar a, int b) {             \
    return std::move(a) symbol static_cast<int64_t>(b);        \
  }                                                            \
  inline Scalar operator symbol(double a, Scalar b) {          \
    Scalar lhs = constant(a, b.dtype());                       \
    return binary(BinaryOp::op, std::move(lhs), std::move(b)); \
  }                                                            \
  inline Scalar operator symbol(int a, Scalar b) {             \
    Scalar lhs = constant(static_cast<int64_t>(a), b.dtype()); \
    return binary(BinaryOp::op, std::move(lhs), std::move(b)); \
  }
RELAY_TE_BINARY(+, kAdd)
RELAY_TE_BINARY(-, kSub)
RELAY_TE_BINARY(*, kMul)
RELAY_TE_BINARY(/, kDiv)
RELAY_TE_BINARY(<, kLt)
RELAY_TE_BINARY(<=, kLe)
RELAY_TE_BINARY(>, kGt)
RELAY_TE_BINARY(>=, kGe)
RELAY_TE_BINARY(==, kEq)
RELAY_TE_BINARY(!=, kNe)
#undef RELAY_TE_BINARY
// Logic on bool.
inline Scalar operator&&(Scalar a, Scalar b) {
  return binary(BinaryOp::kAnd, std::move(a), std::move(b));
}
inline Scalar operator||(Scalar a, Scalar b) {
  return binary(BinaryOp::kOr, std::move(a), std::move(b));
}
inline Scalar operator!(Scalar a) { return unary(UnaryOp::kNot, std::move(a)); }
inline Scalar operator-(Scalar a) { return unary(UnaryOp::kNeg, std::move(a)); }
inline Scalar exp(Scalar x) { return unary(UnaryOp::kExp, std::move(x)); }
inline Scalar log(Scalar x) { return unary(UnaryOp::kLog, std::move(x)); }
inline Scalar sqrt(Scalar x) { return unary(UnaryOp::kSqrt, std::move(x)); }
inline Scalar rsqrt(Scalar x) { return unary(UnaryOp::kRsqrt, std::move(x)); }
inline Scalar floor(Scalar x) { return unary(UnaryOp::kFloor, std::move(x)); }
inline Scalar ceil(Scalar x) { return unary(UnaryOp::kCeil, std::move(x)); }
inline Scalar round(Scalar x) { return unary(UnaryOp::kRound, std::move(x)); }
inline Scalar abs(Scalar x) { return unary(UnaryOp::kAbs, std::move(x)); }
inline Scalar min(Scalar a, Scalar b) { return binary(BinaryOp::kMin, std::move(a), std::move(b)); }
inline Scalar max(Scalar a, Scalar b) { return binary(BinaryOp::kMax, std::move(a), std::move(b)); }
inline Scalar pow(Scalar a, Scalar b) { return binary(BinaryOp::kPow, std::move(a), std::move(b)); }
inline Scalar mod(Scalar a, Scalar b) { return binary(BinaryOp::kMod, std::move(a), std::move(b)); }
inline Scalar floor_div(Scalar a, Scalar b) {
  return binary(BinaryOp::kFloorDiv, std::move(a), std::move(b));
}
inline Scalar floor_mod(Scalar a, Scalar b) {
  return binary(BinaryOp::kFloorMod, std::move(a), std::move(b));
}

/// Its text, for tests and `--emit`: `(in0[i0, i1; else 0f] * 2f)`. Nodes with several users get
/// names.
std::string to_string(const ScalarNode& node);

}  // namespace relay::te
