// Upsampling: larger images by nearest element or linear interpolation.
#include <cmath>

#include <relay/op/layout.h>
#include <relay/op/nn/pad_attrs.h>
#include <relay/op/op.h>

namespace relay {
namespace {

using te::Indices;
using te::Scalar;

struct Scaling {
  std::string_view space;
  Layout layout;
  std::vector<double> scales;
  bool nearest = true;
  CoordinateMode coordinates = CoordinateMode::kAsymmetric;

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
  size_t dimension(char axis) const { return space.find(axis); }
  bool is_space(char axis) const { return dimension(axis) != std::string_view::npos; }
};

Scaling scaling_of(const UpSamplingAttrs& attrs) {
  Scaling scaling(attrs.layout, {attrs.scale_h, attrs.scale_w});
  scaling.nearest = attrs.method == ImageMethod::kNearest;
  if (attrs.align_corners && !scaling.nearest) scaling.coordinates = CoordinateMode::kAlignCorners;
  return scaling;
}

Scaling scaling_of(const UpSampling3DAttrs& attrs) {
  Scaling scaling(attrs.layout, {attrs.scale_d, attrs.scale_h, attrs.scale_w});
  scaling.nearest = attrs.method == VolumeMethod::kNearest;
  scaling.coordinates = attrs.coordinate_transformation_mode;
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

// Where element `at` of a result dimension comes from: place `low`, and `part` of the way to the
// next one.
struct Source {
  Scalar low;
  Scalar part;  // none: exactly at `low`
};

Source source_of(const Scaling& scaling, const Scalar& at, Dim from, Dim to, DType dtype) {
  if (from == to && from.is_int()) return {at, {}};
  Scalar extent = te::from_dim(from);
  Scalar result = te::from_dim(to);
  // The place is above / below, in integers, so that nothing is rounded.
  Scalar above, below;
  switch (scaling.coordinates) {
    case CoordinateMode::kAsymmetric:
      above = at * extent;
      below = result;
      break;
    case CoordinateMode::kAlignCorners:
      above = at * (extent - 1);
      below = te::max(result - 1, te::index_constant(1));
      break;
    case CoordinateMode::kHalfPixel:
      above = (at * 2 + 1) * extent - result;
      below = result * 2;
      break;
  }
  if (scaling.nearest) {
    // Aligned corners round; otherwise the element before the place is the nearest, as in TVM.
    if (scaling.coordinates == CoordinateMode::kAlignCorners) {
      above = above * 2 + below;
      below = below * 2;
    }
    return {te::floor_div(above, below), {}};
  }
  return {te::floor_div(above, below),
          te::cast(te::floor_mod(above, below), dtype) / te::cast(below, dtype)};
}

void compute_upsampling(const OpCall& call, te::Builder& b, const Scaling& scaling) {
  te::Tensor data = b.input(0);
  const Layout& layout = scaling.layout;
  te::TensorInfo result = call.result();
  DType dtype = data.dtype() == kFloat64 ? kFloat64 : kFloat32;
  size_t rank = scaling.space.size();
  b.output(b.map(result.dims, [&](Indices i) {
    std::vector<Source> sources;
    for (char axis : scaling.space) {
      sources.push_back(source_of(scaling, layout.coordinate(i, axis).whole,
                                  layout.extent(data.dims(), axis),
                                  layout.extent(result.dims, axis), dtype));
    }
    std::vector<Scalar> rows(rank);
    auto load = [&] {
      return data.load(layout.index([&](char axis) -> Coordinate {
        return scaling.is_space(axis) ? Coordinate(rows[scaling.dimension(axis)])
                                      : layout.coordinate(i, axis);
      }),
                       te::Bounds::kClamp);
    };
    std::function<Scalar(size_t)> value = [&](size_t d) -> Scalar {
      if (d == rank) return te::cast(load(), dtype);
      rows[d] = sources[d].low;
      Scalar low = value(d + 1);
      if (sources[d].part.node() == nullptr) return low;
      rows[d] = sources[d].low + 1;
      Scalar high = value(d + 1);
      return low * (1.0 - sources[d].part) + high * sources[d].part;
    };
    if (!scaling.nearest) return te::cast(value(0), data.dtype());
    for (size_t d = 0; d < rank; ++d) rows[d] = sources[d].low;
    return load();
  }));
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
