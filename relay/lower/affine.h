// Index expressions as sums: constant + Σ coefficient · axis.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <relay/lower/loops.h>
#include <relay/tensor_expr/scalar.h>

namespace relay::lower {

/// constant + Σ coefficient · axis + Σ coefficient · other. What is no sum of axes (a floor
/// division, say) is kept whole among the others.
struct Affine {
  struct Term {
    uint32_t axis = 0;
    Dim coefficient;
  };
  struct Other {
    te::ScalarRef value;  // int64
    Dim coefficient;
  };
  Dim constant;
  std::vector<Term> terms;  // by axis, coefficients are not 0
  std::vector<Other> others;

  /// Of an axis; 0 if it does not occur among the terms.
  Dim coefficient(uint32_t axis) const;
  bool is_constant() const { return terms.empty() && others.empty(); }
};
Affine operator+(const Affine& a, const Affine& b);
Affine operator*(const Affine& a, Dim factor);

/// An int64 scalar as a sum.
Affine affine(const te::ScalarRef& index);

/// The element that indices into dense row-major memory of extents `dims` name.
Affine affine_offset(std::span<const te::ScalarRef> indices, std::span<const Dim> dims);

/// Whether the sum is surely within 0 … extent-1 for all values of its axes. `extent_of` gives the
/// extent of an axis.
bool surely_inside(const Affine& sum, Dim extent, const std::function<Dim(uint32_t)>& extent_of);

}  // namespace relay::lower
