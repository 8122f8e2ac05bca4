// Normalisation.
#include <relay/op/nn/along_axis.h>
#include <relay/op/nn/nn_attrs.h>
#include <relay/op/op.h>
#include <relay/op/reduce/reduce_attrs.h>
#include <relay/op/registry/columns.h>
#include <relay/op/registry/gradient.h>
#include <relay/op/shape/shape_attrs.h>
#include <relay/tensor_expr/precision.h>

namespace relay {
namespace {

using te::Indices;
using te::Scalar;

// Inputs `first`… must be vectors of the extent of the channel axis.
size_t check_channels(const RelationCall& call, int64_t wanted,
                      std::initializer_list<const char*> names) {
  te::TensorInfo data = call.tensor(0);
  auto axis = static_cast<size_t>(normalize_axis(call, wanted, data.rank()));
  size_t i = 1;
  for (const char* name : names) {
    te::TensorInfo vector = call.tensor(i);
    call.require_equal(data.dims[axis], vector.dims[0],
                       std::string(name) + " of " + vector.dims[0].str() +
                           " elements does not fit axis " + std::to_string(axis) + " of " +
                           shape_str(data.dims));
    ++i;
  }
  return axis;
}

// Scales, offsets and statistics are vectors along the channel axis.
template <class A>
TypeRef expect_channels(const RelationCall& call, size_t) {
  return expect_vector(call, call.attrs<A>().axis);
}

TypeRef infer_batch_norm(const RelationCall& call) {
  check_channels(call, call.attrs<BatchNormAttrs>().axis,
                 {"gamma", "beta", "moving_mean", "moving_var"});
  return TupleType::make({call.input(0), call.input(3), call.input(4)});
}
TypeRef infer_layer_norm(const RelationCall& call) {
  check_channels(call, call.attrs<LayerNormAttrs>().axis, {"gamma", "beta"});
  return call.input(0);
}
TypeRef infer_instance_norm(const RelationCall& call) {
  size_t axis = check_channels(call, call.attrs<InstanceNormAttrs>().axis, {"gamma", "beta"});
  call.require(axis > 0, "axis 0 is the batch and cannot be the channel axis");
  return call.input(0);
}
TypeRef infer_group_norm(const RelationCall& call) {
  const auto& attrs = call.attrs<GroupNormAttrs>();
  size_t axis = check_channels(call, attrs.axis, {"gamma", "beta"});
  call.require(axis > 0, "axis 0 is the batch and cannot be the channel axis");
  call.require(attrs.num_groups > 0,
               "num_groups must be positive, found " + std::to_string(attrs.num_groups));
  Dim channels = call.tensor(0).dims[axis];
  call.require_multiple(channels, attrs.num_groups,
                        channels.str() + " channels do not divide into " +
                            std::to_string(attrs.num_groups) + " groups");
  return call.input(0);
}

// In inference the statistics are inputs and pass through.
void compute_batch_norm(const OpCall& call, te::Builder& b) {
  const auto& attrs = call.attrs<BatchNormAttrs>();
  te::Tensor data = b.input(0);
  te::Tensor gamma = b.input(1);
  te::Tensor beta = b.input(2);
  te::Tensor mean = b.input(3);
  te::Tensor variance = b.input(4);
  size_t axis = axis_position(attrs.axis, data.rank());
  DType dtype = te::wide_float(data.dtype());
  b.output(b.map(data.dims(), [&](Indices i) {
    auto channel = [&](const te::Tensor& vector) { return te::cast(vector({i[axis]}), dtype); };
    Scalar value =
        (te::cast(data(i), dtype) - channel(mean)) / te::sqrt(channel(variance) + attrs.epsilon);
    if (attrs.scale) value = value * channel(gamma);
    if (attrs.center) value = value + channel(beta);
    return te::cast(value, data.dtype());
  }));
  b.output(b.map(mean.dims(), [&](Indices i) { return mean(i); }));
  b.output(b.map(variance.dims(), [&](Indices i) { return variance(i); }));
}

// Mean and variance of each row in float32 at least, then the elements.
void compute_layer_norm(const OpCall& call, te::Builder& b) {
  const auto& attrs = call.attrs<LayerNormAttrs>();
  te::Tensor data = b.input(0);
  te::Tensor gamma = b.input(1);
  te::Tensor beta = b.input(2);
  size_t axis = axis_position(attrs.axis, data.rank());
  Rows rows(data, axis);
  Scalar count = te::cast(te::from_dim(data.dim(axis)), rows.dtype);
  te::Tensor mean = b.map(rows.outer, [&](Indices row) {
    return b.sum(rows.extent, [&](Indices k) { return rows.element(row, k[0]); }) / count;
  });
  te::Tensor variance = b.map(rows.outer, [&](Indices row) {
    Scalar total = b.sum(rows.extent, [&](Indices k) {
      Scalar difference = rows.element(row, k[0]) - mean(row);
      return difference * difference;
    });
    return total / count;
  });
  b.output(b.map(data.dims(), [&](Indices i) {
    std::vector<Scalar> row = rows.row_of(i);
    Scalar value =
        (te::cast(data(i), rows.dtype) - mean(row)) * te::rsqrt(variance(row) + attrs.epsilon);
    if (attrs.scale) value = value * te::cast(gamma({i[axis]}), rows.dtype);
    if (attrs.center) value = value + te::cast(beta({i[axis]}), rows.dtype);
    return te::cast(value, data.dtype());
  }));
}

TypeRef infer_rms_norm(const RelationCall& call) {
  check_channels(call, call.attrs<RMSNormAttrs>().axis, {"gamma"});
  return call.input(0);
}

// Mean of squares of each row in float32 at least, then the elements.
void compute_rms_norm(const OpCall& call, te::Builder& b) {
  const auto& attrs = call.attrs<RMSNormAttrs>();
  te::Tensor data = b.input(0);
  te::Tensor gamma = b.input(1);
  size_t axis = axis_position(attrs.axis, data.rank());
  Rows rows(data, axis);
  Scalar count = te::cast(te::from_dim(data.dim(axis)), rows.dtype);
  te::Tensor squares = b.map(rows.outer, [&](Indices row) {
    Scalar total = b.sum(rows.extent, [&](Indices k) {
      Scalar x = rows.element(row, k[0]);
      return x * x;
    });
    return total / count;
  });
  b.output(b.map(data.dims(), [&](Indices i) {
    Scalar value =
        te::cast(data(i), rows.dtype) * te::rsqrt(squares(rows.row_of(i)) + attrs.epsilon);
    if (attrs.scale) value = value * te::cast(gamma({i[axis]}), rows.dtype);
    return te::cast(value, data.dtype());
  }));
}

ExprRef number(double value, DType dtype) { return make_constant(NDArray::scalar(dtype, value)); }

template <class A>
AttrsRef kept_axes(const std::vector<int64_t>& axes) {
  A attrs;
  attrs.axis = axes;
  attrs.keepdims = true;
  return Attrs::make(attrs);
}

// (x - mean) / sqrt(variance + epsilon) over axes.
ExprRef normalized(const ExprRef& x, const std::vector<int64_t>& axes, double epsilon,
                   DType dtype) {
  ExprRef mean = call_op("mean", {x}, kept_axes<ReduceAttrs>(axes));
  ExprRef variance = call_op("variance", {x, mean}, kept_axes<VarianceAttrs>(axes));
  ExprRef denominator = call_op("sqrt", {call_op("add", {variance, number(epsilon, dtype)})});
  return call_op("divide", {call_op("subtract", {x, mean}), denominator});
}

ExprRef scaled(ExprRef value, std::span<const ExprRef> args, bool scale, bool center, size_t axis,
               size_t rank) {
  if (scale) value = call_op("multiply", {value, along_axis(args[1], axis, rank)});
  if (center) value = call_op("add", {value, along_axis(args[2], axis, rank)});
  return value;
}

// data * scale + shift, with one vector each for the channels.
ExprRef simplified_batch_norm(const OpCall& call, std::span<const ExprRef> args) {
  const auto& attrs = call.attrs<BatchNormAttrs>();
  te::TensorInfo data = call.tensor(0);
  size_t axis = axis_position(attrs.axis, data.rank());
  ExprRef deviation =
      call_op("sqrt", {call_op("add", {args[4], number(attrs.epsilon, data.dtype)})});
  ExprRef scale = call_op("divide", {number(1, data.dtype), deviation});
  if (attrs.scale) scale = call_op("multiply", {scale, args[1]});
  ExprRef shift = call_op("multiply", {call_op("negative", {args[3]}), scale});
  if (attrs.center) shift = call_op("add", {shift, args[2]});
  ExprRef scaled = call_op("multiply", {args[0], along_axis(scale, axis, data.rank())});
  return call_op("add", {scaled, along_axis(shift, axis, data.rank())});
}

// Less exact in half precision than the computation.
ExprRef simplified_layer_norm(const OpCall& call, std::span<const ExprRef> args) {
  const auto& attrs = call.attrs<LayerNormAttrs>();
  te::TensorInfo data = call.tensor(0);
  size_t axis = axis_position(attrs.axis, data.rank());
  ExprRef value = normalized(args[0], {attrs.axis}, attrs.epsilon, data.dtype);
  return scaled(value, args, attrs.scale, attrs.center, axis, data.rank());
}

ExprRef simplified_rms_norm(const OpCall& call, std::span<const ExprRef> args) {
  const auto& attrs = call.attrs<RMSNormAttrs>();
  te::TensorInfo data = call.tensor(0);
  size_t axis = axis_position(attrs.axis, data.rank());
  ExprRef squares = call_op("mean", {call_op("multiply", {args[0], args[0]})},
                            kept_axes<ReduceAttrs>({attrs.axis}));
  ExprRef root = call_op("rsqrt", {call_op("add", {squares, number(attrs.epsilon, data.dtype)})});
  return scaled(call_op("multiply", {args[0], root}), args, attrs.scale, false, axis, data.rank());
}

ExprRef expand_instance_norm(const OpCall& call, std::span<const ExprRef> args) {
  const auto& attrs = call.attrs<InstanceNormAttrs>();
  te::TensorInfo data = call.tensor(0);
  size_t axis = axis_position(attrs.axis, data.rank());
  std::vector<int64_t> axes;
  for (size_t i = 1; i < data.rank(); ++i) {
    if (i != axis) axes.push_back(static_cast<int64_t>(i));
  }
  ExprRef value = normalized(args[0], axes, attrs.epsilon, data.dtype);
  return scaled(value, args, attrs.scale, attrs.center, axis, data.rank());
}

// The channel axis is split into (groups, channels of a group) and merged again.
ExprRef expand_group_norm(const OpCall& call, std::span<const ExprRef> args) {
  const auto& attrs = call.attrs<GroupNormAttrs>();
  te::TensorInfo data = call.tensor(0);
  size_t axis = axis_position(attrs.axis, data.rank());
  ReshapeAttrs split;
  for (size_t i = 0; i < data.rank(); ++i) {
    if (i == axis) {
      split.newshape.value.insert(split.newshape.value.end(), {-4, attrs.num_groups, -1});
    } else {
      split.newshape.value.push_back(0);
    }
  }
  std::vector<int64_t> axes;
  for (size_t i = 1; i <= data.rank(); ++i) {
    if (i != axis) axes.push_back(static_cast<int64_t>(i));
  }
  ExprRef groups = call_op("reshape", {args[0]}, Attrs::make(split));
  ExprRef value = normalized(groups, axes, attrs.epsilon, data.dtype);
  value = call_op("reshape_like", {value, args[0]});
  return scaled(value, args, attrs.scale, attrs.center, axis, data.rank());
}

TypeRef infer_l2_normalize(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  const auto& attrs = call.attrs<L2NormalizeAttrs>();
  if (attrs.axis) {
    for (int64_t axis : *attrs.axis) normalize_axis(call, axis, data.rank());
  }
  return call.input(0);
}

ExprRef expand_l2_normalize(const OpCall& call, std::span<const ExprRef> args) {
  const auto& attrs = call.attrs<L2NormalizeAttrs>();
  ReduceAttrs reduce;
  reduce.axis = attrs.axis;
  reduce.keepdims = true;
  ExprRef squares = call_op("multiply", {args[0], args[0]});
  ExprRef total = call_op("sum", {squares}, Attrs::make(reduce));
  ExprRef least = number(attrs.eps, call.tensor(0).dtype);
  return call_op("divide", {args[0], call_op("sqrt", {call_op("maximum", {total, least})})});
}

RELAY_OP("nn.batch_norm")
    .doc(
        "(x - mean) / sqrt(variance + epsilon) * gamma + beta for each channel, with given "
        "statistics; gives the "
        "result and the statistics.")
    .input("data", "Tensor of floats.", tensor('T', kFloats))
    .input("gamma", "Scale for each channel.", tensor('T').rank(1))
    .input("beta", "Offset for each channel.", tensor('T').rank(1))
    .input("moving_mean", "Mean of each channel.", tensor('T').rank(1))
    .input("moving_var", "Variance of each channel.", tensor('T').rank(1))
    .output("result", "Tensor of the data's shape.", tensor('T'))
    .output("moving_mean", "The mean of each channel.", tensor('T'))
    .output("moving_var", "The variance of each channel.", tensor('T'))
    .attrs<BatchNormAttrs>()
    .example(
        "fn (%x: Tensor[(1, 2, 2), float32], %m: Tensor[(2), float32]) { nn.batch_norm(%x, "
        "ones_like(%m), zeros_like(%m), %m, ones_like(%m)).0 }",
        "[[[1, 2], [3, 4]]]", "[1, 3]")
    .relation(infer_batch_norm, expect_channels<BatchNormAttrs>)
    .level(1)
    .compute(compute_batch_norm)
    .column(simplified_for_inference(), simplified_batch_norm);

// With n = (x - mean) · r the normalised rows and h the gradient of them:
// r · (h - mean(h) - n · mean(h · n)).
std::vector<ExprRef> layer_norm_gradient(const GradientCall& call) {
  const auto& attrs = call.attrs<LayerNormAttrs>();
  te::TensorInfo data = call.call.tensor(0);
  size_t axis = axis_position(attrs.axis, data.rank());
  std::vector<int64_t> row{static_cast<int64_t>(axis)};
  const ExprRef& g = call.gradient();
  auto mean_of = [&](const ExprRef& x) {
    return call_op("mean", {x}, kept_axes<ReduceAttrs>(row));
  };
  ExprRef mean = mean_of(call.args[0]);
  ExprRef variance = call_op("variance", {call.args[0], mean}, kept_axes<VarianceAttrs>(row));
  ExprRef r = call_op("rsqrt", {call_op("add", {variance, number(attrs.epsilon, data.dtype)})});
  ExprRef n = call_op("multiply", {call_op("subtract", {call.args[0], mean}), r});
  ExprRef h = scaled(g, call.args, attrs.scale, false, axis, data.rank());
  ExprRef bent = call_op("multiply", {n, mean_of(call_op("multiply", {h, n}))});
  ExprRef flat = call_op("subtract", {h, mean_of(h)});
  ExprRef of_data = call_op("multiply", {call_op("subtract", {flat, bent}), r});
  auto along_row = [&](bool used, const ExprRef& value, const ExprRef& vector) {
    if (!used) return call_op("zeros_like", {vector});
    ReduceAttrs others;
    others.axis = row;
    others.exclude = true;
    return call_op("sum", {value}, Attrs::make(others));
  };
  return {of_data, along_row(attrs.scale, call_op("multiply", {g, n}), call.args[1]),
          along_row(attrs.center, g, call.args[2])};
}

RELAY_OP("nn.layer_norm")
    .doc("Each row along an axis to mean 0 and variance 1, then scaled and moved.")
    .input("data", "Tensor of floats.", tensor('T', kFloats))
    .input("gamma", "Scale along the axis.", tensor('T').rank(1))
    .input("beta", "Offset along the axis.", tensor('T').rank(1))
    .output("result", "Tensor of the data's shape.", tensor('T'))
    .attrs<LayerNormAttrs>()
    .example(
        "fn (%x: Tensor[(2, 3), float32]) { nn.layer_norm(%x, Constant(1, (3), float32), "
        "Constant(0, (3), float32)) }",
        "[[1, 2, 3], [4, 5, 6]]")
    .relation(infer_layer_norm, expect_channels<LayerNormAttrs>)
    .level(1)
    .compute(compute_layer_norm)
    .column(simplified_for_inference(), simplified_layer_norm)
    .gradient(layer_norm_gradient);

RELAY_OP("nn.rms_norm")
    .doc("x / sqrt(mean(x²) + epsilon) * gamma for each row along an axis.")
    .input("data", "Tensor of rank above 0.", tensor('T', kFloats).rank(1, kAnyRank))
    .input("gamma", "Scale along the axis.", tensor('T').rank(1))
    .output("result", "Tensor of the data's shape.", tensor('T'))
    .attrs<RMSNormAttrs>()
    .relation(infer_rms_norm, expect_channels<RMSNormAttrs>)
    .level(10)
    .compute(compute_rms_norm)
    .column(simplified_for_inference(), simplified_rms_norm)
    .example("fn (%x: Tensor[(2, 3), float32], %g: Tensor[(3), float32]) { nn.rms_norm(%x, %g) }",
             "[[1, 2, 3], [-4, 0, 4]]", "[1, 1, 2]");

RELAY_OP("nn.instance_norm")
    .doc("Each channel of each sample to mean 0 and variance 1, then scaled and moved.")
    .input("data", "Tensor of floats, axis 0 the batch.", tensor('T', kFloats))
    .input("gamma", "Scale for each channel.", tensor('T').rank(1))
    .input("beta", "Offset for each channel.", tensor('T').rank(1))
    .output("result", "Tensor of the data's shape.", tensor('T'))
    .attrs<InstanceNormAttrs>()
    .example(
        "fn (%x: Tensor[(1, 2, 3), float32]) { nn.instance_norm(%x, Constant(1, (2), float32), "
        "Constant(0, (2), float32)) }",
        "[[[1, 2, 3], [4, 5, 6]]]")
    .relation(infer_instance_norm, expect_channels<InstanceNormAttrs>)
    .level(1)
    .expand(expand_instance_norm)
    .column(simplified_for_inference(), expand_instance_norm);

RELAY_OP("nn.group_norm")
    .doc("Each group of channels of each sample to mean 0 and variance 1, then scaled and moved.")
    .input("data", "Tensor of floats, axis 0 the batch.", tensor('T', kFloats))
    .input("gamma", "Scale for each channel.", tensor('T').rank(1))
    .input("beta", "Offset for each channel.", tensor('T').rank(1))
    .output("result", "Tensor of the data's shape.", tensor('T'))
    .attrs<GroupNormAttrs>()
    .example(
        "fn (%x: Tensor[(1, 2, 3), float32]) { nn.group_norm(%x, Constant(1, (2), float32), "
        "Constant(0, (2), float32), num_groups=1) }",
        "[[[1, 2, 3], [4, 5, 6]]]")
    .relation(infer_group_norm, expect_channels<GroupNormAttrs>)
    .level(1)
    .expand(expand_group_norm)
    .column(simplified_for_inference(), expand_group_norm);

RELAY_OP("nn.l2_normalize")
    .doc("x / sqrt(max(sum(x²), eps)) over axes.")
    .input("data", "Tensor of floats.", tensor('T', kFloats))
    .output("result", "Tensor of the data's shape.", tensor('T'))
    .attrs<L2NormalizeAttrs>()
    .example("fn (%x: Tensor[(2), float32]) { nn.l2_normalize(%x, eps=1e-12, axis=[0]) }", "[3, 4]")
    .relation(infer_l2_normalize)
    .level(2)
    .expand(expand_l2_normalize)
    .column(simplified_for_inference(), expand_l2_normalize);

}  // namespace
}  // namespace relay
