// Elements added around tensors, taken away, repeated, moved between space and channels.
#include <algorithm>
#include <numeric>

#include <relay/import/onnx/fold.h>
#include <relay/import/onnx/ops/run_time.h>
#include <relay/op/registry/relation.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

// ---- Padding ------------------------------------------------------------------------------------

// The elements that stand at positions, which may be outside of an axis of `extent` elements, as
// positions in it.
GraphValue inside(NodeContext& node, const std::string& mode, const GraphValue& places,
                  const GraphValue& extent) {
  GraphValue zero = number_value(node, 0), one = number_value(node, 1);
  GraphValue last = node.emit("subtract", {extent, one});
  if (mode == "edge") {
    return node.emit("maximum", {node.emit("minimum", {places, last}), zero});
  }
  if (mode == "wrap") return node.emit("floor_mod", {places, extent});
  // There and back again: the border stands once in a period of 2 (extent - 1).
  GraphValue twice = node.emit("add", {last, last});
  GraphValue period = node.emit("maximum", {twice, one});
  GraphValue there = node.emit("floor_mod", {places, period});
  return node.emit("minimum", {there, node.emit("subtract", {twice, there})});
}

// Lists of the amounts in front and behind as the two columns of a matrix.
GraphValue columns_of(NodeContext& node, const GraphValue& before, const GraphValue& after) {
  const Dim count = before.dim(0);
  if (before.elements() && after.elements()) {
    Elements both;
    for (size_t k = 0; k < before.elements()->size(); ++k) {
      both.push_back((*before.elements())[k]);
      both.push_back((*after.elements())[k]);
    }
    if (!any_unknown(both))
      return node.known_value(std::move(both), std::vector<Dim>{count, 2}, kInt64);
  }
  return node.concat({node.reshape(before, {count, 1}), node.reshape(after, {count, 1})}, 1);
}

// The type of the result where all amounts are terms: added or taken away, they sum up.
TypeRef padded_type(const GraphValue& x, const GraphValue& before, const GraphValue& after) {
  if (!before.elements() || !after.elements()) return {};
  std::vector<Dim> dims;
  for (size_t k = 0; k < x.rank(); ++k)
    dims.push_back(x.dim(k) + (*before.elements())[k] + (*after.elements())[k]);
  return any_unknown(dims) ? TypeRef() : TensorType::make(dims, x.dtype());
}

// Zero and constants around, some elements perhaps less: amounts that only a run knows.
GraphValue pad_constant(NodeContext& node, const GraphValue& x, const GraphValue& before,
                        const GraphValue& after, const GraphValue& value) {
  return node.importer().emit(node.scope(), node.node(), "dyn.nn.pad",
                              {x, columns_of(node, before, after), value},
                              {{"pad_mode", "constant"}}, padded_type(x, before, after));
}

GraphValue pad_at_run_time(NodeContext& node, const GraphValue& x, const std::string& mode,
                           const GraphValue& before, const GraphValue& after,
                           const GraphValue& value) {
  if (x.rank() == 0) return x;
  if (mode == "constant") return pad_constant(node, x, before, after, value);
  GraphValue result = x;
  for (size_t k = 0; k < x.rank(); ++k) {
    auto axis = static_cast<int64_t>(k);
    GraphValue extent = extent_value(node, result, k);
    GraphValue front = entry(node, before, axis), back = entry(node, after, axis);
    auto number = [](const GraphValue& value) {
      return value.elements() ? value.elements()->front() : Dim::any();
    };
    Dim less = number(front), more = number(back);
    if (less.is_int(0) && more.is_int(0)) continue;
    GraphValue begin =
        known_or(node, {Dim(0) - less}, {}, kInt64, [&] { return node.emit("negative", {front}); });
    GraphValue end = known_or(node, {x.dim(k) + more}, {}, kInt64, [&] {
      return node.emit("add", {extent, back});
    });
    GraphValue places =
        node.emit("arange", {begin, end, number_value(node, 1)}, {{"dtype", kInt64}});
    places = inside(node, mode, places, extent);
    result = node.emit("take", {result, places}, {{"axis", axis}});
  }
  return result;
}

// With amounts that are known.
GraphValue padded(NodeContext& node, const GraphValue& x, const std::string& mode,
                  const std::vector<int64_t>& before, const std::vector<int64_t>& after,
                  const GraphValue& value) {
  bool plain = mode != "wrap";
  std::vector<std::vector<int64_t>> widths;
  for (size_t k = 0; k < x.rank(); ++k) {
    constexpr int64_t kLargest = int64_t{1} << 40;
    for (int64_t amount : {before[k], after[k]}) {
      node.require(amount <= kLargest && amount >= -kLargest,
                   "pads has " + std::to_string(amount) + " on axis " + std::to_string(k));
      if (mode == "constant") continue;
      Dim extent = x.dim(k);
      int64_t room = mode == "reflect" ? amount + 1 : 1;
      plain &= amount == 0 || (amount > 0 && extent.is_int() && extent.as_int() >= room);
    }
    widths.push_back({before[k], after[k]});
  }
  bool none = std::all_of(before.begin(), before.end(), [](int64_t n) { return n == 0; }) &&
              std::all_of(after.begin(), after.end(), [](int64_t n) { return n == 0; });
  if (none) return x;
  if (plain) {
    return node.emit("nn.pad", {x, value}, {{"pad_width", widths}, {"pad_mode", mode}});
  }
  return pad_at_run_time(node, x, mode, node.int_list(before), node.int_list(after), value);
}

std::string mode_of(NodeContext& node) {
  std::string mode = node.attr_string("mode", "constant");
  bool known = mode == "constant" || mode == "edge" || mode == "reflect" ||
               (mode == "wrap" && node.opset() >= 19);
  node.require(known, "mode is " + quoted(mode));
  return mode;
}

Values convert_pad_attributes(NodeContext& node) {
  GraphValue x = node.input(0);
  std::string mode = mode_of(node);
  std::vector<int64_t> pads = node.attr_ints("pads");
  node.require(pads.size() == 2 * x.rank(), "pads has " + std::to_string(pads.size()) +
                                                " entries for rank " + std::to_string(x.rank()));
  auto middle = pads.begin() + static_cast<std::ptrdiff_t>(x.rank());
  GraphValue value = node.scalar(x.dtype(), node.attr_float("value", 0));
  return {padded(node, x, mode, {pads.begin(), middle}, {middle, pads.end()}, value)};
}

Values convert_pad(NodeContext& node) {
  GraphValue x = node.input(0);
  std::string mode = mode_of(node);
  GraphValue value =
      node.has(2) ? node.cast(node.reshape(node.input(2), std::initializer_list<Dim>{}), x.dtype())
                  : node.scalar(x.dtype(), 0);
  bool some_axes = node.opset() >= 18 && node.has(3);
  GraphValue pads = as_list(node, node.input(1), "pads");
  int64_t count = length_of(node, pads, "pads");
  GraphValue axes;
  if (some_axes) axes = as_list(node, node.input(3), "axes");
  int64_t named = some_axes ? length_of(node, axes, "axes") : static_cast<int64_t>(x.rank());
  node.require(count == 2 * named, "pads has " + std::to_string(count) + " entries for " +
                                       std::to_string(named) + " axes");
  std::vector<int64_t> places(static_cast<size_t>(named));
  std::iota(places.begin(), places.end(), 0);
  bool axes_known = !some_axes || node.constant(3);
  if (some_axes && axes_known) places = node.ints(3, "axes");
  for (int64_t& axis : places) {
    if (axes_known) axis = node.axis(axis, x.rank(), "axes entry");
  }
  if (axes_known && node.constant(1)) {
    std::vector<int64_t> amounts = node.ints(1, "pads"), before(x.rank(), 0), after(x.rank(), 0);
    for (size_t k = 0; k < places.size(); ++k) {
      before[static_cast<size_t>(places[k])] = amounts[k];
      after[static_cast<size_t>(places[k])] = amounts[k + places.size()];
    }
    return {padded(node, x, mode, before, after, value)};
  }
  // Terms over named extents stay terms as long as every axis is named.
  std::optional<Elements> terms = node.known(1);
  GraphValue before, after;
  if (terms && !some_axes) {
    auto middle = terms->begin() + named;
    before = node.dim_list({terms->begin(), middle});
    after = node.dim_list({middle, terms->end()});
  } else {
    before = node.slice(pads, 0, 0, named);
    after = node.slice(pads, 0, named, 2 * named);
  }
  if (some_axes) {
    GraphValue zeros = node.int_list(std::vector<int64_t>(x.rank(), 0));
    before = at_axes(node, before, axes, zeros, x.rank());
    after = at_axes(node, after, axes, zeros, x.rank());
  }
  return {pad_at_run_time(node, x, mode, before, after, value)};
}
RELAY_ONNX("Pad", 2, convert_pad_attributes)
RELAY_ONNX("Pad", 11, convert_pad)

// The middle of each axis that is named, cut or with zeros around it.
Values convert_center_crop_pad(NodeContext& node) {
  GraphValue x = node.input(0);
  std::vector<int64_t> axes(x.rank());
  std::iota(axes.begin(), axes.end(), 0);
  axes = node.attr_ints("axes", axes);
  for (int64_t& axis : axes) axis = node.axis(axis, x.rank(), "axes entry");
  GraphValue shape = as_list(node, node.input(1), "shape");
  node.require(
      length_of(node, shape, "shape") == static_cast<int64_t>(axes.size()),
      "shape has " + shape.dim(0).str() + " entries for " + std::to_string(axes.size()) + " axes");
  GraphValue fill = node.scalar(x.dtype(), 0);
  bool numbers = node.constant(1).has_value();
  for (int64_t axis : axes) numbers &= x.dim(static_cast<size_t>(axis)).is_int();
  if (numbers) {
    std::vector<int64_t> before(x.rank(), 0), after(x.rank(), 0), wanted = node.ints(1, "shape");
    for (size_t k = 0; k < axes.size(); ++k) {
      auto at = static_cast<size_t>(axes[k]);
      node.require(wanted[k] >= 0, "shape has " + std::to_string(wanted[k]));
      int64_t more = wanted[k] - x.dim(at).as_int();
      before[at] = more / 2;  // toward 0: what is odd goes to the end, or comes off it
      after[at] = more - more / 2;
    }
    return {padded(node, x, "constant", before, after, fill)};
  }
  GraphValue extents =
      node.emit("take", {shape_value(node, x), node.int_list(axes)}, {{"axis", 0}});
  GraphValue more = node.emit("subtract", {shape, extents});
  GraphValue half = node.emit("trunc_divide", {more, number_value(node, 2)});
  GraphValue zeros = node.int_list(std::vector<int64_t>(x.rank(), 0));
  GraphValue places = node.int_list(axes);
  GraphValue before = at_axes(node, half, places, zeros, x.rank());
  GraphValue after = at_axes(node, node.emit("subtract", {more, half}), places, zeros, x.rank());
  return {pad_constant(node, x, before, after, fill)};
}
RELAY_ONNX("CenterCropPad", 18, convert_center_crop_pad)

// ---- Repetition ---------------------------------------------------------------------------------

Values convert_tile(NodeContext& node) {
  GraphValue x = node.input(0);
  GraphValue repeats = as_list(node, node.input(1), "repeats");
  int64_t count = length_of(node, repeats, "repeats");
  node.require(
      count == static_cast<int64_t>(x.rank()),
      "repeats has " + std::to_string(count) + " entries for rank " + std::to_string(x.rank()));
  if (x.rank() == 0) return {x};
  if (!node.constant(1)) return {node.emit("dyn.tile", {x, repeats})};
  std::vector<int64_t> reps = node.ints(1, "repeats");
  std::vector<int64_t> axes, none;
  for (size_t k = 0; k < reps.size(); ++k) {
    node.require(reps[k] >= 0, "repeats has " + std::to_string(reps[k]));
    if (reps[k] != 0) continue;
    // The operator repeats at least once: nothing, then.
    reps[k] = 1;
    axes.push_back(static_cast<int64_t>(k));
    none.push_back(0);
  }
  if (!axes.empty()) {
    x = node.emit("strided_slice", {x}, {{"begin", none}, {"end", none}, {"axes", axes}});
  }
  return {node.emit("tile", {x}, {{"reps", reps}})};
}
RELAY_ONNX("Tile", 6, convert_tile)

// ---- Space and channels -------------------------------------------------------------------------

Values blocks(NodeContext& node, const char* op, bool with_mode) {
  GraphValue x = node.input(0);
  node.require(x.rank() == 4, "the data have " + std::to_string(x.rank()) + " axes, not 4");
  int64_t size = node.attr_int("blocksize");
  node.require(size > 0, "blocksize is " + std::to_string(size));
  std::string mode = with_mode ? node.attr_string("mode", "DCR") : "DCR";
  node.require(mode == "DCR" || mode == "CRD", "mode is " + quoted(mode));
  return {node.emit(op, {x}, {{"block_size", size}, {"mode", mode}})};
}
Values convert_depth_to_space(NodeContext& node) {
  return blocks(node, "nn.depth_to_space", node.opset() >= 11);
}
Values convert_space_to_depth(NodeContext& node) {
  Values result = blocks(node, "nn.space_to_depth", node.opset() >= 28);
  if (node.opset() < 28 || node.attr_string("mode", "DCR") == "DCR") return result;
  // Relay's has the position in the block before the channel.
  GraphValue x = node.input(0), made = result[0];
  Dim size = node.attr_int("blocksize");
  std::span<const Dim> dims = made.dims();
  GraphValue split = node.reshape(made, {dims[0], size * size, x.dim(1), dims[2], dims[3]});
  return {node.reshape(node.transpose(split, {0, 2, 1, 3, 4}), dims)};
}
RELAY_ONNX("DepthToSpace", 1, convert_depth_to_space)
RELAY_ONNX("SpaceToDepth", 1, convert_space_to_depth)

// Blocks of columns are summed up where they stood in the image. Each element's place is computed
// in the image with its padding, which is cut off at last.
class ColumnsToImage {
 public:
  explicit ColumnsToImage(NodeContext& node) : node_(node), x_(node.input(0)) {
    node.require(x_.rank() == 3, "the data have " + std::to_string(x_.rank()) + " axes, not 3");
    image_ = as_list(node, node.input(1), "image_shape");
    block_ = as_list(node, node.input(2), "block_shape");
    rank_ = static_cast<size_t>(length_of(node, image_, "image_shape"));
    node.require_rank(rank_ + 2);
    node.require(rank_ > 0 && length_of(node, block_, "block_shape") == static_cast<int64_t>(rank_),
                 "image_shape and block_shape differ in length");
    strides_ = per_axis("strides", rank_, 1, 1);
    dilations_ = per_axis("dilations", rank_, 1, 1);
    pads_ = per_axis("pads", 2 * rank_, 0, 0);
  }

  Values run() {
    count_places();
    find_places();
    GraphValue batch = extent_value(node_, x_, 0);
    GraphValue channels = op("floor_divide", extent_value(node_, x_, 1), area_);
    GraphValue rows = op("multiply", batch, channels);
    const AttrList zero_is_zero{{"allowzero", true}};
    GraphValue length = op("multiply", area_, count_);
    GraphValue data = node_.emit("dyn.reshape", {x_, list({rows, length})}, zero_is_zero);
    GraphValue flat = node_.emit("dyn.reshape", {table_, list({num(1), length})}, zero_is_zero);
    GraphValue places = broadcast_like(node_, flat, data);
    GraphValue empty = node_.emit("dyn.full", {node_.scalar(x_.dtype(), 0), list({rows, stride_})},
                                  {{"dtype", x_.dtype()}});
    GraphValue sums =
        node_.emit("scatter_elements", {empty, places, data}, {{"axis", 1}, {"reduction", "add"}});
    Values shape{batch, channels};
    shape.insert(shape.end(), padded_.begin(), padded_.end());
    return {without_padding(node_.emit("dyn.reshape", {sums, list(shape)}, zero_is_zero))};
  }

 private:
  std::vector<int64_t> per_axis(const char* name, size_t count, int64_t otherwise, int64_t least) {
    std::vector<int64_t> values = node_.attr_ints(name, std::vector<int64_t>(count, otherwise));
    node_.require(values.size() == count,
                  std::string(name) + " has " + std::to_string(values.size()) + " entries");
    for (int64_t value : values) {
      constexpr int64_t kLargest = int64_t{1} << 31;
      node_.require(value >= least && value <= kLargest,
                    std::string(name) + " has " + std::to_string(value));
    }
    return values;
  }

  GraphValue op(const char* name, const GraphValue& a, const GraphValue& b) {
    return node_.emit(name, {a, b});
  }
  GraphValue num(int64_t value) { return number_value(node_, value); }
  GraphValue list(Values numbers) {
    for (GraphValue& number : numbers) number = node_.reshape(number, {Dim(1)});
    return node_.concat(numbers, 0);
  }

  // Along each axis: the image's extent, also with its padding, and how many blocks begin in it.
  void count_places() {
    table_ = num(0);
    stride_ = num(1);
    area_ = num(1);
    count_ = num(1);
    for (size_t k = 0; k < rank_; ++k) {
      auto at = static_cast<int64_t>(k);
      GraphValue extent = entry(node_, image_, at), size = entry(node_, block_, at);
      GraphValue wide = op("add", extent, num(pads_[k] + pads_[k + rank_]));
      GraphValue reach =
          op("add", op("multiply", op("subtract", size, num(1)), num(dilations_[k])), num(1));
      GraphValue places =
          op("add", op("floor_divide", op("subtract", wide, reach), num(strides_[k])), num(1));
      extents_.push_back(extent);
      padded_.push_back(wide);
      steps_.push_back(places);
      area_ = op("multiply", area_, size);
      count_ = op("multiply", count_, places);
    }
  }

  // Rows of the table of places are elements of a block, its columns are blocks.
  void find_places() {
    GraphValue element_rest = counted_along(node_, area_, 0, 2);
    GraphValue block_rest = counted_along(node_, count_, 1, 2);
    for (size_t k = rank_; k-- > 0;) {
      GraphValue size = entry(node_, block_, static_cast<int64_t>(k));
      GraphValue inside_block = op("floor_mod", element_rest, size);
      GraphValue which = op("floor_mod", block_rest, steps_[k]);
      GraphValue place = op("add", op("multiply", inside_block, num(dilations_[k])),
                            op("multiply", which, num(strides_[k])));
      table_ = op("add", table_, op("multiply", place, stride_));
      stride_ = op("multiply", stride_, padded_[k]);
      element_rest = op("floor_divide", element_rest, size);
      block_rest = op("floor_divide", block_rest, steps_[k]);
    }
  }

  GraphValue without_padding(GraphValue result) {
    for (size_t k = 0; k < rank_; ++k) {
      if (pads_[k] == 0 && pads_[k + rank_] == 0) continue;
      GraphValue begin = num(pads_[k]);
      result = slice_between(node_, result, static_cast<int64_t>(k) + 2, begin,
                             op("add", begin, extents_[k]));
    }
    return result;
  }

  NodeContext& node_;
  GraphValue x_, image_, block_;
  size_t rank_ = 0;
  std::vector<int64_t> strides_, dilations_, pads_;
  Values extents_, padded_, steps_;  // of each axis
  GraphValue area_, count_;          // elements of a block; blocks
  GraphValue table_, stride_;        // of the places; elements of the padded image
};

Values convert_col2im(NodeContext& node) { return ColumnsToImage(node).run(); }
RELAY_ONNX("Col2Im", 18, convert_col2im)

}  // namespace
}  // namespace relay::onnx
