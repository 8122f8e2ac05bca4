// Upsampling: larger images by nearest element, linear or cubic interpolation.
#include <cmath>

#include <relay/op/image/resample.h>
#include <relay/op/nn/pad_attrs.h>
#include <relay/op/op.h>

namespace relay {
namespace {

struct Scaling {
  std::string_view space;
  Layout layout;
  std::vector<double> scales;
  Resampling how;  // the nearest: the element before a place, except where corners are aligned

  Scaling(const std::string& text, std::vector<double> by)
      : space(spatial_axes(by.size())),
        layout(Layout::parse(text, "NC" + std::string(space), "layout")),
        scales(std::move(by)) {
    const char* names[] = {"scale_d", "scale_h", "scale_w"};
    for (size_t d = 0; d < scales.size(); ++d) {
      if (scales[d] > 0 && scales[d] < 1e9) continue;
      throw Error(std::string(names[d + 3 - scales.size()]) + " must be positive, found " +
                  std::to_string(scales[d]));
    }
  }
  bool nearest() const { return how.method == ResizeMethod::kNearest; }
  size_t dimension(char axis) const { return space.find(axis); }
  bool is_space(char axis) const { return dimension(axis) != std::string_view::npos; }
};

Scaling scaling_of(const UpSamplingAttrs& attrs) {
  Scaling scaling(attrs.layout, {attrs.scale_h, attrs.scale_w});
  scaling.how.method = attrs.method == ImageMethod::kNearest  ? ResizeMethod::kNearest
                       : attrs.method == ImageMethod::kLinear ? ResizeMethod::kLinear
                                                              : ResizeMethod::kCubic;
  scaling.how.coordinates = attrs.align_corners && !scaling.nearest()
                                ? ResizeCoordinates::kAlignCorners
                                : ResizeCoordinates::kAsymmetric;
  return scaling;
}

Scaling scaling_of(const UpSampling3DAttrs& attrs) {
  Scaling scaling(attrs.layout, {attrs.scale_d, attrs.scale_h, attrs.scale_w});
  scaling.how.method =
      attrs.method == VolumeMethod::kNearest ? ResizeMethod::kNearest : ResizeMethod::kLinear;
  switch (attrs.coordinate_transformation_mode) {
    case CoordinateMode::kHalfPixel:
      scaling.how.coordinates = ResizeCoordinates::kHalfPixel;
      break;
    case CoordinateMode::kAlignCorners:
      scaling.how.coordinates = ResizeCoordinates::kAlignCorners;
      break;
    case CoordinateMode::kAsymmetric:
      scaling.how.coordinates = ResizeCoordinates::kAsymmetric;
      break;
  }
  return scaling;
}

// extent · scale, rounded, halves to even.
Dim scaled(Dim extent, double scale) {
  if (extent.is_int()) {
    double result = std::nearbyint(static_cast<double>(extent.as_int()) * scale);
    if (result > 1e15) throw Error("the result of upsampling has too many elements");
    return static_cast<int64_t>(result);
  }
  // An extent that is known only when the program runs: the same as a term, if the scale is a
  // fraction.
  for (int64_t below = 1; below <= 1000; ++below) {
    double above = std::nearbyint(scale * static_cast<double>(below));
    if (std::abs(scale * static_cast<double>(below) - above) > 1e-9) continue;
    auto numerator = static_cast<int64_t>(above);
    if (below == 1) return extent * numerator;
    Dim twice = extent * (2 * numerator) + below;
    Dim up = floor_div(twice, 2 * below);
    Dim is_half = Dim(1) - min(floor_mod(twice, 2 * below), 1);
    return up - is_half * floor_mod(up, 2);
  }
  return Dim::any();
}

template <class A>
TypeRef infer_upsampling(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  Scaling scaling = scaling_of(call.attrs<A>());
  scaling.layout.check(data.dims, "the data");
  std::vector<Dim> dims = scaling.layout.dims([&](char axis) {
    Dim extent = scaling.layout.extent(data.dims, axis);
    return scaling.is_space(axis) ? scaled(extent, scaling.scales[scaling.dimension(axis)])
                                  : extent;
  });
  return TensorType::make(dims, data.dtype);
}

void compute_upsampling(const OpCall& call, te::Builder& b, const Scaling& scaling) {
  b.output(resample(b, b.input(0), scaling.layout, scaling.space, scaling.how, call.result()));
}

RELAY_OP("nn.upsampling")
    .doc("A larger image; the result's extents are rounded, halves to even.")
    .input("data", "Tensor in the layout.", tensor('T', kNumbers))
    .output("result", "Tensor in the same layout.", tensor('T'))
    .attrs<UpSamplingAttrs>()
    .example("fn (%x: Tensor[(1, 1, 1, 2), float32]) { nn.upsampling(%x, scale_h=1, scale_w=2) }",
             "[[[[1, 2]]]]")
    .relation(infer_upsampling<UpSamplingAttrs>)
    .level(2)
    .compute([](const OpCall& call, te::Builder& b) {
      compute_upsampling(call, b, scaling_of(call.attrs<UpSamplingAttrs>()));
    });

RELAY_OP("nn.upsampling3d")
    .doc("A larger volume; the result's extents are rounded, halves to even.")
    .input("data", "Tensor in the layout.", tensor('T', kNumbers))
    .output("result", "Tensor in the same layout.", tensor('T'))
    .attrs<UpSampling3DAttrs>()
    .example(
        "fn (%x: Tensor[(1, 1, 1, 1, 2), float32]) { nn.upsampling3d(%x, scale_d=1, scale_h=1, "
        "scale_w=2) }",
        "[[[[[1, 2]]]]]")
    .relation(infer_upsampling<UpSampling3DAttrs>)
    .level(2)
    .compute([](const OpCall& call, te::Builder& b) {
      compute_upsampling(call, b, scaling_of(call.attrs<UpSampling3DAttrs>()));
    });

}  // namespace
}  // namespace relay
