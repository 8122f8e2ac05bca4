#include <relay/op/image/resample.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>

#include <relay/support/error.h>

namespace relay {

using te::Indices;
using te::Scalar;

DType resampling_dtype(DType data, DType result) {
  auto is_wide = [](DType dtype) {
    return dtype == kFloat64 || (dtype.is_integer() && dtype.bits >= 32);
  };
  return is_wide(data) || is_wide(result) ? kFloat64 : kFloat32;
}

namespace {

// A place in the data: element `low`, and `part` of the way to the next one.
struct Place {
  Scalar low;
  Scalar part;
  Scalar outside;  // kCrop only
};

// above / below: exact, so that nothing depends on how a quotient is rounded.
struct Ratio {
  Scalar above, below;
};

Ratio place_of(ResizeCoordinates coordinates, const Scalar& at, const Scalar& in,
               const Scalar& out) {
  switch (coordinates) {
    case ResizeCoordinates::kAsymmetric:
      return {at * in, out};
    case ResizeCoordinates::kAlignCorners:
      return {at * (in - 1), te::max(out - 1, te::index_constant(1))};
    case ResizeCoordinates::kTfHalfPixelForNn:
      return {(at * 2 + 1) * in, out * 2};
    case ResizeCoordinates::kPytorchHalfPixel:
      return {te::select(out > 1, (at * 2 + 1) * in - out, te::index_constant(0)), out * 2};
    default:
      return {(at * 2 + 1) * in - out, out * 2};
  }
}

// Places are not negative, once they are moved inside: halves go up and away from zero alike.
Scalar nearest(const Ratio& place, ResizeRounding rounding) {
  const auto& [above, below] = place;
  switch (rounding) {
    case ResizeRounding::kFloor:
      return te::floor_div(above, below);
    case ResizeRounding::kCeil:
      return te::floor_div(above + below - 1, below);
    case ResizeRounding::kPreferFloor:
      return te::floor_div(above * 2 + below - 1, below * 2);
    default:
      return te::floor_div(above * 2 + below, below * 2);
  }
}

// True if the nearest one of `in` elements to element i of times · in ones is floor(i / times),
// places being (i + 1/2) / times - 1/2 or as said.
bool repeats_elements(const Resampling& how) {
  if (how.method != ResizeMethod::kNearest) return false;
  switch (how.coordinates) {
    case ResizeCoordinates::kAsymmetric:
    case ResizeCoordinates::kTfHalfPixelForNn:
      return how.rounding == ResizeRounding::kFloor || how.rounding == ResizeRounding::kAutomatic;
    case ResizeCoordinates::kHalfPixel:
    case ResizeCoordinates::kPytorchHalfPixel:
      return how.rounding == ResizeRounding::kRound ||
             how.rounding == ResizeRounding::kPreferFloor ||
             how.rounding == ResizeRounding::kPreferCeil;
    default:
      return false;
  }
}

// How many elements of the result are the same one of the data: a power of two that vectors are
// filled with evenly, or nothing.
std::optional<int64_t> repetitions(const Resampling& how, Dim in, Dim out) {
  if (!repeats_elements(how) || in.is_int(0)) return std::nullopt;
  for (int64_t times : {2, 4, 8, 16}) {
    if (out == in * Dim(times)) return times;
  }
  return std::nullopt;
}

Scalar nearest(const Scalar& place, ResizeRounding rounding) {
  // Away from what rounding made of a whole number.
  constexpr double kSlack = 1e-5;
  switch (rounding) {
    case ResizeRounding::kFloor:
      return te::cast(te::floor(place + kSlack), kInt64);
    case ResizeRounding::kCeil:
      return te::cast(te::ceil(place - kSlack), kInt64);
    case ResizeRounding::kPreferFloor:
      return te::cast(te::ceil(place - 0.5), kInt64);
    default:
      return te::cast(te::floor(place + 0.5), kInt64);
  }
}

// The place of element `at` of a crop; in float32, as TensorFlow computes it.
Scalar crop_place(const Scalar& at, const Scalar& begin, const Scalar& end, Dim in, Dim out) {
  Scalar last = te::cast(te::from_dim(in - 1), kFloat32);
  Scalar steps = te::cast(te::max(te::from_dim(out) - 1, te::index_constant(1)), kFloat32);
  Scalar among = begin * last + te::cast(at, kFloat32) * (end - begin) * last / steps;
  return te::select(te::from_dim(out) > 1, among, (begin + end) * 0.5 * last);
}

// Weights of the elements before, at, after and two after a place, `t` of the way to the third.
std::array<Scalar, 4> cubic_weights(const Scalar& t, double alpha) {
  Scalar t2 = t * t;
  Scalar t3 = t2 * t;
  return {(t3 - t2 * 2.0 + t) * alpha, t3 * (alpha + 2) - t2 * (alpha + 3) + 1.0,
          t2 * (2 * alpha + 3) - t3 * (alpha + 2) - t * alpha, (t2 - t3) * alpha};
}

// How much longer an axis becomes; where a run decides, it becomes longer mostly.
double growth(Dim in, Dim out) {
  if (!in.is_int() || !out.is_int() || in.as_int() == 0) return 2;
  return static_cast<double>(out.as_int()) / static_cast<double>(in.as_int());
}

}  // namespace

Taps make_taps(te::Builder& b, const Resampling& how, Dim in, Dim out, DType dtype,
               const std::vector<Dim>& boxes, const Crop& crop) {
  bool crops = how.coordinates == ResizeCoordinates::kCrop;
  ResizeRounding rounding = how.rounding;
  if (rounding == ResizeRounding::kAutomatic) {
    rounding = how.coordinates == ResizeCoordinates::kAlignCorners ? ResizeRounding::kRound
                                                                   : ResizeRounding::kFloor;
  }
  size_t count = how.method == ResizeMethod::kNearest  ? 1
                 : how.method == ResizeMethod::kLinear ? 2
                                                       : 4;
  std::vector<Dim> dims = boxes;
  dims.push_back(out);
  std::vector<te::Tensor> tables = b.map_n(dims, [&](Indices i) {
    const Scalar& at = i.back();
    Scalar extent = te::from_dim(in);
    auto inside = [&](const Scalar& index) {
      return te::max(te::min(index, extent - 1), te::index_constant(0));
    };
    Scalar low, part, outside;
    if (crops) {
      Indices box = i.first(i.size() - 1);
      Scalar place = crop_place(at, crop.begin(box), crop.end(box), in, out);
      // Not-a-number is outside, too.
      outside = !(place >= 0.0 && place <= te::cast(extent - 1, kFloat32));
      if (count == 1) {
        low = nearest(place, rounding);
      } else {
        Scalar whole = te::floor(place);
        low = te::cast(whole, kInt64);
        part = te::cast(place - whole, dtype);
      }
    } else {
      Ratio place = place_of(how.coordinates, at, extent, te::from_dim(out));
      if (count == 1) {
        low = nearest(place, rounding);
      } else {
        low = te::floor_div(place.above, place.below);
        part =
            te::cast(te::floor_mod(place.above, place.below), dtype) / te::cast(place.below, dtype);
      }
    }
    std::vector<Scalar> results;
    if (count == 1) {
      results = {inside(low)};
    } else if (count == 2) {
      results = {inside(low), inside(low + 1), 1.0 - part, part};
    } else {
      std::array<Scalar, 4> weights = cubic_weights(part, how.cubic_alpha);
      if (how.cubic_exclude) {
        Scalar total;
        for (int k = 0; k < 4; ++k) {
          Scalar index = low + (k - 1);
          weights[k] =
              te::select(index >= 0 && index < extent, weights[k], te::constant(0.0, dtype));
          total = k == 0 ? weights[0] : total + weights[k];
        }
        for (Scalar& weight : weights) weight = weight / total;
      }
      for (int k = 0; k < 4; ++k) results.push_back(inside(low + (k - 1)));
      results.insert(results.end(), weights.begin(), weights.end());
    }
    if (crops) results.push_back(outside);
    return results;
  });
  Taps taps;
  taps.index.assign(tables.begin(), tables.begin() + static_cast<std::ptrdiff_t>(count));
  if (count > 1) {
    taps.weight.assign(tables.begin() + static_cast<std::ptrdiff_t>(count),
                       tables.begin() + static_cast<std::ptrdiff_t>(2 * count));
  }
  if (crops) taps.outside = tables.back();
  return taps;
}

Scalar resampled_value(Scalar value, const Resampling& how, DType result) {
  if (how.method != ResizeMethod::kNearest && result.is_integer()) {
    DType dtype = value.dtype();
    // The greatest number of the dtype that can be converted.
    Scalar most = result.bits == 64 ? te::constant(result.is_signed() ? 9223372036854774784.0
                                                                      : 18446744073709549568.0,
                                                   dtype)
                                    : te::cast(te::highest(result), dtype);
    value = te::max(te::min(value, most), te::cast(te::lowest(result), dtype));
  }
  return te::cast(value, result);
}

std::vector<size_t> resampling_order(std::span<const ResampledAxis> axes) {
  constexpr double kPicked = 2;  // as much as that many elements of whole lines
  std::vector<size_t> order(axes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::vector<size_t> best = order;
  double least = std::numeric_limits<double>::infinity();
  do {
    double elements = 1, work = 0;
    for (size_t at : order) {
      elements *= axes[at].growth;
      work += elements * (axes[at].side_by_side ? kPicked : 1);
    }
    if (work >= least) continue;
    least = work;
    best = order;
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

te::Tensor resample(te::Builder& b, const te::Tensor& data, const Layout& layout,
                    std::string_view space, const Resampling& how, const te::TensorInfo& result,
                    const std::vector<Crop>& crops) {
  DType dtype = how.method == ResizeMethod::kNearest ? data.dtype()
                                                     : resampling_dtype(data.dtype(), result.dtype);
  struct Step {
    char axis;
    Taps taps;
    std::optional<int64_t> times = {};  // each element again and again: no table
  };
  std::vector<Step> steps;
  for (size_t d = 0; d < space.size(); ++d) {
    Dim in = layout.extent(data.dims(), space[d]);
    Dim out = layout.extent(result.dims, space[d]);
    // Places then are the elements themselves.
    bool same = in == out && how.coordinates != ResizeCoordinates::kTfHalfPixelForNn &&
                how.coordinates != ResizeCoordinates::kCrop;
    if (same) continue;
    if (std::optional<int64_t> times = repetitions(how, in, out)) {
      steps.push_back({space[d], {}, times});
      continue;
    }
    Crop crop = how.coordinates == ResizeCoordinates::kCrop ? crops[d] : Crop{};
    steps.push_back({space[d], make_taps(b, how, in, out, dtype, {}, crop)});
  }
  if (steps.empty()) {
    return b.map(result.dims,
                 [&](Indices i) { return resampled_value(data(i), how, result.dtype); });
  }
  auto outside = [&](Indices i) {
    Scalar any;
    for (const Step& step : steps) {
      Scalar one = step.taps.outside({layout.coordinate(i, step.axis).whole});
      any = any.node() == nullptr ? one : any || one;
    }
    return any;
  };
  auto finished = [&](Indices i, Scalar value) {
    value = resampled_value(std::move(value), how, result.dtype);
    if (how.coordinates != ResizeCoordinates::kCrop) return value;
    return te::select(outside(i), te::constant(how.extrapolation, result.dtype), value);
  };
  // The element of `from` at index i with some axes taken from elsewhere.
  auto element = [&](const te::Tensor& from, Indices i, const std::function<Scalar(char)>& moved) {
    return from(layout.index([&](char axis) -> Coordinate {
      Scalar at = moved(axis);
      return at.node() == nullptr ? layout.coordinate(i, axis) : Coordinate(at);
    }));
  };
  if (how.method == ResizeMethod::kNearest) {
    return b.map(result.dims, [&](Indices i) {
      return finished(i, element(data, i, [&](char axis) -> Scalar {
                        for (const Step& step : steps) {
                          if (step.axis != axis) continue;
                          Scalar at = layout.coordinate(i, axis).whole;
                          if (step.times) return te::floor_div(at, te::index_constant(*step.times));
                          return step.taps.index[0]({at});
                        }
                        return {};
                      }));
    });
  }
  // One dimension after another.
  std::vector<ResampledAxis> axes;
  for (const Step& step : steps) {
    axes.push_back(
        {growth(layout.extent(data.dims(), step.axis), layout.extent(result.dims, step.axis)),
         layout.text().back() == step.axis});
  }
  te::Tensor current = data;
  std::string done;
  const std::vector<size_t> order = resampling_order(axes);
  for (size_t s = 0; s < steps.size(); ++s) {
    const Step& step = steps[order[s]];
    done += step.axis;
    std::vector<Dim> dims = layout.dims([&](char axis) {
      return layout.extent(done.find(axis) != std::string::npos ? std::span<const Dim>(result.dims)
                                                                : std::span<const Dim>(data.dims()),
                           axis);
    });
    bool last = s + 1 == steps.size();
    current = b.map(last ? result.dims : dims, [&](Indices i) {
      Scalar at = layout.coordinate(i, step.axis).whole;
      Scalar total;
      for (size_t k = 0; k < step.taps.index.size(); ++k) {
        Scalar tap = element(current, i, [&](char axis) -> Scalar {
          return axis == step.axis ? step.taps.index[k]({at}) : Scalar();
        });
        Scalar part = te::cast(tap, dtype) * step.taps.weight[k]({at});
        total = k == 0 ? part : total + part;
      }
      return last ? finished(i, total) : total;
    });
  }
  return current;
}

void require_elements(const RelationCall& call, const Layout& layout, std::string_view space,
                      std::span<const Dim> data, std::span<const Dim> result) {
  std::vector<Dim> from;
  for (char axis : space) from.push_back(layout.extent(data, axis));
  call.require_some(from, result,
                    "data " + shape_str(data) + " in layout " + layout.text() +
                        " has no elements to make " + shape_str(result) + " from");
}

}  // namespace relay
