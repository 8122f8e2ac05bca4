// Tensors of strings. Relay's tensors have numbers: a constant or a label of strings becomes int64
// numbers of its words, which only operators that move elements may see.
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

/// Why an input of strings is refused, and what to do: it names the nodes that read them.
std::string advice_on_strings(const Graph& graph, std::string_view input);
/// Refuses strings in the inputs of a node that does more than move elements.
void refuse_strings(const Importer& importer, const Scope& scope, const Node& node);
/// Each result of a node that moves elements has the words of its data.
void keep_strings(const Scope& scope, const Node& node, std::vector<GraphValue>& results);

}  // namespace relay::onnx
