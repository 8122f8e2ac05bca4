// Resize and Upsample.
//
// Where extents are known and Relay's own operator means the same, that is taken. Otherwise each
// axis by itself is a sum of a few elements ("taps") under weights; places, taps and weights are
// computed by the program itself (of numbers that are known, when it is compiled), so that scales,
// sizes and regions may be inputs.
#include <algorithm>
#include <cmath>

#include <relay/import/onnx/ops/arithmetic.h>
#include <relay/import/onnx/ops/spatial.h>
#include <relay/op/image/resample.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

struct Form {
  std::string mode = "nearest";       // "nearest", "linear", "cubic"
  std::string places = "half_pixel";  // coordinate_transformation_mode
  std::string nearest = "round_prefer_floor";
  double cubic = -0.75;
  double extrapolation = 0;
  bool exclude_outside = false;
  bool antialias = false;
};

/// One axis that may change.
struct Axis {
  size_t axis = 0;
  std::optional<double> known_scale;
  GraphValue scale;       // float64 of rank 0
  Dim size;               // of the result; `?` if it is not known
  GraphValue extent;      // the same as an int64 of rank 0
  GraphValue begin, end;  // of the region, float64 of rank 0
};

// The extent of an axis as an int64 of rank 0, known or not.
GraphValue extent_of(NodeContext& node, const GraphValue& x, size_t axis) {
  Dim dim = x.dim(axis);
  if (!dim.is_any()) return node.known_value({dim}, {}, kInt64);
  GraphValue shape = node.emit("shape_of", {x}, {{"dtype", kInt64}});
  return node.emit("take", {shape, node.scalar(kInt64, static_cast<double>(axis))}, {{"axis", 0}});
}

// ---- The general way ----------------------------------------------------------------------------

// Where each element of the result lies in the data: a vector of float64.
GraphValue places_of(NodeContext& node, const Form& form, const Axis& axis,
                     const GraphValue& extent) {
  Arithmetic with(node, kFloat64);
  GraphValue zero = node.scalar(kInt64, 0), one = node.scalar(kInt64, 1);
  GraphValue y =
      node.cast(node.emit("arange", {zero, axis.extent, one}, {{"dtype", kInt64}}), kFloat64);
  GraphValue size = node.cast(extent, kFloat64);
  GraphValue width = with.multiply(axis.scale, size);  // of the result, before it is cut
  GraphValue last = with.subtract(size, 1.0);
  GraphValue centre = with.add(y, 0.5);
  GraphValue half_pixel = with.subtract(with.divide(centre, axis.scale), 0.5);
  GraphValue only = node.emit("equal", {width, with.number(1)});
  if (form.places == "half_pixel") return half_pixel;
  if (form.places == "asymmetric") return with.divide(y, axis.scale);
  if (form.places == "tf_half_pixel_for_nn") return with.divide(centre, axis.scale);
  if (form.places == "pytorch_half_pixel") {
    return node.emit("where", {only, with.number(0), half_pixel});
  }
  if (form.places == "half_pixel_symmetric") {
    // The middle of the uncut result lies on that of the data.
    GraphValue cut = with.divide(node.cast(axis.extent, kFloat64), width);
    GraphValue offset = with.multiply(with.divide(size, 2.0), with.subtract(1.0, cut));
    return with.add(offset, half_pixel);
  }
  GraphValue spread = with.subtract(width, 1.0);
  if (form.places == "align_corners") {
    GraphValue between = with.divide(with.multiply(y, last), spread);
    return node.emit("where", {only, with.number(0), between});
  }
  GraphValue part = with.multiply(with.subtract(axis.end, axis.begin), last);
  GraphValue between = with.divide(with.multiply(y, part), spread);
  GraphValue inner = node.emit("where", {only, with.divide(part, 2.0), between});
  return with.add(inner, with.multiply(axis.begin, last));
}

GraphValue nearest_of(NodeContext& node, const Form& form, const GraphValue& place) {
  Arithmetic with(node, kFloat64);
  if (form.nearest == "floor") return node.emit("floor", {place});
  if (form.nearest == "ceil") return node.emit("ceil", {place});
  if (form.nearest == "round_prefer_floor") {
    return node.emit("ceil", {with.subtract(place, 0.5)});
  }
  return node.emit("floor", {with.add(place, 0.5)});
}

// The weight of an element at a distance.
GraphValue weight_at(NodeContext& node, const Form& form, const GraphValue& distance) {
  Arithmetic with(node, kFloat64);
  GraphValue d = node.emit("abs", {distance});
  if (form.mode == "linear") {
    return node.emit("maximum", {with.subtract(1.0, d), with.number(0)});
  }
  double a = form.cubic;
  auto polynomial = [&](double c3, double c2, double c1, double c0) {
    GraphValue sum = with.add(with.multiply(d, c3), c2);
    sum = with.add(with.multiply(sum, d), c1);
    return with.add(with.multiply(sum, d), c0);
  };
  GraphValue near = polynomial(a + 2, -(a + 3), 0, 1);
  GraphValue far = polynomial(a, -5 * a, 8 * a, -4 * a);
  GraphValue outer =
      node.emit("where", {node.emit("less", {d, with.number(2)}), far, with.number(0)});
  return node.emit("where", {node.emit("less_equal", {d, with.number(1)}), near, outer});
}

// How often each element stands in the result, if that is all that the nearest one comes to.
std::optional<int64_t> repetitions(const Form& form, const Axis& axis, Dim extent) {
  constexpr double kMost = 64;
  const bool whole = form.places == "asymmetric" || form.places == "tf_half_pixel_for_nn";
  const bool half = form.places == "half_pixel" || form.places == "half_pixel_symmetric" ||
                    form.places == "pytorch_half_pixel";
  const bool fits =
      (whole && form.nearest == "floor") ||
      (half && (form.nearest == "round_prefer_floor" || form.nearest == "round_prefer_ceil"));
  if (form.mode != "nearest" || !fits || !axis.known_scale) return std::nullopt;
  const double scale = *axis.known_scale;
  if (scale < 2 || scale > kMost || scale != std::floor(scale)) return std::nullopt;
  const auto times = static_cast<int64_t>(scale);
  if (!axis.size.is_any() && axis.size != extent * Dim(times)) return std::nullopt;
  return times;
}

// The elements of one axis at the places of the result, weighted and summed up.
class ResizedAxis {
 public:
  ResizedAxis(NodeContext& node, const Form& form, const Axis& axis, const GraphValue& x)
      : node_(node),
        with_(node, kFloat64),
        form_(form),
        axis_(axis),
        x_(x),
        along_{{"axis", static_cast<int64_t>(axis.axis)}, {"mode", "clip"}} {
    GraphValue extent = extent_of(node, x, axis.axis);
    place_ = places_of(node, form, axis, extent);
    limit_ = with_.subtract(node.cast(extent, kFloat64), 1.0);
  }

  GraphValue run() {
    GraphValue result;
    if (form_.mode == "nearest") {
      result = take(inside(nearest_of(node_, form_, place_)));
    } else {
      base_ = with_.subtract(node_.emit("ceil", {place_}), 1.0);
      shrink_ =
          form_.antialias ? node_.emit("minimum", {axis_.scale, with_.number(1)}) : with_.number(1);
      result = form_.antialias ? sum_of_row() : sum_of_taps();
    }
    if (form_.places == "tf_crop_and_resize") {
      GraphValue off = node_.emit("logical_or", {node_.emit("less", {place_, with_.number(0)}),
                                                 node_.emit("greater", {place_, limit_})});
      result = node_.emit("where",
                          {along_x(off), node_.scalar(x_.dtype(), form_.extrapolation), result});
    }
    return result;
  }

 private:
  GraphValue take(const GraphValue& positions) {
    return node_.emit("take", {x_, positions}, along_);
  }

  GraphValue inside(const GraphValue& position) {
    return node_.cast(
        node_.emit("minimum", {node_.emit("maximum", {position, with_.number(0)}), limit_}),
        kInt64);
  }

  // A vector, or a matrix of them, with one axis of extent 1 for each axis of x after this one.
  GraphValue along_x(const GraphValue& vector) {
    std::vector<int64_t> axes;
    for (size_t k = axis_.axis + 1; k < x_.rank(); ++k) {
      axes.push_back(static_cast<int64_t>(vector.rank() + axes.size()));
    }
    return node_.unsqueeze(vector, axes);
  }

  // Positions and weights of taps: one after the other, or all as a matrix where a run decides
  // how many there are.
  GraphValue weigh(const GraphValue& position, const GraphValue& of) {
    GraphValue weight =
        weight_at(node_, form_, with_.multiply(with_.subtract(position, of), shrink_));
    if (!form_.exclude_outside) return weight;
    GraphValue in =
        node_.emit("logical_and", {node_.emit("greater_equal", {position, with_.number(0)}),
                                   node_.emit("less_equal", {position, limit_})});
    return node_.emit("where", {in, weight, with_.number(0)});
  }

  GraphValue share(const GraphValue& weight, const GraphValue& sum) {
    GraphValue safe =
        node_.emit("where", {node_.emit("equal", {sum, with_.number(0)}), with_.number(1), sum});
    return with_.divide(weight, safe);
  }

  GraphValue weighted(const GraphValue& elements, const GraphValue& weight) {
    return node_.emit("multiply", {elements, along_x(node_.cast(weight, x_.dtype()))});
  }

  int64_t reach() const { return form_.mode == "linear" ? 1 : 2; }

  GraphValue sum_of_taps() {
    Values positions, weights;
    GraphValue sum, result;
    for (int64_t k = 1 - reach(); k <= reach(); ++k) {
      positions.push_back(with_.add(base_, static_cast<double>(k)));
      weights.push_back(weigh(positions.back(), place_));
      sum = sum ? with_.add(sum, weights.back()) : weights.back();
    }
    for (size_t k = 0; k < positions.size(); ++k) {
      GraphValue weight = form_.exclude_outside ? share(weights[k], sum) : weights[k];
      GraphValue tap = weighted(take(inside(positions[k])), weight);
      result = result ? node_.emit("add", {result, tap}) : tap;
    }
    return result;
  }

  // The first tap stands floor(-reach / shrink) + 1 from the base, and as many after it.
  GraphValue sum_of_row() {
    GraphValue first =
        with_.add(node_.emit("floor", {with_.divide(-static_cast<double>(reach()), shrink_)}), 1.0);
    GraphValue count = with_.subtract(2.0, with_.multiply(first, 2.0));
    GraphValue taps = node_.cast(
        node_.emit("arange",
                   {node_.scalar(kInt64, 0), node_.cast(count, kInt64), node_.scalar(kInt64, 1)},
                   {{"dtype", kInt64}}),
        kFloat64);
    GraphValue column = node_.unsqueeze(base_, {1});
    GraphValue position = with_.add(with_.add(column, first), taps);
    GraphValue weight = weigh(position, node_.unsqueeze(place_, {1}));
    AttrList rows{{"axis", std::vector<int64_t>{1}}, {"keepdims", true}};
    weight = share(weight, node_.emit("sum", {weight}, rows));
    GraphValue elements = weighted(take(inside(position)), weight);
    const auto at = static_cast<int64_t>(axis_.axis);
    return node_.emit("sum", {elements}, {{"axis", std::vector<int64_t>{at + 1}}});
  }

  NodeContext& node_;
  Arithmetic with_;
  const Form& form_;
  const Axis& axis_;
  const GraphValue x_;
  const AttrList along_;
  GraphValue place_, limit_;  // of each result in x; the last element's place
  GraphValue base_, shrink_;  // the element before a place; how much closer taps stand
};

GraphValue resize_axis(NodeContext& node, const Form& form, const Axis& axis, const GraphValue& x) {
  if (std::optional<int64_t> times = repetitions(form, axis, x.dim(axis.axis))) {
    return node.emit("repeat", {x},
                     {{"repeats", *times}, {"axis", static_cast<int64_t>(axis.axis)}});
  }
  return ResizedAxis(node, form, axis, x).run();
}

// ---- Relay's own operator -----------------------------------------------------------------------

std::optional<GraphValue> resize_image(NodeContext& node, const Form& form,
                                       const std::vector<Axis>& axes, const GraphValue& x) {
  bool nearest = form.mode == "nearest";
  if (form.antialias || (!nearest && !x.dtype().is_float())) return std::nullopt;
  if (x.dtype().is_bool()) return std::nullopt;
  std::string places = form.places;
  if (places == "tf_crop_and_resize" || places == "pytorch_half_pixel") return std::nullopt;
  if (places == "half_pixel_symmetric") places = "half_pixel";
  if (form.exclude_outside && form.mode == "linear") return std::nullopt;
  if (x.rank() < 3 || x.rank() > 5) return std::nullopt;
  std::vector<int64_t> size(x.rank() - 2);
  for (size_t k = 2; k < x.rank(); ++k) {
    if (!x.dim(k).is_int()) return std::nullopt;
    size[k - 2] = x.dim(k).as_int();
  }
  for (const Axis& axis : axes) {
    if (axis.axis < 2 || !axis.size.is_int() || !axis.known_scale) return std::nullopt;
    auto from = static_cast<double>(x.dim(axis.axis).as_int());
    auto to = static_cast<double>(axis.size.as_int());
    if (from == 0 || to == 0 || *axis.known_scale * from != to) return std::nullopt;
    size[axis.axis - 2] = axis.size.as_int();
  }
  size_t spatial = size.size();
  std::string layout = spatial == 1 ? "NCW" : spatial_layout("NC", spatial);
  return node.emit(spatial_op(node, "image.resize", spatial), {x},
                   {{"size", size},
                    {"layout", layout},
                    {"method", nearest ? std::string("nearest_neighbor") : form.mode},
                    {"coordinate_transformation_mode", places},
                    {"rounding_method", nearest ? form.nearest : std::string("")},
                    {"cubic_alpha", form.cubic},
                    {"cubic_exclude", form.exclude_outside ? 1 : 0}});
}

// ---- Scales and sizes ---------------------------------------------------------------------------

GraphValue entry(NodeContext& node, const GraphValue& list, size_t k) {
  return node.emit("take", {list, node.scalar(kInt64, static_cast<double>(k))}, {{"axis", 0}});
}

void check_count(NodeContext& node, const GraphValue& list, size_t count, const char* what) {
  bool fits = list.rank() == 1 && list.dim(0) == Dim(static_cast<int64_t>(count));
  node.require(fits, std::string(what) + " is no list of " + std::to_string(count) + " entries");
}

constexpr double kMostScaledExtent = 1099511627776.0;  // 2^40
constexpr int64_t kMostTimes = 64;  // extents that are multiples of others are looked for

// The result's extent under a scale, both known.
Dim scaled(NodeContext& node, Dim extent, double scale, double round) {
  if (extent.is_int()) {
    double size = std::floor(static_cast<double>(extent.as_int()) * scale + round);
    node.require(size <= kMostScaledExtent, "a scale is " + std::to_string(scale));
    return static_cast<int64_t>(size);
  }
  if (extent.is_any() || round != 0) return Dim::any();
  constexpr int kMostDivisor = 16;
  for (int divisor = 1; divisor <= kMostDivisor; ++divisor) {
    double factor = scale * divisor;
    if (factor == std::floor(factor) && factor < kMostScaledExtent) {
      return floor_div(extent * static_cast<int64_t>(factor), divisor);
    }
  }
  return Dim::any();
}

void set_extent(NodeContext& node, Axis& axis, const GraphValue& size) {
  axis.extent = axis.size.is_any() ? size : node.known_value({axis.size}, {}, kInt64);
}

void by_scales(NodeContext& node, const GraphValue& x, std::vector<Axis>& axes, size_t input) {
  GraphValue scales = node.input(input);
  check_count(node, scales, axes.size(), "scales");
  std::optional<NDArray> known = node.constant(input);
  Arithmetic with(node, kFloat64);
  for (size_t k = 0; k < axes.size(); ++k) {
    Axis& axis = axes[k];
    Dim extent = x.dim(axis.axis);
    axis.size = Dim::any();
    if (known) {
      double scale = known->element_as_double(static_cast<int64_t>(k));
      node.require(scale > 0 && std::isfinite(scale), "a scale is " + std::to_string(scale));
      axis.known_scale = scale;
      axis.scale = with.number(scale);
      axis.size = scaled(node, extent, scale, 0);
    } else {
      axis.scale = node.cast(entry(node, scales, k), kFloat64);
    }
    GraphValue size;
    if (axis.size.is_any()) {
      GraphValue from = node.cast(extent_of(node, x, axis.axis), kFloat64);
      size = node.cast(node.emit("floor", {with.multiply(from, axis.scale)}), kInt64);
    }
    set_extent(node, axis, size);
  }
}

void by_sizes(NodeContext& node, const GraphValue& x, std::vector<Axis>& axes, size_t input,
              const std::string& policy) {
  GraphValue sizes = node.cast(node.input(input), kInt64);
  check_count(node, sizes, axes.size(), "sizes");
  std::optional<Elements> elements = node.optional_input(input).elements();
  Arithmetic with(node, kFloat64);
  bool stretch = policy == "stretch";
  GraphValue common;
  std::optional<double> known_common;
  bool all_known = true;
  for (size_t k = 0; k < axes.size(); ++k) {
    Axis& axis = axes[k];
    Dim extent = x.dim(axis.axis);
    axis.size = elements ? (*elements)[k] : Dim::any();
    if (axis.size.is_int()) {
      node.require(axis.size.as_int() >= 0 && axis.size.as_int() < kMostScaledExtent,
                   "sizes has " + axis.size.str());
    }
    if (axis.size == extent && !extent.is_any()) {
      axis.known_scale = 1;
    } else if (axis.size.is_int() && extent.is_int() && extent.as_int() > 0) {
      axis.known_scale =
          static_cast<double>(axis.size.as_int()) / static_cast<double>(extent.as_int());
    } else if (!axis.size.is_any() && !extent.is_any()) {
      for (int64_t times = 2; times <= kMostTimes && !axis.known_scale; ++times) {
        if (axis.size == extent * Dim(times)) axis.known_scale = static_cast<double>(times);
      }
    }
    set_extent(node, axis, axis.size.is_any() ? entry(node, sizes, k) : GraphValue());
    GraphValue from = node.cast(extent_of(node, x, axis.axis), kFloat64);
    axis.scale = axis.known_scale ? with.number(*axis.known_scale)
                                  : with.divide(node.cast(axis.extent, kFloat64), from);
    if (stretch) continue;
    bool least = policy == "not_larger";
    common = common ? node.emit(least ? "minimum" : "maximum", {common, axis.scale}) : axis.scale;
    all_known = all_known && axis.known_scale;
    if (axis.known_scale) {
      double own = *axis.known_scale, other = known_common.value_or(own);
      known_common = least ? std::min(own, other) : std::max(own, other);
    }
  }
  if (stretch) return;
  for (Axis& axis : axes) {
    axis.known_scale = all_known ? known_common : std::nullopt;
    axis.scale = all_known ? with.number(*known_common) : common;
    axis.size = all_known ? scaled(node, x.dim(axis.axis), *known_common, 0.5) : Dim::any();
    GraphValue size;
    if (axis.size.is_any()) {
      GraphValue from = node.cast(extent_of(node, x, axis.axis), kFloat64);
      size = with.add(with.multiply(from, axis.scale), 0.5);
      size = node.cast(node.emit("floor", {size}), kInt64);
    }
    set_extent(node, axis, size);
  }
}

GraphValue resized(NodeContext& node, const Form& form, std::vector<Axis> axes, GraphValue x) {
  bool crop = form.places == "tf_crop_and_resize";
  std::erase_if(axes, [&](const Axis& axis) {
    return !crop && axis.known_scale == 1.0 && axis.size == x.dim(axis.axis);
  });
  if (axes.empty()) return x;
  if (auto image = resize_image(node, form, axes, x)) return *image;
  DType dtype = x.dtype();
  bool exact = form.mode == "nearest" && !crop;
  DType wide = dtype;
  if (!exact && dtype.is_float() && dtype.bits < 32) wide = kFloat32;
  if (!exact && !dtype.is_float()) wide = dtype.bits > 16 ? kFloat64 : kFloat32;
  x = node.cast(x, wide);
  std::vector<ResampledAxis> estimates;
  for (const Axis& axis : axes) {
    estimates.push_back({axis.known_scale.value_or(2), axis.axis + 1 == x.rank()});
  }
  for (size_t at : resampling_order(estimates)) x = resize_axis(node, form, axes[at], x);
  if (!dtype.is_float() && wide != dtype) {
    Arithmetic with(node, wide);
    x = with.rounded_to_range(x, dtype);
  }
  return node.cast(x, dtype);
}

Values convert_resize(NodeContext& node) {
  GraphValue x = node.input(0);
  Form form;
  form.mode = node.attr_string("mode", form.mode);
  form.places = node.attr_string("coordinate_transformation_mode", form.places);
  form.nearest = node.attr_string("nearest_mode", form.nearest);
  form.cubic = node.attr_float("cubic_coeff_a", form.cubic);
  form.extrapolation = node.attr_float("extrapolation_value", 0);
  form.exclude_outside = node.attr_bool("exclude_outside", false);
  std::string policy = "stretch";
  std::vector<int64_t> listed;
  for (size_t k = 0; k < x.rank(); ++k) listed.push_back(static_cast<int64_t>(k));
  if (node.opset() >= 18) {
    form.antialias = node.attr_bool("antialias", false) && form.mode != "nearest";
    policy = node.attr_string("keep_aspect_ratio_policy", policy);
    listed = node.attr_ints("axes", listed);
  }
  auto one_of = [&](const std::string& text, std::initializer_list<const char*> list,
                    const char* what) {
    bool found =
        std::any_of(list.begin(), list.end(), [&](const char* each) { return text == each; });
    node.require(found, std::string(what) + " is " + quoted(text));
  };
  one_of(form.mode, {"nearest", "linear", "cubic"}, "mode");
  one_of(form.places,
         {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
          "tf_crop_and_resize", "tf_half_pixel_for_nn"},
         "coordinate_transformation_mode");
  one_of(form.nearest, {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"},
         "nearest_mode");
  one_of(policy, {"stretch", "not_larger", "not_smaller"}, "keep_aspect_ratio_policy");
  std::vector<Axis> axes;
  for (int64_t axis : listed) {
    axes.push_back({});
    axes.back().axis = static_cast<size_t>(node.axis(axis, x.rank(), "axes entry"));
    bool twice = std::any_of(axes.begin(), axes.end() - 1,
                             [&](const Axis& other) { return other.axis == axes.back().axis; });
    node.require(!twice, "axes names an axis twice");
  }
  // The one of the two that is not used may be an empty list.
  auto given = [&](size_t input) {
    return node.has(input) &&
           !(node.input(input).rank() == 1 && node.input(input).dim(0).is_int(0));
  };
  bool scales = given(2), sizes = given(3);
  node.require(scales != sizes,
               scales ? "scales and sizes are given" : "scales or sizes are needed");
  if (scales) {
    by_scales(node, x, axes, 2);
  } else {
    by_sizes(node, x, axes, 3, policy);
  }
  if (form.places == "tf_crop_and_resize") {
    node.require(given(1), "tf_crop_and_resize needs a roi");
    GraphValue roi = node.input(1);
    check_count(node, roi, 2 * axes.size(), "roi");
    for (size_t k = 0; k < axes.size(); ++k) {
      axes[k].begin = node.cast(entry(node, roi, k), kFloat64);
      axes[k].end = node.cast(entry(node, roi, axes.size() + k), kFloat64);
    }
  }
  return {resized(node, form, std::move(axes), x)};
}
RELAY_ONNX("Resize", 11, convert_resize)

// The older operator: elements stand at multiples of 1 / scale, the nearest is the one before.
Values convert_upsample(NodeContext& node) {
  GraphValue x = node.input(0);
  Form form;
  form.mode = node.attr_string("mode", "nearest");
  if (form.mode == "bilinear") form.mode = "linear";
  node.require(form.mode == "nearest" || form.mode == "linear", "mode is " + quoted(form.mode));
  form.places = "asymmetric";
  form.nearest = "floor";
  std::vector<Axis> axes(x.rank());
  for (size_t k = 0; k < axes.size(); ++k) axes[k].axis = k;
  if (node.opset() >= 9) {
    by_scales(node, x, axes, 1);
    return {resized(node, form, std::move(axes), x)};
  }
  std::vector<double> scales;
  if (node.opset() >= 7) {
    scales = node.attr_floats("scales");
  } else {
    scales = {1, 1, node.attr_float("height_scale"), node.attr_float("width_scale")};
  }
  node.require(scales.size() == axes.size(), "scales has " + std::to_string(scales.size()) +
                                                 " entries, not " + std::to_string(axes.size()));
  Arithmetic with(node, kFloat64);
  for (size_t k = 0; k < axes.size(); ++k) {
    node.require(scales[k] > 0 && std::isfinite(scales[k]),
                 "a scale is " + std::to_string(scales[k]));
    axes[k].known_scale = scales[k];
    axes[k].scale = with.number(scales[k]);
    axes[k].size = scaled(node, x.dim(k), scales[k], 0);
    GraphValue size;
    if (axes[k].size.is_any()) {
      GraphValue from = node.cast(extent_of(node, x, k), kFloat64);
      size = node.cast(node.emit("floor", {with.multiply(from, axes[k].scale)}), kInt64);
    }
    set_extent(node, axes[k], size);
  }
  return {resized(node, form, std::move(axes), x)};
}
RELAY_ONNX("Upsample", 1, convert_upsample)
RELAY_ONNX("Resize", 10, convert_upsample)

}  // namespace
}  // namespace relay::onnx
