// Places in images: grids, regions, boxes.
#include <algorithm>
#include <limits>

#include <relay/import/onnx/ops/arithmetic.h>
#include <relay/import/onnx/ops/attention.h>
#include <relay/import/onnx/ops/spatial.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

// ---- Grids --------------------------------------------------------------------------------------

// The grid is the product of places from -1 to 1, and 1, with the matrices. The size may be an
// input.
Values convert_affine_grid(NodeContext& node) {
  GraphValue theta = node.input(0), size = node.input(1);
  bool corners = node.attr_bool("align_corners", false);
  node.require(theta.rank() == 3 && theta.dim(1).is_int() && theta.dim(2) == theta.dim(1) + 1,
               "theta is no list of matrices of n by n + 1");
  int64_t spatial = theta.dim(1).as_int();
  node.require(spatial == 2 || spatial == 3,
               "theta is for " + std::to_string(spatial) + " axes; 2 and 3 are supported");
  node.require(size.rank() == 1 && size.dim(0).is_int(spatial + 2),
               "size is no list of " + std::to_string(spatial + 2) + " entries");
  DType dtype = theta.dtype(), wide = dtype.bits < 32 ? DType(kFloat32) : dtype;
  Arithmetic with(node, wide);
  std::optional<Elements> known = node.known(1);
  Values extents, places;
  GraphValue zero = node.scalar(kInt64, 0), one = node.scalar(kInt64, 1);
  for (int64_t k = 0; k < spatial; ++k) {
    GraphValue extent;
    if (known) {
      Dim dim = (*known)[static_cast<size_t>(k) + 2];
      node.require(!dim.is_int() || dim.as_int() > 0, "size has " + dim.str());
      extent = extent_value(node, dim);
    } else {
      extent =
          node.emit("take", {node.cast(size, kInt64), extent_value(node, k + 2)}, {{"axis", 0}});
    }
    extents.push_back(extent);
    GraphValue i = node.cast(node.emit("arange", {zero, extent, one}, {{"dtype", kInt64}}), wide);
    GraphValue count = node.cast(extent, wide);
    GraphValue place;
    if (corners) {
      // One element alone stands at the beginning.
      GraphValue gaps = node.emit("maximum", {with.subtract(count, 1.0), with.number(1)});
      place = with.divide(with.multiply(i, 2.0), gaps);
    } else {
      place = with.divide(with.add(with.multiply(i, 2.0), 1.0), count);
    }
    place = with.subtract(place, 1.0);
    std::vector<int64_t> behind;
    for (int64_t axis = k + 1; axis < spatial; ++axis) behind.push_back(axis - k);
    places.push_back(node.unsqueeze(place, behind));
  }
  // theta · (x, y, …, 1), one row of theta after the other: (batch, …, rows).
  auto column = [&](int64_t k) {
    GraphValue entries = node.slice(node.cast(theta, wide), 2, k, k + 1);  // (batch, rows, 1)
    std::vector<Dim> dims{theta.dim(0)};
    for (int64_t axis = 0; axis < spatial; ++axis) dims.emplace_back(1);
    dims.emplace_back(spatial);
    return node.reshape(entries, dims);
  };
  GraphValue grid = column(spatial);
  for (int64_t k = 0; k < spatial; ++k) {
    GraphValue place = places[static_cast<size_t>(spatial - 1 - k)];
    place = node.unsqueeze(place, {static_cast<int64_t>(place.rank())});
    grid = with.add(with.multiply(place, column(k)), grid);
  }
  return {node.cast(grid, dtype)};
}
RELAY_ONNX("AffineGrid", 20, convert_affine_grid)

Values convert_grid_sample(NodeContext& node) {
  GraphValue x = node.input(0), grid = node.input(1);
  std::string mode = node.attr_string("mode", node.opset() >= 20 ? "linear" : "bilinear");
  std::string padding = node.attr_string("padding_mode", "zeros");
  bool corners = node.attr_bool("align_corners", false);
  if (mode == "linear") mode = "bilinear";
  if (mode == "cubic") mode = "bicubic";
  node.require(mode == "nearest" || mode == "bilinear" || mode == "bicubic",
               "mode is " + quoted(mode));
  node.require(padding == "zeros" || padding == "border" || padding == "reflection",
               "padding_mode is " + quoted(padding));
  node.require(x.rank() >= 3 && x.rank() <= 5,
               "the data have " + std::to_string(x.rank()) + " axes");
  node.require(
      grid.rank() == x.rank() && grid.last_dim().is_int(static_cast<int64_t>(x.rank()) - 2),
      "the last extent of the grid is not the number of spatial axes");
  node.require(mode != "bicubic" || x.rank() == 4, "mode cubic is supported for images alone");
  DType dtype = x.dtype();
  DType wide = dtype.is_float() ? dtype : dtype.bits > 16 ? DType(kFloat64) : DType(kFloat32);
  bool line = x.rank() == 3;
  GraphValue data = node.cast(x, wide);
  std::vector<int64_t> axes{0, static_cast<int64_t>(grid.rank()) - 1};
  for (size_t k = 1; k + 1 < grid.rank(); ++k) axes.push_back(static_cast<int64_t>(k));
  GraphValue places = node.transpose(grid, axes);
  if (line) {
    // The one row of an image.
    data = node.unsqueeze(data, {2});
    places = node.unsqueeze(places, {2});
    places = node.concat({places, node.emit("zeros_like", {places})}, 1);
  }
  size_t spatial = line ? 2 : x.rank() - 2;
  GraphValue result = node.emit("image.grid_sample", {data, places},
                                {{"method", mode},
                                 {"layout", spatial_layout("NC", spatial)},
                                 {"padding_mode", padding},
                                 {"align_corners", corners}});
  if (line) result = node.emit("squeeze", {result}, {{"axis", std::vector<int64_t>{2}}});
  return {node.cast(result, dtype)};
}
RELAY_ONNX("GridSample", 16, convert_grid_sample)

// ---- Regions ------------------------------------------------------------------------------------

/// The samples of the regions along one axis: where the two elements around each lie, and their
/// shares; all (regions, bins · samples).
struct Samples {
  GraphValue low, high;              // positions, int64
  GraphValue low_share, high_share;  // 0 for samples off the data
};

Samples samples_along(NodeContext& node, GraphValue begin, GraphValue end, int64_t bins,
                      int64_t ratio, Dim extent, bool half_pixel) {
  Arithmetic with(node, begin.dtype());
  GraphValue size = with.subtract(end, begin);
  if (!half_pixel) size = node.emit("maximum", {size, with.number(1)});
  auto count = static_cast<int64_t>(node.countable(bins * ratio, "samples of a region"));
  std::vector<double> steps;
  for (int64_t i = 0; i < count; ++i) {
    steps.push_back((static_cast<double>(i) + 0.5) / static_cast<double>(count));
  }
  GraphValue shares =
      node.constant_value(NDArray::from<double>(Shape{1, count}, steps).cast(begin.dtype()));
  GraphValue at = with.add(begin, with.multiply(size, shares));
  GraphValue limit = node.cast(extent_value(node, extent), begin.dtype());
  GraphValue off = node.emit(
      "logical_or", {node.emit("less", {at, with.number(-1)}), node.emit("greater", {at, limit})});
  GraphValue last = with.subtract(limit, 1.0);
  at = node.emit("minimum", {node.emit("maximum", {at, with.number(0)}), last});
  GraphValue low = node.emit("floor", {at});
  GraphValue high = node.emit("minimum", {with.add(low, 1.0), last});
  GraphValue part = with.subtract(at, low);
  auto counted = [&](const GraphValue& share) {
    return node.emit("where", {off, with.number(0), share});
  };
  return {node.cast(low, kInt64), node.cast(high, kInt64), counted(with.subtract(1.0, part)),
          counted(part)};
}

// The greatest of all four weighted elements around all samples, as the operator's definition has
// it (not of what is interpolated).
GraphValue greatest_of_regions(NodeContext& node, const GraphValue& x, const GraphValue& rois,
                               const GraphValue& images, const std::vector<int64_t>& pooled,
                               int64_t ratio, double scale, bool half_pixel) {
  node.require(ratio > 0, "mode max needs a sampling_ratio above 0");
  DType wide = x.dtype().bits < 32 ? DType(kFloat32) : x.dtype();
  Arithmetic with(node, wide);
  GraphValue corners = with.multiply(node.cast(rois, wide), scale);
  if (half_pixel) corners = with.subtract(corners, 0.5);
  auto corner = [&](int64_t k) { return node.slice(corners, 1, k, k + 1); };
  Samples rows = samples_along(node, corner(1), corner(3), pooled[0], ratio, x.dim(2), half_pixel);
  Samples columns =
      samples_along(node, corner(0), corner(2), pooled[1], ratio, x.dim(3), half_pixel);
  // Elements of all channels, one row each.
  GraphValue elements = node.transpose(node.cast(x, wide), {0, 2, 3, 1});
  elements = node.reshape(elements, {x.dim(0) * x.dim(2) * x.dim(3), x.dim(1)});
  GraphValue image = node.unsqueeze(node.cast(images, kInt64), {1, 2});
  GraphValue height = extent_value(node, x.dim(2)), width = extent_value(node, x.dim(3));
  GraphValue result;
  auto touch = [&](const GraphValue& row, const GraphValue& row_share, const GraphValue& column,
                   const GraphValue& column_share) {
    GraphValue at =
        node.emit("add", {node.emit("multiply", {image, height}), node.unsqueeze(row, {2})});
    at = node.emit("add", {node.emit("multiply", {at, width}), node.unsqueeze(column, {1})});
    GraphValue share =
        with.multiply(node.unsqueeze(row_share, {2}), node.unsqueeze(column_share, {1}));
    GraphValue element = node.emit("take", {elements, at}, {{"axis", 0}, {"mode", "clip"}});
    element = with.multiply(element, node.unsqueeze(share, {3}));
    result = result ? node.emit("maximum", {result, element}) : element;
  };
  touch(rows.low, rows.low_share, columns.low, columns.low_share);
  touch(rows.low, rows.low_share, columns.high, columns.high_share);
  touch(rows.high, rows.high_share, columns.low, columns.low_share);
  touch(rows.high, rows.high_share, columns.high, columns.high_share);
  result = node.reshape(
      result, {rois.dim(0), Dim(pooled[0]), Dim(ratio), Dim(pooled[1]), Dim(ratio), x.dim(1)});
  result = node.emit("max", {result}, {{"axis", std::vector<int64_t>{2, 4}}});
  return node.cast(node.transpose(result, {0, 3, 1, 2}), x.dtype());
}

Values convert_roi_align(NodeContext& node) {
  GraphValue x = node.input(0), rois = node.input(1), images = node.input(2);
  node.require(x.rank() == 4 && rois.rank() == 2 && rois.dim(1).is_int(4) && images.rank() == 1,
               "the inputs are no images, (n, 4) regions and n indices");
  std::string mode = node.attr_string("mode", "avg");
  node.require(mode == "avg" || mode == "max", "mode is " + quoted(mode));
  std::vector<int64_t> pooled{node.attr_int("output_height", 1), node.attr_int("output_width", 1)};
  constexpr int64_t kMost = 1 << 20;
  for (int64_t extent : pooled) {
    node.require(extent > 0 && extent < kMost,
                 "an extent of the result is " + std::to_string(extent));
  }
  int64_t ratio = node.attr_int("sampling_ratio", 0);
  node.require(ratio >= 0 && ratio < kMost, "sampling_ratio is " + std::to_string(ratio));
  double scale = node.attr_float("spatial_scale", 1);
  bool half_pixel = false;
  if (node.opset() >= 16) {
    std::string places = node.attr_string("coordinate_transformation_mode", "half_pixel");
    half_pixel = places == "half_pixel";
    node.require(half_pixel || places == "output_half_pixel",
                 "coordinate_transformation_mode is " + quoted(places));
  }
  if (mode == "max") {
    return {greatest_of_regions(node, x, rois, images, pooled, ratio, scale, half_pixel)};
  }
  // Numbers of images are whole in float32 up to 2^24.
  GraphValue image = node.unsqueeze(node.cast(images, kFloat32), {1});
  GraphValue regions = node.concat({image, node.cast(rois, kFloat32)}, 1);
  return {node.emit("vision.roi_align", {x, regions},
                    {{"pooled_size", pooled},
                     {"spatial_scale", scale},
                     {"sample_ratio", ratio},
                     {"mode", mode},
                     {"aligned", half_pixel}})};
}
RELAY_ONNX("RoiAlign", 10, convert_roi_align)

// ---- Boxes --------------------------------------------------------------------------------------

// A number that may be given as a list of one.
GraphValue number_input(NodeContext& node, size_t i, const char* what) {
  GraphValue value = node.input(i);
  bool one = value.rank() == 0 || (value.rank() == 1 && value.dim(0).is_int(1));
  node.require(one, std::string(what) + " is no number");
  return node.reshape(value, {});
}

Values convert_non_max_suppression(NodeContext& node) {
  GraphValue boxes = node.input(0), scores = node.input(1);
  int64_t form = node.attr_int("center_point_box", 0);
  node.require(form == 0 || form == 1, "center_point_box is " + std::to_string(form));
  node.require(boxes.rank() == 3 && boxes.dim(2).is_int(4), "the boxes are no (batch, boxes, 4)");
  if (form == 1) {
    Arithmetic with(node, boxes.dtype());
    GraphValue middle = node.slice(boxes, 2, 0, 2);
    GraphValue half = with.multiply(node.slice(boxes, 2, 2, 4), 0.5);
    boxes = node.concat({with.subtract(middle, half), with.add(middle, half)}, 2);
  }
  GraphValue most = node.scalar(kInt64, 0);
  if (node.has(2)) {
    most = node.emit(
        "maximum", {node.cast(number_input(node, 2, "max_output_boxes_per_class"), kInt64), most});
  }
  // Relay drops boxes that overlap by as much as the threshold: that of here is the next number.
  GraphValue threshold = node.scalar(kFloat32, 0);
  if (node.has(3)) threshold = node.cast(number_input(node, 3, "iou_threshold"), kFloat32);
  GraphValue bits = node.emit("reinterpret", {threshold}, {{"dtype", DType(kInt32)}});
  bits = node.emit("add", {bits, node.scalar(kInt32, 1)});
  threshold = node.emit("reinterpret", {bits}, {{"dtype", DType(kFloat32)}});
  GraphValue least = node.has(4) ? node.cast(number_input(node, 4, "score_threshold"), kFloat32)
                                 : node.scalar(kFloat32, -std::numeric_limits<double>::infinity());
  GraphValue kept =
      node.emit("vision.all_class_non_max_suppression", {boxes, scores, most, threshold, least});
  return {node.field(kept, 0)};
}
RELAY_ONNX("NonMaxSuppression", 10, convert_non_max_suppression)

}  // namespace
}  // namespace relay::onnx
