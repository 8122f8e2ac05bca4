// Attention with fewer heads of keys than of queries, as decoders have it, of com.microsoft.
#include <algorithm>

#include <relay/import/onnx/fold.h>
#include <relay/import/onnx/ops/attention.h>
#include <relay/import/onnx/ops/run_time.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

void refuse_other_forms(NodeContext& node) {
  for (size_t i : {12, 13, 16}) {
    node.require(!node.has(i), "input " + std::to_string(i) + " is not supported");
  }
  node.require(node.attr_int("sliding_window_cache", 0) == 0,
               "sliding_window_cache is not supported");
  for (const char* name : {"k_quant_type", "v_quant_type"}) {
    node.require(node.attr_string(name, "NONE") == "NONE", std::string(name) + " is not supported");
  }
  node.ignore({"kv_cache_bit_width"});
}

/// Queries, keys and values of this step, (batch, heads, sequence, extent).
struct Step {
  GraphValue query, key, value;
};

Step step_of(NodeContext& node, int64_t heads, int64_t key_heads) {
  GraphValue query = node.input(0);
  node.require(node.has(1) == node.has(2), "key and value come together");
  if (node.has(1)) {
    return {split_heads(node, query, heads, "query"),
            split_heads(node, node.input(1), key_heads, "key"),
            split_heads(node, node.input(2), key_heads, "value")};
  }
  node.require(query.rank() == 3, "the query has " + std::to_string(query.rank()) + " axes");
  int64_t all = head_extent(node, query, "query"), parts = heads + 2 * key_heads;
  node.require(all % parts == 0, "the last extent of the query, " + std::to_string(all) +
                                     ", does not divide into " + std::to_string(parts) + " heads");
  int64_t begin = 0;
  auto next = [&](int64_t count, const char* what) {
    int64_t end = begin + count * (all / parts);
    GraphValue part = split_heads(node, node.slice(query, 2, begin, end), count, what);
    begin = end;
    return part;
  };
  // In this order.
  GraphValue first = next(heads, "query"), second = next(key_heads, "key");
  return {first, second, next(key_heads, "value")};
}

// Each head of queries and keys divided by its root mean square, where there are weights for that.
void normalise_heads(NodeContext& node, Step& step) {
  node.require(node.has(14) == node.has(15), "q_norm_weight and k_norm_weight come together");
  double epsilon = node.attr_float("qk_norm_epsilon", 1e-6);
  double of_query = node.attr_float("q_norm_epsilon", epsilon);
  double of_key = node.attr_float("k_norm_epsilon", epsilon);
  if (!node.has(14)) return;
  auto normalised = [&](const GraphValue& x, const GraphValue& weight, double each) {
    node.require(weight.rank() == 1 && weight.dim(0) == x.last_dim(),
                 "a weight of the norms is no vector along the heads' extent");
    return node.emit("nn.rms_norm", {x, weight}, {{"epsilon", each}});
  };
  step.query = normalised(step.query, node.input(14), of_query);
  step.key = normalised(step.key, node.input(15), of_key);
}

/// The number of tokens before this step, and where its first token stands.
struct Past {
  Dim length = 0;
  GraphValue first;   // its place: of rank 0, or (batch, 1, 1, 1)
  bool rows = false;  // each row has its own
};

// Rows may have come to different places: then their own `seqlens_k` count.
Past past_of(NodeContext& node, const Step& step) {
  Past past;
  Dim batch = step.query.dim(0), tokens = step.query.dim(2);
  node.require(node.has(3) == node.has(4), "past_key and past_value come together");
  GraphValue lengths = node.input(5),
             total = as_number(node, node.input(6), "total_sequence_length");
  node.require(lengths.rank() <= 2 && lengths.dtype().is_integer(),
               "seqlens_k is no list of integers");
  if (node.has(3)) {
    node.require(node.input(3).rank() == 4 && node.input(4).rank() == 4,
                 "past_key and past_value need 4 axes");
    past.length = node.input(3).dim(2);
  }
  Dim all = past.length + tokens;
  std::string message =
      "total_sequence_length has to be the length of the past and this step: a "
      "shared buffer of the past is not supported";
  past.first = extent_value(node, past.length);
  Dim stated = total.elements() ? total.elements()->front() : Dim::any();
  if (stated.is_int() && all.is_int()) {
    node.require(stated == all, message);
  } else if (surely_equal(stated, all) != Truth::kYes) {
    GraphValue other = node.emit("not_equal", {total, extent_value(node, all)});
    past.first = node.emit("add", {past.first, zero_unless(node, other, message)});
  }
  past.rows = node.has(3) && !batch.is_int(1);
  if (!past.rows) return past;
  GraphValue ends = node.reshape(node.cast(lengths, kInt64), {batch, Dim(1), Dim(1), Dim(1)});
  GraphValue own = node.emit("subtract", {ends, extent_value(node, tokens - 1)});
  GraphValue none = node.emit("equal", {past.first, number_value(node, 0)});
  past.first = node.emit("where", {none, past.first, own});
  return past;
}

// Tokens of the past and those of this step, in their places, with zeros behind.
GraphValue joined(NodeContext& node, const Past& past, const GraphValue& before,
                  const GraphValue& now) {
  GraphValue all = node.concat({before, now}, 2);
  if (!past.rows) return all;
  Dim extent = all.dim(2);
  GraphValue place = node.reshape(positions(node, extent), {extent, Dim(1)});
  GraphValue gap = node.emit("subtract", {extent_value(node, past.length), past.first});
  GraphValue last = extent_value(node, extent - 1);
  GraphValue moved = node.emit("minimum", {node.emit("add", {place, gap}), last});
  GraphValue from = node.emit("where", {node.emit("less", {place, past.first}), place, moved});
  GraphValue found = node.emit("gather", {all, broadcast_like(node, from, all)}, {{"axis", 2}});
  GraphValue end = node.emit("add", {past.first, extent_value(node, now.dim(2))});
  GraphValue used = node.emit("less", {place, end});
  return node.emit("where", {used, found, node.scalar(all.dtype(), 0)});
}

// Queries and keys turned by the angles of their places, where the node asks for that.
void turn_by_places(NodeContext& node, const Past& past, Step& step) {
  const bool interleaved = node.attr_bool("rotary_interleaved", false);
  if (!node.attr_bool("do_rotary", false)) return;
  GraphValue cosines = node.input(7), sines = node.input(8), places;
  node.require(cosines.rank() == 2 && sines.rank() == 2, "the caches need 2 axes");
  if (node.has(9)) {
    places = node.cast(node.input(9), kInt64);
    node.require(places.rank() == 2, "position_ids has " + std::to_string(places.rank()) + " axes");
  } else {
    const Dim rows = past.rows ? step.query.dim(0) : Dim(1);
    GraphValue first = node.reshape(past.first, {rows, Dim(1)});
    places = node.emit("add", {positions(node, step.query.dim(2)), first});
  }
  auto turned = [&](const GraphValue& x) {
    auto at_places = [&](const GraphValue& cache) {
      return node.unsqueeze(node.emit("take", {cache, places}, {{"axis", 0}}), {1});
    };
    return rotate(node, x, at_places(cosines), at_places(sines), interleaved);
  };
  step.query = turned(step.query);
  step.key = turned(step.key);
}

// The scores that the node gives: after softmax, or before it with zeros where nothing is seen.
GraphValue shown_scores(NodeContext& node, const Attention& of, const Attended& made,
                        bool after_softmax) {
  if (after_softmax) return made.weights;
  GraphValue scores = made.capped;
  if (of.bias) scores = node.emit("add", {scores, node.cast(of.bias, scores.dtype())});
  if (of.visible) {
    scores = node.emit("where", {of.visible, scores, node.scalar(scores.dtype(), 0)});
  }
  return scores;
}

Values convert_group_query_attention(NodeContext& node) {
  int64_t heads = node.attr_int("num_heads"), key_heads = node.attr_int("kv_num_heads");
  constexpr int64_t kMost = int64_t{1} << 31;
  node.require(
      heads > 0 && heads < kMost && key_heads > 0 && key_heads < kMost,
      "num_heads is " + std::to_string(heads) + ", kv_num_heads " + std::to_string(key_heads));
  refuse_other_forms(node);
  Step step = step_of(node, heads, key_heads);
  Past past = past_of(node, step);
  Dim tokens = step.query.dim(2);
  node.demand(step.key.dim(2), tokens,
              "there are " + step.key.dim(2).str() + " keys for " + tokens.str() + " queries");

  normalise_heads(node, step);
  turn_by_places(node, past, step);

  Attention of{step.query, step.key, step.value, {}, 0, {}, {}, kFloat32, {}, {}};
  if (node.has(3)) {
    of.key = joined(node, past, node.input(3), step.key);
    of.value = joined(node, past, node.input(4), step.value);
  }
  if (double scale = node.attr_float("scale", 0); scale != 0) of.scale = scale;
  of.softcap = node.attr_float("softcap", 0);
  node.require(of.softcap >= 0 && of.softcap < 1e30, "softcap is " + std::to_string(of.softcap));
  of.bias = node.optional_input(10);
  Places places;
  places.causal = node.attr_bool("causal", true);
  int64_t window = node.attr_int("local_window_size", -1);
  node.require(window == -1 || (window > 0 && places.causal),
               "local_window_size is " + std::to_string(window));
  if (window > 0) places.left = window - 1;
  Dim keys = of.key.dim(2);
  if (places.any()) of.visible = seen_by_place(node, places, tokens, keys, past.first);
  if (!places.causal) {
    GraphValue ends =
        node.reshape(node.cast(node.input(5), kInt64), {step.query.dim(0), Dim(1), Dim(1), Dim(1)});
    of.visible = node.emit("less_equal", {positions(node, keys), ends});
  }
  if (node.has(11)) {
    of.sink = node.input(11);
  } else if (node.attr_int("smooth_softmax", 0) > 0) {
    Dim each[] = {Dim(heads)};
    of.sink = node.broadcast_to(node.scalar(kFloat32, 0), each);
  }
  int64_t shown = node.attr_int("qk_output", 0);
  node.require(shown >= 0 && shown <= 2, "qk_output is " + std::to_string(shown));
  Attended made = attend(node, of);
  DType dtype = node.input(0).dtype();
  GraphValue scores;
  if (node.wants(3)) {
    node.require(shown != 0, "qk_output is 0, and the scores are wanted");
    scores = node.cast(shown_scores(node, of, made, shown != 1), dtype);
  }
  return {node.cast(merge_heads(node, made.result), dtype), of.key, of.value, scores};
}
RELAY_ONNX_DOMAIN("com.microsoft", "GroupQueryAttention", 1, convert_group_query_attention)

}  // namespace
}  // namespace relay::onnx
