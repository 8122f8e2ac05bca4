// ONNX models as Relay modules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <relay/ir/module.h>
#include <relay/runtime/npz.h>
#include <relay/support/diagnostic.h>
#include <relay/support/span.h>

namespace relay {

/// One node of a model, for a converter of the caller.
struct OnnxNode {
  /// A string is bytes; a tensor is an array.
  using Attribute = std::variant<int64_t, double, std::string, std::vector<int64_t>,
                                 std::vector<double>, std::vector<std::string>, NDArray>;
  std::string op_type, domain, name;
  int64_t opset = 0;  // the version of the domain
  /// Constants, and variables that stand for other values, named as those. Null: not given.
  std::vector<ExprRef> inputs;
  /// The elements of inputs that are constants or initializers.
  std::vector<std::optional<NDArray>> values;
  std::map<std::string, Attribute> attributes;
  std::vector<std::string> outputs;  // empty: not wanted
};

/// Gives the outputs of a node in order, each with its type, and no more than it has. Called again
/// for nodes in loops, and where a model is converted anew; throws `Error`.
using OnnxConverter = std::function<std::vector<std::pair<ExprRef, TypeRef>>(const OnnxNode& node)>;
/// By the name of an operator, or by its domain and name: `my.domain::Gate`; the default domain is
/// `ai.onnx` or empty.
using OnnxConverters = std::map<std::string, OnnxConverter, std::less<>>;

struct OnnxOptions {
  /// Extents of inputs by name, where the model declares names or nothing; -1 leaves one as it is.
  std::map<std::string, std::vector<int64_t>> shapes;
  /// Dtypes of inputs by name, in place of those that the model declares.
  std::map<std::string, DType> dtypes;
  /// The version of the default operator set, in place of the model's.
  std::optional<int64_t> opset;
  /// Rounds each result of float16, as the model says it. Without it, a model computes in float32
  /// what it declares as float16, and rounds its inputs, outputs, weights and casts alone.
  bool round_halves = false;
  /// Initializers become constants of the program instead of parameters.
  bool freeze = false;
  /// The shapes of the items of inputs that are sequences, all of them numbers, because a model
  /// does not say how many items it takes. Such an input is a tuple.
  std::map<std::string, std::vector<std::vector<int64_t>>> items;
  /// A tensor that DequantizeLinear gives is floats alone, and what is computed of it is computed
  /// on floats. Without it, products and sums of such tensors are those of the integers.
  bool fake_quantization = false;
  /// Converters of the caller, which come before functions of the model and before all others.
  OnnxConverters converters;
  /// Inputs of optional type that are empty (each an empty tuple); others have an element.
  std::set<std::string> empty;
};

/// A model as a program. The function @main has a parameter for each input of the graph, in order,
/// and then one for each initializer that the program uses; its result is the graph's output, or
/// the tuple of them. docs/onnx.md says how names, extents and values map.
struct OnnxModel {
  Module module;
  /// The initializers that are parameters.
  NamedArrays params;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<Diagnostic> warnings;
};

/// Reads a model from a file, and external data from its folder. Throws `Error`, with the node, for
/// a file that is not an ONNX model or is a wrong one, and for unsupported operators, all of them
/// at once. The module is well-formed and untyped.
OnnxModel from_onnx(const std::string& path, const OnnxOptions& options = {});
/// The name in messages of a model that is no file.
inline constexpr std::string_view kOnnxBytes = "<onnx>";

/// The same for bytes in memory, under a name for messages. External data are refused.
OnnxModel from_onnx(std::span<const std::byte> bytes, const OnnxOptions& options = {},
                    const std::string& name = std::string(kOnnxBytes));

/// The model's node at a place, as errors name it: `Conv "conv1"`, `Add of "y"`. Empty for places
/// of other texts: those whose names are neither `kOnnxBytes` nor end as those of models do. Works
/// for compiled models, too.
std::string onnx_node_at(Span span);
/// Prepends the node to each error whose place is in a model.
std::vector<Diagnostic> with_onnx_nodes(std::vector<Diagnostic> diagnostics);

/// True if a path ends as the names of ONNX models do.
bool is_onnx_path(std::string_view path);

}  // namespace relay
