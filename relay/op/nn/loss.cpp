// Losses.
#include <relay/op/nn/loss_attrs.h>
#include <relay/op/nn/nn_attrs.h>
#include <relay/op/op.h>
#include <relay/op/reduce/reduce_attrs.h>

namespace relay {
namespace {

using te::Indices;
using te::Scalar;

TypeRef infer_cross_entropy(const RelationCall& call) {
  te::TensorInfo predictions = call.tensor(0);
  te::TensorInfo targets = call.tensor(1);
  for (size_t k = 0; k < 2; ++k) {
    call.require_equal(predictions.dims[k], targets.dims[k],
                       "predictions " + shape_str(predictions.dims) + " and targets " +
                           shape_str(targets.dims) + " differ in shape");
  }
  return TensorType::make({}, predictions.dtype);
}

// -mean over the batch of sum(y * x).
ExprRef mean_of_products(const ExprRef& x, const ExprRef& y) {
  ReduceAttrs rows;
  rows.axis = {1};
  ExprRef sums = call_op("sum", {call_op("multiply", {x, y})}, Attrs::make(rows));
  return call_op("negative", {call_op("mean", {sums})});
}

TypeRef infer_nll_loss(const RelationCall& call) {
  te::TensorInfo predictions = call.tensor(0);
  te::TensorInfo targets = call.tensor(1);
  te::TensorInfo weights = call.tensor(2);
  size_t axis = predictions.rank() > 1 ? 1 : 0;
  std::string shapes =
      "predictions " + shape_str(predictions.dims) + ", targets " + shape_str(targets.dims);
  call.require(
      targets.rank() + 1 == predictions.rank(),
      "targets must have the axes of the predictions without the classes', found " + shapes);
  for (size_t k = 0; k < targets.rank(); ++k) {
    call.require_equal(targets.dims[k], predictions.dims[k < axis ? k : k + 1],
                       "targets must have the extents of the predictions, found " + shapes);
  }
  call.require_equal(weights.dims[0], predictions.dims[axis],
                     "weights must have one element for each class, found " +
                         weights.dims[0].str() + " for " + predictions.dims[axis].str() +
                         " classes");
  bool each = call.attrs<NLLLossAttrs>().reduction == Reduction::kNone;
  return TensorType::make(each ? targets.dims : std::vector<Dim>(), predictions.dtype);
}

void compute_nll_loss(const OpCall& call, te::Builder& b) {
  const auto& attrs = call.attrs<NLLLossAttrs>();
  te::Tensor predictions = b.input(0);
  te::Tensor targets = b.input(1);
  te::Tensor weights = b.input(2);
  size_t axis = predictions.rank() > 1 ? 1 : 0;
  DType result = predictions.dtype();
  DType wide = result.bits < 32 ? kFloat32 : result;
  Scalar ignored = te::index_constant(attrs.ignore_index);
  Scalar zero = te::constant(0.0, wide);
  auto target = [&](Indices i) { return te::cast(targets(i), kInt64); };
  // The weight of a target that counts; others are not looked up.
  auto weight = [&](Indices i) {
    Scalar at = target(i);
    Scalar value = te::cast(weights.load({at}, te::Bounds::kFail), wide);
    return te::select(at == ignored, zero, value);
  };
  auto loss = [&](Indices i) {
    Scalar at = target(i);
    std::vector<Scalar> place(i.begin(), i.end());
    place.insert(place.begin() + static_cast<std::ptrdiff_t>(axis), at);
    Scalar value = -te::cast(predictions.load(place, te::Bounds::kFail), wide) *
                   te::cast(weights.load({at}, te::Bounds::kFail), wide);
    return te::select(at == ignored, zero, value);
  };
  if (attrs.reduction == Reduction::kNone) {
    b.output(b.map(targets.dims(), [&](Indices i) { return te::cast(loss(i), result); }));
    return;
  }
  b.output(b.map({}, [&](Indices) {
    // One target is a sum without axes.
    auto sum = [&](const std::function<Scalar(Indices)>& body) {
      return targets.rank() == 0 ? body({}) : b.sum(targets.dims(), body);
    };
    Scalar total = sum(loss);
    if (attrs.reduction == Reduction::kMean) total = total / sum(weight);
    return te::cast(total, result);
  }));
}

RELAY_OP("nn.cross_entropy")
    .doc("-sum(y * log(x)) / batch: of predicted probabilities x against those of the targets.")
    .input("x", "Matrix (batch, classes) of predicted probabilities.", tensor('T', kFloats).rank(2))
    .input("y", "Matrix (batch, classes) of the targets' probabilities.", tensor('T').rank(2))
    .output("loss", "The mean loss of the batch.", tensor('T').rank(0))
    .relation(infer_cross_entropy)
    .level(10)
    .expand([](const OpCall&, std::span<const ExprRef> args) {
      return mean_of_products(call_op("log", {args[0]}), args[1]);
    })
    .example(
        "fn (%x: Tensor[(2, 3), float32], %y: Tensor[(2, 3), float32]) { "
        "nn.cross_entropy(%x, %y) }",
        "[[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]]", "[[0, 1, 0], [0, 0, 1]]");

RELAY_OP("nn.cross_entropy_with_logits")
    .doc(
        "-sum(y * x) / batch: of predicted log-probabilities x against the targets' "
        "probabilities.")
    .input("x", "Matrix (batch, classes) of predicted log-probabilities.",
           tensor('T', kFloats).rank(2))
    .input("y", "Matrix (batch, classes) of the targets' probabilities.", tensor('T').rank(2))
    .output("loss", "The mean loss of the batch.", tensor('T').rank(0))
    .relation(infer_cross_entropy)
    .level(10)
    .expand([](const OpCall&, std::span<const ExprRef> args) {
      return mean_of_products(args[0], args[1]);
    })
    .example(
        "fn (%x: Tensor[(2, 2), float32], %y: Tensor[(2, 2), float32]) { "
        "nn.cross_entropy_with_logits(%x, %y) }",
        "[[-0.5, -1], [-2, -0.25]]", "[[1, 0], [0.5, 0.5]]");

RELAY_OP("nn.nll_loss")
    .doc("Minus the prediction for the target's class times the weight of that class.")
    .input("predictions", "Log-probabilities (batch, classes, …), or (classes) for one target.",
           tensor('T', kFloats).rank(1, kAnyRank))
    .input("targets", "The class of each (batch, …).", tensor(kIndices))
    .input("weights", "A weight for each class.", tensor('T').rank(1))
    .output("loss", "A number, or with \"none\" the loss of each target.", tensor('T'))
    .attrs<NLLLossAttrs>()
    .relation(infer_nll_loss)
    .level(10)
    .compute(compute_nll_loss)
    .example(
        "fn (%x: Tensor[(2, 3), float32], %t: Tensor[(2), int32], %w: Tensor[(3), float32]) "
        "{ nn.nll_loss(%x, %t, %w) }",
        "[[-0.5, -1, -3], [-2, -0.25, -4]]", "[0, 2]", "[1, 1, 3]");

}  // namespace
}  // namespace relay
