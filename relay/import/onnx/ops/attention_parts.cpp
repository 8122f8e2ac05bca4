#include <cmath>
#include <limits>

#include <relay/import/onnx/ops/attention.h>

namespace relay::onnx {

int64_t head_extent(NodeContext& node, const GraphValue& x, std::string_view what) {
  Dim last = x.last_dim();
  node.require(last.is_int() && last.as_int() > 0, "the last extent of the " + std::string(what) +
                                                       " is " + last.str() +
                                                       ", which has to be a known number above 0");
  return last.as_int();
}

GraphValue split_heads(NodeContext& node, const GraphValue& x, int64_t heads,
                       std::string_view what) {
  std::string name(what);
  node.require(x.rank() == 3,
               "the " + name + " has " + std::to_string(x.rank()) + " axes; 3 are needed");
  int64_t hidden = head_extent(node, x, what);
  node.require(heads > 0 && hidden % heads == 0,
               "the last extent of the " + name + ", " + std::to_string(hidden) +
                   ", does not divide into " + std::to_string(heads) + " heads");
  GraphValue apart = node.reshape(x, {x.dim(0), x.dim(1), Dim(heads), Dim(hidden / heads)});
  return node.transpose(apart, {0, 2, 1, 3});
}

GraphValue merge_heads(NodeContext& node, const GraphValue& x) {
  GraphValue rows = node.transpose(x, {0, 2, 1, 3});
  return node.reshape(rows, {x.dim(0), x.dim(2), x.dim(1) * x.dim(3)});
}

GraphValue extent_value(NodeContext& node, Dim extent) {
  return node.known_value({extent}, {}, kInt64);
}

GraphValue positions(NodeContext& node, Dim extent) {
  return node.emit("arange",
                   {extent_value(node, 0), extent_value(node, extent), extent_value(node, 1)},
                   {{"dtype", kInt64}});
}

GraphValue seen_by_place(NodeContext& node, const Places& places, Dim queries, Dim keys,
                         const GraphValue& offset) {
  GraphValue row = node.reshape(positions(node, queries), {queries, Dim(1)});
  GraphValue column = node.reshape(positions(node, keys), {Dim(1), keys});
  // How far the key is behind the query.
  GraphValue behind = node.emit("subtract", {node.emit("add", {row, offset}), column});
  GraphValue seen;
  auto both = [&](const GraphValue& next) {
    seen = seen ? node.emit("logical_and", {seen, next}) : next;
  };
  auto number = [&](int64_t value) { return extent_value(node, value); };
  if (places.causal) both(node.emit("greater_equal", {behind, number(0)}));
  if (places.left >= 0) both(node.emit("less_equal", {behind, number(places.left)}));
  if (places.right >= 0) both(node.emit("greater_equal", {behind, number(-places.right)}));
  return seen;
}

GraphValue rotate(NodeContext& node, const GraphValue& x, const GraphValue& cosines,
                  const GraphValue& sines, bool interleaved) {
  return node.emit("nn.rotary_embedding", {x, cosines, sines}, {{"interleaved", interleaved}});
}

GraphValue masked_scores(NodeContext& node, const Attention& of, GraphValue scores) {
  DType dtype = scores.dtype();
  if (of.bias) scores = node.emit("add", {scores, node.cast(of.bias, dtype)});
  if (!of.visible) return scores;
  GraphValue hidden = node.scalar(dtype, -std::numeric_limits<double>::infinity());
  return node.emit("where", {of.visible, scores, hidden});
}

namespace {

// The sink is one more column, which is left out again.
GraphValue softmax_with_sink(NodeContext& node, const Attention& of, const GraphValue& products) {
  GraphValue scores = masked_scores(node, of, products);
  DType dtype = scores.dtype();
  Dim heads = scores.dim(1);
  node.require(
      of.sink.rank() == 1 && of.sink.dim(0) == heads,
      "the sink is " + of.sink.type()->str() + ", no entry for each of " + heads.str() + " heads");
  Dim column[] = {scores.dim(0), heads, scores.dim(2), Dim(1)};
  GraphValue sink = node.reshape(node.cast(of.sink, dtype), {Dim(1), heads, Dim(1), Dim(1)});
  GraphValue all = node.concat({scores, node.broadcast_to(sink, column)}, 3);
  GraphValue weights = node.emit("nn.softmax", {all});
  std::vector<int64_t> begin{0}, end{-1}, axes{3};
  return node.reshape(
      node.emit("strided_slice", {weights}, {{"begin", begin}, {"end", end}, {"axes", axes}}),
      scores.dims());
}

}  // namespace

Attended attend(NodeContext& node, const Attention& of) {
  const GraphValue& query = of.query;
  const GraphValue& key = of.key;
  const GraphValue& value = of.value;
  node.require(query.rank() == 4 && key.rank() == 4 && value.rank() == 4,
               "query, key and value need 4 axes");
  Dim heads = query.dim(1), shared = key.dim(1);
  int64_t group = 1;
  if (heads != shared) {
    bool fits = heads.is_int() && shared.is_int() && shared.as_int() > 0 &&
                heads.as_int() % shared.as_int() == 0;
    node.require(fits, "the query has " + heads.str() + " heads, no multiple of the " +
                           shared.str() + " of the key");
    group = heads.as_int() / shared.as_int();
  }
  // Queries of the heads that share a key are rows of one product; batch and heads are one axis.
  Dim batch = key.dim(0) * shared;
  Dim rows = query.dim(2) * group;
  Dim keys = key.dim(2);
  std::vector<Dim> scores_dims{query.dim(0), heads, query.dim(2), keys};
  auto flat = [&](const GraphValue& x) { return node.reshape(x, {batch, x.dim(2), x.dim(3)}); };
  DType dtype = query.dtype();
  double extent = static_cast<double>(head_extent(node, query, "query"));
  double scale = of.scale.value_or(1 / std::sqrt(extent));
  // Scores of narrow types are kept in float32, where they do not leave the range.
  DType wide = dtype.bits < 32 ? kFloat32 : dtype;
  DType precision = of.precision.bits < wide.bits ? wide : of.precision;
  AttrList product{{"transpose_b", true}};
  if (wide != dtype) product.push_back({"out_dtype", wide});
  Attended made;
  GraphValue rows_of_query = node.reshape(query, {batch, rows, query.dim(3)});
  GraphValue scores = node.emit("nn.batch_matmul", {rows_of_query, flat(key)}, product);
  if (scale != 1) scores = node.emit("multiply", {scores, node.scalar(wide, scale)});
  bool whole = !of.bias && !of.visible && !of.change_scores && !of.change_weights && !of.sink;
  auto apart = [&](const GraphValue& x) { return node.reshape(x, scores_dims); };
  made.products = scores;
  if (of.softcap > 0) {
    scores = node.emit("multiply", {scores, node.scalar(wide, 1 / of.softcap)});
    scores = node.emit("multiply", {node.emit("tanh", {scores}), node.scalar(wide, of.softcap)});
  }
  made.capped = scores;
  GraphValue weights;
  if (whole) {
    weights = node.emit("nn.softmax", {node.cast(scores, precision)});
  } else {
    scores = node.cast(apart(scores), of.change_scores ? of.precision : precision);
    if (of.change_scores) scores = of.change_scores(scores);
    if (of.sink) {
      weights = softmax_with_sink(node, of, scores);
    } else if (of.visible) {
      if (of.bias) scores = node.emit("add", {scores, node.cast(of.bias, scores.dtype())});
      weights = node.emit("nn.masked_softmax", {scores, of.visible});
    } else if (of.bias) {
      weights = node.emit("nn.masked_softmax", {scores, of.bias});
    } else {
      weights = node.emit("nn.softmax", {scores});
    }
    if (of.change_weights) weights = of.change_weights(weights);
  }
  weights = node.cast(weights, value.dtype());
  made.weights = weights;
  GraphValue shares = node.reshape(weights, {batch, rows, keys});
  GraphValue result = node.emit("nn.batch_matmul", {shares, flat(value)});
  made.result = node.reshape(result, {query.dim(0), heads, query.dim(2), value.dim(3)});
  made.products = apart(made.products);
  made.capped = apart(made.capped);
  made.weights = apart(made.weights);
  return made;
}

}  // namespace relay::onnx
