// Parts that operators of the domain ai.onnx.ml share: labels of classes, and what becomes of
// scores.
#pragma once

#include <string>
#include <vector>

#include <relay/import/onnx/context.h>

namespace relay::onnx {

#define RELAY_ONNX_ML(op_type, since, convert) \
  RELAY_ONNX_DOMAIN("ai.onnx.ml", op_type, since, convert)

/// The last step on the scores of a row.
enum class PostTransform : uint8_t { kNone, kSoftmax, kLogistic, kSoftmaxZero, kProbit };
/// The attribute post_transform, a word; NONE where it is not given.
PostTransform post_transform(NodeContext& node);
/// Scores (rows, classes) after the transform.
GraphValue transformed(NodeContext& node, const GraphValue& scores, PostTransform transform);

/// The names of classes: numbers, or strings, which stand for the positions of the classes.
struct Labels {
  std::vector<int64_t> numbers;
  std::vector<std::string> strings;
  size_t size() const { return strings.empty() ? numbers.size() : strings.size(); }
};
/// The labels of a classifier: the attribute classlabels_strings, or `numbers`, whose name differs.
Labels class_labels(NodeContext& node, std::string_view numbers);
/// "0 for "red", 1 for "green"": which position stands for which class.
std::string labels_text(const Labels& labels);
/// The label of each row, int64; of strings their words (`GraphValue::strings`).
GraphValue label_of(NodeContext& node, const Labels& labels, const GraphValue& position);

/// Two classes by one score each row (rows, 1): above `border` it is the second one. `complement`:
/// the first class has 1 - score, else its negative.
std::vector<GraphValue> two_classes(NodeContext& node, const Labels& labels,
                                    const GraphValue& score, PostTransform transform,
                                    double border = 0, bool complement = false);
/// The class of the greatest score of a row, and the scores after the transform.
std::vector<GraphValue> greatest_class(NodeContext& node, const Labels& labels,
                                       const GraphValue& scores, PostTransform transform);

/// Rows (N, features) of a model's input; a vector is one row.
GraphValue feature_rows(NodeContext& node, const GraphValue& x);
/// The same as float32, which these operators compute in.
GraphValue float_rows(NodeContext& node);

/// A vector, or (rows, columns), of float32.
GraphValue float_array(NodeContext& node, const std::vector<double>& values, Shape shape);

}  // namespace relay::onnx
