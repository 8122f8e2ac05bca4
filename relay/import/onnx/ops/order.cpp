// The greatest elements, different elements, and where elements are.
#include <algorithm>
#include <limits>

#include <relay/import/onnx/ops/run_time.h>
#include <relay/op/registry/relation.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

// ---- The greatest -------------------------------------------------------------------------------

Values top_k(NodeContext& node, std::optional<int64_t> known) {
  GraphValue x = node.input(0);
  node.require(x.rank() > 0, "the data have no axes");
  int64_t axis = node.axis(node.attr_int("axis", -1), x.rank());
  bool largest = true;
  if (node.opset() >= 11) {
    largest = node.attr_bool("largest", true);
    node.ignore({"sorted"});  // in any order then: in order as well
  }
  AttrList attrs{{"axis", axis}, {"ret_type", "both"}, {"is_ascend", !largest}, {"dtype", kInt64}};
  if (!known) {
    GraphValue k = as_number(node, node.input(1), "K");
    GraphValue most = extent_value(node, x, static_cast<size_t>(axis));
    GraphValue bad = node.emit("logical_or", {node.emit("less", {k, number_value(node, 0)}),
                                              node.emit("greater", {k, most})});
    k = node.emit("add", {k, zero_unless(node, bad, "K is not from 0 to the extent of the axis")});
    Values results = node.fields(node.emit("dyn.topk", {x, k}, attrs));
    // All are taken for a k of 0.
    GraphValue zero = number_value(node, 0);
    for (GraphValue& result : results) result = slice_between(node, result, axis, zero, k);
    return results;
  }
  Dim extent = x.dim(static_cast<size_t>(axis));
  node.require(*known >= 0, "K is " + std::to_string(*known));
  node.require(!extent.is_int() || *known <= extent.as_int(),
               "K is " + std::to_string(*known) + ", the axis has the extent " + extent.str());
  attrs.push_back({"k", std::max<int64_t>(*known, 1)});
  if (*known > 0) return node.fields(node.emit("topk", {x}, attrs));
  GraphValue none = node.slice(x, axis, 0, 0);
  return {none, node.cast(none, kInt64)};
}

Values convert_top_k_attribute(NodeContext& node) { return top_k(node, node.attr_int("k")); }
Values convert_top_k(NodeContext& node) {
  std::optional<int64_t> known;
  if (node.constant(1)) {
    std::vector<int64_t> k = node.ints(1, "K");
    node.require(k.size() == 1, "K has " + std::to_string(k.size()) + " elements");
    known = k[0];
  }
  return top_k(node, known);
}
RELAY_ONNX("TopK", 1, convert_top_k_attribute)
RELAY_ONNX("TopK", 10, convert_top_k)

// ---- What differs -------------------------------------------------------------------------------

// For each element of a matrix how many different ones of its column come before it, in the order
// of numbers: a rank, equal for equal elements.
GraphValue ranks_in_columns(NodeContext& node, const GraphValue& x) {
  AttrList down{{"axis", 0}};
  GraphValue order = node.emit("argsort", {x}, {{"axis", 0}, {"dtype", kInt64}});
  GraphValue sorted = node.emit("gather", {x, order}, down);
  std::vector<int64_t> axes{0}, first{0}, second{1}, last{-1},
      far{std::numeric_limits<int64_t>::max() / 2};
  GraphValue low =
      node.emit("strided_slice", {sorted}, {{"begin", first}, {"end", last}, {"axes", axes}});
  GraphValue high =
      node.emit("strided_slice", {sorted}, {{"begin", second}, {"end", far}, {"axes", axes}});
  GraphValue differs = node.emit("not_equal", {low, high});
  if (x.dtype().is_float()) {
    // One not-a-number is like another.
    GraphValue neither =
        node.emit("logical_and", {node.emit("isnan", {low}), node.emit("isnan", {high})});
    differs = node.emit("logical_and", {differs, node.emit("logical_not", {neither})});
  }
  std::vector<std::vector<int64_t>> before{{1, 0}, {0, 0}};
  GraphValue steps = node.emit("nn.pad", {node.cast(differs, kInt64), number_value(node, 0)},
                               {{"pad_width", before}});
  GraphValue ranks = node.emit("cumsum", {steps}, down);
  return node.emit("scatter_elements", {node.emit("zeros_like", {ranks}), order, ranks}, down);
}

// A vector of numbers that are in the order of the rows of a matrix, equal for equal rows. Pairs of
// neighbouring columns become one until one is left: as many rounds as the width has binary digits.
GraphValue ranks_of_rows(NodeContext& node, GraphValue rows) {
  Dim width = rows.dim(1);
  node.require(width.is_int(), "the extents of the other axes are not known");
  GraphValue count = extent_value(node, rows, 0);
  if (width.is_int(0))
    return node.emit("dyn.zeros", {node.reshape(count, {Dim(1)})}, {{"dtype", kInt64}});
  rows = ranks_in_columns(node, rows);
  for (int64_t n = width.as_int(); n > 1; n = (n + 1) / 2) {
    std::vector<int64_t> all{1}, first{0}, second{1}, end{n}, even{n / 2 * 2}, two{2};
    auto every_other = [&](const std::vector<int64_t>& from, const std::vector<int64_t>& to) {
      return node.emit("strided_slice", {rows},
                       {{"begin", from}, {"end", to}, {"strides", two}, {"axes", all}});
    };
    GraphValue major = node.emit("multiply", {every_other(first, even), count});
    GraphValue pairs = node.emit("add", {major, every_other(second, even)});
    if (n % 2 == 1) pairs = node.concat({pairs, node.slice(rows, 1, n - 1, n)}, 1);
    rows = ranks_in_columns(node, pairs);
  }
  return node.reshape(rows, {rows.dim(0)});
}

Values convert_unique(NodeContext& node) {
  GraphValue x = node.input(0);
  bool sorted = node.attr_bool("sorted", true);
  bool whole = !node.has_attr("axis");
  int64_t axis = whole ? 0 : node.axis(node.attr_int("axis"), x.rank());
  GraphValue keys = x;
  if (whole && x.rank() != 1) keys = node.reshape(x, {product(x.dims())});
  GraphValue flat = keys;
  bool rows = !whole && x.rank() > 1;
  if (rows) {
    std::vector<int64_t> front{axis};
    std::vector<Dim> others;
    for (size_t k = 0; k < x.rank(); ++k) {
      if (static_cast<int64_t>(k) == axis) continue;
      front.push_back(static_cast<int64_t>(k));
      others.push_back(x.dim(k));
    }
    Dim extent = x.dim(static_cast<size_t>(axis));
    keys = ranks_of_rows(node, node.reshape(node.transpose(x, front), {extent, product(others)}));
  }
  bool as_bool = keys.dtype().is_bool();
  if (as_bool) keys = node.cast(keys, kUInt8);
  Values found = node.fields(node.emit(
      "unique", {keys}, {{"sorted", sorted}, {"return_counts", true}, {"dtype", kInt64}}));
  GraphValue values = found[0];
  if (rows) values = node.emit("take", {x, found[1]}, {{"axis", axis}});
  if (as_bool) values = node.cast(values, kBool);
  return {values, found[1], found[2], found[4]};
}
RELAY_ONNX("Unique", 11, convert_unique)

Values convert_non_zero(NodeContext& node) {
  GraphValue places = node.emit("argwhere", {node.input(0)}, {{"dtype", kInt64}});
  return {node.transpose(places, {1, 0})};
}
RELAY_ONNX("NonZero", 9, convert_non_zero)

Values convert_compress(NodeContext& node) {
  GraphValue x = node.input(0), condition = node.input(1);
  node.require(condition.rank() == 1,
               "the condition has " + std::to_string(condition.rank()) + " axes");
  int64_t axis = 0;
  if (node.has_attr("axis")) {
    axis = node.axis(node.attr_int("axis"), x.rank());
  } else {
    x = node.reshape(x, {product(x.dims())});
  }
  Dim extent = x.dim(static_cast<size_t>(axis)), count = condition.dim(0);
  node.require(!extent.is_int() || !count.is_int() || count.as_int() <= extent.as_int(),
               "the condition has " + count.str() + " elements, the axis " + extent.str());
  GraphValue places = node.emit("argwhere", {condition}, {{"dtype", kInt64}});
  places = node.emit("squeeze", {places}, {{"axis", std::vector<int64_t>{1}}});
  return {node.emit("take", {x, places}, {{"axis", axis}, {"mode", "fast"}})};
}
RELAY_ONNX("Compress", 9, convert_compress)

}  // namespace
}  // namespace relay::onnx
