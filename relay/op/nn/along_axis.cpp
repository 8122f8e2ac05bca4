#include <relay/op/nn/along_axis.h>

#include <relay/op/op.h>
#include <relay/op/shape/shape_attrs.h>
#include <relay/tensor_expr/precision.h>

namespace relay {

ExprRef along_axis(const ExprRef& vector, size_t axis, size_t rank) {
  if (axis + 1 == rank) return vector;
  ExpandDimsAttrs attrs;
  attrs.axis.value = 1;
  attrs.num_newaxis = static_cast<int64_t>(rank - axis - 1);
  return call_op("expand_dims", {vector}, Attrs::make(attrs));
}

Rows::Rows(const te::Tensor& tensor, size_t along)
    : data(tensor),
      axis(along),
      dtype(te::wide_float(tensor.dtype())),
      outer(tensor.dims()),
      extent{tensor.dim(along)} {
  outer.erase(outer.begin() + static_cast<std::ptrdiff_t>(axis));
}

te::Scalar Rows::element(te::Indices row, const te::Scalar& k) const {
  return te::cast(data(te::insert(row, axis, k)), dtype);
}

std::vector<te::Scalar> Rows::row_of(te::Indices i) const { return te::without(i, axis); }

}  // namespace relay
