#include <relay/op/nn/conv_grad.h>

#include <relay/op/nn/conv_attrs.h>
#include <relay/op/registry/layout.h>
#include <relay/op/shape/shape_attrs.h>

namespace relay {
namespace {

ExprRef samples_last(const ExprRef& x) {
  TransposeAttrs attrs;
  attrs.axes = {1, 0, 2, 3};
  return call_op("transpose", {x}, Attrs::make(attrs));
}

bool is_plain(const Conv2DAttrs& attrs) {
  return attrs.data_layout == "NCHW" && attrs.kernel_layout == "OIHW" &&
         (attrs.out_layout.empty() || attrs.out_layout == "NCHW");
}

}  // namespace

std::vector<ExprRef> conv2d_gradient(const GradientCall& call) {
  const auto& attrs = call.attrs<Conv2DAttrs>();
  te::TensorInfo data = call.call.tensor(0);
  te::TensorInfo weight = call.call.tensor(1);
  te::TensorInfo result = call.call.result();
  bool known = is_plain(attrs) && weight.dtype == data.dtype && result.dtype == data.dtype;
  for (size_t d = 2; d < 4; ++d) {
    known = known && data.dims[d].is_int() && weight.dims[d].is_int() && result.dims[d].is_int();
  }
  if (!known) return derived_gradients(call);

  std::vector<int64_t> strides = spatial_attr(attrs.strides, 2, "strides");
  std::vector<int64_t> dilation = spatial_attr(attrs.dilation, 2, "dilation");
  Padding padding = padding_attr(attrs.padding, 2);
  Conv2DTransposeAttrs back;
  back.strides = strides;
  back.dilation = dilation;
  back.padding = attrs.padding;
  back.groups = attrs.groups;
  back.output_padding.clear();
  StridedSliceAttrs taps;
  taps.begin.value = {0, 0};
  taps.axes = {2, 3};
  for (size_t d = 0; d < 2; ++d) {
    int64_t extent = data.dims[d + 2].as_int();
    int64_t size = weight.dims[d + 2].as_int();
    int64_t count = result.dims[d + 2].as_int();
    int64_t around = padding.before[d] + padding.after[d];
    // The elements that the last window leaves over.
    back.output_padding.push_back(
        extent - ((count - 1) * strides[d] + (size - 1) * dilation[d] + 1 - around));
    taps.end.value.push_back(size);
  }
  ExprRef of_data =
      call_op("nn.conv2d_transpose", {call.gradient(), call.args[1]}, Attrs::make(back));
  if (attrs.groups != 1) return {of_data, derived_gradients(call)[1]};

  Conv2DAttrs across;
  across.strides = dilation;
  across.dilation = strides;
  across.padding = attrs.padding;
  ExprRef of_weight =
      call_op("nn.conv2d", {samples_last(call.args[0]), samples_last(call.gradient())},
              Attrs::make(across));
  of_weight = call_op("strided_slice", {of_weight}, Attrs::make(taps));
  return {of_data, samples_last(of_weight)};
}

}  // namespace relay
