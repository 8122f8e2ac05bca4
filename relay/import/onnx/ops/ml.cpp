#include <relay/import/onnx/ops/ml.h>

#include <algorithm>
#include <numbers>

#include <relay/import/onnx/strings.h>
#include <relay/support/error.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

// exp for elements other than zero, whose share is next to nothing.
GraphValue softmax_zero(NodeContext& node, const GraphValue& scores) {
  AttrList along{{"axis", std::vector<int64_t>{1}}, {"keepdims", true}};
  GraphValue greatest = node.emit("max", {scores}, along);
  GraphValue tiny =
      node.emit("less_equal", {node.emit("abs", {scores}), node.scalar(scores.dtype(), 0.0000001)});
  GraphValue share = node.emit("exp", {node.emit("subtract", {scores, greatest})});
  GraphValue rest =
      node.emit("multiply", {scores, node.emit("exp", {node.emit("negative", {greatest})})});
  GraphValue zero = node.scalar(scores.dtype(), 0);
  GraphValue total = node.emit("sum", {node.emit("where", {tiny, zero, share})}, along);
  return node.emit("divide", {node.emit("where", {tiny, rest, share}), total});
}

// The normal distribution's quantile, by the same approximation of the inverse error function as
// ONNX's reference implementation and ONNX Runtime have.
GraphValue probit(NodeContext& node, const GraphValue& p) {
  auto number = [&](double value) { return node.scalar(p.dtype(), value); };
  constexpr double kA = 0.147;
  GraphValue one = number(1);
  GraphValue x = node.emit("subtract", {node.emit("multiply", {p, number(2)}), one});
  GraphValue log = node.emit(
      "log",
      {node.emit("multiply", {node.emit("subtract", {one, x}), node.emit("add", {one, x})})});
  GraphValue v =
      node.emit("add", {node.emit("multiply", {log, number(0.5)}), number(2 / (3.14159 * kA))});
  GraphValue under = node.emit(
      "subtract", {node.emit("multiply", {v, v}), node.emit("multiply", {log, number(1 / kA)})});
  GraphValue size = node.emit("sqrt", {node.emit("subtract", {node.emit("sqrt", {under}), v})});
  size = node.emit("multiply", {size, number(std::numbers::sqrt2)});
  GraphValue below = node.emit("less", {x, number(0)});
  return node.emit("where", {below, node.emit("negative", {size}), size});
}

}  // namespace

PostTransform post_transform(NodeContext& node) {
  std::string name = node.attr_string("post_transform", "NONE");
  if (name == "NONE") return PostTransform::kNone;
  if (name == "SOFTMAX") return PostTransform::kSoftmax;
  if (name == "LOGISTIC") return PostTransform::kLogistic;
  if (name == "SOFTMAX_ZERO") return PostTransform::kSoftmaxZero;
  if (name == "PROBIT") return PostTransform::kProbit;
  node.fail("post_transform is " + quoted(name));
}

GraphValue transformed(NodeContext& node, const GraphValue& scores, PostTransform transform) {
  switch (transform) {
    case PostTransform::kNone:
      return scores;
    case PostTransform::kSoftmax:
      return node.emit("nn.softmax", {scores}, {{"axis", 1}});
    case PostTransform::kLogistic:
      return node.emit("sigmoid", {scores});
    case PostTransform::kSoftmaxZero:
      return softmax_zero(node, scores);
    case PostTransform::kProbit:
      return probit(node, scores);
  }
  RELAY_UNREACHABLE("a transform of scores");
}

Labels class_labels(NodeContext& node, std::string_view numbers) {
  Labels labels;
  labels.strings = node.attr_strings("classlabels_strings", std::vector<std::string>());
  labels.numbers = node.attr_ints(numbers, std::vector<int64_t>());
  node.require(labels.strings.empty() || labels.numbers.empty(),
               "classlabels_strings and " + std::string(numbers) + " are both given");
  return labels;
}

std::string labels_text(const Labels& labels) {
  std::vector<std::string> words;
  for (const std::string& word : labels.strings) words.push_back(quoted(word));
  for (int64_t number : labels.numbers) words.push_back(std::to_string(number));
  return words_text(words);
}

GraphValue label_of(NodeContext& node, const Labels& labels, const GraphValue& position) {
  GraphValue place = node.cast(position, kInt64);
  if (!labels.strings.empty()) {
    return place.of_strings(std::make_shared<std::vector<std::string>>(labels.strings));
  }
  bool counted = true;
  for (size_t k = 0; k < labels.numbers.size(); ++k) {
    counted &= labels.numbers[k] == static_cast<int64_t>(k);
  }
  return counted ? place : node.emit("take", {node.int_list(labels.numbers), place});
}

Values two_classes(NodeContext& node, const Labels& labels, const GraphValue& score,
                   PostTransform transform, double border, bool complement) {
  GraphValue second = node.emit("greater", {score, node.scalar(score.dtype(), border)});
  GraphValue position = node.reshape(node.cast(second, kInt64), {score.dim(0)});
  GraphValue label = label_of(node, labels, position);
  GraphValue other = complement ? node.emit("subtract", {node.scalar(score.dtype(), 1), score})
                                : node.emit("negative", {score});
  switch (transform) {
    case PostTransform::kLogistic: {
      GraphValue both = node.concat({node.emit("negative", {score}), score}, 1);
      return {label, node.emit("sigmoid", {both})};
    }
    case PostTransform::kProbit: {
      GraphValue quantile = probit(node, score);
      return {label, node.concat({node.emit("negative", {quantile}), quantile}, 1)};
    }
    default:
      return {label, node.concat({other, score}, 1)};
  }
}

Values greatest_class(NodeContext& node, const Labels& labels, const GraphValue& scores,
                      PostTransform transform) {
  GraphValue position =
      node.emit("argmax", {scores}, {{"axis", std::vector<int64_t>{1}}, {"keepdims", false}});
  return {label_of(node, labels, position), transformed(node, scores, transform)};
}

GraphValue feature_rows(NodeContext& node, const GraphValue& x) {
  if (x.rank() == 1) return node.unsqueeze(x, {0});
  node.require(x.rank() == 2,
               "the features have " + std::to_string(x.rank()) + " axes; rows of them have two");
  return x;
}

GraphValue float_rows(NodeContext& node) {
  return node.cast(feature_rows(node, node.input(0)), kFloat32);
}

GraphValue float_array(NodeContext& node, const std::vector<double>& values, Shape shape) {
  std::vector<float> elements(values.begin(), values.end());
  return node.constant_value(
      NDArray::from<float>(shape, std::span<const float>(elements.data(), elements.size())));
}

}  // namespace relay::onnx
