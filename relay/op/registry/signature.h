// Signatures as data: the inputs and results of an operator, declared once. Inference enforces them
// before a relation runs, and builders and `relay ops` read them; relations then deal only with
// shapes.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <relay/ir/type.h>
#include <relay/runtime/dtype.h>

namespace relay {

/// A set of dtypes. A set with a name prints as the name, others as the list of their members.
class DTypes {
 public:
  constexpr DTypes() = default;
  constexpr DTypes(DType dtype) : bits_(bit(dtype)) {}  // NOLINT(google-explicit-constructor)
  template <class Predicate>
  static constexpr DTypes where(Predicate holds) {
    DTypes set;
    for (DType dtype : kAllDTypes) set.bits_ |= holds(dtype) ? bit(dtype) : 0u;
    return set;
  }
  constexpr bool contains(DType dtype) const { return (bits_ & bit(dtype)) != 0; }
  /// The member of a set of one.
  constexpr std::optional<DType> only() const {
    std::optional<DType> found;
    for (DType dtype : kAllDTypes) {
      if (contains(dtype)) found = found ? DType{} : dtype;
    }
    return found && found->valid() ? found : std::nullopt;
  }
  constexpr bool empty() const { return bits_ == 0; }
  friend constexpr DTypes operator|(DTypes a, DTypes b) { return DTypes(a.bits_ | b.bits_); }
  friend constexpr DTypes operator&(DTypes a, DTypes b) { return DTypes(a.bits_ & b.bits_); }
  friend constexpr bool operator==(DTypes, DTypes) = default;

  /// Its spelling in the relation `DType{of="…"}`: "float", "integer|bool", "int32|int64", "any".
  std::string str() const;
  /// The set with the spelling `text`; empty for an unknown spelling.
  static DTypes parse(std::string_view text);
  /// For messages: "a floating-point dtype", "dtype bool", "dtype int32 or int64".
  std::string described() const;

 private:
  constexpr explicit DTypes(uint32_t bits) : bits_(bits) {}
  static constexpr uint32_t bit(DType dtype) {
    for (uint32_t i = 0; i < std::size(kAllDTypes); ++i) {
      if (kAllDTypes[i] == dtype) return 1u << i;
    }
    return 0;
  }
  uint32_t bits_ = 0;
};

inline constexpr DTypes kAnyDType = DTypes::where([](DType) { return true; });
inline constexpr DTypes kNumbers = DTypes::where([](DType d) { return d.is_numeric(); });
inline constexpr DTypes kFloats = DTypes::where([](DType d) { return d.is_float(); });
inline constexpr DTypes kIntegers = DTypes::where([](DType d) { return d.is_integer(); });
/// Integers and bool: dtypes with bits.
inline constexpr DTypes kBits = kIntegers | kBool;
/// The dtypes of positions and extents.
inline constexpr DTypes kIndices = DTypes(kInt32) | kInt64;

inline constexpr int kAnyRank = std::numeric_limits<int>::max();

/// The description of one input or result.
class ValueSpec {
 public:
  enum class Role : uint8_t {
    kUnstated,  // the relation decides
    kValue,     // any value: a tensor, tuple, function, data
    kTensor,
    kTuple,    // of any number of tensors, each as described
    kConstant  // a tensor whose elements must be known when the program is compiled
  };

  ValueSpec() = default;
  ValueSpec(Role role, char variable, DTypes dtypes)
      : role_(role), variable_(variable), dtypes_(dtypes) {}

  /// Restricts the rank of the tensor, or of each tensor of the tuple.
  ValueSpec rank(int exact) const { return rank(exact, exact); }
  ValueSpec rank(int least, int most) const {
    ValueSpec spec = *this;
    spec.min_rank_ = least;
    spec.max_rank_ = most;
    return spec;
  }
  /// A constant that is known when the program is compiled.
  ValueSpec known() const {
    ValueSpec spec = *this;
    spec.role_ = Role::kConstant;
    return spec;
  }

  Role role() const { return role_; }
  bool is_tensor() const { return role_ == Role::kTensor || role_ == Role::kConstant; }
  /// The variable of the dtype, 0 for none. All inputs and results with one variable have one
  /// dtype.
  char variable() const { return variable_; }
  DTypes dtypes() const { return dtypes_; }
  int min_rank() const { return min_rank_; }
  int max_rank() const { return max_rank_; }
  /// "Tensor of T, rank 2 to 4", for documents.
  std::string str() const;
  /// "rank 2", "rank 1 or more", "rank 2 to 4".
  std::string rank_str() const;

 private:
  Role role_ = Role::kUnstated;
  char variable_ = 0;
  DTypes dtypes_ = kAnyDType;
  int min_rank_ = 0;
  int max_rank_ = kAnyRank;
};

/// A tensor of a dtype of its own among `dtypes`.
inline ValueSpec tensor(DTypes dtypes = kAnyDType) { return {ValueSpec::Role::kTensor, 0, dtypes}; }
/// A tensor whose dtype is shared by all inputs and results with the same `variable`. The class may
/// be given once, at the first of them.
inline ValueSpec tensor(char variable, DTypes dtypes = kAnyDType) {
  return {ValueSpec::Role::kTensor, variable, dtypes};
}
/// A tuple of tensors, each like `field`.
inline ValueSpec tuple_of(const ValueSpec& field) {
  ValueSpec spec(ValueSpec::Role::kTuple, field.variable(), field.dtypes());
  return spec.rank(field.min_rank(), field.max_rank());
}
/// Any value at all.
inline ValueSpec any_value() { return {ValueSpec::Role::kValue, 0, kAnyDType}; }

class Operator;

/// Checks the known parts of the types of a call's inputs against the operator's signature; passes
/// over parts that inference has yet to solve. Throws `Error` with the input, the requirement and
/// the type found.
void check_signature(const Operator& op, std::span<const TypeRef> inputs);

/// The dtypes of a variable of an operator's signature.
DTypes dtypes_of(const Operator& op, char variable);

}  // namespace relay
