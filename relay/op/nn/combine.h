// Combines products of one tensor with several weights into one product with all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include <relay/op/op.h>

namespace relay {

/// The products that one pass combines.
enum class ProductFamily : uint8_t { kConv2D, kDense, kBatchMatmul };

/// A product of its first argument with weights, its second, that can be made wider.
struct ParallelProduct {
  ProductFamily family;
  size_t weight_axis;  // weights are joined along it …
  size_t result_axis;  // … and so are results
  AttrsRef same;       // all other attributes, apart from the width
  AttrsRef wide;       // the attributes for the requested width
  /// The product for each of a batch of data and weights, joined along a new first axis. Null if
  /// there is none.
  std::function<ExprRef(const ExprRef& data, const ExprRef& weights)> batched;
};
/// The product of a call, for weights of `width` along the axis; nothing if it cannot be made
/// wider.
using ParallelProductFn = std::optional<ParallelProduct> (*)(const OpCall& call, int64_t width);
OpColumn<ParallelProductFn>& parallel_products();

std::optional<ParallelProduct> parallel_conv2d(const OpCall& call, int64_t width);
std::optional<ParallelProduct> parallel_dense(const OpCall& call, int64_t width);
std::optional<ParallelProduct> parallel_matmul(const OpCall& call, int64_t width);
std::optional<ParallelProduct> parallel_batch_matmul(const OpCall& call, int64_t width);

/// Joins tensors along an axis, and takes such a part out again.
ExprRef joined_along(std::span<const ExprRef> tensors, size_t axis);
ExprRef part_along(const ExprRef& tensor, size_t axis, int64_t begin, int64_t size);
/// Stacks tensors along a new first axis, and takes them out again.
ExprRef stacked(std::span<const ExprRef> tensors);
std::vector<ExprRef> unstacked(const ExprRef& tensor, size_t count);
/// Adds `count` axes of extent 1 in front.
ExprRef with_leading_axes(const ExprRef& tensor, size_t count);

}  // namespace relay
