// What ONNX Runtime's tools fuse, of the domain com.microsoft: activations, norms, products.
#include <algorithm>
#include <functional>

#include <relay/import/onnx/ops/arithmetic.h>
#include <relay/import/onnx/ops/products.h>
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

Values convert_gelu(NodeContext& node) { return {gelu(node, node.input(0), "none")}; }
Values convert_bias_gelu(NodeContext& node) { return {gelu(node, with_bias(node, 1), "none")}; }
Values convert_fast_gelu(NodeContext& node) { return {gelu(node, with_bias(node, 1), "tanh")}; }
Values convert_quick_gelu(NodeContext& node) {
  double alpha = node.attr_float("alpha", 1.702);
  return {node.emit("nn.silu", {node.input(0)}, {{"alpha", alpha}})};
}
RELAY_ONNX_MICROSOFT("Gelu", convert_gelu)
RELAY_ONNX_MICROSOFT("BiasGelu", convert_bias_gelu)
RELAY_ONNX_MICROSOFT("FastGelu", convert_fast_gelu)
RELAY_ONNX_MICROSOFT("QuickGelu", convert_quick_gelu)

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
Values convert_skip_layer_norm(NodeContext& node) { return skip_norm(node, 3, 4, true); }
Values convert_skip_rms_norm(NodeContext& node) { return skip_norm(node, 0, 3, false); }
RELAY_ONNX_MICROSOFT("SkipLayerNormalization", convert_skip_layer_norm)
RELAY_ONNX_MICROSOFT("SkipSimplifiedLayerNormalization", convert_skip_rms_norm)

// Of the default domain by name, though of no version of it.
Values convert_simplified_layer_norm(NodeContext& node) {
  GraphValue x = node.input(0), scale = node.input(1);
  int64_t axis = node.axis(node.attr_int("axis", -1), x.rank());
  double epsilon = node.attr_float("epsilon", 1e-5);
  node.ignore({"stash_type"});
  node.require(axis + 1 == static_cast<int64_t>(x.rank()), "axis is not the last one");
  Values results{normalised(node, x, scale, {}, epsilon, false)};
  if (node.wants(1)) results.push_back(row_statistics(node, x, epsilon, false)[1]);
  return results;
}
RELAY_ONNX("SimplifiedLayerNormalization", 1, convert_simplified_layer_norm)
RELAY_ONNX_MICROSOFT("SimplifiedLayerNormalization", convert_simplified_layer_norm)

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
Values convert_embed_layer_norm(NodeContext& node) {
  auto rows_of = [&](size_t i, const GraphValue& at) {
    return node.emit("take", {node.input(i), at}, {{"axis", 0}});
  };
  return embed_layer_norm(
      node, rows_of, [&](size_t i) { return node.input(i); }, 7, 8);
}
RELAY_ONNX_MICROSOFT("EmbedLayerNormalization", convert_embed_layer_norm)

// Tables and vectors are integers; their scales follow from input 8 on, their zero points from 13.
Values convert_quantised_embed_layer_norm(NodeContext& node) {
  auto numbers = [&](size_t i, const GraphValue& x) {
    return dequantized(node, x, node.input(i + 6), node.input(i + 11), -1, kFloat32);
  };
  auto rows_of = [&](size_t i, const GraphValue& at) {
    return numbers(i, node.emit("take", {node.input(i), at}, {{"axis", 0}}));
  };
  return embed_layer_norm(
      node, rows_of, [&](size_t i) { return numbers(i, node.input(i)); }, 7, 0);
}
RELAY_ONNX_MICROSOFT("QEmbedLayerNormalization", convert_quantised_embed_layer_norm)

// ---- Products -----------------------------------------------------------------------------------

Values convert_fused_matmul(NodeContext& node) {
  GraphValue a = node.input(0), b = node.input(1);
  double alpha = node.attr_float("alpha", 1);
  bool trans_a = node.attr_bool("transA", false), trans_b = node.attr_bool("transB", false);
  // Batches that come after the rows: (rows, batch …, inner) becomes (batch …, rows, inner).
  auto batches_first = [&](const GraphValue& x, bool asked) {
    if (!asked || x.rank() < 3) return x;
    std::vector<int64_t> axes;
    for (size_t k = 1; k + 1 < x.rank(); ++k) axes.push_back(static_cast<int64_t>(k));
    axes.push_back(0);
    axes.push_back(static_cast<int64_t>(x.rank()) - 1);
    return node.transpose(x, axes);
  };
  auto transposed = [&](const GraphValue& x, bool asked) {
    if (!asked || x.rank() < 2) return x;
    std::vector<int64_t> axes(x.rank());
    for (size_t k = 0; k < axes.size(); ++k) axes[k] = static_cast<int64_t>(k);
    std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
    return node.transpose(x, axes);
  };
  a = batches_first(a, node.attr_bool("transBatchA", false));
  b = batches_first(b, node.attr_bool("transBatchB", false));
  GraphValue result = !trans_a && trans_b && a.rank() >= 2 && b.rank() == 2
                          ? node.emit("nn.dense", {a, b})
                          : matmul(node, transposed(a, trans_a), transposed(b, trans_b));
  if (alpha != 1) result = node.emit("multiply", {result, node.scalar(result.dtype(), alpha)});
  return {result};
}
RELAY_ONNX_MICROSOFT("FusedMatMul", convert_fused_matmul)

Values convert_fused_conv(NodeContext& node) {
  GraphValue result = convolution(node);
  if (node.has(3)) result = node.emit("add", {result, node.input(3)});
  std::string name = node.attr_string("activation", "");
  std::vector<double> params = node.attr_floats("activation_params", std::vector<double>());
  auto param = [&](size_t k) {
    node.require(k < params.size(), "activation_params has " + std::to_string(params.size()) +
                                        " entries, which is too few for " + name);
    return params[k];
  };
  if (name.empty()) return {result};
  if (name == "Relu") return {node.emit("nn.relu", {result})};
  if (name == "Sigmoid") return {node.emit("sigmoid", {result})};
  if (name == "Tanh") return {node.emit("tanh", {result})};
  if (name == "LeakyRelu") return {node.emit("nn.leaky_relu", {result}, {{"alpha", param(0)}})};
  if (name == "Clip") {
    return {node.emit("clip", {result}, {{"a_min", param(0)}, {"a_max", param(1)}})};
  }
  if (name == "HardSigmoid") {
    Arithmetic with(node, result.dtype());
    GraphValue line = with.add(with.multiply(result, param(0)), param(1));
    return {node.emit("clip", {line}, {{"a_min", 0.0}, {"a_max", 1.0}})};
  }
  node.fail("activation is " + quoted(name));
}
RELAY_ONNX_MICROSOFT("FusedConv", convert_fused_conv)

}  // namespace
}  // namespace relay::onnx
