// Normalisation, and Dropout.
#include <algorithm>
#include <limits>

#include <relay/import/onnx/ops/arithmetic.h>
#include <relay/op/registry/relation.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

DType at_least_float32(DType dtype) { return dtype.bits < 32 ? DType(kFloat32) : dtype; }

// A vector for axis 1 of data of a rank.
GraphValue per_channel(NodeContext& node, const GraphValue& vector, size_t rank) {
  std::vector<int64_t> axes;
  for (size_t k = 2; k < rank; ++k) axes.push_back(static_cast<int64_t>(k) - 1);
  return node.unsqueeze(vector, axes);
}

// ---- Of batches ---------------------------------------------------------------------------------

// Mean and variance over all axes but the channels'.
Values batch_statistics(NodeContext& node, const GraphValue& x) {
  std::vector<int64_t> axes{0};
  for (size_t k = 2; k < x.rank(); ++k) axes.push_back(static_cast<int64_t>(k));
  GraphValue mean = node.emit("mean", {x}, {{"axis", axes}});
  GraphValue away = node.emit("subtract", {x, per_channel(node, mean, x.rank())});
  GraphValue squares = node.emit("multiply", {away, away});
  return {mean, node.emit("mean", {squares}, {{"axis", axes}})};
}

// With parameters for each element of a sample (`spatial` of old versions): (x - mean) · factor.
GraphValue normalised_elements(NodeContext& node, const Values& args, double epsilon) {
  Arithmetic with(node, args[0].dtype());
  GraphValue factor = node.emit("rsqrt", {with.add(args[4], epsilon)});
  GraphValue result = with.multiply(with.subtract(args[0], args[3]), factor);
  return with.add(with.multiply(result, args[1]), args[2]);
}

Values convert_batch_norm(NodeContext& node) {
  GraphValue x = node.input(0);
  double epsilon = node.attr_float("epsilon", 1e-5), momentum = node.attr_float("momentum", 0.9);
  bool training = node.opset() >= 14 && node.attr_bool("training_mode", false);
  for (size_t k = 1; k < node.num_outputs(); ++k) training = training || node.wants(k);
  if (node.opset() < 7) training = !node.attr_bool("is_test", false);
  bool spatial = node.opset() >= 9 || node.attr_bool("spatial", true);
  node.require(x.rank() >= 2, "the data have no channels");
  node.require(spatial || !training, "spatial is 0 in training");
  DType dtype = x.dtype(), wide = at_least_float32(dtype);
  Values args{x, node.input(1), node.input(2), node.input(3), node.input(4)};
  bool same = std::all_of(args.begin(), args.end(),
                          [&](const GraphValue& arg) { return arg.dtype() == dtype; });
  if (!same || training) {
    for (GraphValue& arg : args) arg = node.cast(arg, wide);
  }
  if (!spatial) return {node.cast(normalised_elements(node, args, epsilon), dtype)};
  Values old{args[3], args[4]}, batch;
  if (training) {
    batch = batch_statistics(node, args[0]);
    std::copy(batch.begin(), batch.end(), args.begin() + 3);
  }
  GraphValue result = node.emit("nn.batch_norm", args, {{"axis", 1}, {"epsilon", epsilon}});
  Values results{node.cast(node.field(result, 0), dtype)};
  if (!training) return results;
  Arithmetic with(node, args[0].dtype());
  for (size_t k = 0; k < 2; ++k) {
    GraphValue running =
        with.add(with.multiply(old[k], momentum), with.multiply(batch[k], 1 - momentum));
    results.push_back(node.cast(running, node.input(3 + k).dtype()));
  }
  for (size_t k = 0; k < 2; ++k) results.push_back(node.cast(batch[k], node.input(3 + k).dtype()));
  return results;
}
RELAY_ONNX("BatchNormalization", 6, convert_batch_norm)

// ---- Of layers ----------------------------------------------------------------------------------

// Over the axes from `axis` on: as one axis of a matrix, if they are several.
Values convert_layer_norm(NodeContext& node) {
  GraphValue x = node.input(0), scale = node.input(1);
  int64_t axis = node.axis(node.attr_int("axis", -1), x.rank());
  double epsilon = node.attr_float("epsilon", 1e-5);
  int64_t stash = node.attr_int("stash_type", 1);
  auto first = static_cast<size_t>(axis);
  std::span<const Dim> inner = x.dims().subspan(first);
  Dim width = product(inner);
  bool full = scale.rank() <= inner.size() && product(scale.dims()) == width;
  bool plain = full && !node.wants(1) && !node.wants(2) && inner.size() == 1 &&
               (x.dtype() == kFloat32 || stash == number_of_dtype(x.dtype()));
  if (plain) {
    GraphValue beta = node.has(2) ? node.input(2) : scale;
    GraphValue flat = node.reshape(scale, {width});
    beta = node.reshape(beta, {width});
    return {node.emit("nn.layer_norm", {x, flat, beta},
                      {{"axis", axis}, {"epsilon", epsilon}, {"center", node.has(2)}})};
  }
  std::optional<DType> wide = dtype_of_number(stash);
  node.require(wide && wide->is_float(), "stash_type is " + std::to_string(stash));
  std::vector<int64_t> axes;
  for (auto k = axis; k < static_cast<int64_t>(x.rank()); ++k) axes.push_back(k);
  AttrList over{{"axis", axes}, {"keepdims", true}};
  GraphValue data = node.cast(x, *wide);
  GraphValue mean = node.emit("mean", {data}, over);
  GraphValue away = node.emit("subtract", {data, mean});
  GraphValue variance = node.emit("mean", {node.emit("multiply", {away, away})}, over);
  GraphValue factor =
      node.emit("rsqrt", {node.emit("add", {variance, node.scalar(*wide, epsilon)})});
  GraphValue result = node.cast(node.emit("multiply", {away, factor}), x.dtype());
  result = node.emit("multiply", {result, scale});
  if (node.has(2)) result = node.emit("add", {result, node.input(2)});
  return {result, mean, factor};
}
// Tools that fuse write it under operator sets that do not have it yet.
RELAY_ONNX("LayerNormalization", 1, convert_layer_norm)

// x / sqrt(mean(x²) + epsilon) · scale over the axes from `axis` on.
Values convert_rms_norm(NodeContext& node) {
  GraphValue x = node.input(0), scale = node.input(1);
  int64_t axis = node.axis(node.attr_int("axis", -1), x.rank());
  double epsilon = node.attr_float("epsilon", 1e-5);
  int64_t stash = node.attr_int("stash_type", 1);
  std::optional<DType> wide = dtype_of_number(stash);
  node.require(wide && wide->is_float(), "stash_type is " + std::to_string(stash));
  bool last = axis + 1 == static_cast<int64_t>(x.rank());
  bool plain = last && scale.rank() == 1 && scale.dim(0) == x.last_dim() && x.dtype() == *wide &&
               scale.dtype() == x.dtype();
  if (plain) {
    return {node.emit("nn.rms_norm", {x, scale}, {{"axis", axis}, {"epsilon", epsilon}})};
  }
  std::vector<int64_t> axes;
  for (auto k = axis; k < static_cast<int64_t>(x.rank()); ++k) axes.push_back(k);
  Arithmetic with(node, *wide);
  GraphValue data = node.cast(x, *wide);
  GraphValue mean =
      node.emit("mean", {with.multiply(data, data)}, {{"axis", axes}, {"keepdims", true}});
  GraphValue factor = node.emit("rsqrt", {with.add(mean, epsilon)});
  GraphValue result = node.cast(with.multiply(data, factor), scale.dtype());
  return {node.emit("multiply", {result, scale})};
}
RELAY_ONNX("RMSNormalization", 23, convert_rms_norm)

// ---- Of channels --------------------------------------------------------------------------------

Values convert_instance_norm(NodeContext& node) {
  GraphValue x = node.input(0);
  double epsilon = node.attr_float("epsilon", 1e-5);
  node.ignore({"consumed_inputs"});  // of the oldest versions, without meaning
  node.require(x.rank() >= 3, "the data have " + std::to_string(x.rank()) + " axes");
  return {node.emit("nn.instance_norm", {x, node.input(1), node.input(2)},
                    {{"axis", 1}, {"epsilon", epsilon}})};
}
RELAY_ONNX("InstanceNormalization", 6, convert_instance_norm)

// Before opset 21 scale and bias are for groups, then for channels.
Values convert_group_norm(NodeContext& node) {
  GraphValue x = node.input(0), scale = node.input(1), bias = node.input(2);
  double epsilon = node.attr_float("epsilon", 1e-5);
  int64_t groups = node.attr_int("num_groups");
  node.require(x.rank() >= 2 && x.dim(1).is_int(), "the number of channels is not known");
  int64_t channels = x.dim(1).as_int();
  node.require(
      groups > 0 && channels % groups == 0,
      "num_groups is " + std::to_string(groups) + " for " + std::to_string(channels) + " channels");
  DType dtype = x.dtype(), wide = dtype;
  if (node.opset() >= 21) {
    int64_t stash = node.attr_int("stash_type", 1);
    std::optional<DType> stated = dtype_of_number(stash);
    node.require(stated && stated->is_float(), "stash_type is " + std::to_string(stash));
    if (stated->bits > dtype.bits) wide = *stated;
  } else {
    auto each_channel = [&](const GraphValue& vector, const char* what) {
      node.require(vector.rank() == 1 && vector.dim(0).is_int(groups),
                   std::string(what) + " has not one entry for each group");
      return node.emit("repeat", {vector}, {{"repeats", channels / groups}, {"axis", 0}});
    };
    scale = each_channel(scale, "scale");
    bias = each_channel(bias, "bias");
  }
  GraphValue result = node.emit("nn.group_norm",
                                {node.cast(x, wide), node.cast(scale, wide), node.cast(bias, wide)},
                                {{"num_groups", groups}, {"axis", 1}, {"epsilon", epsilon}});
  return {node.cast(result, dtype)};
}
RELAY_ONNX("GroupNormalization", 18, convert_group_norm)

// An even number of neighbours has one more after the element, as in Relay.
Values convert_lrn(NodeContext& node) {
  int64_t size = node.attr_int("size");
  double alpha = node.attr_float("alpha", 1e-4), beta = node.attr_float("beta", 0.75);
  double bias = node.attr_float("bias", 1);
  return {
      node.emit("nn.lrn", {node.input(0)},
                {{"size", size}, {"axis", 1}, {"bias", bias}, {"alpha", alpha}, {"beta", beta}})};
}
RELAY_ONNX("LRN", 1, convert_lrn)

// ---- Dropout ------------------------------------------------------------------------------------

// In training elements are kept by chance; what is not is a share of `ratio`. The numbers are
// Relay's own: those of one seed are always the same.
Values dropout_in_training(NodeContext& node, const GraphValue& x, const GraphValue& ratio,
                           const GraphValue& training) {
  std::vector<int64_t> shape;
  for (Dim dim : x.dims()) {
    node.require(dim.is_int(), "training needs the extents of the data");
    shape.push_back(dim.as_int());
  }
  std::vector<uint64_t> key(10, 0);
  key[0] = static_cast<uint64_t>(node.attr_int("seed", 0));
  key[8] = uint64_t{1} << 63;
  GraphValue numbers = node.emit("random.uniform",
                                 {node.constant_value(NDArray::from<uint64_t>(Shape{10}, key)),
                                  node.scalar(kFloat32, 0), node.scalar(kFloat32, 1)},
                                 {{"out_shape", shape}, {"out_dtype", DType(kFloat32)}});
  GraphValue share = node.reshape(node.cast(ratio, kFloat32), {});
  GraphValue off = node.emit("logical_not", {node.reshape(training, {})});
  GraphValue kept =
      node.emit("logical_or", {off, node.emit("greater_equal", {node.field(numbers, 1), share})});
  Arithmetic with(node, kFloat32);
  GraphValue factor =
      node.emit("where", {off, with.number(1), with.divide(1.0, with.subtract(1.0, share))});
  GraphValue scaled = node.emit("multiply", {x, node.cast(factor, x.dtype())});
  return {node.emit("where", {kept, scaled, node.scalar(x.dtype(), 0)}), kept};
}

// In a network that no longer learns it is the identity; its mask has no zeros.
Values convert_dropout(NodeContext& node) {
  GraphValue x = node.input(0);
  node.ignore({"ratio", "seed", "is_test"});
  if (node.opset() >= 12 && node.has(2)) {
    std::optional<NDArray> training = node.constant(2);
    if (!training || training->item_as_int64() != 0) {
      GraphValue ratio = node.has(1) ? node.input(1) : node.scalar(kFloat32, 0.5);
      return dropout_in_training(node, x, ratio, node.input(2));
    }
  }
  if (!node.wants(1)) return {x};
  DType dtype = node.opset() >= 10 ? kBool : x.dtype();
  return {x, node.broadcast_to(node.scalar(dtype, 1), x.dims())};
}
RELAY_ONNX("Dropout", 6, convert_dropout)

}  // namespace
}  // namespace relay::onnx
