#include <relay/op/nn/combine.h>

#include <algorithm>
#include <cctype>

#include <relay/op/nn/conv_attrs.h>
#include <relay/op/nn/nn_attrs.h>
#include <relay/op/shape/shape_attrs.h>

namespace relay {
namespace {

std::optional<size_t> place_of(const std::string& layout, char axis) {
  bool plain = std::all_of(layout.begin(), layout.end(),
                           [](unsigned char c) { return std::isupper(c) != 0; });
  size_t at = layout.find(axis);
  if (!plain || at == std::string::npos) return std::nullopt;
  return at;
}

ExprRef batch_product(const ExprRef& data, const ExprRef& weights, BatchMatmulAttrs attrs) {
  return call_op("nn.batch_matmul", {data, weights}, Attrs::make(std::move(attrs)));
}

}  // namespace

OpColumn<ParallelProductFn>& parallel_products() {
  static auto* column = new OpColumn<ParallelProductFn>("parallel_product");
  return *column;
}

std::optional<ParallelProduct> parallel_conv2d(const OpCall& call, int64_t width) {
  auto attrs = call.attrs<Conv2DAttrs>();
  std::optional<size_t> weight = place_of(attrs.kernel_layout, 'O');
  std::optional<size_t> result =
      place_of(attrs.out_layout.empty() ? attrs.data_layout : attrs.out_layout, 'C');
  if (attrs.groups != 1 || !weight || !result) return std::nullopt;
  attrs.channels.reset();
  AttrsRef same = Attrs::make(attrs);
  attrs.channels = width;
  return ParallelProduct{ProductFamily::kConv2D,        *weight, *result, same,
                         Attrs::make(std::move(attrs)), nullptr};
}

std::optional<ParallelProduct> parallel_dense(const OpCall& call, int64_t width) {
  auto attrs = call.attrs<DenseAttrs>();
  attrs.units.reset();
  AttrsRef same = Attrs::make(attrs);
  ParallelProduct product{ProductFamily::kDense, 0, call.result().rank() - 1, same, {}, nullptr};
  if (call.tensor(0).rank() == 2) {
    product.batched = [dtype = attrs.out_dtype](const ExprRef& data, const ExprRef& weights) {
      return batch_product(data, weights, {dtype, false, true});
    };
  }
  attrs.units = width;
  product.wide = Attrs::make(std::move(attrs));
  return product;
}

std::optional<ParallelProduct> parallel_matmul(const OpCall& call, int64_t width) {
  auto attrs = call.attrs<MatmulAttrs>();
  attrs.units.reset();
  ParallelProduct product{ProductFamily::kDense,
                          attrs.transpose_b ? size_t{0} : size_t{1},
                          call.result().rank() - 1,
                          Attrs::make(attrs),
                          {},
                          nullptr};
  if (call.tensor(0).rank() == 2) {
    product.batched = [attrs](const ExprRef& data, const ExprRef& weights) {
      return batch_product(data, weights, {attrs.out_dtype, attrs.transpose_a, attrs.transpose_b});
    };
  }
  attrs.units = width;
  product.wide = Attrs::make(std::move(attrs));
  return product;
}

std::optional<ParallelProduct> parallel_batch_matmul(const OpCall& call, int64_t) {
  const auto& attrs = call.attrs<BatchMatmulAttrs>();
  size_t rank = call.tensor(1).rank();
  return ParallelProduct{ProductFamily::kBatchMatmul,
                         rank - (attrs.transpose_b ? 2 : 1),
                         call.result().rank() - 1,
                         call.attrs_ref(),
                         call.attrs_ref(),
                         nullptr};
}

ExprRef joined_along(std::span<const ExprRef> tensors, size_t axis) {
  ConcatenateAttrs attrs;
  attrs.axis = static_cast<int64_t>(axis);
  return call_op("concatenate", {make_tuple(tensors)}, Attrs::make(attrs));
}

ExprRef part_along(const ExprRef& tensor, size_t axis, int64_t begin, int64_t size) {
  StridedSliceAttrs attrs;
  attrs.begin.value.assign(axis + 1, 0);
  attrs.end.value.assign(axis + 1, -1);
  attrs.begin.value[axis] = begin;
  attrs.end.value[axis] = size;
  attrs.strides.emplace(axis + 1, 1);
  attrs.slice_mode = SliceMode::kSize;
  return call_op("strided_slice", {tensor}, Attrs::make(std::move(attrs)));
}

ExprRef stacked(std::span<const ExprRef> tensors) {
  return call_op("stack", {make_tuple(tensors)}, Attrs::make(StackAttrs{}));
}

std::vector<ExprRef> unstacked(const ExprRef& tensor, size_t count) {
  SplitAttrs attrs;
  attrs.indices_or_sections = static_cast<int64_t>(count);
  ExprRef parts = call_op("split", {tensor}, Attrs::make(std::move(attrs)));
  std::vector<ExprRef> result;
  for (size_t i = 0; i < count; ++i) {
    result.push_back(call_op("squeeze", {make_projection(parts, static_cast<uint32_t>(i))},
                             Attrs::make(SqueezeAttrs{attr::Axes(std::vector<int64_t>{0})})));
  }
  return result;
}

ExprRef with_leading_axes(const ExprRef& tensor, size_t count) {
  if (count == 0) return tensor;
  ExpandDimsAttrs attrs;
  attrs.num_newaxis = static_cast<int64_t>(count);
  return call_op("expand_dims", {tensor}, Attrs::make(std::move(attrs)));
}

}  // namespace relay
