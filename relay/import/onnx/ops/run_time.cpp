#include <relay/import/onnx/ops/run_time.h>

#include <numeric>

#include <relay/import/onnx/fold.h>
#include <relay/import/onnx/ops/slice.h>
#include <relay/op/registry/relation.h>

namespace relay::onnx {

GraphValue number_value(NodeContext& node, int64_t value) {
  return node.constant_value(NDArray::scalar<int64_t>(value));
}

GraphValue as_number(NodeContext& node, const GraphValue& value, std::string_view what) {
  Dim count = product(value.dims());
  node.require(!count.is_int() || count.is_int(1),
               std::string(what) + " has " + count.str() + " elements");
  GraphValue number = value;
  if (value.rank() != 0) {
    if (value.elements() && value.elements()->size() == 1 && !value.elements()->front().is_any()) {
      number = node.known_value(*value.elements(), {}, value.dtype());
    } else {
      number = node.reshape(value, std::initializer_list<Dim>{});
    }
  }
  if (number.elements() && !number.elements()->front().is_any()) {
    return node.known_value(*number.elements(), {}, kInt64);
  }
  return node.cast(number, kInt64);
}

GraphValue as_list(NodeContext& node, const GraphValue& value, std::string_view what) {
  node.require(value.rank() <= 1 && value.dtype().is_integer(),
               std::string(what) + " is no list of integers");
  GraphValue list = value.rank() == 1 ? value : node.reshape(value, {Dim(1)});
  return node.cast(list, kInt64);
}

int64_t length_of(NodeContext& node, const GraphValue& list, std::string_view what) {
  node.require(list.dim(0).is_int(), "how many entries " + std::string(what) +
                                         " has is not known, which decides the rank");
  return static_cast<int64_t>(
      node.countable(list.dim(0).as_int(), "the entries of " + std::string(what)));
}

GraphValue shape_value(NodeContext& node, const GraphValue& x) {
  Elements dims(x.dims().begin(), x.dims().end());
  Dim count[] = {static_cast<int64_t>(x.rank())};
  return known_or(node, std::move(dims), count, kInt64, [&] {
    return node.emit("shape_of", {x}, {{"dtype", kInt64}});
  });
}

GraphValue extent_value(NodeContext& node, const GraphValue& x, size_t axis) {
  return known_or(node, {x.dim(axis)}, {}, kInt64, [&] {
    GraphValue shape = node.emit("shape_of", {x}, {{"dtype", kInt64}});
    return entry(node, shape, static_cast<int64_t>(axis));
  });
}

GraphValue entry(NodeContext& node, const GraphValue& list, int64_t k) {
  auto take = [&] { return node.emit("take", {list, number_value(node, k)}, {{"axis", 0}}); };
  if (!list.elements()) return take();
  return known_or(node, {(*list.elements())[static_cast<size_t>(k)]}, {}, list.dtype(), take);
}

GraphValue counted(NodeContext& node, const GraphValue& count) {
  GraphValue zero = number_value(node, 0), one = number_value(node, 1);
  return node.emit("arange", {zero, count, one}, {{"dtype", kInt64}});
}

GraphValue counted_along(NodeContext& node, const GraphValue& count, size_t axis, size_t rank) {
  GraphValue result = counted(node, count);
  auto behind = static_cast<int64_t>(rank - 1 - axis);
  if (behind == 0) return result;
  return node.emit("expand_dims", {result}, {{"axis", 1}, {"num_newaxis", behind}});
}

GraphValue zero_unless(NodeContext& node, const GraphValue& bad, const std::string& message) {
  GraphValue good = node.emit("logical_not", {bad});
  return node.emit("assert_op", {good, number_value(node, 0)}, {{"message", message}});
}

GraphValue rows_like(NodeContext& node, const GraphValue& rows, const GraphValue& row,
                     const std::string& message) {
  GraphValue wanted = node.slice(shape_value(node, rows), 0, 1, kMostExtent);
  GraphValue other = node.emit("not_equal", {wanted, shape_value(node, row)});
  GraphValue some = node.emit("greater", {extent_value(node, rows, 0), number_value(node, 0)});
  return zero_unless(node, node.emit("logical_and", {some, node.emit("any", {other})}), message);
}

GraphValue with_row(NodeContext& node, const GraphValue& rows, const GraphValue& row, bool at_end,
                    const std::string& message) {
  node.require(rows.rank() == row.rank() + 1, message);
  bool open = false;
  for (size_t k = 0; k < row.rank(); ++k) {
    Truth same = surely_equal(rows.dim(k + 1), row.dim(k));
    node.require(same != Truth::kNo, message);
    open |= same == Truth::kUnknown;
  }
  GraphValue before = rows, now = node.unsqueeze(row, {0});
  if (open) {
    // Before the first row, extents that only a row knows are others.
    GraphValue count = extent_value(node, rows, 0);
    count = node.emit("add", {count, rows_like(node, rows, row, message)});
    GraphValue shape = node.concat({node.reshape(count, {Dim(1)}), shape_value(node, row)}, 0);
    before = node.emit("dyn.reshape", {rows, shape}, {{"allowzero", true}});
  }
  return node.concat(at_end ? std::vector{before, now} : std::vector{now, before}, 0);
}

GraphValue inside(NodeContext& node, const GraphValue& x, size_t axis, const GraphValue& places) {
  // A zero from each position: an axis of zeros has no others.
  GraphValue zeros = number_value(node, 0);
  Dim dims[] = {x.dim(axis)};
  if (dims[0].is_any()) {
    GraphValue extent = node.reshape(extent_value(node, x, axis), {Dim(1)});
    zeros = node.emit("dyn.broadcast_to", {zeros, extent});
  } else {
    zeros = node.broadcast_to(zeros, dims);
  }
  return node.emit("add", {places, node.emit("adv_index", {node.tuple({zeros, places})})});
}

GraphValue broadcast_like(NodeContext& node, const GraphValue& value, const GraphValue& like) {
  for (Dim dim : like.dims()) {
    if (dim.is_any()) return node.emit("dyn.broadcast_to", {value, shape_value(node, like)});
  }
  return node.broadcast_to(value, like.dims());
}

GraphValue from_front(NodeContext& node, const GraphValue& axes, size_t rank) {
  std::vector<int64_t> all(rank);
  std::iota(all.begin(), all.end(), 0);
  return node.emit("adv_index", {node.tuple({node.int_list(all), axes})});
}

GraphValue at_axes(NodeContext& node, const GraphValue& values, const GraphValue& axes,
                   const GraphValue& otherwise, size_t rank) {
  GraphValue places = from_front(node, axes, rank);
  return node.emit("scatter_elements", {otherwise, places, values}, {{"axis", 0}});
}

std::vector<GraphValue> chosen_axes(NodeContext& node, const GraphValue& axes, size_t rank) {
  GraphValue places = from_front(node, axes, rank);
  std::vector<GraphValue> result;
  for (size_t k = 0; k < rank; ++k) {
    GraphValue here = node.emit("equal", {places, number_value(node, static_cast<int64_t>(k))});
    result.push_back(node.emit("any", {here}));
  }
  return result;
}

GraphValue slice_between(NodeContext& node, const GraphValue& x, int64_t axis,
                         const GraphValue& begin, const GraphValue& end) {
  GraphValue from = node.reshape(begin, {Dim(1)}), to = node.reshape(end, {Dim(1)});
  std::vector<int64_t> axes{axis};
  return node.emit("dyn.strided_slice", {x, from, to, node.int_list({1})}, {{"axes", axes}});
}

GraphValue slice_at_run_time(NodeContext& node, const GraphValue& x, const GraphValue& starts,
                             const GraphValue& ends, const GraphValue& axes,
                             const GraphValue& steps) {
  // The axes that are not named stay whole: from 0 to beyond every extent.
  auto all = [&](int64_t value) { return node.int_list(std::vector<int64_t>(x.rank(), value)); };
  GraphValue begin = at_axes(node, starts, axes, all(0), x.rank());
  GraphValue end = at_axes(node, ends, axes, all(kMostExtent), x.rank());
  GraphValue step = at_axes(node, steps, axes, all(1), x.rank());
  std::vector<int64_t> own(x.rank());
  std::iota(own.begin(), own.end(), 0);
  return sliced_at_run_time(node, x, own, begin, end, step);
}

std::vector<GraphValue> split_at_run_time(NodeContext& node, const GraphValue& x, int64_t axis,
                                          const GraphValue& sizes) {
  int64_t count = length_of(node, sizes, "split");
  node.require(count == static_cast<int64_t>(node.num_outputs()),
               "split has " + std::to_string(count) + " entries for " +
                   std::to_string(node.num_outputs()) + " outputs");
  if (count == 0) return {};
  GraphValue ends = node.emit("cumsum", {sizes}, {{"axis", 0}});
  // The parts are no less than nothing, and all that there is.
  GraphValue negative = node.emit("any", {node.emit("less", {sizes, number_value(node, 0)})});
  GraphValue extent = extent_value(node, x, static_cast<size_t>(axis));
  GraphValue other = node.emit("not_equal", {entry(node, ends, count - 1), extent});
  GraphValue zero =
      zero_unless(node, node.emit("logical_or", {negative, other}),
                  "split does not add up to the extent of axis " + std::to_string(axis));
  ends = node.emit("add", {ends, zero});
  GraphValue begin = number_value(node, 0);
  std::vector<GraphValue> parts;
  for (int64_t k = 0; k < count; ++k) {
    GraphValue end = entry(node, ends, k);
    parts.push_back(slice_between(node, x, axis, begin, end));
    begin = end;
  }
  return parts;
}

std::vector<GraphValue> split_evenly_at_run_time(NodeContext& node, const GraphValue& x,
                                                 int64_t axis) {
  auto count = static_cast<int64_t>(node.num_outputs());
  GraphValue extent = extent_value(node, x, static_cast<size_t>(axis));
  GraphValue more = node.emit("add", {extent, number_value(node, count - 1)});
  GraphValue each = node.emit("floor_divide", {more, number_value(node, count)});
  GraphValue begin = number_value(node, 0);
  std::vector<GraphValue> parts;
  for (int64_t k = 0; k < count; ++k) {
    GraphValue end = node.emit("add", {begin, each});
    parts.push_back(slice_between(node, x, axis, begin, end));
    begin = end;
  }
  return parts;
}

GraphValue unsqueeze_at_run_time(NodeContext& node, const GraphValue& x, const GraphValue& axes) {
  size_t rank = x.rank() + static_cast<size_t>(length_of(node, axes, "axes"));
  node.require_rank(rank);
  GraphValue one = number_value(node, 1);
  GraphValue ones = node.int_list(std::vector<int64_t>(rank, 1));
  if (x.rank() == 0) {
    return node.emit("dyn.reshape", {x, ones});
  }
  // 0 at new axes, 1 at old ones: the sum of what comes before counts the old ones.
  GraphValue zeros = node.emit("zeros_like", {axes});
  GraphValue old = at_axes(node, zeros, axes, ones, rank);
  GraphValue place = node.emit("subtract", {node.emit("cumsum", {old}, {{"axis", 0}}), one});
  GraphValue extents = node.emit("take", {shape_value(node, x), place}, {{"axis", 0}});
  GraphValue shape = node.emit("where", {old, extents, one});
  return node.emit("dyn.reshape", {x, shape}, {{"allowzero", true}});
}

GraphValue squeeze_at_run_time(NodeContext& node, const GraphValue& x, const GraphValue& axes) {
  int64_t count = length_of(node, axes, "axes");
  node.require(
      count <= static_cast<int64_t>(x.rank()),
      "axes has " + std::to_string(count) + " entries for rank " + std::to_string(x.rank()));
  return node.emit("dyn.squeeze", {x, axes});
}

}  // namespace relay::onnx
