// Transposed and deformable convolutions, products of integers.
#include <algorithm>

#include <relay/import/onnx/ops/arithmetic.h>
#include <relay/import/onnx/ops/products.h>
#include <relay/import/onnx/ops/spatial.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

// ---- Transposed ---------------------------------------------------------------------------------

// How much each axis of the result has beyond what strides and kernel make, and what is cut off.
struct TransposedExtents {
  std::vector<int64_t> pads;   // all before, then all after
  std::vector<int64_t> extra;  // output_padding
  std::vector<int64_t> zeros;  // behind all that the kernel reaches
};

TransposedExtents transposed_extents(NodeContext& node, const GraphValue& x, const Window& w) {
  size_t spatial = w.kernel.size();
  TransposedExtents e;
  e.pads = w.pads;
  e.extra = node.attr_ints("output_padding", std::vector<int64_t>(spatial, 0));
  e.zeros.assign(spatial, 0);
  node.require(e.extra.size() == spatial, "output_padding has " + std::to_string(e.extra.size()) +
                                              " entries, not " + std::to_string(spatial));
  std::string auto_pad = node.attr_string("auto_pad", "NOTSET");
  bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  std::vector<int64_t> stated = node.attr_ints("output_shape", std::vector<int64_t>());
  // Some write batch and channels, too.
  if (stated.size() == spatial + 2) stated.erase(stated.begin(), stated.begin() + 2);
  node.require(stated.empty() || stated.size() == spatial,
               "output_shape has " + std::to_string(stated.size()) + " entries, not " +
                   std::to_string(spatial));
  for (size_t k = 0; k < spatial; ++k) {
    constexpr int64_t kMost = int64_t{1} << 31;
    node.require(e.extra[k] >= 0 && e.extra[k] < kMost,
                 "output_padding has " + std::to_string(e.extra[k]));
    if (!same && stated.empty()) continue;
    int64_t reach = (w.kernel[k] - 1) * w.dilations[k] + 1;
    int64_t total = 0;
    if (stated.empty()) {
      total = e.extra[k] + reach - w.strides[k];  // the result is as long as all strides
    } else {
      Dim extent = x.dim(k + 2);
      node.require(extent.is_int(), "output_shape needs the extents of the data");
      node.require(stated[k] > 0 && stated[k] < kMost,
                   "output_shape has " + std::to_string(stated[k]));
      total = w.strides[k] * (extent.as_int() - 1) + e.extra[k] + reach - stated[k];
    }
    if (total < 0) {
      e.zeros[k] = -total;
      total = 0;
    }
    int64_t less = total / 2;
    e.pads[k] = auto_pad == "SAME_UPPER" ? less : total - less;
    e.pads[spatial + k] = total - e.pads[k];
  }
  return e;
}

GraphValue zeros_behind(NodeContext& node, const GraphValue& x, const std::vector<int64_t>& zeros) {
  if (std::all_of(zeros.begin(), zeros.end(), [](int64_t each) { return each == 0; })) return x;
  AttrValue::List widths;
  for (size_t k = 0; k < x.rank(); ++k) {
    int64_t after = k < 2 ? 0 : zeros[k - 2];
    widths.push_back(AttrValue(AttrValue::List{AttrValue(int64_t{0}), AttrValue(after)}));
  }
  return node.emit("nn.pad", {x, node.scalar(x.dtype(), 0)}, {{"pad_width", AttrValue(widths)}});
}

// `pads` are those of the window where it is given; `bias` is the input that has it.
Values conv_transpose(NodeContext& node, const std::optional<std::vector<int64_t>>& pads,
                      size_t bias) {
  GraphValue x = node.input(0), weight = node.input(1);
  node.require(weight.rank() == x.rank(), "the weights have " + std::to_string(weight.rank()) +
                                              " axes, the data " + std::to_string(x.rank()));
  Window w = window_of(node, x, kernel_of(node, weight), Padding::kAsWritten);
  if (pads) {
    constexpr int64_t kMost = int64_t{1} << 31;
    bool fits = pads->size() == w.pads.size() &&
                std::all_of(pads->begin(), pads->end(),
                            [](int64_t each) { return each >= 0 && each < kMost; });
    node.require(fits, "Pads has not " + std::to_string(w.pads.size()) + " entries from 0 on");
    w.pads = *pads;
  }
  TransposedExtents e = transposed_extents(node, x, w);
  int64_t groups = node.attr_int("group", 1);
  node.require(groups > 0, "group is " + std::to_string(groups));
  node.require(weight.dim(1).is_int(), "the number of output channels is not known");
  int64_t channels = (weight.dim(1) * groups).as_int();
  size_t spatial = w.kernel.size();
  // The part beyond the strides is taken from what is cut off, as far as there is any: the operator
  // adds less than a stride.
  for (size_t k = 0; k < spatial; ++k) {
    int64_t most = std::max(w.strides[k], w.dilations[k]) - 1;
    int64_t back = std::min(e.pads[spatial + k], e.extra[k]);
    e.pads[spatial + k] -= back;
    e.extra[k] -= back;
    if (e.extra[k] > most) {
      e.zeros[k] += e.extra[k] - most;
      e.extra[k] = most;
    }
  }
  std::string layout = spatial == 1 ? "NCW" : spatial_layout("NC", spatial);
  std::string kernel_layout = spatial == 1 ? "IOW" : spatial_layout("IO", spatial);
  GraphValue result = node.emit(spatial_op(node, "nn.conv", spatial, "_transpose"), {x, weight},
                                {{"strides", w.strides},
                                 {"padding", e.pads},
                                 {"output_padding", e.extra},
                                 {"dilation", w.dilations},
                                 {"groups", groups},
                                 {"channels", channels},
                                 {"kernel_size", w.kernel},
                                 {"data_layout", layout},
                                 {"kernel_layout", kernel_layout}});
  result = zeros_behind(node, result, e.zeros);
  if (node.has(bias)) result = node.emit("nn.bias_add", {result, node.input(bias)}, {{"axis", 1}});
  return {result};
}
Values convert_conv_transpose(NodeContext& node) { return conv_transpose(node, std::nullopt, 2); }
RELAY_ONNX("ConvTranspose", 1, convert_conv_transpose)

// The pads are an input, which has to be known.
Values convert_conv_transpose_pads(NodeContext& node) {
  if (!node.has(2)) return conv_transpose(node, std::nullopt, 3);
  return conv_transpose(node, node.ints(2, "Pads"), 3);
}
RELAY_ONNX_DOMAIN("com.microsoft", "ConvTransposeWithDynamicPads", 1, convert_conv_transpose_pads)

// ---- Deformable ---------------------------------------------------------------------------------

int64_t known_extent(NodeContext& node, const GraphValue& x, size_t axis, const char* what) {
  node.require(x.dim(axis).is_int(), "the extents of the " + std::string(what) + " are not known");
  return x.dim(axis).as_int();
}

// Where each tap of the kernel lies without an offset, along spatial axis k: a constant over
// (taps of the kernel, places of the result).
NDArray plain_places(NodeContext& node, const Window& w, const std::vector<int64_t>& out,
                     size_t k) {
  Shape shape;
  shape.insert(shape.end(), w.kernel.begin(), w.kernel.end());
  shape.insert(shape.end(), out.begin(), out.end());
  int64_t count = 1;
  for (int64_t extent : shape) {
    node.countable(extent, "the taps or places on an axis");
    count = static_cast<int64_t>(node.countable(count * extent, "the places of all taps"));
  }
  std::vector<float> numbers;
  std::vector<int64_t> at(shape.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    int64_t place = at[w.kernel.size() + k] * w.strides[k] - w.pads[k] + at[k] * w.dilations[k];
    numbers.push_back(static_cast<float>(place));
    for (size_t axis = at.size(); axis-- > 0;) {
      if (++at[axis] < shape[axis]) break;
      at[axis] = 0;
    }
  }
  return NDArray::from<float>(shape, numbers);
}

// Each tap is an element of a sampled image; then the kernel is a product.
GraphValue deformed(NodeContext& node, const Window& w, const GraphValue& x,
                    const GraphValue& weight, const GraphValue& offset, int64_t groups,
                    int64_t offset_groups) {
  size_t spatial = w.kernel.size();
  DType dtype = x.dtype();
  int64_t batch = known_extent(node, x, 0, "data"), channels = known_extent(node, x, 1, "data");
  int64_t outputs = known_extent(node, weight, 0, "weights");
  node.require(groups > 0 && channels % groups == 0 && outputs % groups == 0,
               "group is " + std::to_string(groups));
  std::vector<int64_t> extents, out;
  int64_t taps = 1, places = 1;
  for (size_t k = 0; k < spatial; ++k) {
    extents.push_back(known_extent(node, x, k + 2, "data"));
    out.push_back(known_extent(node, offset, k + 2, "offsets"));
    taps = (Dim(taps) * w.kernel[k]).as_int();
    places = (Dim(places) * out[k]).as_int();
  }
  // Offsets: batch and groups, taps, axes, then places.
  Dim images = Dim(batch) * offset_groups;
  auto n = static_cast<int64_t>(spatial);
  GraphValue moves = node.reshape(offset, {images, taps, n, places});
  Arithmetic with(node, dtype);
  Values coordinates;
  for (size_t k = spatial; k-- > 0;) {
    auto axis = static_cast<int64_t>(k);
    GraphValue move = node.slice(moves, 2, axis, axis + 1);
    NDArray plain = plain_places(node, w, out, k).reshape(Shape{taps, 1, places});
    GraphValue place = with.add(node.constant_value(plain.cast(dtype)), move);
    // From -1 at the near edge of the first element to 1 at the far edge of the last.
    place = with.divide(with.add(with.multiply(place, 2.0), 1.0),
                        static_cast<double>(std::max<int64_t>(extents[k], 1)));
    coordinates.push_back(with.subtract(place, 1.0));
  }
  bool line = spatial == 1;
  if (line) coordinates.push_back(with.multiply(coordinates[0], 0.0));  // the middle of one row
  GraphValue grid = node.concat(coordinates, 2);
  grid = node.transpose(grid, {0, 2, 1, 3});
  size_t axes = std::max<size_t>(spatial, 2);
  std::vector<Dim> grid_dims{images, static_cast<int64_t>(axes)};
  std::vector<Dim> image_dims{images, channels / offset_groups};
  if (line) image_dims.emplace_back(1);
  for (int64_t extent : extents) image_dims.emplace_back(extent);
  for (size_t k = 2; k < axes; ++k) grid_dims.emplace_back(1);
  grid_dims.emplace_back(taps);
  grid_dims.emplace_back(places);
  GraphValue columns =
      node.emit("image.grid_sample", {node.reshape(x, image_dims), node.reshape(grid, grid_dims)},
                {{"layout", spatial_layout("NC", axes)}, {"align_corners", false}});
  columns = node.reshape(columns, {images, channels / offset_groups, taps, places});
  if (node.has(4)) {
    GraphValue mask = node.reshape(node.input(4), {images, 1, taps, places});
    columns = node.emit("multiply", {columns, mask});
  }
  Dim summed = Dim(channels / groups) * taps;
  columns = node.reshape(columns, {batch, groups, summed, places});
  GraphValue kernel = node.reshape(weight, {1, groups, outputs / groups, summed});
  GraphValue result = node.emit("nn.batch_matmul", {kernel, columns}, {{"transpose_b", false}});
  std::vector<Dim> dims{batch, outputs};
  for (int64_t extent : out) dims.emplace_back(extent);
  return node.reshape(result, dims);
}

Values convert_deform_conv(NodeContext& node) {
  GraphValue x = node.input(0), weight = node.input(1), offset = node.input(2);
  node.require(weight.rank() == x.rank() && offset.rank() == x.rank(),
               "data, weights and offsets differ in their numbers of axes");
  Window w = window_of(node, x, kernel_of(node, weight));
  size_t spatial = w.kernel.size();
  int64_t groups = node.attr_int("group", 1), offset_groups = node.attr_int("offset_group", 1);
  node.require(spatial <= 3, "there are " + std::to_string(spatial) + " spatial axes");
  Dim channels = x.dim(1);
  node.require(offset_groups > 0 && channels.is_int() && channels.as_int() % offset_groups == 0,
               "offset_group is " + std::to_string(offset_groups));
  Dim entries = Dim(offset_groups) * static_cast<int64_t>(spatial);
  for (int64_t each : w.kernel) entries = entries * each;
  node.require(offset.dim(1) == entries,
               "the offsets have " + offset.dim(1).str() + " channels, not " + entries.str());
  GraphValue result;
  if (spatial == 2 && !node.has(4) && weight.dim(0).is_int()) {
    result = node.emit("nn.deformable_conv2d", {x, offset, weight},
                       {{"strides", w.strides},
                        {"padding", w.pads},
                        {"dilation", w.dilations},
                        {"deformable_groups", offset_groups},
                        {"groups", groups},
                        {"channels", weight.dim(0).as_int()},
                        {"kernel_size", w.kernel}});
  } else {
    result = deformed(node, w, x, weight, offset, groups, offset_groups);
  }
  if (node.has(3)) result = node.emit("nn.bias_add", {result, node.input(3)}, {{"axis", 1}});
  return {result};
}
RELAY_ONNX("DeformConv", 19, convert_deform_conv)

// ---- Integers -----------------------------------------------------------------------------------

Values convert_conv_integer(NodeContext& node) {
  GraphValue x = node.input(0), weight = node.input(1);
  node.require(weight.rank() == x.rank(), "the weights have " + std::to_string(weight.rank()) +
                                              " axes, the data " + std::to_string(x.rank()));
  return {integer_conv(node, x, weight, node.optional_input(2), node.optional_input(3))};
}
RELAY_ONNX("ConvInteger", 10, convert_conv_integer)

Values convert_matmul_integer(NodeContext& node) {
  return {integer_matmul(node, node.input(0), node.input(1), node.optional_input(2),
                         node.optional_input(3))};
}
RELAY_ONNX("MatMulInteger", 10, convert_matmul_integer)

}  // namespace

}  // namespace relay::onnx
