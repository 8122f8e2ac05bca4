// A check that a model is sound, before anything of it is converted.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <relay/import/onnx/import.h>
#include <relay/import/onnx/model.h>
#include <relay/support/diagnostic.h>
#include <relay/support/span.h>

namespace relay::onnx {

/// The meaning of an operator's name where it stands: versions of the operator sets.
class Opsets {
 public:
  Opsets() = default;
  explicit Opsets(const std::vector<OpsetImport>& imports) {
    for (const OpsetImport& import : imports) versions_[import.domain] = import.version;
  }
  void set(std::string_view domain, int64_t version) { versions_[domain] = version; }
  /// The version of a domain, or nothing if it is not imported.
  std::optional<int64_t> version(std::string_view domain) const {
    auto found = versions_.find(domain);
    if (found == versions_.end()) return std::nullopt;
    return found->second;
  }

 private:
  std::unordered_map<std::string_view, int64_t> versions_;
};

/// A sound model: values are defined once and before they are used (after sorting), names resolve,
/// operators are known, functions do not recurse.
class CheckedModel {
 public:
  /// Operator sets of the default domain that are read.
  static constexpr int64_t kOldestOpset = 6;
  static constexpr int64_t kNewestOpset = 28;
  /// Nodes that inlining all calls of functions may lead to.
  static constexpr int64_t kMostNodes = 200'000;

  /// Checks. Throws `Error`: of each kind of defect the first, or all operators that are not
  /// supported.
  CheckedModel(Model model, std::optional<int64_t> opset, const OnnxConverters& converters);
  CheckedModel(const CheckedModel&) = delete;
  CheckedModel& operator=(const CheckedModel&) = delete;

  const Model& model() const { return model_; }
  const Graph& graph() const { return *model_.graph; }
  const Opsets& opsets() const { return opsets_; }
  const Opsets& opsets(const LocalFunction* function) const {
    return function_opsets_.at(function);
  }
  /// The caller's converter of a node, or null.
  const OnnxConverter* converter(const Node& node) const;
  /// The function of the model that a node calls, or null for an operator.
  const LocalFunction* function(const Node& node) const;
  /// The nodes of a graph or a function, operands before users.
  const std::vector<const Node*>& order(const std::vector<Node>& nodes) const {
    return orders_.at(&nodes);
  }
  /// True if a node of a graph or function of the model, of the default domain, is of this type.
  bool uses(std::string_view op_type) const;
  /// A listing of the nodes, one a line, that spans point into: under the model's path.
  const std::shared_ptr<const Source>& listing() const { return listing_; }
  Span span(const Node& node) const;

 private:
  friend class Checker;
  Model model_;
  const OnnxConverters& converters_;
  Opsets opsets_;
  std::unordered_map<const LocalFunction*, Opsets> function_opsets_;
  std::unordered_map<std::string, const LocalFunction*> functions_;
  std::unordered_map<const std::vector<Node>*, std::vector<const Node*>> orders_;
  std::unordered_map<const Node*, std::pair<uint64_t, uint64_t>> lines_;
  std::shared_ptr<const Source> listing_;
};

/// `Conv "conv1"`, or `Conv of "y"` for a node without a name.
std::string node_text(const Node& node);

}  // namespace relay::onnx
