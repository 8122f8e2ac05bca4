// Attention and what goes with it.
#include <relay/import/onnx/ops/attention.h>

#include <cmath>
#include <limits>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// ---- Attention ----------------------------------------------------------------------------------

// The mask with as many columns as there are keys: what it says nothing of is not seen.
GraphValue padded_mask(NodeContext& node, const GraphValue& mask, Dim keys) {
  Dim last = mask.last_dim();
  if (last == keys || !last.is_int() || !keys.is_int()) return mask;
  int64_t less = keys.as_int() - last.as_int();
  node.require(less >= 0, "the mask has " + last.str() + " columns for " + keys.str() + " keys");
  if (less == 0) return mask;
  AttrValue::List widths;
  for (size_t k = 0; k < mask.rank(); ++k) {
    int64_t after = k + 1 == mask.rank() ? less : 0;
    widths.push_back(AttrValue(AttrValue::List{AttrValue(int64_t{0}), AttrValue(after)}));
  }
  bool boolean = mask.dtype().is_bool();
  GraphValue fill = boolean ? node.scalar(kBool, 0) : node.scalar(mask.dtype(), -kInfinity);
  return node.emit("nn.pad", {mask, fill}, {{"pad_width", AttrValue(widths)}});
}

// The numbers of the past before those of this step; the number of the past's keys.
GraphValue join_past(NodeContext& node, Attention& of) {
  node.require(node.has(4) == node.has(5), "past_key and past_value come together");
  GraphValue offset = extent_value(node, 0);
  if (!node.has(4)) return offset;
  GraphValue past_key = node.input(4), past_value = node.input(5);
  node.require(past_key.rank() == 4 && past_value.rank() == 4,
               "past_key and past_value need 4 axes");
  offset = extent_value(node, past_key.dim(2));
  of.key = node.concat({past_key, of.key}, 2);
  of.value = node.concat({past_value, of.value}, 2);
  return offset;
}

// Which keys a query may see by their places, before or after it.
Places visible_places(NodeContext& node) {
  Places places;
  places.causal = node.attr_bool("is_causal", false);
  if (node.opset() < 25) return places;
  places.left = node.attr_int("left_window_size", -1);
  places.right = node.attr_int("right_window_size", -1);
  node.require(places.left >= -1, "left_window_size is " + std::to_string(places.left));
  node.require(places.right >= -1, "right_window_size is " + std::to_string(places.right));
  return places;
}

Values convert_attention(NodeContext& node) {
  Attention of{node.input(0), node.input(1), node.input(2), {}, 0, {}, {}, kFloat32, {}, {}};
  size_t rank = of.query.rank();
  node.require((rank == 3 || rank == 4) && of.key.rank() == rank && of.value.rank() == rank,
               "query, key and value must have 3 or 4 axes, all as many");
  int64_t query_heads = node.attr_int("q_num_heads", 0);
  int64_t key_heads = node.attr_int("kv_num_heads", 0);
  if (rank == 3) {
    node.require(query_heads > 0 && key_heads > 0,
                 "q_num_heads and kv_num_heads are needed with 3 axes");
    of.query = split_heads(node, of.query, query_heads, "query");
    of.key = split_heads(node, of.key, key_heads, "key");
    of.value = split_heads(node, of.value, key_heads, "value");
  }
  DType dtype = of.query.dtype();
  of.precision = dtype;
  if (node.has_attr("scale")) of.scale = node.attr_float("scale");
  of.softcap = node.attr_float("softcap", 0);
  node.require(of.softcap >= 0 && std::isfinite(of.softcap),
               "softcap is " + std::to_string(of.softcap));
  if (node.has_attr("softmax_precision")) of.precision = node.attr_dtype("softmax_precision");
  node.require(of.precision.is_float(), "softmax_precision is no type of floats");
  int64_t mode = node.attr_int("qk_matmul_output_mode", 0);
  node.require(mode >= 0 && mode <= 3, "qk_matmul_output_mode is " + std::to_string(mode));
  const Places places = visible_places(node);

  GraphValue offset = join_past(node, of);
  Dim queries = of.query.dim(2), keys = of.key.dim(2);
  GraphValue used;
  if (node.has(6)) {
    node.require(!node.has(4), "nonpad_kv_seqlen and past_key exclude each other");
    GraphValue count = node.input(6);
    node.require(count.rank() == 1,
                 "nonpad_kv_seqlen has " + std::to_string(count.rank()) + " axes; 1 is needed");
    count = node.reshape(node.cast(count, kInt64), {count.dim(0), Dim(1), Dim(1), Dim(1)});
    offset = node.emit("subtract", {count, extent_value(node, queries)});
    used = node.emit("less", {positions(node, keys), count});
  }
  GraphValue mask;
  if (node.has(3)) {
    mask = node.input(3);
    node.require(mask.rank() >= 1 && mask.rank() <= 4,
                 "the mask has " + std::to_string(mask.rank()) + " axes");
    mask = padded_mask(node, mask, keys);
  }
  auto both = [&](const GraphValue& next) {
    of.visible = of.visible ? node.emit("logical_and", {of.visible, next}) : next;
  };
  if (mask && mask.dtype().is_bool()) both(mask);
  if (mask && !mask.dtype().is_bool()) of.bias = mask;
  if (places.any()) both(seen_by_place(node, places, queries, keys, offset));
  if (used) both(used);

  Attended made = attend(node, of);
  GraphValue result = node.cast(rank == 3 ? merge_heads(node, made.result) : made.result, dtype);
  Values results{result};
  if (node.wants(1) || node.wants(2)) {
    results.push_back(of.key);
    results.push_back(of.value);
  }
  if (node.wants(3)) {
    GraphValue shown = mode == 0 ? made.products : mode == 3 ? made.weights : made.capped;
    if (mode == 2) shown = masked_scores(node, of, shown);
    results.resize(3);
    results.push_back(node.cast(shown, dtype));
  }
  return results;
}
RELAY_ONNX("Attention", 23, convert_attention)

Values convert_flex_attention(NodeContext& node) {
  Attention of{node.input(0), node.input(1), node.input(2), {}, 0, {}, {}, kFloat32, {}, {}};
  if (node.has_attr("scale")) of.scale = node.attr_float("scale");
  DType dtype = of.query.dtype();
  of.precision = node.attr_dtype("softmax_precision", dtype == kFloat64 ? kFloat64 : kFloat32);
  node.require(of.precision.is_float(), "softmax_precision is no type of floats");
  auto change = [&](const char* name) -> std::function<GraphValue(const GraphValue&)> {
    if (!node.has_attr(name)) return {};
    const Graph& graph = node.attr_graph(name);
    return [&node, &graph, name](const GraphValue& x) {
      Values results = node.inline_graph(graph, {x});
      bool same = results.size() == 1 && results[0].is_tensor() && results[0].type() == x.type();
      node.require(same, std::string(name) + " does not give one tensor of its input's type");
      return results[0];
    };
  };
  of.change_scores = change("score_mod");
  of.change_weights = change("prob_mod");
  return {node.cast(attend(node, of).result, dtype)};
}
RELAY_ONNX_DOMAIN("ai.onnx.preview", "FlexAttention", 1, convert_flex_attention)

// ---- Rotary positions ---------------------------------------------------------------------------

Values convert_rotary_embedding(NodeContext& node) {
  GraphValue x = node.input(0), cosines = node.input(1), sines = node.input(2);
  bool interleaved = node.attr_bool("interleaved", false);
  int64_t heads = node.attr_int("num_heads", 0);
  int64_t turned = node.attr_int("rotary_embedding_dim", 0);
  bool packed = x.rank() == 3;
  node.require(packed || x.rank() == 4, "the data have " + std::to_string(x.rank()) + " axes");
  if (packed) {
    node.require(heads > 0, "num_heads is needed with 3 axes");
    x = split_heads(node, x, heads, "data");
  }
  int64_t extent = head_extent(node, x, "data");
  if (turned == 0) turned = extent;
  node.require(
      turned > 0 && turned % 2 == 0 && turned <= extent,
      "rotary_embedding_dim is " + std::to_string(turned) + " of " + std::to_string(extent));
  if (node.has(3)) {
    GraphValue places = node.input(3);
    node.require(cosines.rank() == 2 && sines.rank() == 2 && places.rank() == 2,
                 "with position_ids the caches and they need 2 axes");
    AttrList rows{{"axis", 0}};
    cosines = node.emit("take", {cosines, places}, rows);
    sines = node.emit("take", {sines, places}, rows);
  }
  node.require(cosines.rank() == 3 && sines.rank() == 3,
               "without position_ids the caches need 3 axes");
  for (const GraphValue& cache : {cosines, sines}) {
    node.require(cache.dim(2).is_int(turned / 2),
                 "a cache has " + cache.dim(2).str() + " pairs, not " + std::to_string(turned / 2));
  }
  GraphValue result =
      rotate(node, x, node.unsqueeze(cosines, {1}), node.unsqueeze(sines, {1}), interleaved);
  return {packed ? merge_heads(node, result) : result};
}
RELAY_ONNX("RotaryEmbedding", 23, convert_rotary_embedding)

// ---- Convolution over time ----------------------------------------------------------------------

Values convert_causal_conv(NodeContext& node) {
  GraphValue x = node.input(0), weight = node.input(1);
  node.require(x.rank() == 3 && weight.rank() == 3, "data and weights need 3 axes");
  std::string activation = node.attr_string("activation", "none");
  bool silu = activation == "silu" || activation == "swish";
  node.require(silu || activation == "none", "activation is " + quoted(activation));
  node.require(weight.dim(0).is_int() && weight.dim(1).is_int(1) && weight.dim(2).is_int() &&
                   weight.dim(2).as_int() > 0,
               "the weights are no known (channels, 1, k)");
  int64_t channels = weight.dim(0).as_int(), width = weight.dim(2).as_int();
  GraphValue past;
  if (node.has(3)) {
    past = node.input(3);
    node.require(past.rank() == 3 && past.dim(2).is_int(width - 1),
                 "past_state has not the " + std::to_string(width - 1) + " last elements");
  } else {
    Dim dims[] = {x.dim(0), x.dim(1), Dim(width - 1)};
    past = node.broadcast_to(node.scalar(x.dtype(), 0), dims);
  }
  GraphValue whole = width > 1 ? node.concat({past, x}, 2) : x;
  GraphValue result = node.emit(
      "nn.conv1d", {whole, weight},
      {{"groups", channels}, {"channels", channels}, {"kernel_size", std::vector<int64_t>{width}}});
  if (node.has(2)) result = node.emit("nn.bias_add", {result, node.input(2)}, {{"axis", 1}});
  if (silu) result = node.emit("nn.silu", {result});
  GraphValue last = past;
  if (width > 1) {
    std::vector<int64_t> begin{-(width - 1)}, end{int64_t{1} << 60}, axes{2};
    last = node.emit("strided_slice", {whole}, {{"begin", begin}, {"end", end}, {"axes", axes}});
  }
  return {result, last};
}
RELAY_ONNX("CausalConvWithState", 27, convert_causal_conv)

}  // namespace
}  // namespace relay::onnx
