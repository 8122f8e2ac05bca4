// Operators: one declaration defines each (design.md, "One place for each thing").
#pragma once

#include <forward_list>
#include <functional>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include <relay/ir/expr.h>
#include <relay/op/registry/relation.h>
#include <relay/op/registry/signature.h>
#include <relay/tensor_expr/builder.h>

namespace relay {

/// One call of an operator with its types known: the argument of definitions.
class OpCall {
 public:
  /// Attributes that are not given are the defaults.
  OpCall(const Operator* op, AttrsRef attrs, std::vector<TypeRef> inputs, TypeRef output);

  const Operator* op() const { return op_; }
  template <class T>
  const T& attrs() const {
    return attrs_->as<T>();
  }
  const AttrsRef& attrs_ref() const { return attrs_; }
  size_t num_inputs() const { return inputs_.size(); }
  const TypeRef& input(size_t i) const { return inputs_[i]; }
  const TypeRef& output() const { return output_; }
  /// Input i, or output k (of a tuple result), as a tensor.
  te::TensorInfo tensor(size_t i) const;
  te::TensorInfo result(size_t k = 0) const;
  /// Number of tensors in the result.
  size_t num_results() const;

 private:
  const Operator* op_;
  AttrsRef attrs_;
  std::vector<TypeRef> inputs_;
  TypeRef output_;
};

/// Defines the computation. Tuples among the inputs of a call are flattened for `compute` and
/// library kernels: builder input k is the k-th tensor, left to right.
using ComputeFn = std::function<void(const OpCall& call, te::Builder& b)>;
/// Returns Relay over other operators, in terms of the argument expressions.
using ExpandFn = std::function<ExprRef(const OpCall& call, std::span<const ExprRef> args)>;
struct GradientCall;
/// Returns the gradients of a call's inputs in terms of other operators, see
/// relay/op/registry/gradient.h.
using GradientFn = std::function<std::vector<ExprRef>(const GradientCall& call)>;
enum class DefinitionKind : uint8_t { kNone, kCompute, kExpand, kIntrinsic };

struct OpInput {
  Name name;
  std::string doc;
  ValueSpec spec;
};

struct OpOutput {
  Name name;
  std::string doc;
  ValueSpec spec;
};

/// A program that shows an operator at work: a function and its arguments in the form of the
/// command line.
struct OpExample {
  std::string program;
  std::vector<std::string> arguments;
};

/// A primitive operator. Created by RELAY_OP, lives for ever, compared by pointer.
class Operator {
 public:
  const Name& name() const { return name_; }
  const std::string& doc() const { return doc_; }
  const std::vector<OpInput>& inputs() const { return inputs_; }
  size_t num_inputs() const { return inputs_.size(); }
  /// The result, or the fields of a result tuple. Empty if the declaration does not describe it.
  const std::vector<OpOutput>& outputs() const { return outputs_; }
  /// The attributes type, or null for none.
  const AttrsSchema* attrs_schema() const { return schema_; }
  const Relation* relation() const { return relation_; }
  DefinitionKind definition() const { return definition_; }
  const ComputeFn& compute() const { return compute_; }
  const ExpandFn& expand() const { return expand_; }
  const std::vector<OpExample>& examples() const { return examples_; }
  /// The reason why no results of other libraries are recorded for it; empty if there are some.
  const std::string& no_data() const { return no_data_; }
  /// TVM's support level (1 basic … 11 quantised).
  int level() const { return level_; }
  /// True if a call may be dropped, duplicated, moved and folded. Calls of other operators are
  /// effects (E3); failures do not count (E5).
  bool pure() const { return pure_; }

 private:
  friend class OpBuilder;
  Name name_;
  std::string doc_;
  std::vector<OpInput> inputs_;
  std::vector<OpOutput> outputs_;
  const AttrsSchema* schema_ = nullptr;
  const Relation* relation_ = nullptr;
  DefinitionKind definition_ = DefinitionKind::kNone;
  ComputeFn compute_;
  ExpandFn expand_;
  int level_ = 10;
  bool pure_ = true;
  std::vector<OpExample> examples_;
  std::string no_data_;
};

/// A column of facts about operators: typed, keyed by operator, open to everyone. An entry of a
/// higher level replaces one of a lower level; an equal level is an error. Threads may read and set
/// it at the same time; a value that `find` returned stays as it is, replaced or not.
template <class T>
class OpColumn {
 public:
  explicit OpColumn(Name name) : name_(name) {}
  void set(const Operator* op, T value, int level = 10) {
    std::unique_lock lock(mutex_);
    auto [entry, added] = entries_.try_emplace(op, level, nullptr);
    auto& [present, held] = entry->second;
    if (!added && present == level) {
      throw Error("operator " + op->name().str() + " already has an entry of level " +
                  std::to_string(level) + " in column " + name_.str());
    }
    if (!added && present > level) return;
    held = &values_.emplace_front(std::move(value));
    present = level;
  }
  const T* find(const Operator* op) const {
    std::shared_lock lock(mutex_);
    auto entry = entries_.find(op);
    return entry == entries_.end() ? nullptr : entry->second.second;
  }

 private:
  Name name_;
  mutable std::shared_mutex mutex_;
  std::forward_list<T> values_;  // never moved
  std::unordered_map<const Operator*, std::pair<int, const T*>> entries_;
};

/// Fluent declaration; see RELAY_OP.
class OpBuilder {
 public:
  OpBuilder(Operator* op, Name name);
  OpBuilder& doc(std::string text);
  /// The next input: its name, its purpose, and the values that it may have (signature.h).
  OpBuilder& input(Name name, std::string doc, ValueSpec spec = {});
  /// The result, or the next field of the result tuple. If inputs share its dtype variable, the
  /// result has its dtype before shapes are known.
  OpBuilder& output(Name name, std::string doc, ValueSpec spec);
  template <class T>
  OpBuilder& attrs() {
    register_attrs_schema(attrs_schema<T>());
    op_->schema_ = &attrs_schema<T>();
    return *this;
  }
  /// The attributes of another operator; null for none.
  OpBuilder& attrs(const AttrsSchema* schema) {
    op_->schema_ = schema;
    return *this;
  }
  /// A shared relation.
  OpBuilder& relation(const Relation* relation);
  /// A relation of this operator alone, registered under the operator's name.
  OpBuilder& relation(Relation::Infer infer, Relation::Expect expect = nullptr);
  OpBuilder& compute(ComputeFn compute);
  OpBuilder& expand(ExpandFn expand);
  /// A library kernel of the runtime as the whole definition: all inputs in, all results out;
  /// `params(call)` gives its parameters. Extents of results that only a run of the kernel knows
  /// are `?` in the relation's result.
  OpBuilder& kernel(std::string name, std::function<KernelParams(const OpCall& call)> params);
  OpBuilder& intrinsic();
  /// The gradient as a rule, if that is better than the derivation from the definition; or the
  /// reason why there is none.
  OpBuilder& gradient(GradientFn rule);
  OpBuilder& no_gradient(std::string why);
  OpBuilder& level(int level);
  OpBuilder& impure();
  /// A function and arguments for it, which a test runs and documents show with the result:
  /// `.example("fn (%x: Tensor[(3), float32]) { exp(%x) }", "[0, 1, 2]")`.
  template <class... Arguments>
  OpBuilder& example(std::string program, Arguments... arguments) {
    op_->examples_.push_back({std::move(program), {std::string(arguments)...}});
    return *this;
  }
  /// Gives the reason why no results of other libraries are recorded to test against.
  OpBuilder& no_data(std::string why);
  /// An entry of a column; those of relay/op are in columns.h.
  template <class T>
  OpBuilder& column(OpColumn<T>& column, std::type_identity_t<T> value) {
    column.set(op_, std::move(value));
    return *this;
  }

 private:
  Operator* op_;
};

/// The operator with a name, or null. It also finds common other spellings (`mul`, `sub`, `div`)
/// and derived operators: the gradient `grad.NAME` of each operator (relay/op/registry/gradient.h).
const Operator* find_op(const Name& name);
/// The operator with a name; InternalError if there is none.
const Operator* get_op(std::string_view name);
/// All declared operators, by name.
std::vector<const Operator*> all_ops();
/// Those whose calls have an effect.
std::vector<const Operator*> impure_ops();
/// Declares an operator. Throws `Error` for a name that is taken.
OpBuilder& declare_op(std::string_view name);
/// Removes an operator and its own relation from the registry: those of a plug-in that is unloaded,
/// or of a test. Programs that hold it stay valid.
void remove_op(const Name& name);

/// The tensors in types, tuples flattened: the inputs of a call as a computation sees them.
std::vector<te::TensorInfo> tensors_in(std::span<const TypeRef> types);

/// A call: `call_op("add", {x, y})`, attributes optional. For expansions and passes. Checks the
/// known parts of the arguments' types against the operator's signature. Throws `Error`.
ExprRef call_op(std::string_view name, std::span<const ExprRef> args, AttrsRef attrs = {},
                Span span = {});
inline ExprRef call_op(std::string_view name, std::initializer_list<ExprRef> args,
                       AttrsRef attrs = {}, Span span = {}) {
  return call_op(name, std::span<const ExprRef>(args.begin(), args.size()), std::move(attrs), span);
}

/// Builds the verified computation of a call to an operator defined by `compute` or `kernel`.
/// Dimensions in the types may be symbolic.
te::Computation build_computation(const OpCall& call);

/// Checks the operator's signature and runs its relation on types, and on the known values. Null if
/// it has to wait.
TypeRef infer_call_type(const Operator* op, std::span<const TypeRef> inputs, const AttrsRef& attrs,
                        DimSolver* solver = nullptr,
                        std::function<std::optional<NDArray>(size_t)> values = {});

/// True if only a run knows that the operator accepts such inputs. Ranks and dtypes must be known.
bool leaves_checks(const Operator* op, std::span<const TypeRef> inputs, const AttrsRef& attrs);

}  // namespace relay

#define RELAY_OP_CONCAT2(a, b) a##b
#define RELAY_OP_CONCAT(a, b) RELAY_OP_CONCAT2(a, b)
/// Declares an operator at namespace scope of a source file of relay/op.
#define RELAY_OP(name)                                                                  \
  [[maybe_unused]] static ::relay::OpBuilder& RELAY_OP_CONCAT(relay_op_, __COUNTER__) = \
      ::relay::declare_op(name)
