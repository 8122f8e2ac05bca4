// Losses of classification.
#include <limits>

#include <relay/import/onnx/ops/run_time.h>
#include <relay/op/registry/relation.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

// The loss of log-probabilities (batch, classes, …); the weights are input 2.
GraphValue likelihood_loss(NodeContext& node, const GraphValue& x) {
  std::string reduction = node.attr_string("reduction", "mean");
  node.require(reduction == "none" || reduction == "sum" || reduction == "mean",
               "reduction is " + quoted(reduction));
  GraphValue target = node.input(1);
  node.require(x.rank() >= 2, "the data have " + std::to_string(x.rank()) + " axes");
  GraphValue weights;
  if (node.has(2)) {
    weights = node.input(2);
  } else {
    GraphValue classes = node.reshape(extent_value(node, x, 1), {Dim(1)});
    weights = node.emit("dyn.ones", {classes}, {{"dtype", x.dtype()}});
  }
  AttrList attrs{{"reduction", reduction}};
  // Without it every target counts, and there is no class of that number.
  constexpr int64_t kNone = std::numeric_limits<int32_t>::min();
  int64_t ignored = node.has_attr("ignore_index") ? node.attr_int("ignore_index") : kNone;
  attrs.push_back({"ignore_index", ignored});
  return node.emit("nn.nll_loss", {x, target, weights}, attrs);
}

Values convert_likelihood_loss(NodeContext& node) { return {likelihood_loss(node, node.input(0))}; }
RELAY_ONNX("NegativeLogLikelihoodLoss", 12, convert_likelihood_loss)

Values convert_cross_entropy(NodeContext& node) {
  GraphValue scores = node.input(0);
  node.require(scores.rank() >= 2, "the data have " + std::to_string(scores.rank()) + " axes");
  GraphValue logs = node.emit("nn.log_softmax", {scores}, {{"axis", 1}});
  return {likelihood_loss(node, logs), logs};
}
RELAY_ONNX("SoftmaxCrossEntropyLoss", 12, convert_cross_entropy)

}  // namespace
}  // namespace relay::onnx
