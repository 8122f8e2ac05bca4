// Affine maps as grids of places, and data sampled at places.
#include <relay/op/image/image_attrs.h>
#include <relay/op/op.h>
#include <relay/op/registry/layout.h>

namespace relay {
namespace {

using te::Indices;
using te::Scalar;

// ---- affine_grid --------------------------------------------------------------------------------

TypeRef infer_affine_grid(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  const auto& shape = *call.attrs<AffineGridAttrs>().target_shape;
  std::string message = "the matrices must have shape (n, 2, 3), found " + shape_str(data.dims);
  call.require_equal(data.dims[1], 2, message);
  call.require_equal(data.dims[2], 3, message);
  call.require(shape.size() == 2,
               "target_shape must have 2 extents, found " + std::to_string(shape.size()));
  for (int64_t extent : shape) {
    call.require(
        extent >= 0 && extent <= (int64_t{1} << 40),
        "an extent of target_shape must be from 0 to 2^40, found " + std::to_string(extent));
  }
  std::vector<Dim> dims{data.dims[0], 2, shape[0], shape[1]};
  return TensorType::make(dims, data.dtype);
}

void compute_affine_grid(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0);
  te::TensorInfo result = call.result();
  DType dtype = data.dtype();
  // From -1 to 1; the middle for one element.
  auto steps = [&](Dim extent) {
    return b.map({extent}, [&](Indices i) {
      Scalar last = te::from_dim(extent - 1);
      Scalar below = te::max(last, te::index_constant(1));
      return te::cast(i[0] * 2 - last, dtype) / te::cast(below, dtype);
    });
  };
  te::Tensor y = steps(result.dims[2]);
  te::Tensor x = steps(result.dims[3]);
  b.output(b.map(result.dims, [&](Indices i) {
    auto entry = [&](int64_t k) { return data({i[0], i[1], te::index_constant(k)}); };
    return entry(0) * x({i[3]}) + entry(1) * y({i[2]}) + entry(2);
  }));
}

RELAY_OP("image.affine_grid")
    .doc(
        "Place of each element of a grid under an affine map: x, then y, both from -1 to "
        "1, "
        "for image.grid_sample.")
    .input("data", "A matrix of 2 by 3 for each image.", tensor('T', kFloats).rank(3))
    .output("result", "A grid of places for each image: (n, 2, height, width).",
            tensor('T').rank(4))
    .attrs<AffineGridAttrs>()
    .relation(infer_affine_grid)
    .example("fn (%m: Tensor[(1, 2, 3), float32]) { image.affine_grid(%m, target_shape=[2, 3]) }",
             "[[[1, 0, 0], [0, 1, 0.5]]]")
    .level(5)
    .compute(compute_affine_grid);

// ---- grid_sample --------------------------------------------------------------------------------

struct Sampling {
  SampleMethod method;
  SamplePadding padding;
  bool align_corners;
  std::string_view space;
  Layout layout;

  explicit Sampling(const GridSampleAttrs& attrs)
      : method(attrs.method),
        padding(attrs.padding_mode),
        align_corners(attrs.align_corners),
        space(spatial_axes(attrs.layout.find('D') == std::string::npos ? 2 : 3)),
        layout(Layout::parse(attrs.layout, "NC" + std::string(space), "layout")) {
    if (method == SampleMethod::kCubic && space.size() == 3) {
      throw Error("method \"bicubic\" is for images, found layout \"" + attrs.layout + "\"");
    }
  }
};

TypeRef infer_grid_sample(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  te::TensorInfo grid = call.tensor(1);
  Sampling sampling(call.attrs<GridSampleAttrs>());
  const Layout& layout = sampling.layout;
  auto rank = static_cast<int64_t>(sampling.space.size());
  layout.check(data.dims, "the data");
  std::string message = "the grid must have one place of " + std::to_string(rank) +
                        " numbers, along axis 1, for each element of the result: data " +
                        shape_str(data.dims) + " in layout " + layout.text() + ", grid " +
                        shape_str(grid.dims);
  call.require(static_cast<int64_t>(grid.rank()) == rank + 2, message);
  call.require_equal(grid.dims[0], layout.extent(data.dims, 'N'), message);
  call.require_equal(grid.dims[1], rank, message);
  std::vector<Dim> dims = layout.dims([&](char axis) {
    size_t d = sampling.space.find(axis);
    return d == std::string_view::npos ? layout.extent(data.dims, axis) : grid.dims[2 + d];
  });
  if (sampling.padding != SamplePadding::kZeros) {
    std::vector<Dim> from;
    for (char axis : sampling.space) from.push_back(layout.extent(data.dims, axis));
    call.require_some(from, dims,
                      "the data " + shape_str(data.dims) + " has no elements at its border");
  }
  return TensorType::make(dims, data.dtype);
}

// The nearest whole number, halves to even.
Scalar nearest_even(const Scalar& x) {
  Scalar down = te::floor(x);
  Scalar part = x - down;
  Scalar is_odd = te::floor(down * 0.5) * 2.0 != down;
  return te::select(part > 0.5 || (part == 0.5 && is_odd), down + 1.0, down);
}

class Sampler {
 public:
  Sampler(const OpCall& call, te::Builder& b)
      : b_(b),
        sampling_(call.attrs<GridSampleAttrs>()),
        data_(b.input(0)),
        grid_(b.input(1)),
        result_(call.result()),
        dtype_(data_.dtype() == kFloat64 ? kFloat64 : kFloat32) {}

  void run() {
    tables();
    const Layout& layout = sampling_.layout;
    b_.output(b_.map(result_.dims, [&](Indices i) {
      place_ = {layout.coordinate(i, 'N').whole};
      for (char axis : sampling_.space) place_.push_back(layout.coordinate(i, axis).whole);
      channel_ = layout.coordinate(i, 'C');
      rows_.assign(sampling_.space.size(), {});
      return te::cast(value(0), result_.dtype);
    }));
  }

 private:
  Scalar extent(size_t d) const {
    return te::from_dim(sampling_.layout.extent(data_.dims(), sampling_.space[d]));
  }

  // A place from -1 to 1 among the elements of a dimension.
  Scalar scaled(const Scalar& x, size_t d) const {
    Scalar size = te::cast(extent(d), dtype_);
    if (sampling_.align_corners) return (x + 1.0) * 0.5 * (size - 1.0);
    return ((x + 1.0) * size - 1.0) * 0.5;
  }

  Scalar moved_inside(const Scalar& at, size_t d) const {
    Scalar last = te::cast(extent(d) - 1, dtype_);
    return te::max(te::min(at, last), te::constant(0.0, dtype_));
  }

  // Far outside is as good as outside, and infinity would leave no part of an element.
  Scalar near(const Scalar& at, size_t d) const {
    Scalar far = te::cast(extent(d) + 4, dtype_);
    return te::max(te::min(at, far), te::constant(-4.0, dtype_));
  }

  // A place outside brought to one inside, or next to the data.
  Scalar padded(Scalar at, size_t d) const {
    switch (sampling_.padding) {
      case SamplePadding::kZeros:
        return near(at, d);
      case SamplePadding::kBorder:
        return moved_inside(at, d);
      default:
        break;
    }
    // The data is mirrored at its outermost elements, or at their edges.
    Scalar low = te::constant(sampling_.align_corners ? 0.0 : -0.5, dtype_);
    Scalar span = te::cast(sampling_.align_corners ? extent(d) - 1 : extent(d), dtype_);
    Scalar from_low = te::abs(at - low);
    Scalar times = te::floor(from_low / span);
    Scalar rest = from_low - times * span;
    Scalar is_even = te::floor(times * 0.5) * 2.0 == times;
    Scalar mirrored = te::select(is_even, rest + low, span - rest + low);
    // With nothing to mirror at: the one element. Infinity is beyond the last one.
    mirrored = te::select(span > 0.0, mirrored, te::constant(0.0, dtype_));
    mirrored = te::select(te::unary(te::UnaryOp::kIsInf, at), at, mirrored);
    return moved_inside(mirrored, d);
  }

  // Shared by all channels: the element next to each place, and the distance from it.
  void tables() {
    size_t rank = sampling_.space.size();
    std::vector<Dim> dims{grid_.dim(0)};
    dims.insert(dims.end(), grid_.dims().begin() + 2, grid_.dims().end());
    for (size_t d = 0; d < rank; ++d) {
      std::vector<te::Tensor> two = b_.map_n(dims, [&](Indices i) {
        // The grid has x first, then y and z.
        auto entry = static_cast<int64_t>(rank - 1 - d);
        Scalar at = te::cast(grid_(te::insert(i, 1, te::index_constant(entry))), dtype_);
        at = scaled(at, d);
        if (sampling_.method != SampleMethod::kCubic) at = padded(at, d);
        if (sampling_.method == SampleMethod::kNearest) {
          return std::vector<Scalar>{nearest_even(at)};
        }
        if (sampling_.method == SampleMethod::kCubic) {
          // Taps are padded one by one: only places far outside move, if all there is the same.
          if (sampling_.padding != SamplePadding::kReflection) at = near(at, d);
        }
        Scalar low = te::floor(at);
        return std::vector<Scalar>{low, at - low};
      });
      low_.push_back(two[0]);
      if (two.size() > 1) part_.push_back(two[1]);
    }
  }

  Scalar element() const {
    std::vector<Scalar> index = sampling_.layout.index([&](char axis) -> Coordinate {
      if (axis == 'N') return Coordinate(place_[0]);
      if (axis == 'C') return channel_;
      return Coordinate(rows_[sampling_.space.find(axis)]);
    });
    Scalar value = sampling_.padding == SamplePadding::kZeros
                       ? data_.load_or(index, te::constant(0.0, data_.dtype()))
                       : data_.load(index, te::Bounds::kClamp);
    return te::cast(value, dtype_);
  }

  // Interpolates along dimensions d and after, with the positions before chosen in `rows_`.
  Scalar value(size_t d) {
    if (d == sampling_.space.size()) return element();
    Scalar low = low_[d](place_);
    if (sampling_.method == SampleMethod::kNearest) {
      rows_[d] = te::cast(low, kInt64);
      return value(d + 1);
    }
    Scalar part = part_[d](place_);
    if (sampling_.method == SampleMethod::kLinear) {
      rows_[d] = te::cast(low, kInt64);
      Scalar before = value(d + 1);
      rows_[d] = te::cast(low, kInt64) + 1;
      Scalar after = value(d + 1);
      return before * (1.0 - part) + after * part;
    }
    Scalar total;
    for (int k = 0; k < 4; ++k) {
      Scalar at = low + static_cast<double>(k - 1);
      if (sampling_.padding != SamplePadding::kZeros) at = padded(at, d);
      rows_[d] = te::cast(at, kInt64);
      Scalar tap = value(d + 1) * weight(part, k);
      total = k == 0 ? tap : total + tap;
    }
    return total;
  }

  // Cubic convolution with slope -3/4.
  static Scalar weight(const Scalar& part, int k) {
    constexpr double kSlope = -0.75;
    auto near = [](const Scalar& t) { return ((t * (kSlope + 2) - (kSlope + 3)) * t * t) + 1.0; };
    auto far = [](const Scalar& t) {
      return ((t * kSlope - 5 * kSlope) * t + 8 * kSlope) * t - 4 * kSlope;
    };
    switch (k) {
      case 0:
        return far(part + 1.0);
      case 1:
        return near(part);
      case 2:
        return near(1.0 - part);
      default:
        return far(2.0 - part);
    }
  }

  te::Builder& b_;
  Sampling sampling_;
  te::Tensor data_, grid_;
  te::TensorInfo result_;
  DType dtype_;
  std::vector<te::Tensor> low_, part_;  // of each dimension, for each place of the grid
  std::vector<Scalar> place_, rows_;
  Coordinate channel_;
};

RELAY_OP("image.grid_sample")
    .doc(
        "The data at the places of a grid: -1 is the beginning of a dimension and 1 its end. An "
        "interpolated value at a place that is not-a-number is not-a-number.")
    .input("data", "Images or volumes in the layout.", tensor('T', kFloats))
    .input("grid",
           "For each element of the result its place in the data, along axis 1: x, y and for "
           "volumes z.",
           tensor(kFloats).rank(4, 5))
    .output("result", "The elements at these places, in the layout.", tensor('T'))
    .attrs<GridSampleAttrs>()
    .relation(infer_grid_sample)
    .example(
        "fn (%x: Tensor[(1, 1, 1, 3), float32], %grid: Tensor[(1, 2, 1, 3), float32]) { "
        "image.grid_sample(%x, %grid) }",
        "[[[[1, 2, 4]]]]", "[[[[-1, 0, 0.5]], [[0, 0, 0]]]]")
    .level(5)
    .compute([](const OpCall& call, te::Builder& b) { Sampler(call, b).run(); });

}  // namespace
}  // namespace relay
