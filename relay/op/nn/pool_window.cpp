#include <relay/op/nn/pool_window.h>

#include <relay/support/error.h>

namespace relay {

using te::Indices;
using te::Scalar;

PoolWindow::PoolWindow(const PoolAttrs& attrs, size_t rank)
    : space(spatial_axes(rank)),
      data(Layout::parse(attrs.layout, "NC" + std::string(space), "layout")),
      out(attrs.out_layout.empty()
              ? data
              : Layout::parse(attrs.out_layout, "NC" + std::string(space), "out_layout")),
      size(spatial_attr(*attrs.pool_size, rank, "pool_size")),
      strides(spatial_attr(attrs.strides, rank, "strides")),
      // TVM's gradients leave it empty.
      dilation(attrs.dilation.empty() ? std::vector<int64_t>(rank, 1)
                                      : spatial_attr(attrs.dilation, rank, "dilation")),
      padding(padding_attr(attrs.padding, rank)),
      ceil_mode(attrs.ceil_mode),
      count_include_pad(attrs.count_include_pad) {
  for (size_t d = 0; d < rank; ++d) {
    if (padding.before[d] < 0 || padding.after[d] < 0)
      throw Error("padding of a pool must not be negative");
  }
}

std::vector<Dim> PoolWindow::result_dims(const RelationCall& call,
                                         std::span<const Dim> dims) const {
  data.check(dims, "the data");
  return out.dims([&](char axis) -> Dim {
    Dim extent = data.extent(dims, axis);
    if (!is_space(axis)) return extent;
    size_t d = dimension(axis);
    Dim padded = extent + padding.before[d] + padding.after[d];
    Dim window = Dim(size[d] - 1) * dilation[d] + 1;
    Dim room = padded - window;
    call.require_at_most(window, padded,
                         "the window spans " + window.str() + " on axis " + axis +
                             ", more than the padded data's " + padded.str() + ": data " +
                             shape_str(dims) + " in layout " + data.text());
    return (ceil_mode ? ceil_div(room, strides[d]) : floor_div(room, strides[d])) + 1;
  });
}

Scalar PoolWindow::row(size_t d, const Scalar& at, const Scalar& k) const {
  return at * strides[d] + k * dilation[d] - padding.before[d];
}

std::vector<Scalar> PoolWindow::data_index(Indices i, std::span<const Scalar> rows) const {
  return data.index([&](char axis) -> Coordinate {
    return is_space(axis) ? Coordinate(rows[dimension(axis)]) : out.coordinate(i, axis);
  });
}

Scalar PoolWindow::count(Indices i, const te::Tensor& tensor) const {
  Scalar total = te::index_constant(1);
  for (size_t d = 0; d < rank(); ++d) {
    if (inside() || (count_include_pad && !ceil_mode)) {
      total = total * size[d];
      continue;
    }
    Scalar first = out.coordinate(i, space[d]).whole * strides[d] - padding.before[d];
    Dim end = data.extent(tensor.dims(), space[d]);
    if (count_include_pad) end = end + padding.after[d];
    // Elements first + k·dilation with k < size that are before `end`, and not before 0.
    Scalar step = te::index_constant(dilation[d]);
    Scalar last = te::min(te::floor_div(te::from_dim(end) - first + (dilation[d] - 1), step),
                          te::index_constant(size[d]));
    if (!count_include_pad && padding.before[d] > 0) {
      Scalar skipped = te::floor_div(
          te::max(te::index_constant(0) - first, te::index_constant(0)) + (dilation[d] - 1), step);
      last = last - skipped;
    }
    total = total * te::max(last, te::index_constant(0));
  }
  return te::max(total, te::index_constant(1));
}

bool PoolWindow::inside() const {
  if (ceil_mode) return false;
  for (size_t d = 0; d < rank(); ++d) {
    if (padding.before[d] > 0 || padding.after[d] > 0) return false;
  }
  return true;
}

}  // namespace relay
