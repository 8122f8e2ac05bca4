#include <relay/import/onnx/strings.h>

#include <map>
#include <unordered_set>

#include <relay/support/error.h>

namespace relay::onnx {
namespace {

constexpr size_t kMostShown = 8;
constexpr const char* kAdvice =
    ": encode the words before the model runs, and cut the model behind this node "
    "(onnx.utils.extract_model)";

// Operators whose first input is data that they move.
bool moves_elements(const Node& node) {
  static const std::unordered_set<std::string_view> kMoving = {
      "Expand", "Flatten", "Gather", "GatherElements", "GatherND", "Identity",  "Reshape",
      "Slice",  "Shape",   "Size",   "Squeeze",        "Tile",     "Transpose", "Unsqueeze"};
  return node.domain.empty() && kMoving.contains(node.op_type);
}

// Operators that see words themselves.
bool reads_words(const Node& node) {
  static const std::unordered_set<std::string_view> kReading = {
      "Concat", "Equal", "StringNormalizer", "TfIdfVectorizer", "Where"};
  static const std::unordered_set<std::string_view> kLearning = {"ArrayFeatureExtractor",
                                                                 "LabelEncoder", "OneHotEncoder"};
  if (node.domain.empty()) return kReading.contains(node.op_type);
  if (node.domain == "com.microsoft") return node.op_type == "Tokenizer";
  return node.domain == "ai.onnx.ml" && kLearning.contains(node.op_type);
}

}  // namespace

Words words_of(const TensorData& tensor) {
  for (int64_t dim : tensor.dims) {
    if (dim < 0) throw Error("a tensor of strings with the extent " + std::to_string(dim));
  }
  auto words = std::make_shared<std::vector<std::string>>();
  std::map<std::string_view, int64_t> known;
  std::vector<int64_t> numbers;
  for (std::string_view string : tensor.strings) {
    auto [word, added] = known.emplace(string, words->size());
    if (added) words->emplace_back(string);
    numbers.push_back(word->second);
  }
  bool fits = tensor.dims.size() <= NDArray::kMaxRank &&
              NDArray::bytes_needed(tensor.dims, kInt64) == 8 * numbers.size();
  if (!fits) {
    throw Error("a tensor of " + std::to_string(numbers.size()) +
                " strings, which is not what its shape says");
  }
  std::span<const int64_t> elements(numbers.data(), numbers.size());
  return {NDArray::from<int64_t>(tensor.dims, elements), std::move(words)};
}

std::string words_text(const std::vector<std::string>& shown) {
  std::string text;
  for (size_t k = 0; k < shown.size() && k < kMostShown; ++k) {
    text += (k > 0 ? ", " : "") + std::to_string(k) + " for " + shown[k];
  }
  return shown.size() > kMostShown ? text + ", …" : text;
}

std::string numbers_for_words(const std::vector<std::string>& words) {
  std::vector<std::string> shown;
  for (size_t k = 0; k < words.size() && k <= kMostShown; ++k) shown.push_back(quoted(words[k]));
  return "has strings, which are no elements of tensors: numbers stand for them, " +
         words_text(shown);
}

std::string bytes_for_words(bool input) {
  std::string text = input ? "takes" : "gives";
  text += " strings as bytes: uint8 with one axis more, and zeros behind the end of each word";
  return text;
}

void refuse_strings(const Importer& importer, const Scope& scope, const Node& node) {
  if (reads_words(node)) return;
  bool moves = moves_elements(node);
  for (size_t k = moves ? 1 : 0; k < node.inputs.size(); ++k) {
    if (node.inputs[k].empty()) continue;
    const GraphValue* value = scope.find(node.inputs[k]);
    if (value != nullptr && value->is_tensor() && value->is_text()) {
      importer.fail(node, "input " + std::to_string(k) + ", " + quoted(node.inputs[k]) +
                              ", has strings, which are no elements of tensors here" +
                              (value->text() != nullptr ? kAdvice : ""));
    }
  }
}

void keep_strings(const Scope& scope, const Node& node, std::vector<GraphValue>& results) {
  if (!moves_elements(node) || node.inputs.empty() || node.inputs[0].empty()) return;
  if (node.op_type == "Shape" || node.op_type == "Size") return;
  const GraphValue& data = *scope.find(node.inputs[0]);
  if (!data.is_tensor() || !data.is_text()) return;
  for (GraphValue& result : results) {
    if (result.is_tensor() && !result.is_text()) result = result.of_same_words(data);
  }
}

}  // namespace relay::onnx
