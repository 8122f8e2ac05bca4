// The attention operators of the domain com.microsoft.
#include <algorithm>
#include <cmath>

#include <relay/import/onnx/ops/attention.h>
#include <relay/import/onnx/ops/products.h>
#include <relay/import/onnx/ops/quantised.h>
#include <relay/import/onnx/ops/run_time.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

struct Form {
  int64_t heads = 0;
  bool causal = false;
  double filter = -10000;  // what is added to scores of keys that a mask hides
  std::optional<double> scale;
};

Form form_of(NodeContext& node) {
  Form form;
  form.heads = node.attr_int("num_heads");
  node.require(form.heads > 0, "num_heads is " + std::to_string(form.heads));
  form.causal = node.attr_bool("unidirectional", false);
  form.filter = node.attr_float("mask_filter_value", form.filter);
  // 0 stands for the usual factor.
  if (double scale = node.attr_float("scale", 0); scale != 0) form.scale = scale;
  return form;
}

/// Projected queries, keys and values, with what is masked and what came before.
struct Inputs {
  GraphValue query, key, value;  // (batch, heads, sequence, extent)
  GraphValue mask, bias;         // may be nothing
  Dim past = 0;                  // keys before
};

// The bias that a mask adds to scores: (batch, 1, 1 or queries, keys). It may be ones and zeros for
// keys or for pairs, or the numbers of keys that count: one for each sequence, or all ends, then
// all begins.
GraphValue mask_bias(NodeContext& node, const Form& form, const Inputs& in) {
  const GraphValue& mask = in.mask;
  DType dtype = in.query.dtype();
  Dim batch = in.query.dim(0), keys = in.key.dim(2);
  GraphValue seen;
  if (mask.rank() == 4) {
    // The rows of the queries and the columns of the keys are taken from a larger square.
    GraphValue none = extent_value(node, 0), past = extent_value(node, in.past);
    GraphValue end = extent_value(node, in.past + in.query.dim(2));
    GraphValue part = slice_between(node, mask, 2, past, end);
    part = slice_between(node, part, 3, none, extent_value(node, keys));
    seen = node.emit("not_equal", {part, node.scalar(mask.dtype(), 0)});
  } else if (mask.rank() == 1) {
    GraphValue place = positions(node, keys);
    GraphValue bounds = node.cast(mask, kInt64);
    auto column = [&](const GraphValue& list) {
      return node.reshape(list, {batch, Dim(1), Dim(1), Dim(1)});
    };
    if (mask.dim(0) == batch) {
      seen = node.emit("less", {place, column(bounds)});
    } else {
      node.require(batch.is_int() && mask.dim(0) == batch * 2,
                   "the mask has " + mask.dim(0).str() + " entries for a batch of " + batch.str());
      GraphValue end = column(node.slice(bounds, 0, 0, batch.as_int()));
      GraphValue begin = column(node.slice(bounds, 0, batch.as_int(), 2 * batch.as_int()));
      seen = node.emit("logical_and", {node.emit("less", {place, end}),
                                       node.emit("greater_equal", {place, begin})});
    }
  } else {
    node.require(mask.rank() == 2 || mask.rank() == 3,
                 "the mask has " + std::to_string(mask.rank()) + " axes; 1 to 4 are supported");
    GraphValue flags = node.emit("not_equal", {mask, node.scalar(mask.dtype(), 0)});
    seen = mask.rank() == 2 ? node.unsqueeze(flags, {1, 2}) : node.unsqueeze(flags, {1});
  }
  return node.emit("where", {seen, node.scalar(dtype, 0), node.scalar(dtype, form.filter)});
}

// The result, and the scores as softmax takes them where `scores` is a place for them.
GraphValue attended(NodeContext& node, const Form& form, const Inputs& in,
                    GraphValue* scores = nullptr) {
  Attention of{in.query, in.key, in.value, form.scale, 0, in.bias, {}, in.query.dtype(), {}, {}};
  Dim keys = in.key.dim(2);
  if (in.mask) {
    GraphValue bias = mask_bias(node, form, in);
    of.bias = of.bias ? node.emit("add", {of.bias, bias}) : bias;
  }
  if (form.causal) {
    Places places;
    places.causal = true;
    of.visible = seen_by_place(node, places, in.query.dim(2), keys, extent_value(node, in.past));
  }
  Attended made = attend(node, of);
  if (scores != nullptr) {
    *scores = node.cast(masked_scores(node, of, made.capped), in.query.dtype());
  }
  return merge_heads(node, made.result);
}

// Queries, keys and values of one product, one beside the other; `sizes` are their extents.
void split_product(NodeContext& node, const Form& form, const GraphValue& product,
                   const std::vector<int64_t>& sizes, Inputs& in) {
  GraphValue* parts[] = {&in.query, &in.key, &in.value};
  const char* names[] = {"query", "key", "value"};
  int64_t at = 0;
  for (size_t k = 0; k < 3; ++k) {
    GraphValue part = node.slice(product, 2, at, at + sizes[k]);
    *parts[k] = split_heads(node, part, form.heads, names[k]);
    at += sizes[k];
  }
}

// Keys and values of earlier steps as one tensor (2, batch, heads, sequence, extent).
GraphValue joined_past(NodeContext& node, const GraphValue& past, Inputs& in) {
  if (past) {
    node.require(past.rank() == 5 && past.dim(0).is_int(2),
                 "past is no (2, batch, heads, sequence, extent)");
    auto part = [&](int64_t k) {
      return node.emit("squeeze", {node.slice(past, 0, k, k + 1)},
                       {{"axis", std::vector<int64_t>{0}}});
    };
    in.past = past.dim(3);
    in.key = node.concat({part(0), in.key}, 2);
    in.value = node.concat({part(1), in.value}, 2);
  }
  if (!node.wants(1)) return {};
  return node.concat({node.unsqueeze(in.key, {0}), node.unsqueeze(in.value, {0})}, 0);
}

std::vector<int64_t> product_sizes(NodeContext& node, const GraphValue& weights) {
  node.require(weights.rank() == 2 && weights.dim(1).is_int(),
               "the weights are no matrix of known extents");
  int64_t all = weights.dim(1).as_int();
  std::vector<int64_t> sizes = node.attr_ints("qkv_hidden_sizes", std::vector<int64_t>(3, all / 3));
  bool fits = sizes.size() == 3 &&
              std::all_of(sizes.begin(), sizes.end(), [](int64_t size) { return size > 0; }) &&
              sizes[0] <= all && sizes[1] <= all && sizes[2] <= all &&
              sizes[0] + sizes[1] + sizes[2] == all && sizes[0] == sizes[1];
  node.require(fits, "qkv_hidden_sizes do not divide the " + std::to_string(all) +
                         " columns of the weights");
  return sizes;
}

void refuse_shared_buffer(NodeContext& node) {
  node.require(!node.attr_bool("past_present_share_buffer", false),
               "past_present_share_buffer is not supported");
  node.require(!node.attr_bool("do_rotary", false), "do_rotary is not supported");
  node.ignore({"rotary_embedding_dim"});
}

Values convert_contrib_attention(NodeContext& node) {
  GraphValue x = node.input(0), weights = node.input(1);
  Form form = form_of(node);
  refuse_shared_buffer(node);
  node.require(x.rank() == 3, "the data have " + std::to_string(x.rank()) + " axes");
  std::vector<int64_t> sizes = product_sizes(node, weights);
  GraphValue product = matmul(node, x, weights);
  if (node.has(2)) product = node.emit("add", {product, node.input(2)});
  Inputs in;
  split_product(node, form, product, sizes, in);
  in.mask = node.optional_input(3);
  in.bias = node.optional_input(5);
  GraphValue present = joined_past(node, node.optional_input(4), in);
  return {attended(node, form, in), present};
}
RELAY_ONNX_DOMAIN("com.microsoft", "Attention", 1, convert_contrib_attention)

// The product is of integers, its numbers those that they stand for.
Values convert_quantised_attention(NodeContext& node) {
  GraphValue x = node.input(0), weights = node.input(1), bias = node.input(2);
  Form form = form_of(node);
  refuse_shared_buffer(node);
  node.require(x.rank() == 3, "the data have " + std::to_string(x.rank()) + " axes");
  std::vector<int64_t> sizes = product_sizes(node, weights);
  GraphValue sums =
      integer_matmul(node, x, weights, node.optional_input(6), node.optional_input(7));
  GraphValue x_scale = node.reshape(node.input(3), {}), scale = node.input(4);
  if (scale.rank() == 1 && scale.dim(0).is_int(1)) scale = node.reshape(scale, {});
  GraphValue product =
      node.emit("multiply", {node.cast(sums, kFloat32), node.emit("multiply", {x_scale, scale})});
  product = node.emit("add", {product, bias});
  Inputs in;
  split_product(node, form, product, sizes, in);
  in.mask = node.optional_input(5);
  GraphValue present = joined_past(node, node.optional_input(8), in);
  return {attended(node, form, in), present};
}
RELAY_ONNX_DOMAIN("com.microsoft", "QAttention", 1, convert_quantised_attention)

Values convert_multi_head_attention(NodeContext& node) {
  GraphValue query = node.input(0);
  Form form = form_of(node);
  Inputs in;
  node.require(!node.has(8) && !node.has(9), "a shared buffer of the past is not supported");
  // Part k of values that are packed along the axis before the last: (batch, heads, …).
  auto unpacked = [&](const GraphValue& packed, int64_t k) {
    GraphValue part = node.slice(packed, 3, k, k + 1);
    part = node.emit("squeeze", {part}, {{"axis", std::vector<int64_t>{3}}});
    return node.transpose(part, {0, 2, 1, 3});
  };
  auto packed_for = [&](const GraphValue& x, int64_t parts) {
    return x.rank() == 5 && x.dim(2).is_int(form.heads) && x.dim(3).is_int(parts);
  };
  GraphValue bias = node.optional_input(3);
  if (!node.has(1)) {
    node.require(packed_for(query, 3) && !bias,
                 "the query alone is no (batch, sequence, heads, 3, extent) without a bias");
    in.query = unpacked(query, 0);
    in.key = unpacked(query, 1);
    in.value = unpacked(query, 2);
  } else {
    GraphValue key = node.input(1);
    node.require(query.rank() == 3 && query.dim(2).is_int(),
                 "the query has " + std::to_string(query.rank()) + " axes or no known extent");
    int64_t width = query.dim(2).as_int();
    auto part_of_bias = [&](const GraphValue& x, int64_t begin, int64_t extent) {
      if (!bias) return x;
      node.require(bias.rank() == 1, "the bias has " + std::to_string(bias.rank()) + " axes");
      return node.emit("add", {x, node.slice(bias, 0, begin, begin + extent)});
    };
    in.query = split_heads(node, part_of_bias(query, 0, width), form.heads, "query");
    if (!node.has(2)) {
      node.require(packed_for(key, 2) && !bias,
                   "the key alone is no (batch, sequence, heads, 2, extent) without a bias");
      in.key = unpacked(key, 0);
      in.value = unpacked(key, 1);
    } else if (key.rank() == 4) {
      // The query's part of the bias counts.
      in.key = key;
      in.value = node.input(2);
    } else {
      GraphValue value = node.input(2);
      node.require(key.rank() == 3 && value.rank() == 3 && value.dim(2).is_int(),
                   "key and value need 3 axes and a known last extent");
      in.key = split_heads(node, part_of_bias(key, width, width), form.heads, "key");
      in.value = split_heads(node, part_of_bias(value, 2 * width, value.dim(2).as_int()),
                             form.heads, "value");
    }
  }
  node.require(node.has(6) == node.has(7), "past_key and past_value come together");
  if (node.has(6)) {
    in.past = node.input(6).dim(2);
    in.key = node.concat({node.input(6), in.key}, 2);
    in.value = node.concat({node.input(7), in.value}, 2);
  }
  in.mask = node.optional_input(4);
  in.bias = node.optional_input(5);
  GraphValue scores;
  GraphValue result = attended(node, form, in, node.wants(3) ? &scores : nullptr);
  return {result, in.key, in.value, scores};
}
RELAY_ONNX_DOMAIN("com.microsoft", "MultiHeadAttention", 1, convert_multi_head_attention)

Values convert_contrib_rotary_embedding(NodeContext& node) {
  GraphValue x = node.input(0), places = node.input(1);
  GraphValue cosines = node.input(2), sines = node.input(3);
  bool interleaved = node.attr_bool("interleaved", false);
  int64_t heads = node.attr_int("num_heads", 0);
  int64_t turned = node.attr_int("rotary_embedding_dim", 0);
  node.ignore({"scale"});  // which ONNX Runtime's does not read
  node.require(!node.attr_bool("is_packed_batching", false), "is_packed_batching is not supported");
  node.require(cosines.rank() == 2 && sines.rank() == 2, "the caches need 2 axes");
  bool packed = x.rank() == 3;
  node.require(packed || x.rank() == 4, "the data have " + std::to_string(x.rank()) + " axes");
  if (packed) {
    // Without the number of heads, an extent is twice the number of the cache's angles.
    if (heads == 0) {
      int64_t pairs = head_extent(node, cosines, "cache");
      node.require(turned == 0, "rotary_embedding_dim needs num_heads");
      heads = head_extent(node, x, "data") / (2 * pairs);
    }
    x = split_heads(node, x, heads, "data");
  }
  int64_t extent = head_extent(node, x, "data");
  if (turned == 0) turned = extent;
  node.require(cosines.dim(1).is_int(turned / 2) && sines.dim(1).is_int(turned / 2),
               "the caches have not " + std::to_string(turned / 2) + " pairs");
  if (places.rank() == 1) {
    // The place of the first token of all rows.
    node.require(places.dim(0).is_int(1), "position_ids is neither one number nor a matrix");
    places = node.emit("add", {positions(node, x.dim(2)), node.cast(places, kInt64)});
    places = node.unsqueeze(places, {0});
  }
  node.require(places.rank() == 2, "position_ids is neither one number nor a matrix");
  auto at_places = [&](const GraphValue& cache) {
    return node.unsqueeze(node.emit("take", {cache, places}, {{"axis", 0}}), {1});
  };
  GraphValue result = rotate(node, x, at_places(cosines), at_places(sines), interleaved);
  return {packed ? merge_heads(node, result) : result};
}
RELAY_ONNX_DOMAIN("com.microsoft", "RotaryEmbedding", 1, convert_contrib_rotary_embedding)

}  // namespace
}  // namespace relay::onnx
