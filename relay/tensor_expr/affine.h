// Index expressions as sums: constant + Σ coefficient · axis.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <relay/tensor_expr/scalar.h>

namespace relay::te {

/// constant + Σ coefficient · axis + Σ coefficient · other. A part that is not a sum of axes (a
/// floor division, say) stays whole among the others.
struct Affine {
  struct Term {
    uint32_t axis = 0;
    Dim coefficient;
  };
  struct Other {
    ScalarRef value;  // int64
    Dim coefficient;
  };
  Dim constant;
  std::vector<Term> terms;  // by axis, coefficients are not 0
  std::vector<Other> others;

  /// The coefficient of an axis; 0 if it does not occur among the terms.
  Dim coefficient(uint32_t axis) const;
  bool is_constant() const { return terms.empty() && others.empty(); }
};
Affine operator+(const Affine& a, const Affine& b);
Affine operator*(const Affine& a, Dim factor);

/// An int64 scalar as a sum.
Affine affine(const ScalarRef& index);

/// The element of dense row-major memory with extents `dims` that the indices name.
Affine affine_offset(std::span<const ScalarRef> indices, std::span<const Dim> dims);

/// True if the sum is certainly within 0 … extent-1 for all values of its axes. `extent_of` gives
/// the extent of an axis.
bool surely_inside(const Affine& sum, Dim extent, const std::function<Dim(uint32_t)>& extent_of);

/// The sum as a scalar again.
Scalar to_scalar(const Affine& sum);

/// The divisor of floor_div(x, d) and floor_mod(x, d), if it is a term; 0 for other nodes.
Dim divisor(const ScalarNode& node);
/// Takes multiples of the divisor out of a division with operands `args`: floor_div(d·q + e, d) = q
/// + floor_div(e, d). Null if nothing can be simplified.
ScalarRef simplify_division(const ScalarNode& node, const std::vector<ScalarRef>& args,
                            const std::function<Dim(uint32_t)>& extent_of);

}  // namespace relay::te
