// Fourier transforms, windows, mel filters.
#include <algorithm>
#include <cmath>

#include <relay/import/onnx/ops/run_time.h>
#include <relay/op/registry/relation.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

// ---- Windows ------------------------------------------------------------------------------------

// The sum of the terms a_k cos(2 pi k i / n), computed in float64.
Values window(NodeContext& node, const std::vector<double>& terms) {
  DType dtype = node.attr_dtype("output_datatype", kFloat32);
  bool periodic = node.attr_bool("periodic", true);
  GraphValue size = as_number(node, node.input(0), "size");
  GraphValue length = size;
  // A symmetric window of one element has no two ends: it is the first element then.
  GraphValue one = number_value(node, 1);
  if (!periodic) length = node.emit("maximum", {node.emit("subtract", {size, one}), one});
  GraphValue places = node.cast(counted(node, size), kFloat64);
  GraphValue turns = node.emit("divide", {places, node.cast(length, kFloat64)});
  GraphValue result = node.scalar(kFloat64, terms[0]);
  for (size_t k = 1; k < terms.size(); ++k) {
    GraphValue speed = node.scalar(kFloat64, 2 * M_PI * static_cast<double>(k));
    GraphValue wave = node.emit("cos", {node.emit("multiply", {turns, speed})});
    GraphValue term = node.emit("multiply", {wave, node.scalar(kFloat64, terms[k])});
    result = node.emit("add", {result, term});
  }
  return {node.cast(result, dtype)};
}
Values convert_hann(NodeContext& node) { return window(node, {0.5, -0.5}); }
Values convert_hamming(NodeContext& node) { return window(node, {25.0 / 46, -21.0 / 46}); }
Values convert_blackman(NodeContext& node) { return window(node, {0.42, -0.5, 0.08}); }
RELAY_ONNX("HannWindow", 17, convert_hann)
RELAY_ONNX("HammingWindow", 17, convert_hamming)
RELAY_ONNX("BlackmanWindow", 17, convert_blackman)

// Triangles over the bins of a spectrum, whose corners lie at even distances on the mel scale.
Values convert_mel_weights(NodeContext& node) {
  DType dtype = node.attr_dtype("output_datatype", kFloat32);
  GraphValue bins = as_number(node, node.input(0), "num_mel_bins");
  GraphValue length = as_number(node, node.input(1), "dft_length");
  GraphValue rate = as_number(node, node.input(2), "sample_rate");
  auto op = [&](const char* name, const GraphValue& a, const GraphValue& b) {
    return node.emit(name, {a, b});
  };
  auto real = [&](double x) { return node.scalar(kFloat64, x); };
  auto whole = [&](int64_t x) { return number_value(node, x); };
  const double mel = 2595 / std::log(10);
  auto edge = [&](size_t i) {
    GraphValue hertz = node.cast(node.input(i), kFloat64);
    if (hertz.rank() != 0) hertz = node.reshape(hertz, std::initializer_list<Dim>{});
    GraphValue share = op("add", op("divide", hertz, real(700)), real(1));
    return op("multiply", node.emit("log", {share}), real(mel));
  };
  GraphValue low = edge(3), high = edge(4);
  GraphValue corners = op("add", bins, whole(2));
  GraphValue step = op("divide", op("subtract", high, low), node.cast(corners, kFloat64));
  GraphValue mels =
      op("add", op("multiply", node.cast(counted(node, corners), kFloat64), step), low);
  GraphValue powers = node.emit("exp", {op("divide", mels, real(mel))});
  GraphValue hertz = op("multiply", op("subtract", powers, real(1)), real(700));
  GraphValue scaled = op("multiply", node.cast(op("add", length, whole(1)), kFloat64), hertz);
  GraphValue bin = node.emit("floor", {op("divide", scaled, node.cast(rate, kFloat64))});
  auto corner = [&](int64_t k) {
    return slice_between(node, bin, 0, whole(k), op("add", bins, whole(k)));
  };
  GraphValue left = corner(0), centre = corner(1), right = corner(2);
  GraphValue count = op("add", op("floor_divide", length, whole(2)), whole(1));
  GraphValue place = node.cast(counted_along(node, count, 0, 2), kFloat64);
  GraphValue rise = op("subtract", centre, left), fall = op("subtract", right, centre);
  auto nonzero = [&](const GraphValue& x) { return op("maximum", x, real(1)); };
  GraphValue up = op("divide", op("subtract", place, left), nonzero(rise));
  GraphValue down = op("divide", op("subtract", right, place), nonzero(fall));
  auto both = [&](const GraphValue& a, const GraphValue& b) { return op("logical_and", a, b); };
  GraphValue none = real(0);
  GraphValue rising = both(op("greater_equal", place, left), op("less_equal", place, centre));
  // Without a rise the corner is 1, without a fall the rise is all there is.
  GraphValue steep = op("equal", rise, none);
  up = node.emit("where", {steep, real(1), up});
  rising = node.emit("where", {steep, op("equal", place, centre), rising});
  GraphValue falling = both(op("greater_equal", place, centre), op("less", place, right));
  GraphValue result = node.emit("where", {rising, up, none});
  return {node.cast(node.emit("where", {falling, down, result}), dtype)};
}
RELAY_ONNX("MelWeightMatrix", 17, convert_mel_weights)

// ---- Fourier transforms -------------------------------------------------------------------------

struct Complex {
  GraphValue re, im;
};

GraphValue last_part(NodeContext& node, const GraphValue& x, int64_t k) {
  auto axis = static_cast<int64_t>(x.rank()) - 1;
  return node.emit("squeeze", {node.slice(x, axis, k, k + 1)},
                   {{"axis", std::vector<int64_t>{axis}}});
}
// A tensor whose last axis holds real parts, or real and imaginary parts.
Complex parts_of(NodeContext& node, const GraphValue& x) {
  Dim last = x.rank() == 0 ? Dim(0) : x.dim(x.rank() - 1);
  node.require(last.is_int(1) || last.is_int(2),
               "the last axis has the extent " + last.str() + ", neither 1 nor 2");
  GraphValue re = last_part(node, x, 0);
  return {re, last.is_int(2) ? last_part(node, x, 1) : node.emit("zeros_like", {re})};
}
GraphValue joined(NodeContext& node, const Complex& x) {
  return node.emit("stack", {node.tuple({x.re, x.im})}, {{"axis", -1}});
}
Complex transformed(NodeContext& node, const Complex& x, bool inverse) {
  Values both = node.fields(node.emit("dft", {x.re, x.im}, {{"inverse", inverse}}));
  return {both[0], both[1]};
}

// The first `count` elements of the last axis, zeros behind those that are there.
GraphValue resized(NodeContext& node, const GraphValue& x, const GraphValue& count) {
  auto axis = static_cast<int64_t>(x.rank()) - 1;
  Dim extent = x.dim(static_cast<size_t>(axis));
  Dim wanted = count.elements() ? count.elements()->front() : Dim::any();
  if (extent == wanted && !wanted.is_any()) return x;
  if (wanted.is_int() && extent.is_int() && wanted.as_int() < extent.as_int()) {
    return node.slice(x, axis, 0, wanted.as_int());
  }
  GraphValue zero = number_value(node, 0);
  GraphValue own = extent_value(node, x, static_cast<size_t>(axis));
  GraphValue missing = node.emit("maximum", {node.emit("subtract", {count, own}), zero});
  std::vector<int64_t> last{0};
  std::vector<std::vector<int64_t>> at_end(x.rank(), std::vector<int64_t>{0, 0});
  GraphValue widths;
  if (wanted.is_int() && extent.is_int()) {
    at_end.back()[1] = wanted.as_int() - extent.as_int();
    return node.emit("nn.pad", {x, node.scalar(x.dtype(), 0)}, {{"pad_width", at_end}});
  }
  GraphValue others = node.int_list(std::vector<int64_t>(2 * x.rank() - 1, 0));
  widths = node.concat({others, node.reshape(missing, {Dim(1)})}, 0);
  widths = node.reshape(widths, {Dim(axis + 1), Dim(2)});
  GraphValue longer = node.emit("dyn.nn.pad", {x, widths, node.scalar(x.dtype(), 0)});
  return slice_between(node, longer, axis, zero, count);
}

GraphValue half_of(NodeContext& node, const GraphValue& count) {
  if (count.elements() && count.elements()->front().is_int()) {
    return number_value(node, count.elements()->front().as_int() / 2 + 1);
  }
  GraphValue half = node.emit("floor_divide", {count, number_value(node, 2)});
  return node.emit("add", {half, number_value(node, 1)});
}

// From half of a spectrum the other half: conjugates in the opposite order.
GraphValue mirrored(NodeContext& node, const GraphValue& half, const GraphValue& count,
                    bool conjugate) {
  auto axis = static_cast<int64_t>(half.rank()) - 1;
  GraphValue one = number_value(node, 1);
  // n - n/2 - 1 elements, from the first one on.
  GraphValue rest = node.emit("subtract", {count, half_of(node, count)});
  GraphValue end = node.emit("add", {rest, one});
  GraphValue back = slice_between(node, half, axis, one, end);
  back = node.emit("reverse", {back}, {{"axis", axis}});
  if (conjugate) back = node.emit("negative", {back});
  return node.concat({half, back}, axis);
}

// The part that both transforms of a signal along the last but one axis share; the result has that
// axis last and, for spectra, parts behind it.
GraphValue dft_last(NodeContext& node, Complex x, GraphValue count, bool inverse, bool onesided) {
  if (!inverse || !onesided) {
    x = {resized(node, x.re, count), resized(node, x.im, count)};
    Complex y = transformed(node, x, inverse);
    if (onesided) {
      auto axis = static_cast<int64_t>(y.re.rank()) - 1;
      GraphValue zero = number_value(node, 0), half = half_of(node, count);
      y = {slice_between(node, y.re, axis, zero, half),
           slice_between(node, y.im, axis, zero, half)};
    }
    return joined(node, y);
  }
  GraphValue half = half_of(node, count);
  x = {mirrored(node, resized(node, x.re, half), count, false),
       mirrored(node, resized(node, x.im, half), count, true)};
  GraphValue re = transformed(node, x, true).re;
  return node.unsqueeze(re, {static_cast<int64_t>(re.rank())});
}

// Along an axis that is known, or along axis 1 of four where the run chooses one of the node's.
GraphValue dft_along(NodeContext& node, const GraphValue& x, int64_t axis, bool inverse,
                     bool onesided) {
  GraphValue count;
  if (node.has(1)) {
    count = as_number(node, node.input(1), "dft_length");
  } else {
    count = extent_value(node, x, static_cast<size_t>(axis));
    if (inverse && onesided) {
      // For half a spectrum: twice as many, less the first and the last.
      Dim extent = x.dim(static_cast<size_t>(axis));
      if (extent.is_int()) {
        node.require(extent.as_int() > 1, "half a spectrum has the extent " + extent.str());
        count = number_value(node, 2 * extent.as_int() - 2);
      } else {
        GraphValue most = node.emit("subtract", {count, number_value(node, 1)});
        count = node.emit("add", {most, most});
      }
    }
  }
  std::vector<int64_t> order, back;
  auto rank = static_cast<int64_t>(x.rank());
  for (int64_t k = 0; k < rank - 1; ++k) {
    if (k != axis) order.push_back(k);
  }
  order.push_back(axis);
  order.push_back(rank - 1);
  back.resize(order.size());
  for (size_t k = 0; k < order.size(); ++k) {
    back[static_cast<size_t>(order[k])] = static_cast<int64_t>(k);
  }
  Complex parts = parts_of(node, node.transpose(x, order));
  return node.transpose(dft_last(node, parts, count, inverse, onesided), back);
}

// The axes before that one become one axis, and those behind it, too.
GraphValue dft_at_run_time(NodeContext& node, const GraphValue& x, bool inverse, bool onesided) {
  auto op = [&](const char* name, const GraphValue& a, const GraphValue& b) {
    return node.emit(name, {a, b});
  };
  auto last = static_cast<int64_t>(x.rank()) - 1;
  GraphValue axis = node.reshape(as_number(node, node.input(2), "axis"), {Dim(1)});
  axis = from_front(node, axis, x.rank());
  GraphValue places = counted(node, number_value(node, last));
  GraphValue extents = node.slice(shape_value(node, x), 0, 0, last);
  GraphValue one = number_value(node, 1);
  auto product_where = [&](const char* test) {
    GraphValue factors = node.emit("where", {op(test, places, axis), extents, one});
    return node.reshape(node.emit("prod", {factors}), {Dim(1)});
  };
  GraphValue own = node.emit("take", {extents, axis}, {{"axis", 0}});
  GraphValue merged = node.concat({product_where("less"), own, product_where("greater")}, 0);
  Complex flat = parts_of(node, x);
  for (GraphValue* part : {&flat.re, &flat.im}) {
    *part = node.emit("dyn.reshape", {*part, merged}, {{"allowzero", true}});
  }
  GraphValue result = dft_along(node, joined(node, flat), 1, inverse, onesided);
  GraphValue length = node.reshape(extent_value(node, result, 1), {Dim(1)});
  GraphValue shape = node.emit("where", {op("equal", places, axis), length, extents});
  shape = node.concat({shape, node.reshape(extent_value(node, result, 3), {Dim(1)})}, 0);
  return node.emit("dyn.reshape", {result, shape}, {{"allowzero", true}});
}

// Computed in float64, as its results are often told apart from 0.
Values convert_dft(NodeContext& node) {
  GraphValue x = node.input(0);
  bool inverse = node.attr_bool("inverse", false), onesided = node.attr_bool("onesided", false);
  node.require(x.rank() >= 2, "the data have " + std::to_string(x.rank()) + " axes");
  Dim parts = x.dim(x.rank() - 1);
  node.require(parts.is_int(1) || parts.is_int(2),
               "the last axis has the extent " + parts.str() + ", neither 1 nor 2");
  DType dtype = x.dtype();
  x = node.cast(x, kFloat64);
  auto along = [&](int64_t axis) -> Values {
    axis = node.axis(axis, x.rank());
    node.require(axis + 1 < static_cast<int64_t>(x.rank()), "the axis is that of the parts");
    return {node.cast(dft_along(node, x, axis, inverse, onesided), dtype)};
  };
  if (node.opset() < 20) return along(node.attr_int("axis", 1));
  if (!node.has(2)) return along(-2);
  if (node.constant(2)) {
    std::vector<int64_t> axis = node.ints(2, "axis");
    node.require(axis.size() == 1, "axis has " + std::to_string(axis.size()) + " elements");
    return along(axis[0]);
  }
  if (x.rank() == 2) return along(0);
  return {node.cast(dft_at_run_time(node, x, inverse, onesided), dtype)};
}
RELAY_ONNX("DFT", 17, convert_dft)

Values convert_stft(NodeContext& node) {
  GraphValue x = node.input(0);
  DType dtype = x.dtype();
  node.require(x.rank() == 3 || x.rank() == 2,
               "the signal has " + std::to_string(x.rank()) + " axes");
  bool onesided = node.attr_bool("onesided", true);
  if (x.rank() == 2) x = node.unsqueeze(x, {2});
  if (dtype.bits < 32) x = node.cast(x, kFloat32);
  // For complex signals there is no other half to leave out.
  if (x.dim(2).is_int(2)) onesided = false;
  GraphValue step = as_number(node, node.input(1), "frame_step");
  GraphValue length;
  if (node.has(2)) {
    node.require(node.input(2).rank() == 1,
                 "the window has " + std::to_string(node.input(2).rank()) + " axes");
    length = extent_value(node, node.input(2), 0);
  } else if (node.has(3)) {
    length = as_number(node, node.input(3), "frame_length");
  } else {
    length = extent_value(node, x, 1);
  }
  GraphValue one = number_value(node, 1);
  GraphValue room = node.emit("subtract", {extent_value(node, x, 1), length});
  GraphValue frames = node.emit("add", {node.emit("floor_divide", {room, step}), one});
  GraphValue first = node.emit("multiply", {counted_along(node, frames, 0, 2), step});
  GraphValue places = node.emit("add", {first, counted(node, length)});
  Complex parts = parts_of(node, x);
  for (GraphValue* part : {&parts.re, &parts.im}) {
    *part = node.emit("take", {*part, places}, {{"axis", 1}});
    if (node.has(2)) *part = node.emit("multiply", {*part, node.cast(node.input(2), x.dtype())});
  }
  return {node.cast(dft_last(node, parts, length, false, onesided), dtype)};
}
RELAY_ONNX("STFT", 17, convert_stft)

}  // namespace
}  // namespace relay::onnx
