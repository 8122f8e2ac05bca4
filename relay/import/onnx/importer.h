// The conversion of a checked model.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <relay/import/onnx/check.h>
#include <relay/import/onnx/fork.h>
#include <relay/import/onnx/graph_value.h>
#include <relay/import/onnx/import.h>
#include <relay/import/onnx/tensors.h>

namespace relay::onnx {

/// One attribute of a call of an operator: `{"axis", 1}`, of any type that attributes have.
struct AttrItem {
  std::string_view name;
  AttrValue value;

  template <class T>
  AttrItem(std::string_view attribute, const T& of)
      : name(attribute), value(attr_detail::Convert<T>::to(of)) {}
  AttrItem(std::string_view attribute, int of) : AttrItem(attribute, int64_t{of}) {}
  AttrItem(std::string_view attribute, const char* of) : AttrItem(attribute, std::string(of)) {}
};
using AttrList = std::vector<AttrItem>;

/// A region of the program under construction (E1): a function body or a branch. Values that a type
/// is stated for are bound by `let`s at its top.
class Block {
 public:
  void bind(VarRef var, ExprRef value) { lets_.emplace_back(std::move(var), std::move(value)); }
  /// The region's expression: the lets, then the result.
  ExprRef close(ExprRef result) const;

 private:
  std::vector<std::pair<VarRef, ExprRef>> lets_;
};

/// The names that nodes see, and where what they become is put.
struct Scope {
  const Scope* outer = nullptr;  // of a subgraph: the graph around it
  Block* block = nullptr;
  const Opsets* opsets = nullptr;
  const Graph* graph = nullptr;  // whose nodes these are; of a function none
  /// In a function of the model: what its attributes are in this call.
  const std::unordered_map<std::string_view, const Attribute*>* attributes = nullptr;
  std::unordered_map<std::string_view, GraphValue> values;
  /// The condition of a way as a term, and what it is there: 0 or 1.
  std::optional<std::pair<Dim, int64_t>> fact;

  const GraphValue* find(std::string_view name) const;
  /// A scope inside of this one, for another region.
  Scope inside(Block& region) const { return {this, &region, opsets, graph, attributes, {}, {}}; }
};

/// The named extents of a model, and what its nodes demand of them: a model may declare a name for
/// what can be one number only, or two names for what has to be equal. A program may not (T13), so
/// the inputs are declared anew with what is known then.
class DimNames {
 public:
  /// The extent of a name; what it has to be, where that is known.
  Dim get(const std::string& name);
  /// Learns that two extents are equal: what one of the names in them has to be, or, where no whole
  /// number follows, that they are `?`. False if they cannot be equal.
  bool learn(Dim a, Dim b);
  /// A difference of products without the names that all of them have, where that settles another
  /// one: a view of (steps, batch, 64) as (steps, 1, 64) is one of a single batch. Only for what
  /// every run needs: a branch may be there for tensors without elements, which need nothing.
  Dim without_common_names(Dim difference) const;
  /// True if all names of the term are of the model's: others stand for extents that a run decides.
  bool declares(Dim term) const;
  const std::unordered_map<std::string, TypeVarRef>& names() const { return names_; }

 private:
  std::unordered_map<std::string, TypeVarRef> names_;
  std::unordered_set<const TypeVar*> declared_;
  std::unordered_map<const TypeVar*, Dim> known_;
};

/// Thrown where a node demands something of named extents: `DimNames` has learnt it, and the model
/// is to be converted again.
struct ExtentsLearnt {};

/// The type that both types have in common: extents that differ are `?`. Nothing if no tensor is
/// both.
std::optional<TypeRef> joined(const TypeRef& a, const TypeRef& b);

/// The most nodes of loops' bodies, and behind forks, that are converted, counted each time.
inline constexpr size_t kMostRepeated = 200000;

/// The name, or with a number behind it, so that no other value of `taken` has it.
std::string unique_name(std::unordered_map<std::string, size_t>& taken, std::string name);

class Importer {
 public:
  Importer(const CheckedModel& model, const OnnxOptions& options, DimNames& names);

  /// Converts the whole; once. Throws `ExtentsLearnt` too.
  OnnxModel run();

  [[noreturn]] void fail(const Node& node, const std::string& message) const;
  /// Once for each node, however often it is converted.
  void warn(const Node& node, const std::string& message);

  // The functions that NodeContext offers, documented there. Every value that a converter makes
  // comes from these (or is made of known elements), so that loops know what is from outside of
  // them.
  const Attribute* attribute(const Scope& scope, const Node& node, std::string_view name) const;
  // `stated`: what the type of the result is known to be, in place of what the relation says.
  GraphValue emit(Scope& scope, const Node& node, std::string_view op,
                  const std::vector<GraphValue>& args, const AttrList& attrs, TypeRef stated = {});
  // Throws `ExtentsLearnt` where a name has to be something else than it is declared as.
  void demand(const Node& node, Dim a, Dim b, const std::string& message) const;
  /// A value that was made here and now. Extents that are `?` in its type get names, so that
  /// arithmetic on them folds as on those of the model's inputs. `shown`: the type of the
  /// expression in the program, where that is not `published(type)`.
  GraphValue made(ExprRef expr, TypeRef type, TypeRef shown = {});
  GraphValue tuple(const std::vector<GraphValue>& fields);
  GraphValue field(const GraphValue& tuple, size_t k);
  GraphValue constant(NDArray array);
  /// A graph converted in the region of `outer`.
  Outcome convert_graph(const Scope& outer, const Node& node, const Graph& graph,
                        const std::vector<GraphValue>& inputs);
  std::vector<GraphValue> inline_graph(Scope& outer, const Node& node, const Graph& graph,
                                       const std::vector<GraphValue>& inputs);

  // Forks (fork.h).
  using WayFn = std::function<Outcome(Scope& inner)>;
  /// True if perhaps no run gets to the node that is converted.
  bool in_way() const { return ways_ > 0; }
  /// True if every run of the model gets to the node that is converted.
  bool in_every_run() const { return branches_ == 0 && loops_.empty(); }
  /// Converts one way in a region of its own. What is refused there is kept in the way.
  void attempt(Way& way, const Scope& outer, const GraphValue& condition, bool holds,
               const WayFn& convert);
  /// The results of both ways under types that hold both; nothing where there are none. Of a
  /// refused way the result is a failure of the run. An error if both are refused.
  std::optional<std::vector<GraphValue>> settle(Fork& fork);
  /// Why a fork cannot be settled: "output 0 is … in one branch and … in the other".
  std::string disagreement(const Fork& fork) const;
  /// A condition that is a term: its value where a way around the scope settles it.
  Dim settled(const Scope& scope, Dim condition) const;
  /// The type that the model states for a value of the scope's graph; null where it states none.
  const TypeInfo* stated_type(const Scope& scope, std::string_view name);

  /// The expression of a tensor or tuple. Of known elements it is made now, once.
  ExprRef expr(const GraphValue& value);
  /// An extent as an int64 of rank 0; a term with `?` has none, which is a defect of the caller.
  ExprRef extent(Dim dim);
  /// True if the program computes in float32 what the model declares as float16
  /// (inputs.cpp).
  bool widens_halves() const { return widens_halves_; }
  /// A value of float16 in the dtype that the program computes in; others as they are.
  GraphValue widened_half(GraphValue value);
  NDArray widened_half(NDArray array) const;
  /// True if dequantised tensors stand for floats alone.
  bool fake_quantization() const { return options_.fake_quantization; }
  /// The tensors of ONNX's form as arrays.
  Tensors& tensors() { return tensors_; }
  /// A dimension name that no other has, for a value whose extents a run decides.
  Dim fresh_dim(std::string_view base);
  /// A loop whose body is converted: what it takes from outside of it is bound in `block` before
  /// it, or each round would compute it again (E2).
  struct Loop {
    Block* block;
    std::unordered_map<const void*, VarRef> taken;
  };
  void enter_loop(Loop& loop) { loops_.push_back(&loop); }
  void leave_loop() { loops_.pop_back(); }
  /// Counts a conversion of so many nodes that may be converted again: nested ones multiply, so
  /// there is a limit to all of them.
  void count_repeated(const Node& node, size_t nodes);
  /// Says where a run finds the extents of a parameter that the program gets: of a function's, a
  /// loop's. Extents that are names and have no place yet get one.
  void declare_dims(const VarRef& param);
  /// A variable of the program with a name that no other has.
  VarRef fresh_var(std::string_view base, TypeRef type);
  /// The place of the node that is converted.
  Span span() const { return span_; }
  /// The type as the program will have it: what depends on elements of arguments, or on an extent
  /// that only a run decides, is `?`.
  TypeRef published(const TypeRef& type) const;
  /// The value seen from outside of the loop that it was made in: extents that only a round
  /// decides are `?`.
  GraphValue outward(const GraphValue& value) const;
  /// A parameter of a loop's function as a value; its extents that are `?` get names.
  GraphValue parameter(const VarRef& param, const TypeRef& type);

 private:
  using NodeOrder = std::span<const Node* const>;
  using ValueNames = std::span<const std::string_view>;
  Outcome convert_nodes(Scope& scope, NodeOrder nodes, ValueNames outputs);
  // The fork that the node leads to, if it has no values that could be put into the scope.
  std::unique_ptr<Fork> convert_node(Scope& scope, const Node& node);
  void bind_outputs(Scope& scope, const Node& node, const std::vector<GraphValue>& results) const;
  Outcome go_on(Scope& scope, std::unique_ptr<Fork> fork, NodeOrder rest, ValueNames outputs);
  // Among ways whose outputs have no one type, refuses those that the model's declared outputs
  // exclude, and those that are not the usual ones.
  void refuse_undeclared(Fork& fork, const Graph& graph) const;
  void refuse_unusual(Fork& fork, const Graph& graph) const;
  std::vector<ExprRef> failure(const Way& way, const std::vector<TypeRef>& types);
  std::vector<GraphValue> call_converter(Scope& scope, const Node& node,
                                         const OnnxConverter& converter);
  Outcome call_function(Scope& scope, const Node& node, const LocalFunction& function);
  void add_initializers(Scope& scope, const Graph& graph, bool main);
  // `type`: the number of its element type.
  void add_initializer(Scope& scope, std::string_view name, NDArray array, int64_t type, bool main);
  GraphValue add_input(Scope& scope, const ValueInfo& info);
  // True if the input has strings, which the program takes as bytes.
  bool is_text(std::string_view name, const TypeInfo& type) const;
  [[noreturn]] void refuse_input(std::string_view name, const std::string& reason) const;
  TypeRef input_type(std::string_view name, const TypeInfo& type);
  // Notes that -1 or 0 for an extent is read as any extent.
  void note_any(std::string_view input, size_t axis, int64_t extent);
  TypeRef sequence_type(std::string_view name, const TypeInfo& type);
  Dim named_dim(std::string_view name);
  TypeRef call_type(const Operator* op, const std::vector<TypeRef>& types,
                    const std::vector<ExprRef>& exprs, const AttrsRef& attrs) const;
  // An output that is strings as bytes, with a warning.
  GraphValue written_text(Scope& scope, std::string_view output, const GraphValue& value);
  // An output of the model: of float16 where it declares that.
  ExprRef output_expr(const ValueInfo& output, const GraphValue& value);
  // The value with a name for each extent of its type that is `?`.
  void name_extents(GraphValue& value);
  bool decided_by_run(Dim dim, size_t level = 0) const;
  ExprRef element_expr(Dim dim, DType dtype);
  ExprRef own_expr(const GraphValue& value);
  size_t level_of(const GraphValue& value) const;
  ExprRef call(std::string_view op, std::initializer_list<ExprRef> args, AttrList attrs = {});

  const CheckedModel& model_;
  const OnnxOptions& options_;
  DimNames& names_;
  bool widens_halves_;
  Tensors tensors_;
  Span span_;  // of the node that is converted
  std::vector<VarRef> inputs_;
  std::vector<std::pair<VarRef, NDArray>> initializers_;
  std::vector<Diagnostic> warnings_;
  std::unordered_map<std::string_view, Dim> named_dims_;
  struct DimPlace {
    GraphValue value;
    size_t axis;
    size_t level;  // as of values
  };
  std::unordered_map<const TypeVar*, DimPlace> dim_places_;
  /// The names of extents that only a run decides. The program does not have them.
  std::unordered_set<const TypeVar*> run_dims_;
  std::vector<TypeVarRef> run_dim_names_;  // owns them
  std::vector<Loop*> loops_;
  std::vector<GraphValue> taken_;  // kept, so that their addresses stay theirs
  std::unordered_map<std::string, size_t> dim_names_;
  std::unordered_map<std::string, size_t> var_names_;
  std::unordered_map<Dim, ExprRef> extents_;
  size_t repeated_ = 0;  // nodes of loops' bodies and of ways, each time they were converted
  size_t branches_ = 0;  // around the node that is converted, whatever their conditions
  size_t ways_ = 0;      // ways around the node that is converted that perhaps no run takes
  mutable std::optional<std::pair<Dim, Dim>> demanded_;  // what the error on its way is about
  std::unordered_map<const Graph*, std::unordered_map<std::string_view, const TypeInfo*>> stated_;
};

}  // namespace relay::onnx
