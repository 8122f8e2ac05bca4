// Pools.
#include <algorithm>
#include <cmath>
#include <limits>

#include <relay/import/onnx/ops/arithmetic.h>
#include <relay/import/onnx/ops/pool.h>
#include <relay/import/onnx/ops/quantised.h>
#include <relay/op/registry/relation.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

int64_t reach_of(const Window& w, size_t k) { return (w.kernel[k] - 1) * w.dilations[k] + 1; }

int64_t volume_of(NodeContext& node, const Window& w) {
  constexpr int64_t kMost = int64_t{1} << 40;
  int64_t volume = 1;
  for (int64_t extent : w.kernel) {
    node.require(volume <= kMost / extent, "kernel_shape has more than 2^40 elements");
    volume *= extent;
  }
  return volume;
}

// A list of an entry for each tap of each window is made.
void require_countable(NodeContext& node, const PoolWindow& pool, size_t k) {
  size_t windows = node.countable(pool.out[k], "windows on an axis");
  size_t taps = node.countable(pool.window.kernel[k], "taps of a window on an axis");
  node.countable(static_cast<int64_t>(windows * taps), "taps of all windows on an axis");
}

// How many real or stated elements each window has along spatial axis k, where `extent` is known.
std::vector<float> counts_along(NodeContext& node, const PoolWindow& pool, size_t k,
                                int64_t extent) {
  require_countable(node, pool, k);
  const Window& w = pool.window;
  std::vector<float> counts;
  for (int64_t i = 0; i < pool.out[k]; ++i) {
    int64_t count = 0;
    for (int64_t t = 0; t < w.kernel[k]; ++t) {
      int64_t place = i * w.strides[k] - w.pads[k] + t * w.dilations[k];
      count += place < extent + pool.stated_after[k] ? 1 : 0;
    }
    counts.push_back(static_cast<float>(std::max<int64_t>(count, 1)));
  }
  return counts;
}

// With count_include_pad the stated padding counts, what a last window needs beyond does not.
GraphValue without_overhang(NodeContext& node, const PoolWindow& pool, const GraphValue& x,
                            GraphValue average) {
  const Window& w = pool.window;
  size_t spatial = w.kernel.size();
  for (size_t k = 0; k < spatial; ++k) {
    if (w.pads[spatial + k] <= pool.stated_after[k]) continue;
    std::vector<float> factors = counts_along(node, pool, k, x.dim(k + 2).as_int());
    for (float& factor : factors) factor = static_cast<float>(w.kernel[k]) / factor;
    Shape shape(spatial - k, 1);
    shape[0] = static_cast<int64_t>(factors.size());
    NDArray array = NDArray::from<float>(shape, factors).cast(x.dtype());
    average = node.emit("multiply", {average, node.constant_value(std::move(array))});
  }
  return average;
}

AttrList attrs_of(const PoolWindow& pool) {
  const Window& w = pool.window;
  return {{"pool_size", w.kernel},
          {"strides", w.strides},
          {"dilation", w.dilations},
          {"padding", w.pads},
          {"ceil_mode", pool.ceil}};
}

// ---- Maximum ------------------------------------------------------------------------------------

double lowest_of(DType dtype) {
  if (dtype.is_unsigned()) return 0;
  if (dtype.is_signed()) return -std::ldexp(1.0, static_cast<int>(dtype.bits) - 1);
  return -std::numeric_limits<double>::infinity();
}

// Positions in the data of all taps of all windows along spatial axis k: (windows, taps).
std::vector<int64_t> tap_positions(NodeContext& node, const PoolWindow& pool, size_t k) {
  require_countable(node, pool, k);
  const Window& w = pool.window;
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < pool.out[k]; ++i) {
    for (int64_t t = 0; t < w.kernel[k]; ++t) {
      positions.push_back(i * w.strides[k] - w.pads[k] + t * w.dilations[k]);
    }
  }
  return positions;
}

// The place of the greatest element of each window in the data as one row of elements: windows are
// spread out as (batch, channels, windows…, taps), then the tap is turned into a place.
GraphValue winners(NodeContext& node, const PoolWindow& pool, const GraphValue& x,
                   bool column_major) {
  const Window& w = pool.window;
  size_t spatial = w.kernel.size();
  node.require(!pool.out.empty(), "the output Indices needs the extents of the data");
  GraphValue spread = x;
  for (size_t k = 0; k < spatial; ++k) {
    std::vector<int64_t> positions = tap_positions(node, pool, k);
    int64_t extent = x.dim(k + 2).as_int();
    std::vector<uint8_t> inside;
    bool all = true;
    for (int64_t& place : positions) {
      bool in = place >= 0 && place < extent;
      inside.push_back(in ? 1 : 0);
      all = all && in;
      place = std::clamp<int64_t>(place, 0, std::max<int64_t>(extent - 1, 0));
    }
    Shape shape{pool.out[k], w.kernel[k]};
    auto at = static_cast<int64_t>(2 + 2 * k);
    GraphValue places = node.constant_value(NDArray::from<int64_t>(shape, positions));
    spread = node.emit("take", {spread, places}, {{"axis", at}});
    if (all) continue;
    Shape mask_shape(spread.rank() - static_cast<size_t>(at), 1);
    mask_shape[0] = shape[0];
    mask_shape[1] = shape[1];
    NDArray mask = NDArray::from<uint8_t>(mask_shape, inside).cast(kBool);
    GraphValue least = node.scalar(x.dtype(), lowest_of(x.dtype()));
    spread = node.emit("where", {node.constant_value(std::move(mask)), spread, least});
  }
  std::vector<int64_t> axes{0, 1};
  std::vector<Dim> dims{x.dim(0), x.dim(1)};
  for (size_t k = 0; k < spatial; ++k) {
    axes.push_back(static_cast<int64_t>(2 + 2 * k));
    dims.emplace_back(pool.out[k]);
  }
  for (size_t k = 0; k < spatial; ++k) axes.push_back(static_cast<int64_t>(3 + 2 * k));
  dims.emplace_back(volume_of(node, w));
  spread = node.reshape(node.transpose(spread, axes), dims);
  GraphValue tap = node.emit("argmax", {spread}, {{"axis", std::vector<int64_t>{-1}}});
  tap = node.cast(tap, kInt64);

  Arithmetic with(node, kInt64);
  GraphValue place;
  int64_t step = 1, taps_behind = 1;
  std::vector<int64_t> steps(spatial), behind(spatial);
  for (size_t i = 0; i < spatial; ++i) {
    size_t row_major = spatial - 1 - i;
    size_t k = column_major ? i : row_major;
    steps[k] = step;
    step *= x.dim(k + 2).as_int();
    behind[row_major] = taps_behind;
    taps_behind *= w.kernel[row_major];
  }
  for (size_t k = 0; k < spatial; ++k) {
    GraphValue own = node.emit("floor_divide", {tap, with.number(static_cast<double>(behind[k]))});
    own = node.emit("floor_mod", {own, with.number(static_cast<double>(w.kernel[k]))});
    std::vector<int64_t> begins;
    for (int64_t i = 0; i < pool.out[k]; ++i) begins.push_back(i * w.strides[k] - w.pads[k]);
    Shape shape(spatial - k, 1);
    shape[0] = pool.out[k];
    GraphValue begin = node.constant_value(NDArray::from<int64_t>(shape, begins));
    own = with.add(with.multiply(own, static_cast<double>(w.dilations[k])), begin);
    own = node.emit("maximum", {own, with.number(0)});
    own = with.multiply(own, static_cast<double>(steps[k]));
    place = place ? with.add(place, own) : own;
  }
  // Before it come the elements of all batches and channels before.
  auto numbers = [&](Dim extent, Dim each, size_t rank) {
    GraphValue scale = node.known_value({each}, {}, kInt64);
    GraphValue row = node.emit(
        "arange", {with.number(0), node.known_value({extent}, {}, kInt64), with.number(1)},
        {{"dtype", kInt64}});
    std::vector<Dim> row_dims(rank, Dim(1));
    row_dims[0] = extent;
    return node.reshape(with.multiply(row, scale), row_dims);
  };
  place = with.add(place, numbers(x.dim(1), step, spatial + 1));
  return with.add(place, numbers(x.dim(0), x.dim(1) * step, spatial + 2));
}

/// The greatest number stands for the greatest integer, if the scale is positive and each window
/// has an element.
std::optional<GraphValue> max_pool_of_dequantised(NodeContext& node, const PoolWindow& pool,
                                                  const GraphValue& x) {
  const std::vector<GraphValue>* parts = x.integers();
  if (parts == nullptr || x.dtype() != kFloat32) return std::nullopt;
  const GraphValue &integers = (*parts)[0], &scale = (*parts)[1], &zero = (*parts)[2];
  const bool byte = integers.dtype() == kInt8 || integers.dtype() == kUInt8;
  if (!byte || integers.narrow() != 0) return std::nullopt;
  if (!scale.array() || scale.array().size() != 1) return std::nullopt;
  if (zero && (!zero.array() || zero.array().size() != 1)) return std::nullopt;
  const double step = scale.array().element_as_double(0);
  if (!(step > 0x1p-100 && step < 0x1p100)) return std::nullopt;
  const Window& w = pool.window;
  if (!w.open_pads.empty()) return std::nullopt;
  const size_t spatial = w.kernel.size();
  for (size_t k = 0; k < spatial; ++k) {
    if (w.dilations[k] != 1 || w.pads[k] >= w.kernel[k] || w.pads[spatial + k] >= w.kernel[k])
      return std::nullopt;
  }
  GraphValue greatest = max_pool(node, pool, integers);
  GraphValue numbers = dequantized(node, greatest, scale, zero, -1, kFloat32);
  return numbers.of_integers({greatest, scale, zero}, x.integers_axis());
}

Values convert_max_pool(NodeContext& node) {
  GraphValue x = node.input(0);
  PoolWindow pool = pool_window_of(node, x);
  int64_t order = node.opset() >= 8 ? node.attr_int("storage_order", 0) : 0;
  node.require(order == 0 || order == 1, "storage_order is " + std::to_string(order));
  if (!node.wants(1)) {
    if (auto result = max_pool_of_dequantised(node, pool, x)) return {*result};
  }
  Values results{max_pool(node, pool, x)};
  if (node.wants(1)) results.push_back(winners(node, pool, x, order == 1));
  return results;
}
RELAY_ONNX("MaxPool", 1, convert_max_pool)

Values convert_max_unpool(NodeContext& node) {
  GraphValue x = node.input(0), places = node.input(1);
  Window w = window_of(node, x);
  size_t spatial = w.kernel.size();
  node.require(places.rank() == x.rank(), "the places have " + std::to_string(places.rank()) +
                                              " axes, the data " + std::to_string(x.rank()));
  std::vector<Dim> dims{x.dim(0), x.dim(1)};
  for (size_t k = 0; k < spatial; ++k) {
    Dim extent =
        (x.dim(k + 2) - 1) * w.strides[k] + (w.kernel[k] - w.pads[k] - w.pads[spatial + k]);
    node.require(!extent.is_int() || extent.as_int() > 0,
                 "the result has the extent " + extent.str());
    dims.push_back(extent);
  }
  Dim flat[] = {product(dims)};
  GraphValue zeros = node.broadcast_to(node.scalar(x.dtype(), 0), flat);
  Dim count = product(x.dims());
  GraphValue result =
      node.emit("scatter_elements",
                {zeros, node.reshape(places, {count}), node.reshape(x, {count})}, {{"axis", 0}});
  result = node.reshape(result, dims);
  if (!node.has(2)) return {result};
  // A larger result has zeros behind.
  GraphValue wanted = node.cast(node.input(2), kInt64);
  node.require(wanted.rank() == 1 && wanted.dim(0).is_int(static_cast<int64_t>(x.rank())),
               "output_shape is no list of " + std::to_string(x.rank()) + " entries");
  GraphValue more = node.emit("subtract", {wanted, node.dim_list({dims.begin(), dims.end()})});
  GraphValue none = node.emit("multiply", {more, node.scalar(kInt64, 0)});
  GraphValue widths = node.emit("stack", {node.tuple({none, more})}, {{"axis", 1}});
  // An axis that is cut would lose maxima.
  GraphValue enough =
      node.emit("all", {node.emit("greater_equal", {more, node.scalar(kInt64, 0)})});
  result = node.emit("assert_op", {enough, result},
                     {{"message", "output_shape is smaller than what the windows reach"}});
  return {node.emit("dyn.nn.pad", {result, widths, node.scalar(x.dtype(), 0)})};
}
RELAY_ONNX("MaxUnpool", 9, convert_max_unpool)

// ---- Averages and norms -------------------------------------------------------------------------

Values convert_average_pool(NodeContext& node) {
  GraphValue x = node.input(0);
  PoolWindow pool = pool_window_of(node, x);
  bool include = node.opset() >= 7 && node.attr_bool("count_include_pad", false);
  return {average_pool(node, pool, x, include)};
}
RELAY_ONNX("AveragePool", 1, convert_average_pool)

// |x|^p, and what undoes it of a sum.
GraphValue to_power(NodeContext& node, const GraphValue& x, int64_t p) {
  if (p == 2) return node.emit("multiply", {x, x});
  GraphValue size = node.emit("abs", {x});
  if (p == 1) return size;
  return node.emit("power", {size, node.scalar(x.dtype(), static_cast<double>(p))});
}
GraphValue to_root(NodeContext& node, const GraphValue& x, int64_t p) {
  if (p == 1) return x;
  if (p == 2) return node.emit("sqrt", {x});
  return node.emit("power", {x, node.scalar(x.dtype(), 1 / static_cast<double>(p))});
}
int64_t order_of(NodeContext& node) {
  int64_t p = node.attr_int("p", 2);
  node.require(p > 0, "p is " + std::to_string(p));
  return p;
}

Values convert_lp_pool(NodeContext& node) {
  GraphValue x = node.input(0);
  PoolWindow pool = pool_window_of(node, x);
  int64_t p = order_of(node);
  node.require(!pool.ceil, "ceil_mode needs the extents of the data");
  pool.stated_after.assign(pool.window.kernel.size(), int64_t{1} << 40);  // all taps count
  GraphValue mean = average_pool(node, pool, to_power(node, x, p), true);
  auto volume = static_cast<double>(volume_of(node, pool.window));
  GraphValue sum = node.emit("multiply", {mean, node.scalar(x.dtype(), volume)});
  return {to_root(node, sum, p)};
}
RELAY_ONNX("LpPool", 2, convert_lp_pool)

// ---- Over all that there is ---------------------------------------------------------------------

std::vector<int64_t> spatial_axes(NodeContext& node, const GraphValue& x) {
  node.require(x.rank() >= 2, "the data have " + std::to_string(x.rank()) + " axes");
  std::vector<int64_t> axes;
  for (int64_t k = 2; k < static_cast<int64_t>(x.rank()); ++k) axes.push_back(k);
  return axes;
}

Values global_pool(NodeContext& node, const char* flat, const char* reduce) {
  GraphValue x = node.input(0);
  std::vector<int64_t> axes = spatial_axes(node, x);
  if (x.rank() == 4) return {node.emit(flat, {x})};
  if (axes.empty()) return {x};
  return {node.emit(reduce, {x}, {{"axis", axes}, {"keepdims", true}})};
}
Values convert_global_average_pool(NodeContext& node) {
  return global_pool(node, "nn.global_avg_pool2d", "mean");
}
Values convert_global_max_pool(NodeContext& node) {
  return global_pool(node, "nn.global_max_pool2d", "max");
}
RELAY_ONNX("GlobalAveragePool", 1, convert_global_average_pool)
RELAY_ONNX("GlobalMaxPool", 1, convert_global_max_pool)

Values convert_global_lp_pool(NodeContext& node) {
  GraphValue x = node.input(0);
  int64_t p = order_of(node);
  std::vector<int64_t> axes = spatial_axes(node, x);
  GraphValue powers = to_power(node, x, p);
  if (!axes.empty()) powers = node.emit("sum", {powers}, {{"axis", axes}, {"keepdims", true}});
  return {to_root(node, powers, p)};
}
RELAY_ONNX("GlobalLpPool", 2, convert_global_lp_pool)

}  // namespace

GraphValue max_pool(NodeContext& node, const PoolWindow& pool, const GraphValue& x) {
  GraphValue data = with_pads(node, pool.window, x, node.scalar(x.dtype(), lowest_of(x.dtype())));
  return node.emit(spatial_op(node, "nn.max_pool", x.rank() - 2), {data}, attrs_of(pool));
}

GraphValue average_pool(NodeContext& node, const PoolWindow& pool, const GraphValue& x,
                        bool include_padding) {
  AttrList attrs = attrs_of(pool);
  attrs.push_back({"count_include_pad", include_padding});
  size_t spatial = pool.window.kernel.size();
  std::string op = spatial_op(node, "nn.avg_pool", spatial);
  GraphValue zero = node.scalar(x.dtype(), 0);
  GraphValue result = node.emit(op, {with_pads(node, pool.window, x, zero)}, attrs);
  if (!include_padding && !pool.window.open_pads.empty()) {
    // The share of a window that is no padding.
    std::vector<Dim> dims(x.dims().begin(), x.dims().end());
    dims[0] = dims[1] = 1;
    GraphValue ones = node.broadcast_to(node.scalar(x.dtype(), 1), dims);
    GraphValue share = node.emit(op, {with_pads(node, pool.window, ones, zero)}, attrs);
    result = node.emit("divide", {result, share});
  }
  if (include_padding && !pool.out.empty()) result = without_overhang(node, pool, x, result);
  return result;
}

PoolWindow pool_window_of(NodeContext& node, const GraphValue& x) {
  PoolWindow pool;
  pool.window = window_of(node, x, {}, Padding::kOpen);
  Window& w = pool.window;
  size_t spatial = w.kernel.size();
  bool ceil = node.attr_bool("ceil_mode", false);
  pool.stated_after.assign(w.pads.begin() + static_cast<std::ptrdiff_t>(spatial), w.pads.end());
  bool known = true;
  for (size_t k = 0; k < spatial; ++k) known = known && x.dim(k + 2).is_int();
  if (!known) {
    // Relay's own rounding up is the same where no window begins in the padding behind.
    for (size_t k = 0; k < spatial && ceil; ++k) {
      node.require(w.pads[spatial + k] + w.strides[k] <= reach_of(w, k),
                   "ceil_mode with that much padding needs the extents of the data");
    }
    pool.ceil = ceil;
    return pool;
  }
  for (size_t k = 0; k < spatial; ++k) {
    int64_t extent = x.dim(k + 2).as_int(), stride = w.strides[k], reach = reach_of(w, k);
    int64_t room = extent + w.pads[k] + w.pads[spatial + k] - reach;
    // Counts are rounded towards zero, so that less than a step may be missing: the only window
    // ends beyond the data then.
    node.require(room > -stride, "a window of " + std::to_string(reach) +
                                     " elements does not fit into " + std::to_string(room + reach));
    int64_t windows = (ceil ? (room + stride - 1) / stride : room / stride) + 1;
    // A window that would begin behind the data is none.
    if (ceil && (windows - 1) * stride >= extent + w.pads[k]) --windows;
    pool.out.push_back(windows);
    if (!ceil && room >= 0) continue;
    w.pads[spatial + k] = std::max<int64_t>((windows - 1) * stride + reach - extent - w.pads[k], 0);
  }
  return pool;
}

}  // namespace relay::onnx
