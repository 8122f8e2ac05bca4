// Convolutions that would multiply by padding.
#include <algorithm>
#include <cmath>
#include <vector>

#include <relay/op/nn/conv_attrs.h>
#include <relay/op/registry/layout.h>
#include <relay/op/registry/simplify.h>
#include <relay/op/shape/shape_attrs.h>

namespace relay {
namespace {

/// Zero times these is zero: neither an infinity nor not-a-number.
bool all_finite(const ExprRef& expr) {
  const auto* constant = expr->as<Constant>();
  if (constant == nullptr) return false;
  const NDArray& data = constant->data();
  if (!data.dtype().is_float()) return true;
  if (data.dtype() != kFloat32) return false;
  NDArray whole = data.contiguous();
  const auto* numbers = whole.data<float>();
  return std::all_of(numbers, numbers + whole.size(), [](float x) { return std::isfinite(x); });
}

/// The first and the last tap along one axis that read data for some result. `padding` lies before
/// the data. None if the window never meets data.
struct Taps {
  int64_t first, last;
};
std::optional<Taps> taps_inside(int64_t extent, int64_t results, int64_t kernel, int64_t stride,
                                int64_t dilation, int64_t padding) {
  // Tap t of result y reads y · stride + t · dilation - padding.
  auto reads_data = [&](int64_t t) {
    int64_t begin = t * dilation - padding;
    int64_t y = begin >= 0 ? 0 : (-begin + stride - 1) / stride;
    return y < results && y * stride + begin < extent;
  };
  Taps taps{0, kernel - 1};
  while (taps.first < kernel && !reads_data(taps.first)) ++taps.first;
  while (taps.last > taps.first && !reads_data(taps.last)) --taps.last;
  if (taps.first == kernel) return std::nullopt;
  return taps;
}

/// A convolution with constant weights whose outer taps lie in the padding for every result, as
/// those of large dilations over small data do: without these taps and their padding.
template <class ConvKind>
ExprRef taps_in_padding(const OpCall& call, std::span<const ExprRef> args) {
  const auto& attrs = call.attrs<ConvKind>();
  te::TensorInfo data = call.tensor(0), weight = call.tensor(1), result = call.result();
  size_t rank = data.rank() - 2;
  std::string_view space = spatial_axes(rank);
  std::string axes(space);
  Layout data_layout = Layout::parse(attrs.data_layout, "NC" + axes, "data_layout");
  Layout kernel_layout = Layout::parse(attrs.kernel_layout, "OI" + axes, "kernel_layout");
  Layout out_layout =
      attrs.out_layout.empty() ? data_layout : Layout::parse(attrs.out_layout, "NC" + axes, "out");
  std::vector<int64_t> strides = spatial_attr(attrs.strides, rank, "strides");
  std::vector<int64_t> dilation = spatial_attr(attrs.dilation, rank, "dilation");
  Padding padding = padding_attr(attrs.padding, rank);
  StridedSliceAttrs slice;
  attr::Axes sliced;
  bool any = false;
  std::vector<int64_t> sizes;
  for (size_t k = 0; k < rank; ++k) {
    if (kernel_layout.positions(space[k]).size() != 1) return {};
    Dim extent = data_layout.extent(data.dims, space[k]);
    Dim results = out_layout.extent(result.dims, space[k]);
    Dim kernel = kernel_layout.extent(weight.dims, space[k]);
    if (!extent.is_int() || !results.is_int() || !kernel.is_int()) return {};
    std::optional<Taps> taps = taps_inside(extent.as_int(), results.as_int(), kernel.as_int(),
                                           strides[k], dilation[k], padding.before[k]);
    if (!taps) return {};
    // Padding that is left out must not become negative: then data would have to be cut.
    int64_t before = padding.before[k] - taps->first * dilation[k];
    int64_t after = padding.after[k] - (kernel.as_int() - 1 - taps->last) * dilation[k];
    sizes.push_back(kernel.as_int());
    bool whole = taps->first == 0 && taps->last == kernel.as_int() - 1;
    if (whole || before < 0 || after < 0) continue;
    any = true;
    sizes.back() = taps->last - taps->first + 1;
    padding.before[k] = before;
    padding.after[k] = after;
    sliced.push_back(static_cast<int64_t>(kernel_layout.positions(space[k])[0]));
    slice.begin.value.push_back(taps->first);
    slice.end.value.push_back(taps->last + 1);
  }
  if (!any || !all_finite(args[1])) return {};
  slice.axes = std::move(sliced);
  ConvKind fewer = attrs;
  fewer.kernel_size = attr::Sizes(sizes);
  std::vector<int64_t> widths = padding.before;
  widths.insert(widths.end(), padding.after.begin(), padding.after.end());
  fewer.padding = attr::Sizes(widths);
  ExprRef inner = call_op("strided_slice", {args[1]}, Attrs::make(std::move(slice)));
  return call_op(call.op()->name().view(), {args[0], inner}, Attrs::make(std::move(fewer)));
}

}  // namespace

std::span<const OperatorRule> window_rules() {
  // clang-format off
  static const OperatorRule kRules[] = {
      {"nn.conv1d", {"taps in the padding", Keeps::kBits, taps_in_padding<Conv1DAttrs>}},
      {"nn.conv2d", {"taps in the padding", Keeps::kBits, taps_in_padding<Conv2DAttrs>}},
      {"nn.conv3d", {"taps in the padding", Keeps::kBits, taps_in_padding<Conv3DAttrs>}},
  };
  // clang-format on
  return kRules;
}

}  // namespace relay
