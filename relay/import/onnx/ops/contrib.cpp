// Operators that ONNX Runtime's tools fuse, of the domain com.microsoft: activations, norms,
// products.
#include <algorithm>
#include <functional>

#include <relay/import/onnx/ops/arithmetic.h>
#include <relay/import/onnx/ops/quantised.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

#define RELAY_ONNX_MICROSOFT(op_type, convert) \
  RELAY_ONNX_DOMAIN("com.microsoft", op_type, 1, convert)

// ---- Activations --------------------------------------------------------------------------------

GraphValue gelu(NodeContext& node, const GraphValue& x, const char* form) {
  return node.emit("nn.gelu", {x}, {{"approximate", form}});
}
GraphValue with_bias(NodeContext& node, size_t bias) {
  GraphValue x = node.input(0);
  return node.has(bias) ? node.emit("add", {x, node.input(bias)}) : x;
}

Values convert_contrib_gelu(NodeContext& node) { return {gelu(node, node.input(0), "none")}; }
Values convert_contrib_bias_gelu(NodeContext& node) {
  return {gelu(node, with_bias(node, 1), "none")};
}
Values convert_contrib_fast_gelu(NodeContext& node) {
  return {gelu(node, with_bias(node, 1), "tanh")};
}
Values convert_contrib_quick_gelu(NodeContext& node) {
  double alpha = node.attr_float("alpha", 1.702);
  return {node.emit("nn.silu", {node.input(0)}, {{"alpha", alpha}})};
}
RELAY_ONNX_MICROSOFT("Gelu", convert_contrib_gelu)
RELAY_ONNX_MICROSOFT("BiasGelu", convert_contrib_bias_gelu)
RELAY_ONNX_MICROSOFT("FastGelu", convert_contrib_fast_gelu)
RELAY_ONNX_MICROSOFT("QuickGelu", convert_contrib_quick_gelu)

// ---- Norms --------------------------------------------------------------------------------------

void require_row(NodeContext& node, const GraphValue& x, const GraphValue& vector,
                 const char* what) {
  node.require(vector.rank() == 1 && vector.dim(0) == x.last_dim(),
               std::string(what) + " is no vector along the last axis");
}

// Mean and reciprocal of the deviation along the last axis, in float32 at least.
Values row_statistics(NodeContext& node, const GraphValue& x, double epsilon, bool centred) {
  DType wide = x.dtype().bits < 32 ? DType(kFloat32) : x.dtype();
  Arithmetic with(node, wide);
  AttrList rows{{"axis", std::vector<int64_t>{-1}}, {"keepdims", true}};
  GraphValue data = node.cast(x, wide);
  GraphValue mean = node.emit("mean", {data}, rows);
  GraphValue away = centred ? with.subtract(data, mean) : data;
  GraphValue variance = node.emit("mean", {with.multiply(away, away)}, rows);
  return {mean, node.emit("rsqrt", {with.add(variance, epsilon)})};
}

GraphValue normalised(NodeContext& node, const GraphValue& x, const GraphValue& gamma,
                      const GraphValue& beta, double epsilon, bool centred) {
  require_row(node, x, gamma, "gamma");
  if (!centred) return node.emit("nn.rms_norm", {x, gamma}, {{"epsilon", epsilon}});
  if (beta) require_row(node, x, beta, "beta");
  bool center = static_cast<bool>(beta);
  return node.emit("nn.layer_norm", {x, gamma, center ? beta : gamma},
                   {{"epsilon", epsilon}, {"center", center}});
}

// The sum of the data, the other path and a bias, normalised.
Values skip_norm(NodeContext& node, size_t beta, size_t bias, bool centred) {
  GraphValue x = node.input(0), skip = node.input(1), gamma = node.input(2);
  double epsilon = node.attr_float("epsilon", 1e-12);
  GraphValue sum = node.emit("add", {x, skip});
  if (node.has(bias)) {
    require_row(node, x, node.input(bias), "bias");
    sum = node.emit("add", {sum, node.input(bias)});
  }
  GraphValue shift = centred ? node.optional_input(beta) : GraphValue();
  Values results{normalised(node, sum, gamma, shift, epsilon, centred)};
  if (node.wants(1) || node.wants(2)) {
    Values statistics = row_statistics(node, sum, epsilon, centred);
    results.insert(results.end(), statistics.begin(), statistics.end());
  }
  results.resize(3);
  results.push_back(sum);
  return results;
}
Values convert_contrib_skip_layer_norm(NodeContext& node) { return skip_norm(node, 3, 4, true); }
Values convert_contrib_skip_rms_norm(NodeContext& node) { return skip_norm(node, 0, 3, false); }
RELAY_ONNX_MICROSOFT("SkipLayerNormalization", convert_contrib_skip_layer_norm)
RELAY_ONNX_MICROSOFT("SkipSimplifiedLayerNormalization", convert_contrib_skip_rms_norm)

// An operator of the default domain by name, though of no version of it.
Values convert_contrib_simplified_layer_norm(NodeContext& node) {
  GraphValue x = node.input(0);
  int64_t axis = node.axis(node.attr_int("axis", -1), x.rank());
  Values results = node.as_default("RMSNormalization", 23);
  if (!node.wants(1)) return results;
  DType wide = x.dtype().bits < 32 ? DType(kFloat32) : x.dtype();
  std::vector<int64_t> axes;
  for (int64_t k = axis; k < static_cast<int64_t>(x.rank()); ++k) axes.push_back(k);
  Arithmetic with(node, wide);
  GraphValue data = node.cast(x, wide);
  GraphValue mean =
      node.emit("mean", {with.multiply(data, data)}, {{"axis", axes}, {"keepdims", true}});
  results.push_back(node.emit("rsqrt", {with.add(mean, node.attr_float("epsilon", 1e-5))}));
  return results;
}
RELAY_ONNX("SimplifiedLayerNormalization", 1, convert_contrib_simplified_layer_norm)
RELAY_ONNX_MICROSOFT("SimplifiedLayerNormalization", convert_contrib_simplified_layer_norm)

// The sum of the embeddings of words, places and segments, normalised. `rows_of` gives rows of the
// table that is an input; `vector_of` an input that is a vector; `mask` is the input that says
// which tokens count, `places` the one that says where they stand, 0 if there is none.
Values embed_layer_norm(NodeContext& node,
                        const std::function<GraphValue(size_t, const GraphValue&)>& rows_of,
                        const std::function<GraphValue(size_t)>& vector_of, size_t mask,
                        size_t places) {
  GraphValue words = node.input(0);
  double epsilon = node.attr_float("epsilon", 1e-12);
  node.ignore({"mask_index_type"});
  node.require(words.rank() == 2, "input_ids has " + std::to_string(words.rank()) + " axes");
  node.require(node.has(1) == node.has(4), "segment_ids and segment_embedding come together");
  GraphValue sum = rows_of(2, words);
  GraphValue at;
  if (places != 0 && node.has(places)) {
    at = node.input(places);
  } else {
    GraphValue zero = node.scalar(kInt64, 0), one = node.scalar(kInt64, 1);
    GraphValue length = node.known_value({words.dim(1)}, {}, kInt64);
    at = node.emit("arange", {zero, length, one}, {{"dtype", kInt64}});
  }
  sum = node.emit("add", {sum, rows_of(3, at)});
  if (node.has(1)) sum = node.emit("add", {sum, rows_of(4, node.input(1))});
  Values results{normalised(node, sum, vector_of(5), vector_of(6), epsilon, true)};
  if (node.wants(1)) {
    // How many tokens of each row the mask leaves.
    GraphValue count;
    if (node.has(mask)) {
      count = node.emit("sum", {node.cast(node.input(mask), kInt32)},
                        {{"axis", std::vector<int64_t>{1}}});
    } else {
      Dim batch[] = {words.dim(0)};
      count = node.broadcast_to(node.scalar(kInt32, 0), batch);
    }
    results.push_back(count);
  }
  results.resize(2);
  results.push_back(sum);
  return results;
}
Values convert_contrib_embed_layer_norm(NodeContext& node) {
  auto rows_of = [&](size_t i, const GraphValue& at) {
    return node.emit("take", {node.input(i), at}, {{"axis", 0}});
  };
  return embed_layer_norm(
      node, rows_of, [&](size_t i) { return node.input(i); }, 7, 8);
}
RELAY_ONNX_MICROSOFT("EmbedLayerNormalization", convert_contrib_embed_layer_norm)

// Tables and vectors are integers; their scales follow from input 8 on, their zero points from 13.
Values convert_contrib_quantised_embed_layer_norm(NodeContext& node) {
  auto numbers = [&](size_t i, const GraphValue& x) {
    return dequantized(node, x, node.input(i + 6), node.input(i + 11), -1, kFloat32);
  };
  auto rows_of = [&](size_t i, const GraphValue& at) {
    return numbers(i, node.emit("take", {node.input(i), at}, {{"axis", 0}}));
  };
  return embed_layer_norm(
      node, rows_of, [&](size_t i) { return numbers(i, node.input(i)); }, 7, 0);
}
RELAY_ONNX_MICROSOFT("QEmbedLayerNormalization", convert_contrib_quantised_embed_layer_norm)

}  // namespace
}  // namespace relay::onnx
