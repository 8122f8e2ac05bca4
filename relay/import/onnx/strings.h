// Tensors of strings. Relay's tensors have numbers: a tensor of strings becomes int64 numbers of
// its words, which only operators that move elements or ask for words may see. The words of a
// constant or a label are known when the model is read; those of an input are rows of bytes
// (ops/text.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <relay/import/onnx/graph_value.h>
#include <relay/import/onnx/importer.h>
#include <relay/import/onnx/model.h>

namespace relay::onnx {

/// TensorProto.DataType of strings.
inline constexpr int64_t kStringElements = 8;

/// Different words in their order, and the number of its word for each element.
struct Words {
  NDArray numbers;
  std::shared_ptr<const std::vector<std::string>> words;
};
/// Throws `Error` if there are not as many strings as the shape has elements.
Words words_of(const TensorData& tensor);

/// `0 for "red", 1 for "green", …`; `shown`: the words as a reader sees them, in quotes or not.
std::string words_text(const std::vector<std::string>& shown);
/// The text of a warning where an output has numbers of words in place of strings.
std::string numbers_for_words(const std::vector<std::string>& words);

/// The text of a warning that an input, or an output, has the bytes of words in place of strings.
std::string bytes_for_words(bool input);
/// Refuses strings in the inputs of a node that does more than move elements.
void refuse_strings(const Importer& importer, const Scope& scope, const Node& node);
/// Each result of a node that moves elements has the words of its data.
void keep_strings(const Scope& scope, const Node& node, std::vector<GraphValue>& results);

}  // namespace relay::onnx
