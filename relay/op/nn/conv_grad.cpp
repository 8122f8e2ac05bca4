#include <relay/op/nn/conv_grad.h>

#include <algorithm>

#include <relay/op/shape/shape_attrs.h>

namespace relay {
namespace {

template <class A>
AttrsRef attrs_of(const ConvAttrs& fields) {
  A attrs;
  static_cast<ConvAttrs&>(attrs) = fields;
  return Attrs::make(attrs);
}

AttrsRef conv_attrs(const ConvAttrs& attrs, size_t rank) {
  return rank == 1   ? attrs_of<Conv1DAttrs>(attrs)
         : rank == 2 ? attrs_of<Conv2DAttrs>(attrs)
                     : attrs_of<Conv3DAttrs>(attrs);
}

// The letters of a layout without blocks.
bool is_order(const std::string& layout, size_t rank) { return layout.size() == rank + 2; }

std::optional<PlainConv> plain_conv(const OpCall& call, const ConvAttrs& attrs, size_t rank) {
  te::TensorInfo data = call.tensor(0), weight = call.tensor(1), result = call.result();
  PlainConv conv;
  conv.space = spatial_axes(rank);
  conv.data = attrs.data_layout;
  conv.kernel = attrs.kernel_layout;
  conv.out = attrs.out_layout.empty() ? conv.data : std::string(attrs.out_layout);
  if (!is_order(conv.data, rank) || !is_order(conv.kernel, rank) || !is_order(conv.out, rank) ||
      weight.dtype != data.dtype || result.dtype != data.dtype)
    return {};
  for (char axis : conv.space) {
    Dim extent = data.dims[conv.data.find(axis)];
    Dim taps = weight.dims[conv.kernel.find(axis)];
    Dim count = result.dims[conv.out.find(axis)];
    if (!extent.is_int() || !taps.is_int() || !count.is_int()) return {};
    conv.extents.push_back(extent.as_int());
    conv.taps.push_back(taps.as_int());
    conv.counts.push_back(count.as_int());
    if (conv.extents.back() < 1 || conv.taps.back() < 1 || conv.counts.back() < 1) return {};
  }
  conv.strides = spatial_attr(attrs.strides, rank, "strides");
  conv.dilation = spatial_attr(attrs.dilation, rank, "dilation");
  conv.padding = padding_attr(attrs.padding, rank);
  conv.groups = attrs.groups;
  for (size_t d = 0; d < rank; ++d) {
    if (conv.padding.before[d] < 0 || conv.padding.after[d] < 0) return {};
  }
  Dim in = weight.dims[conv.kernel.find('I')], out = weight.dims[conv.kernel.find('O')];
  if (in.is_int()) conv.channels_in = in.as_int();
  if (out.is_int()) conv.channels_out = out.as_int();
  conv.dtype = data.dtype;
  return conv;
}

// The transposed convolution, for those that `spread_gradient` does not write.
ExprRef transposed_gradient(const PlainConv& conv, const ExprRef& gradient, const ExprRef& weight) {
  Conv2DTransposeAttrs base;
  ConvAttrs& attrs = base;
  attrs.strides = conv.strides;
  attrs.dilation = conv.dilation;
  attrs.groups = conv.groups;
  attrs.data_layout = conv.out;
  attrs.out_layout = conv.data;
  // The weight's output channels are those that come in.
  std::string letters = conv.kernel;
  std::swap(letters[letters.find('O')], letters[letters.find('I')]);
  attrs.kernel_layout = letters;
  attrs.padding = conv.padding.before;
  attrs.padding.insert(attrs.padding.end(), conv.padding.after.begin(), conv.padding.after.end());
  attrs.output_padding.clear();
  for (size_t d = 0; d < conv.rank(); ++d) {
    int64_t reach = (conv.counts[d] - 1) * conv.strides[d] +
                    (conv.taps[d] - 1) * conv.dilation[d] + 1 - conv.padding.before[d] -
                    conv.padding.after[d];
    // The elements that the last window leaves over.
    attrs.output_padding.push_back(conv.extents[d] - reach);
  }
  AttrsRef made = conv.rank() == 1   ? attrs_of<Conv1DTransposeAttrs>(attrs)
                  : conv.rank() == 2 ? attrs_of<Conv2DTransposeAttrs>(attrs)
                                     : attrs_of<Conv3DTransposeAttrs>(attrs);
  return call_op("nn.conv" + std::to_string(conv.rank()) + "d_transpose", {gradient, weight}, made);
}

// A convolution of the data with the gradient: samples are what it sums over, and the taps are its
// places. The channels that fill vectors lie side by side: those of the data if it has them last,
// else those of the gradient, and then the data is read as it is. Null if its windows would begin
// behind the data.
ExprRef weight_gradient(const PlainConv& conv, ExprRef data, const ExprRef& gradient) {
  Conv2DAttrs base;
  ConvAttrs& attrs = base;
  attrs.strides = conv.dilation;
  attrs.dilation = conv.strides;
  std::vector<int64_t> after;
  attrs.padding.clear();
  for (size_t d = 0; d < conv.rank(); ++d) {
    const size_t axis = conv.data.find(conv.space[d]);
    const int64_t before = conv.padding.before[d], extent = conv.extents[d];
    const int64_t steps = (conv.counts[d] - 1) * conv.strides[d] + 1;
    const int64_t reach = steps + (conv.taps[d] - 1) * conv.dilation[d];
    attrs.padding.push_back(before);
    if (conv.taps[d] == 1 && before == 0 && steps <= extent) {
      // One tap reads only these.
      if (steps != extent || conv.strides[d] != 1)
        data = cut_along(data, axis, 0, steps, conv.strides[d]);
      attrs.dilation[d] = 1;
      after.push_back(0);
    } else if (reach >= extent + before) {
      after.push_back(reach - extent - before);
    } else {
      if (reach <= before) return {};
      data = cut_along(data, axis, 0, reach - before);
      after.push_back(0);
    }
  }
  attrs.padding.insert(attrs.padding.end(), after.begin(), after.end());
  std::string letters = conv.data;
  std::swap(letters[letters.find('N')], letters[letters.find('C')]);
  attrs.data_layout = letters;
  attrs.kernel_layout = "I" + conv.space + "O";
  const bool data_fills = conv.data.back() == 'C';
  attrs.out_layout = data_fills ? "C" + conv.space + "N" : "N" + conv.space + "C";
  ExprRef sum = make_conv(data, in_order(gradient, conv.out, "N" + conv.space + "C"), attrs,
                          conv.rank());
  return in_order(sum, (data_fills ? "O" : "I") + conv.space + (data_fills ? "I" : "O"),
                  conv.kernel);
}

}  // namespace

ExprRef make_conv(const ExprRef& data, const ExprRef& weight, const ConvAttrs& attrs, size_t rank) {
  return call_op("nn.conv" + std::to_string(rank) + "d", {data, weight}, conv_attrs(attrs, rank));
}

ExprRef in_order(const ExprRef& x, const std::string& letters, const std::string& wanted) {
  if (letters == wanted) return x;
  TransposeAttrs attrs;
  attrs.axes.emplace();
  for (char axis : wanted) attrs.axes->push_back(static_cast<int64_t>(letters.find(axis)));
  return call_op("transpose", {x}, Attrs::make(attrs));
}

ExprRef cut_along(const ExprRef& x, size_t axis, int64_t begin, int64_t end, int64_t step) {
  StridedSliceAttrs attrs;
  attrs.begin.value = {begin};
  attrs.end.value = {end};
  attrs.strides = std::vector<int64_t>{step};
  attrs.axes = {static_cast<int64_t>(axis)};
  return call_op("strided_slice", {x}, Attrs::make(attrs));
}

std::vector<ExprRef> conv_gradient(const GradientCall& call, const ConvAttrs& attrs, size_t rank) {
  const std::optional<PlainConv> conv = plain_conv(call.call, attrs, rank);
  if (!conv) return derived_gradients(call);
  ExprRef of_data, of_weight;
  if (conv->groups == 1) {
    of_data = spread_gradient(*conv, call.gradient(), call.args[1]);
    of_weight = weight_gradient(*conv, call.args[0], call.gradient());
  }
  if (!of_data) of_data = transposed_gradient(*conv, call.gradient(), call.args[1]);
  if (!of_weight) of_weight = derived_gradients(call)[1];
  return {of_data, of_weight};
}

std::vector<ExprRef> conv_transpose_gradient(const GradientCall& call, const ConvAttrs& attrs,
                                             size_t rank) {
  std::optional<PlainConv> conv = plain_conv(call.call, attrs, rank);
  if (!conv) return derived_gradients(call);
  // The convolution that this one is the gradient of: its data is the result here.
  std::swap(conv->data, conv->out);
  std::swap(conv->extents, conv->counts);
  std::swap(conv->kernel[conv->kernel.find('O')], conv->kernel[conv->kernel.find('I')]);
  Conv2DAttrs base;
  ConvAttrs& back = base;
  back.strides = conv->strides;
  back.dilation = conv->dilation;
  back.groups = conv->groups;
  back.data_layout = conv->data;
  back.kernel_layout = conv->kernel;
  back.out_layout = conv->out;
  back.padding = conv->padding.before;
  back.padding.insert(back.padding.end(), conv->padding.after.begin(), conv->padding.after.end());
  for (size_t d = 0; d < rank; ++d) {
    const int64_t room = conv->extents[d] + conv->padding.before[d] + conv->padding.after[d] -
                         (conv->taps[d] - 1) * conv->dilation[d] - 1;
    // More elements at the end than a step takes: the convolution has another result.
    if (room < 0 || room / conv->strides[d] + 1 != conv->counts[d]) return derived_gradients(call);
  }
  ExprRef of_weight;
  if (conv->groups == 1) of_weight = weight_gradient(*conv, call.gradient(), call.args[0]);
  if (!of_weight) {
    const std::string name =
        std::string(kGradientPrefix) + "nn.conv" + std::to_string(rank) + "d";
    of_weight = make_projection(
        call_op(name, {call.gradient(), call.args[1], call.args[0]}, conv_attrs(back, rank)), 1);
  }
  return {make_conv(call.gradient(), call.args[1], back, rank), of_weight};
}

}  // namespace relay
