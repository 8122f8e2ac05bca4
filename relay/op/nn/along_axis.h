// Operators that run along one axis of a tensor.
#pragma once

#include <vector>

#include <relay/ir/expr.h>
#include <relay/tensor_expr/builder.h>

namespace relay {

/// A vector (scale, offset, bias) shaped so that it broadcasts along `axis` of a tensor of this
/// rank.
ExprRef along_axis(const ExprRef& vector, size_t axis, size_t rank);

/// The rows of a tensor of floats along an axis, their elements in float32 at least.
struct Rows {
  Rows(const te::Tensor& data, size_t axis);
  te::Scalar element(te::Indices row, const te::Scalar& k) const;
  /// The row of an element.
  std::vector<te::Scalar> row_of(te::Indices i) const;

  te::Tensor data;
  size_t axis;
  DType dtype;
  std::vector<Dim> outer;   // extents of the other axes
  std::vector<Dim> extent;  // of the axis
};

}  // namespace relay
