// Operators that ONNX Runtime's tools fuse around norms of channels and softmax for processors that
// keep channels last, of the domain com.microsoft.
#include <relay/import/onnx/ops/spatial.h>
#include <relay/op/registry/relation.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

#define RELAY_ONNX_MICROSOFT(op_type, convert) \
  RELAY_ONNX_DOMAIN("com.microsoft", op_type, 1, convert)

GraphValue group_normalised(NodeContext& node, const GraphValue& x) {
  bool last = node.attr_bool("channels_last", true), silu = node.attr_bool("activation", false);
  int64_t groups = node.attr_int("groups");
  double epsilon = node.attr_float("epsilon", 1e-5);
  node.require(x.rank() >= 3, "the data have " + std::to_string(x.rank()) + " axes");
  auto axis = last ? static_cast<int64_t>(x.rank()) - 1 : 1;
  Dim channels = x.dim(static_cast<size_t>(axis));
  node.require(channels.is_int() && groups > 0 && channels.as_int() % groups == 0,
               "groups is " + std::to_string(groups) + " for " + channels.str() + " channels");
  // Rounded once.
  DType wide = x.dtype().bits < 32 ? DType(kFloat32) : x.dtype();
  GraphValue gamma = node.cast(node.input(1), wide), beta = node.cast(node.input(2), wide);
  GraphValue data = node.cast(last ? channels_first(node, x) : x, wide);
  GraphValue result = node.emit("nn.group_norm", {data, gamma, beta},
                                {{"num_groups", groups}, {"axis", 1}, {"epsilon", epsilon}});
  if (silu) result = node.emit("nn.silu", {result});
  return node.cast(last ? channels_last(node, result) : result, x.dtype());
}

Values convert_contrib_group_norm(NodeContext& node) {
  return {group_normalised(node, node.input(0))};
}
RELAY_ONNX_MICROSOFT("GroupNorm", convert_contrib_group_norm)

// The sum with another path and a bias comes first.
Values convert_contrib_skip_group_norm(NodeContext& node) {
  GraphValue x = node.input(0), skip = node.input(3);
  bool last = node.attr_bool("channels_last", true);
  node.require(x.rank() >= 3, "the data have " + std::to_string(x.rank()) + " axes");
  size_t spatial = x.rank() - 2;
  auto of_channels = [&](const GraphValue& each) {
    if (each.rank() == x.rank()) return each;
    std::vector<Dim> dims(each.dims().begin(), each.dims().end());
    dims.insert(last ? dims.end() - 1 : dims.end(), spatial, Dim(1));
    return node.reshape(each, dims);
  };
  node.require(skip.rank() == x.rank() || skip.rank() == 2,
               "skip has " + std::to_string(skip.rank()) + " axes");
  GraphValue sum = node.emit("add", {x, of_channels(skip)});
  if (node.has(4)) {
    node.require(node.input(4).rank() == 1, "the bias is no vector");
    sum = node.emit("add", {sum, of_channels(node.input(4))});
  }
  return {group_normalised(node, sum), sum};
}
RELAY_ONNX_MICROSOFT("SkipGroupNorm", convert_contrib_skip_group_norm)

Values convert_contrib_bias_add(NodeContext& node) {
  GraphValue sum = node.emit("add", {node.input(0), node.input(1)});
  return {node.emit("add", {sum, node.input(2)})};
}
RELAY_ONNX_MICROSOFT("BiasAdd", convert_contrib_bias_add)

// The first half of the last axis times what gelu makes of the second.
Values convert_contrib_bias_split_gelu(NodeContext& node) {
  GraphValue x = node.emit("add", {node.input(0), node.input(1)});
  Dim width = x.last_dim();
  node.require(width.is_int() && width.as_int() % 2 == 0,
               "the last extent is " + width.str() + ", no known even number");
  int64_t half = width.as_int() / 2, axis = static_cast<int64_t>(x.rank()) - 1;
  GraphValue gate = node.emit("nn.gelu", {node.slice(x, axis, half, 2 * half)});
  return {node.emit("multiply", {node.slice(x, axis, 0, half), gate})};
}
RELAY_ONNX_MICROSOFT("BiasSplitGelu", convert_contrib_bias_split_gelu)

// Softmax over all axes from one on, of a sum with a bias that may lack axes before that one: the
// last of them or all.
Values convert_contrib_bias_softmax(NodeContext& node) {
  GraphValue x = node.input(0), bias = node.input(1);
  int64_t axis = node.axis(node.attr_int("axis", 1), x.rank());
  node.ignore({"is_inner_broadcast"});  // the shape of the bias says it
  GraphValue sum = node.emit("add", {x, bias});
  auto at = static_cast<size_t>(axis);
  Dim dims[] = {product(x.dims().first(at)), product(x.dims().subspan(at))};
  GraphValue flat = node.emit("nn.softmax", {node.reshape(sum, dims)}, {{"axis", 1}});
  return {node.reshape(flat, x.dims())};
}
RELAY_ONNX_MICROSOFT("BiasSoftmax", convert_contrib_bias_softmax)

}  // namespace
}  // namespace relay::onnx
