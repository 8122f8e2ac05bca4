// The view that converters of operators have of a node, and what they build with.
//
// A converter is a function from a node to its results, registered by a line (registry.h):
//
//   std::vector<GraphValue> convert_leaky_relu(NodeContext& node) {
//     double alpha = node.attr_float("alpha", 0.01);
//     return {node.emit("nn.leaky_relu", {node.input(0)}, {{"alpha", alpha}})};
//   }
//   RELAY_ONNX("LeakyRelu", 6, convert_leaky_relu)
//
// One file of ops/ holds a family of operators. Every attribute of a node has to be read (or passed
// to `ignore`): one that is left is an error, so that nothing is dropped in silence.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <relay/import/onnx/graph_value.h>
#include <relay/import/onnx/importer.h>
#include <relay/import/onnx/registry.h>

namespace relay::onnx {

/// The most axes of a tensor.
inline constexpr size_t kMostAxes = 64;

/// A node under conversion.
class NodeContext {
 public:
  NodeContext(Importer& importer, Scope& scope, const Node& node, int64_t opset)
      : importer_(importer), scope_(scope), node_(node), opset_(opset) {}

  const Node& node() const { return node_; }
  std::string_view op_type() const { return node_.op_type; }
  /// The version of the node's operator set.
  int64_t opset() const { return opset_; }
  Importer& importer() { return importer_; }
  Scope& scope() { return scope_; }
  /// Refuses the node: the message is shown after the node's operator and name.
  [[noreturn]] void fail(const std::string& message) const { importer_.fail(node_, message); }
  void require(bool condition, const std::string& message) const {
    if (!condition) fail(message);
  }
  /// A warning about the node, shown as its errors are.
  void warn(const std::string& message) { importer_.warn(node_, message); }

  // ---- Inputs and outputs ----

  /// The number of inputs that are written, empty ones among them.
  size_t num_inputs() const { return node_.inputs.size(); }
  /// True if input i is given.
  bool has(size_t i) const { return i < node_.inputs.size() && !node_.inputs[i].empty(); }
  /// Input i, a tensor: an error if it is not given or no tensor.
  GraphValue input(size_t i);
  /// Input i of any kind, or nothing where it is not given.
  GraphValue optional_input(size_t i);
  /// All inputs, each a tensor.
  std::vector<GraphValue> inputs();
  /// All inputs, each a tensor: an error if there are not `count` of them.
  std::vector<GraphValue> inputs(size_t count);
  size_t num_outputs() const { return node_.outputs.size(); }
  /// True if somebody may use output k.
  bool wants(size_t k) const { return k < node_.outputs.size() && !node_.outputs[k].empty(); }

  // ---- Attributes ----
  // Each names an attribute and what it is if the node has none; without a default it is required.
  // An attribute of another type is an error.

  bool has_attr(std::string_view name) const { return importer_.attribute(scope_, node_, name); }
  int64_t attr_int(std::string_view name, std::optional<int64_t> otherwise = std::nullopt);
  bool attr_bool(std::string_view name, bool otherwise);
  double attr_float(std::string_view name, std::optional<double> otherwise = std::nullopt);
  std::string attr_string(std::string_view name,
                          std::optional<std::string> otherwise = std::nullopt);
  std::vector<int64_t> attr_ints(std::string_view name,
                                 std::optional<std::vector<int64_t>> otherwise = std::nullopt);
  std::vector<double> attr_floats(std::string_view name,
                                  std::optional<std::vector<double>> otherwise = std::nullopt);
  std::vector<std::string> attr_strings(
      std::string_view name, std::optional<std::vector<std::string>> otherwise = std::nullopt);
  /// A dtype given as a number of TensorProto.DataType; that which the program computes in.
  DType attr_dtype(std::string_view name, std::optional<DType> otherwise = std::nullopt);
  NDArray attr_tensor(std::string_view name);
  /// The same as a value, which knows of a narrow element type.
  GraphValue attr_value(std::string_view name);
  /// A number of TensorProto.DataType of a dtype or a narrow type.
  int64_t attr_type(std::string_view name);
  /// A sparse tensor, filled with zeros.
  NDArray attr_sparse(std::string_view name);
  const Graph& attr_graph(std::string_view name);
  /// `axis` counted from the front; an error naming the attribute where it is outside.
  int64_t axis(int64_t axis, size_t rank, std::string_view what = "axis") const;
  /// Says of attributes that they change nothing here.
  void ignore(std::initializer_list<std::string_view> names) {
    read_.insert(names.begin(), names.end());
  }

  // ---- What is known ----

  /// The elements of input i if all are known: integers and terms over named extents.
  std::optional<Elements> known(size_t i);
  /// The contents of input i, if it is a constant or an initializer (whose value then is the
  /// model's, also where it is a parameter of the program).
  std::optional<NDArray> constant(size_t i);
  /// The elements of input i as integers. An error that calls the input `what` if it is not a
  /// constant.
  std::vector<int64_t> ints(size_t i, std::string_view what);
  /// The only element of constant input i.
  double number(size_t i, std::string_view what);

  /// `value` without these axes, to `dims`; what their extents are only a run knows.
  /// `why`: what decided that they go, for the error of a run where an extent is not 1.
  GraphValue squeeze_open(const GraphValue& value, const std::vector<int64_t>& axes,
                          std::span<const Dim> dims, const std::string& why = "");
  /// Refuses extents that differ; names are what they have to be from then on. Where only a run
  /// knows an extent, nothing is said.
  void demand(Dim a, Dim b, const std::string& message) const {
    importer_.demand(node_, a, b, message);
  }
  /// `count`, unless it is more than an import makes a list of: then an error that calls it `what`.
  size_t countable(int64_t count, std::string_view what) const;
  /// An error where a result would have more axes than tensors have.
  void require_rank(size_t rank) const;

  // ---- Building ----

  /// A call of an operator of Relay; its type is computed here and now, from the relation. Where
  /// elements of arguments are known as terms, the result's extents are, too: then the value is
  /// bound by a `let` with that type. Refusals name the node.
  GraphValue emit(std::string_view op, const std::vector<GraphValue>& args, AttrList attrs = {}) {
    return importer_.emit(scope_, node_, op, args, attrs);
  }
  /// A tuple, and field k of a value that is one.
  GraphValue tuple(const std::vector<GraphValue>& fields) { return importer_.tuple(fields); }
  GraphValue field(const GraphValue& tuple, size_t k) { return importer_.field(tuple, k); }
  std::vector<GraphValue> fields(const GraphValue& tuple);
  GraphValue constant_value(NDArray array) { return importer_.constant(std::move(array)); }
  /// A number of a dtype, rank 0.
  GraphValue scalar(DType dtype, double value) {
    return constant_value(NDArray::scalar(dtype, value));
  }
  /// A list of int64.
  GraphValue int_list(const std::vector<int64_t>& values);
  /// An integer tensor with known elements. With `?` among them, `expr` has to compute it.
  GraphValue known_value(Elements elements, std::span<const Dim> dims, DType dtype);
  /// A list of int64 with known elements.
  GraphValue dim_list(Elements elements);

  /// `value` under another shape of as many elements. Extents may be terms; one may be `?`.
  GraphValue reshape(const GraphValue& value, std::span<const Dim> dims);
  GraphValue reshape(const GraphValue& value, std::initializer_list<Dim> dims) {
    return reshape(value, std::span<const Dim>(dims.begin(), dims.size()));
  }
  GraphValue transpose(const GraphValue& value, const std::vector<int64_t>& axes);
  GraphValue cast(const GraphValue& value, DType dtype);
  GraphValue broadcast_to(const GraphValue& value, std::span<const Dim> dims);
  /// New axes of extent 1 at positions of the result, rising.
  GraphValue unsqueeze(const GraphValue& value, const std::vector<int64_t>& axes);
  /// The value with as many leading axes of extent 1 as make `rank`.
  GraphValue left_pad_rank(const GraphValue& value, size_t rank);
  GraphValue concat(const std::vector<GraphValue>& parts, int64_t axis);
  /// `all` with `part` in the place of its element `at`, a number, along axis 0.
  GraphValue with_part(const GraphValue& all, const GraphValue& at, const GraphValue& part);
  /// Elements begin … end - 1 on one axis.
  GraphValue slice(const GraphValue& value, int64_t axis, int64_t begin, int64_t end);

  // ---- Subgraphs ----

  /// The outputs of a graph converted right here, as if its nodes stood in the place of this one.
  std::vector<GraphValue> inline_graph(const Graph& graph, const std::vector<GraphValue>& inputs) {
    return importer_.inline_graph(scope_, node_, graph, inputs);
  }

  /// Tests the states of a loop: a bool of rank 0. What it and a step emit goes into the loop.
  using LoopTest = std::function<GraphValue(NodeContext& inner, const std::vector<GraphValue>&)>;
  /// The states after one more round.
  using LoopStep =
      std::function<std::vector<GraphValue>(NodeContext& inner, const std::vector<GraphValue>&)>;
  /// A loop, as a function that calls itself in tail position: the states, beginning with `first`,
  /// go through `step` while `test` holds; gives the last ones. Extents that a round changes become
  /// `?`, for which `step` is asked again.
  std::vector<GraphValue> loop(std::vector<GraphValue> first, const LoopTest& test,
                               const LoopStep& step);
  /// The values that a step makes of states of these types. What it emits is thrown away: `loop`
  /// asks again, with more states where their types come from here.
  std::vector<GraphValue> try_round(const std::vector<TypeRef>& types, const LoopStep& step);
  /// The types of states that have both: extents that differ are `?`. An error where no tensor is
  /// both.
  std::vector<TypeRef> widened(const std::vector<TypeRef>& types,
                               const std::vector<GraphValue>& next) const;
  /// Converts one way; what it emits goes into a region of its own.
  using WayFn = std::function<Outcome(NodeContext& inner)>;
  /// The results of one of two ways, as `condition`, a bool of rank 0, decides in a run. Extents
  /// that differ are `?` in the results. Where the ways' results have no one type, nothing is
  /// returned, and the nodes behind this one are converted for each (fork.h): return what this
  /// gives. `no_is_usual`: where the program's outputs can have the types of one way only, the
  /// other fails in a run.
  std::vector<GraphValue> choose(const GraphValue& condition, const WayFn& yes, const WayFn& no,
                                 bool no_is_usual = false);
  /// A graph of an attribute as one way of this node: it has no inputs.
  Outcome graph_outcome(const Graph& graph) {
    return importer_.convert_graph(scope_, node_, graph, {});
  }
  /// The fork that `choose` led to; null where there is none.
  std::unique_ptr<Fork> take_fork() { return std::move(fork_); }
  /// A condition, as a term of value 0 or 1, that is a number where it is known here.
  Dim settled(Dim condition) const { return importer_.settled(scope_, condition); }
  /// The rank that the model states for output k, if it does.
  std::optional<size_t> stated_rank(size_t k) const;

  /// The values that the default domain's converter makes of this node, as if it were `op_type` of
  /// a version of that domain's operator set.
  std::vector<GraphValue> as_default(std::string_view op_type, int64_t version);

  /// Attributes of the node that nothing read.
  std::vector<std::string_view> unread() const;

 private:
  const Attribute* attr(std::string_view name, AttributeKind kind, bool required);

  Importer& importer_;
  Scope& scope_;
  const Node& node_;
  int64_t opset_;
  std::set<std::string, std::less<>> read_;
  std::unique_ptr<Fork> fork_;
};

}  // namespace relay::onnx
