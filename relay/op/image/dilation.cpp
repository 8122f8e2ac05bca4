// Grey-scale dilation of images.
#include <relay/op/image/image_attrs.h>
#include <relay/op/op.h>
#include <relay/op/registry/layout.h>

namespace relay {
namespace {

using te::Indices;
using te::Scalar;

struct Dilation {
  Layout data;
  Layout kernel;
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  Padding padding;

  explicit Dilation(const Dilation2DAttrs& attrs)
      : data(Layout::parse(attrs.data_layout, "NCHW", "data_layout")),
        kernel(Layout::parse(attrs.kernel_layout, "IHW", "kernel_layout")),
        strides(spatial_attr(attrs.strides, 2, "strides")),
        dilations(spatial_attr(attrs.dilations, 2, "dilations")),
        padding(padding_attr(attrs.padding, 2)) {}
};

constexpr std::string_view kSpace = "HW";

TypeRef infer_dilation2d(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  te::TensorInfo weight = call.tensor(1);
  const auto& attrs = call.attrs<Dilation2DAttrs>();
  Dilation dilation(attrs);
  dilation.data.check(data.dims, "the data");
  dilation.kernel.check(weight.dims, "the weight");
  DType dtype = attrs.out_dtype.value_or(data.dtype);
  call.require(dtype.is_numeric(),
               "out_dtype must be a number's, found " + std::string(dtype.name()));
  std::string shapes = "data " + shape_str(data.dims) + " in layout " + dilation.data.text() +
                       ", weight " + shape_str(weight.dims) + " in layout " +
                       dilation.kernel.text();
  Dim channels = dilation.data.extent(data.dims, 'C');
  call.require_equal(
      dilation.kernel.extent(weight.dims, 'I'), channels,
      "the weight must have the " + channels.str() + " channels of the data: " + shapes);
  std::vector<Dim> dims = dilation.data.dims([&](char axis) {
    Dim extent = dilation.data.extent(data.dims, axis);
    size_t d = kSpace.find(axis);
    if (d == std::string_view::npos) return extent;
    Dim taps = dilation.kernel.extent(weight.dims, axis);
    call.require_at_most(1, taps, "the kernel is empty: " + shapes);
    Dim window = (taps - 1) * dilation.dilations[d] + 1;
    Dim padded = extent + dilation.padding.before[d] + dilation.padding.after[d];
    call.require_at_most(window, padded,
                         "the kernel spans " + window.str() + " on axis " + axis +
                             ", more than the padded data's " + padded.str() + ": " + shapes);
    return floor_div(padded - window, dilation.strides[d]) + 1;
  });
  return TensorType::make(dims, dtype);
}

void compute_dilation2d(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0);
  te::Tensor weight = b.input(1);
  te::TensorInfo result = call.result();
  Dilation dilation(call.attrs<Dilation2DAttrs>());
  bool inside = true;
  std::vector<Dim> taps;
  for (size_t d = 0; d < 2; ++d) {
    inside = inside && dilation.padding.before[d] <= 0 && dilation.padding.after[d] <= 0;
    taps.push_back(dilation.kernel.extent(weight.dims(), kSpace[d]));
  }
  b.output(b.map(result.dims, [&](Indices i) {
    return b.max(taps, [&](Indices k) {
      std::vector<Scalar> index = dilation.data.index([&](char axis) -> Coordinate {
        size_t d = kSpace.find(axis);
        if (d == std::string_view::npos) return dilation.data.coordinate(i, axis);
        Scalar at = dilation.data.coordinate(i, axis).whole;
        return Coordinate(at * dilation.strides[d] + k[d] * dilation.dilations[d] -
                          dilation.padding.before[d]);
      });
      std::vector<Scalar> tap = dilation.kernel.index([&](char axis) -> Coordinate {
        size_t d = kSpace.find(axis);
        return d == std::string_view::npos ? dilation.data.coordinate(i, 'C') : Coordinate(k[d]);
      });
      Scalar x = inside ? data(index) : data.load_or(index, te::constant(0, data.dtype()));
      return te::cast(x, result.dtype) + te::cast(weight(tap), result.dtype);
    });
  }));
}

RELAY_OP("image.dilation2d")
    .doc(
        "The greatest sum of an element of a sliding window and the kernel's tap there; "
        "not-a-number if one is. Padding "
        "is 0.")
    .input("data", "Images in data_layout.", tensor('T', kNumbers))
    .input("weight", "A kernel for each channel, in kernel_layout.", tensor('T'))
    .output("result", "Images in data_layout.", tensor(kNumbers))
    .attrs<Dilation2DAttrs>()
    .relation(infer_dilation2d)
    .example(
        "fn (%x: Tensor[(1, 1, 1, 4), float32], %w: Tensor[(1, 1, 2), float32]) { "
        "image.dilation2d(%x, %w) }",
        "[[[[1, 5, 2, 3]]]]", "[[[0, 1]]]")
    .level(2)
    .compute(compute_dilation2d);

}  // namespace
}  // namespace relay
