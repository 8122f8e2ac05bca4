// Arithmetic on indices: int64 scalars as polynomials over axes, with what is known of their
// ranges.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include <relay/ir/dim.h>
#include <relay/tensor_expr/computation.h>

namespace relay::lower {

/// Index expressions in the normal form of `Dim`: an axis (or any scalar that is no polynomial)
/// stands as a `Dim::variable`, extents as themselves. Equal polynomials are equal bits.
class IndexMath {
 public:
  IndexMath() = default;
  explicit IndexMath(std::span<const te::Axis> axes) { add_axes(axes); }
  /// For estimates: a dimension that is read at 0 if its extent is 1 has a greater one.
  static IndexMath without_broadcasts() {
    IndexMath math;
    math.broadcasts_ = false;
    return math;
  }
  /// The values of an axis are known to be 0 … extent-1.
  void add_axes(std::span<const te::Axis> axes) {
    for (const te::Axis& axis : axes) extents_[axis.id] = axis.extent;
  }
  /// The axes of all folds below `roots`.
  void add_folds(std::span<const te::ScalarRef> roots);

  /// The polynomial of an int64 scalar.
  Dim poly(const te::ScalarRef& index);
  /// The scalar of a polynomial.
  te::ScalarRef scalar(Dim poly);
  te::ScalarRef simplify(const te::ScalarRef& index) { return scalar(poly(index)); }
  static Dim axis(uint32_t id) { return Dim::variable(id); }

  /// Quotient and remainder, rounding down, of a positive divisor.
  Dim div(Dim a, Dim b);
  Dim mod(Dim a, Dim b);
  /// Joins `b·(a div b) + (a mod b)`.
  Dim recombine(Dim a) const;

  /// Bounds (inclusive) as terms over symbols, if known.
  std::optional<Dim> least(Dim a) const;
  std::optional<Dim> greatest(Dim a) const;
  /// True if 0 <= a < extent for sure.
  bool in_range(Dim a, Dim extent) const;
  /// The factor that an axis is multiplied by; nothing if `a` is not linear in it.
  std::optional<Dim> coefficient(Dim a, uint32_t axis) const;
  /// `a` without the terms of an axis it is linear in.
  Dim without(Dim a, uint32_t axis) const;
  bool mentions(Dim a, uint32_t axis) const;
  /// True if `a` is plain: axes and extents, neither quotients nor extrema.
  bool is_polynomial(Dim a) const;

  /// The indices of element `flat` of a dense tensor.
  std::vector<Dim> delinearise(Dim flat, std::span<const Dim> dims);
  static Dim linearise(std::span<const Dim> index, std::span<const Dim> dims);

 private:
  static constexpr uint32_t kOpaque = 1u << 24;
  Dim opaque(const te::ScalarRef& node);
  te::ScalarRef atom_scalar(Dim atom);
  std::optional<Dim> bound(Dim a, bool greatest) const;
  std::optional<Dim> atom_bound(Dim atom, bool greatest) const;

  bool broadcasts_ = true;
  std::unordered_map<uint32_t, Dim> extents_;
  std::vector<te::ScalarRef> opaque_;
  // Keys are kept alive.
  std::unordered_map<const te::ScalarNode*, std::pair<te::ScalarRef, Dim>> known_;
};

/// Row-major strides of a dense tensor.
std::vector<Dim> dense_strides(std::span<const Dim> dims);

}  // namespace relay::lower
