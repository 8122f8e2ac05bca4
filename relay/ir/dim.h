// Dimensions: integers, `?`, inference variables and integer terms (language.md §3, T13–T15).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace relay {

class TypeVar;
struct DimTerm;

/// One dimension of a shape, eight bytes; equal dimensions are equal bits.
///
/// Terms have a linear normal form `c0 + c1*a1 + c2*a2 + …` over atoms (a symbol, a value read from
/// an input, or an opaque operation such as a floor division). They are interned, so `==` decides
/// equality of normal forms, and counted: a term is freed with its last `Dim`.
class Dim {
 public:
  /// The integer 0.
  constexpr Dim() : Dim(0) {}
  /// An integer, |value| < 2^61; beyond: `DimRangeError` (relay/ir/dim_error.h). Shapes hold
  /// non-negative integers; terms may be negative.
  constexpr Dim(int64_t value)  // NOLINT(google-explicit-constructor)
      : bits_((static_cast<uint64_t>(value) << 2) | kIntTag) {
    if (value >= kLimit || value <= -kLimit) refuse(value);
  }
  constexpr Dim(int value)  // NOLINT(google-explicit-constructor)
      : Dim(static_cast<int64_t>(value)) {}
  constexpr Dim(const Dim& other) noexcept : bits_(other.bits_) {
    if (is_term()) retain();
  }
  constexpr Dim(Dim&& other) noexcept : bits_(std::exchange(other.bits_, kIntTag)) {}
  constexpr Dim& operator=(Dim other) noexcept {  // by value: `other` may be a part of this term
    std::swap(bits_, other.bits_);
    return *this;
  }
  constexpr ~Dim() {
    if (is_term()) release();
  }
  /// `?`: a dimension known only at run time; consistent with every other (T15).
  static constexpr Dim any() { return Dim(Bits{kAnyTag}); }
  /// A flexible variable of one inference.
  static constexpr Dim variable(uint32_t id) {
    return Dim(Bits{(static_cast<uint64_t>(id) << 2) | kVariableTag});
  }
  /// A named dimension. `var` has kind ShapeVar, or kind Number where it stands for any number, and
  /// is kept alive.
  static Dim symbol(const TypeVar* var);
  /// Element `index` (flat) of input `input` of the operator call whose relation runs: a value of
  /// the run.
  static Dim value(uint32_t input, uint32_t index);

  constexpr bool is_int() const { return (bits_ & 3) == kIntTag; }
  constexpr bool is_int(int64_t value) const { return is_int() && as_int() == value; }
  constexpr bool is_any() const { return bits_ == kAnyTag; }
  constexpr bool is_variable() const { return (bits_ & 3) == kVariableTag; }
  constexpr bool is_term() const { return (bits_ & 3) == 0; }
  constexpr int64_t as_int() const { return static_cast<int64_t>(bits_) >> 2; }
  constexpr uint32_t variable_id() const { return static_cast<uint32_t>(bits_ >> 2); }
  const DimTerm& term() const { return *reinterpret_cast<const DimTerm*>(bits_); }
  constexpr std::optional<int64_t> constant() const {
    return is_int() ? std::optional<int64_t>(as_int()) : std::nullopt;
  }
  /// The named dimension, or null if this is not one.
  const TypeVar* as_symbol() const;
  /// True if the dimension is a number of 0 or more whatever its extents are, as extents are
  /// (T13). Values that a run reads may have any sign.
  constexpr bool is_natural() const;
  /// True if a symbol, or an inference variable, occurs in the dimension.
  bool has_symbol() const;
  bool has_variable() const;

  constexpr uint64_t bits() const { return bits_; }
  friend constexpr bool operator==(const Dim& a, const Dim& b) { return a.bits_ == b.bits_; }

  /// Its text in shapes: `4`, `?`, `n`, `2 * n + 1`, `floordiv(n, 2)`. `name` chooses the text of
  /// symbols.
  std::string str() const;
  std::string str(const std::function<std::string(const TypeVar* symbol)>& name) const;

  /// The number of different terms in the process now.
  static size_t count_terms();

 private:
  struct Bits {
    uint64_t bits;
  };
  explicit constexpr Dim(Bits bits) : bits_(bits.bits) {}
  [[noreturn]] static void refuse(int64_t value);
  void retain() const noexcept;
  void release() const noexcept;
  friend struct DimTable;

  static constexpr int64_t kLimit = int64_t{1} << 61;
  static constexpr uint64_t kIntTag = 1;
  static constexpr uint64_t kVariableTag = 2;
  static constexpr uint64_t kAnyTag = 3;
  uint64_t bits_;
};
static_assert(sizeof(Dim) == 8);

enum class DimOp : uint8_t {
  kSymbol,
  kValue,
  kLinear,  // constant + sum of coefficient * atom; never a plain integer or a bare atom
  kMul,     // product of two terms neither of which is an integer
  kFloorDiv,
  kFloorMod,
  kCeilDiv,
  kMin,
  kMax,
  kBroadcast  // the larger of two extents that must be equal or contain a 1 (checked at run time)
};

/// A term other than an integer, `?` or a bare inference variable. Interned.
struct DimTerm {
  /// Limits on nesting and on the size as a tree, so that walks may recurse; beyond them `Error`.
  static constexpr uint32_t kMaxDepth = 200;
  static constexpr uint32_t kMaxSize = 1u << 14;

  struct Part {
    int64_t coefficient;
    Dim atom;  // a term that is not kLinear, or an inference variable
  };
  DimOp op;
  bool has_symbol = false;
  bool has_variable = false;
  bool is_natural = false;          // as Dim::is_natural
  const TypeVar* symbol = nullptr;  // kSymbol; held by the table
  uint32_t input = 0;               // kValue
  uint32_t index = 0;               // kValue
  int64_t constant = 0;             // kLinear
  std::vector<Part> parts;          // kLinear, ordered
  Dim lhs;                          // the binary operations
  Dim rhs;
  uint32_t depth = 1;
  uint32_t size = 1;

  /// The number of `Dim`s that hold the interned term; a copy is not interned.
  struct Count {
    std::atomic<uint32_t> value{1};
    Count() = default;
    Count(const Count&) noexcept {}
    Count& operator=(const Count&) = delete;
  };
  mutable Count refs;
};

constexpr bool Dim::is_natural() const {
  return is_int() ? as_int() >= 0 : is_term() && term().is_natural;
}
inline void Dim::retain() const noexcept {
  term().refs.value.fetch_add(1, std::memory_order_relaxed);
}

// Arithmetic on terms with normalisation. `?` is absorbing (min and max too). An integer result
// beyond the range of a Dim throws `Error`. The divisor of a division is positive.
Dim operator+(Dim a, Dim b);
Dim operator-(Dim a, Dim b);
Dim operator*(Dim a, Dim b);
Dim floor_div(Dim a, Dim b);
Dim floor_mod(Dim a, Dim b);
Dim ceil_div(Dim a, Dim b);
/// Operands that another one is never above (below) are dropped: max(0, n) is n for an extent n.
Dim min(Dim a, Dim b);
Dim max(Dim a, Dim b);
/// The extent of two dimensions broadcast against each other, or nothing if they do not broadcast
/// (2 and 3). `?` with 1 or `?` is `?`; `?` with k > 1 is k (T15: checked at run time).
std::optional<Dim> broadcast(Dim a, Dim b);
/// The result of one of the operations on two dimensions (kMul to kBroadcast); nothing if they do
/// not broadcast.
std::optional<Dim> apply_dim_op(DimOp op, Dim a, Dim b);
/// `floordiv`, …: the name in terms.
const char* dim_op_name(DimOp op);
/// The product of all; 1 for an empty list.
Dim product(std::span<const Dim> dims);

/// Equality of two dimensions: yes, no (their difference is a non-zero integer), or unknown until
/// run time (T14).
enum class Truth { kYes, kNo, kUnknown };
Truth dims_equal(Dim a, Dim b);

/// Rewrites the atoms of a term: `replace` gets each symbol, value or variable and returns its
/// replacement.
Dim substitute(Dim dim, const std::function<Dim(Dim atom)>& replace);
/// Calls `visit` on each symbol, value or variable that occurs.
void for_each_atom(Dim dim, const std::function<void(Dim atom)>& visit);

}  // namespace relay

template <>
struct std::hash<relay::Dim> {
  size_t operator()(const relay::Dim& dim) const noexcept {
    return dim.bits() * 0x9e3779b97f4a7c15ull >> 8;
  }
};
