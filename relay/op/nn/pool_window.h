// The windows of a pool: shared by pools and their gradients.
#pragma once

#include <string_view>
#include <vector>

#include <relay/op/nn/pool_attrs.h>
#include <relay/op/op.h>
#include <relay/op/registry/layout.h>

namespace relay {

/// The attributes of one pool, checked and made uniform.
struct PoolWindow {
  PoolWindow(const PoolAttrs& attrs, size_t rank);

  size_t rank() const { return space.size(); }
  size_t dimension(char axis) const { return space.find(axis); }
  bool is_space(char axis) const { return dimension(axis) != std::string_view::npos; }

  /// Extents of the result for data of extents `dims`; fails if the window does not fit.
  std::vector<Dim> result_dims(const RelationCall& call, std::span<const Dim> dims) const;
  /// Position in the data, on spatial dimension d, of element k of window `at`.
  te::Scalar row(size_t d, const te::Scalar& at, const te::Scalar& k) const;
  /// Index into the data for the result's (or gradient's) index i with the given spatial positions.
  std::vector<te::Scalar> data_index(te::Indices i, std::span<const te::Scalar> rows) const;
  /// The number of elements of a window that count in its average, at least 1 (int64).
  te::Scalar count(te::Indices i, const te::Tensor& data) const;
  /// True if windows stay inside the data.
  bool inside() const;

  std::string_view space;
  Layout data;
  Layout out;
  std::vector<int64_t> size;
  std::vector<int64_t> strides;
  std::vector<int64_t> dilation;
  Padding padding;
  bool ceil_mode;
  bool count_include_pad;
};

}  // namespace relay
