// Activations and what runs along one axis: bias, slopes, softmax; dropout.
#include <relay/op/math/elementwise.h>
#include <relay/op/nn/along_axis.h>
#include <relay/op/nn/nn_attrs.h>
#include <relay/op/qnn/integer_forms.h>
#include <relay/op/reduce/reduce_attrs.h>
#include <relay/op/registry/columns.h>
#include <relay/op/registry/forms.h>
#include <relay/op/registry/gradient.h>
#include <relay/op/registry/training.h>

namespace relay {
namespace {

using te::Indices;
using te::Scalar;

// A vector that runs along `axis` of the data.
TypeRef infer_along_axis(const RelationCall& call, int64_t wanted, const char* what) {
  te::TensorInfo data = call.tensor(0);
  te::TensorInfo vector = call.tensor(1);
  auto axis = static_cast<size_t>(normalize_axis(call, wanted, data.rank()));
  call.require_equal(data.dims[axis], vector.dims[0],
                     std::string(what) + " of " + vector.dims[0].str() +
                         " elements does not fit axis " + std::to_string(axis) + " of " +
                         shape_str(data.dims));
  return call.input(0);
}

TypeRef infer_bias_add(const RelationCall& call) {
  return infer_along_axis(call, call.attrs<BiasAddAttrs>().axis, "bias");
}
TypeRef infer_prelu(const RelationCall& call) {
  return infer_along_axis(call, call.attrs<PReluAttrs>().axis, "alpha");
}

TypeRef expect_bias(const RelationCall& call, size_t) {
  return expect_vector(call, call.attrs<BiasAddAttrs>().axis);
}
TypeRef expect_alpha(const RelationCall& call, size_t) {
  return expect_vector(call, call.attrs<PReluAttrs>().axis);
}

void compute_bias_add(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0);
  te::Tensor bias = b.input(1);
  size_t axis = axis_position(call.attrs<BiasAddAttrs>().axis, data.rank());
  b.output(b.map(call.result().dims, [&](Indices i) { return data(i) + bias({i[axis]}); }));
}
// data + bias, the bias shaped so that it broadcasts along its axis.
ExprRef canonical_bias_add(const OpCall& call, std::span<const ExprRef> args) {
  size_t rank = call.tensor(0).rank();
  size_t axis = axis_position(call.attrs<BiasAddAttrs>().axis, rank);
  return call_op("add", {args[0], along_axis(args[1], axis, rank)});
}

void compute_prelu(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0);
  te::Tensor alpha = b.input(1);
  size_t axis = axis_position(call.attrs<PReluAttrs>().axis, data.rank());
  b.output(b.map(call.result().dims, [&](Indices i) {
    Scalar x = data(i);
    return te::select(x > 0.0, x, x * alpha({i[axis]}));
  }));
}

void compute_leaky_relu(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0);
  double alpha = call.attrs<LeakyReluAttrs>().alpha;
  b.output(b.map(call.result().dims, [&](Indices i) {
    Scalar x = data(i);
    return te::select(x > 0.0, x, x * alpha);
  }));
}

TypeRef infer_softmax(const RelationCall& call) {
  normalize_axis(call, call.attrs<SoftmaxAttrs>().axis, call.tensor(0).rank());
  return call.input(0);
}

// A row program: the row's maximum, the sum of exponentials, then the elements, in float32 at
// least.
void compute_softmax(const OpCall& call, te::Builder& b, bool logarithm) {
  te::Tensor data = b.input(0);
  Rows rows(data, axis_position(call.attrs<SoftmaxAttrs>().axis, data.rank()));
  te::Tensor largest = b.map(rows.outer, [&](Indices row) {
    return b.max(rows.extent, [&](Indices k) { return rows.element(row, k[0]); });
  });
  te::Tensor total = b.map(rows.outer, [&](Indices row) {
    return b.sum(rows.extent,
                 [&](Indices k) { return te::exp(rows.element(row, k[0]) - largest(row)); });
  });
  b.output(b.map(data.dims(), [&](Indices i) {
    std::vector<Scalar> row = rows.row_of(i);
    Scalar shifted = te::cast(data(i), rows.dtype) - largest(row);
    Scalar value = logarithm ? shifted - te::log(total(row)) : te::exp(shifted) / total(row);
    return te::cast(value, data.dtype());
  }));
}

ExprRef sum_along(const ExprRef& x, int64_t axis) {
  ReduceAttrs attrs;
  attrs.axis = {axis};
  attrs.keepdims = true;
  return call_op("sum", {x}, Attrs::make(attrs));
}

// With s the result: s · (g - Σ g · s).
std::vector<ExprRef> softmax_gradient(const GradientCall& call) {
  const ExprRef& s = call.result;
  ExprRef weighted = call_op("multiply", {call.gradient(), s});
  ExprRef mean = sum_along(weighted, call.attrs<SoftmaxAttrs>().axis);
  return {call_op("multiply", {s, call_op("subtract", {call.gradient(), mean})})};
}

// The result is above 0 where the input is, so the gradient reads it in place of the input. Nobody
// keeps the input then, and one kernel writes the result with what computes the input.
std::vector<ExprRef> relu_gradient(const GradientCall& call) {
  return derived_gradients(GradientCall{call.call, {&call.result, 1}, call.result, call.gradients});
}

TypeRef infer_dropout(const RelationCall& call) {
  double rate = call.attrs<DropoutAttrs>().rate;
  call.require(rate >= 0 && rate < 1, "rate must be at least 0 and below 1");
  return TupleType::make({call.input(0), call.input(0)});
}

RELAY_UNARY_OP("nn.relu", "max(x, 0); not-a-number stays.", kNumbers,
               [](Scalar x) {
                 Scalar zero = te::cast(te::index_constant(0), x.dtype());
                 return te::max(std::move(x), std::move(zero));
               })
    .level(1)
    .gradient(relu_gradient)
    .column(integer_forms(), relu_on_integers);

RELAY_UNARY_OP("hardswish", "x * clip(x + 3, 0, 6) / 6; not-a-number for that and for -inf.",
               kFloats,
               [](Scalar x) {
                 Scalar least = te::constant(0.0, x.dtype()), most = te::constant(6.0, x.dtype());
                 return x * te::min(te::max(x + 3.0, least), most) / 6.0;
               })
    .level(10)
    .example("fn (%x: Tensor[(5), float32]) { hardswish(%x) }", "[-4, -1.5, 0, 1.5, 4]");

RELAY_OP("nn.leaky_relu")
    .doc("x where it is positive, else alpha * x; not-a-number stays.")
    .input("data", "Tensor of floats.", tensor('T', kFloats))
    .output("result", "Tensor of the data's shape.", tensor('T'))
    .attrs<LeakyReluAttrs>()
    .example("fn (%x: Tensor[(3), float32]) { nn.leaky_relu(%x, alpha=0.1) }", "[-1, 0, 2]")
    .relation(identity_relation())
    .level(3)
    .compute(compute_leaky_relu);

RELAY_OP("nn.prelu")
    .doc(
        "x where it is positive, else alpha * x with a slope for each channel; not-a-number stays.")
    .input("data", "Tensor of floats.", tensor('T', kFloats))
    .input("alpha", "Vector along the axis.", tensor('T').rank(1))
    .output("result", "Tensor of the data's shape.", tensor('T'))
    .attrs<PReluAttrs>()
    .example("fn (%x: Tensor[(2, 3), float32]) { nn.prelu(%x, Constant(0.5, (3), float32)) }",
             "[[-1, 0, 2], [3, -4, -5]]")
    .relation(infer_prelu, expect_alpha)
    .level(3)
    .compute(compute_prelu);

RELAY_OP("nn.bias_add")
    .column(integer_forms(), bias_on_integers)
    .doc("Adds a vector along an axis.")
    .input("data", "Tensor.", tensor('T', kNumbers))
    .input("bias", "Vector along the axis.", tensor('T').rank(1))
    .output("result", "Tensor of the data's shape.", tensor('T'))
    .attrs<BiasAddAttrs>()
    .example("fn (%x: Tensor[(2, 3), float32], %b: Tensor[(3), float32]) { nn.bias_add(%x, %b) }",
             "[[1, 2, 3], [4, 5, 6]]", "[10, 20, 30]")
    .relation(infer_bias_add, expect_bias)
    .level(1)
    .compute(compute_bias_add)
    .column(canonical_form(), canonical_bias_add);

RELAY_OP("nn.softmax")
    .column(optional_integer_forms(), true)
    .doc("exp(x) / sum(exp(x)) along an axis, computed stably.")
    .input("data", "Tensor of floats of rank above 0.", tensor('T', kFloats).rank(1, kAnyRank))
    .output("result", "Tensor of the data's shape.", tensor('T'))
    .attrs<SoftmaxAttrs>()
    .example("fn (%x: Tensor[(3), float32]) { nn.softmax(%x) }", "[0, 1, 2]")
    .relation(infer_softmax)
    .level(1)
    .compute([](const OpCall& call, te::Builder& b) { compute_softmax(call, b, false); })
    .column(fast_forms(), "nn.fast_softmax")
    .gradient(softmax_gradient);

RELAY_OP("nn.fast_softmax")
    .doc("nn.softmax, where an approximation is good enough.")
    .input("data", "Tensor of floats of rank above 0.", tensor('T', kFloats).rank(1, kAnyRank))
    .output("result", "Tensor of the data's shape.", tensor('T'))
    .attrs<SoftmaxAttrs>()
    .example("fn (%x: Tensor[(3), float32]) { nn.fast_softmax(%x) }", "[0, 1, 2]")
    .relation(infer_softmax)
    .level(1)
    .compute([](const OpCall& call, te::Builder& b) { compute_softmax(call, b, false); })
    .gradient(softmax_gradient);

RELAY_OP("nn.log_softmax")
    .doc("Logarithm of nn.softmax, computed stably.")
    .input("data", "Tensor of floats of rank above 0.", tensor('T', kFloats).rank(1, kAnyRank))
    .output("result", "Tensor of the data's shape.", tensor('T'))
    .attrs<SoftmaxAttrs>()
    .example("fn (%x: Tensor[(3), float32]) { nn.log_softmax(%x) }", "[0, 1, 2]")
    .relation(infer_softmax)
    .level(1)
    .compute([](const OpCall& call, te::Builder& b) { compute_softmax(call, b, true); });

RELAY_OP("nn.dropout")
    .doc(
        "In training, random elements set to 0 and the rest scaled up; here, at inference, the "
        "data and a mask of "
        "ones.")
    .input("data", "Tensor of floats.", tensor('T', kFloats))
    .output("result", "The data.", tensor('T'))
    .output("mask", "1 for each kept element, of the data's type.", tensor('T'))
    .attrs<DropoutAttrs>()
    .example("fn (%x: Tensor[(3), float32]) { nn.dropout(%x, rate=0.5).0 }", "[0, 1, 2]")
    .relation(infer_dropout)
    .level(1)
    .expand([](const OpCall&, std::span<const ExprRef> args) {
      std::vector<ExprRef> fields{args[0], call_op("ones_like", {args[0]})};
      return relay::make_tuple(fields);
    })
    .column(random_in_training(), true)
    .column(simplified_for_inference(),
            [](const OpCall&, std::span<const ExprRef> args) { return args[0]; });

}  // namespace
}  // namespace relay
