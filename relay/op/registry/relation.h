// Type relations: named predicates whose inputs determine their output (language.md T2, T3).
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <relay/ir/attrs.h>
#include <relay/ir/type.h>
#include <relay/runtime/ndarray.h>
#include <relay/tensor_expr/computation.h>

namespace relay {

/// The services of inference for a relation with unknowns.
class DimSolver {
 public:
  virtual ~DimSolver() = default;
  /// Makes two dimensions equal; false if they cannot be.
  virtual bool unify(Dim a, Dim b) = 0;
  /// Receives two dimensions without variables whose equality is known only at run time.
  virtual void check(Dim a, Dim b, const std::string& message) { (void)a, (void)b, (void)message; }
  /// Receives a term that cannot be computed for some sizes, with the message for that case;
  /// perhaps only for a division by zero.
  virtual void may_fail(Dim term, const std::string& message, bool division) {
    (void)term, (void)message, (void)division;
  }
};

/// One use of a relation: the input types, attributes and known values. An `Error` that it throws
/// gets the call's span and the operator's name.
class RelationCall {
 public:
  RelationCall(std::span<const TypeRef> inputs, const AttrsRef& attrs, DimSolver* solver = nullptr,
               std::function<std::optional<NDArray>(size_t)> values = {})
      : inputs_(inputs), attrs_(attrs), solver_(solver), values_(std::move(values)) {}

  size_t num_inputs() const { return inputs_.size(); }
  const TypeRef& input(size_t i) const {
    // A program may name the relation of an operator for a function of fewer parameters.
    if (i >= inputs_.size()) fail("argument " + std::to_string(i + 1) + " is missing");
    return inputs_[i];
  }
  template <class T>
  const T& attrs() const {
    return attrs_->as<T>();
  }
  const AttrsRef& attrs_ref() const { return attrs_; }
  /// The same use with other attributes, which must outlive it: for relations of operators that
  /// stand for others.
  RelationCall with(const AttrsRef& attrs) const { return {inputs_, attrs, solver_, values_}; }
  /// The same call without the inputs from `count` on.
  RelationCall first_inputs(size_t count) const {
    return RelationCall(inputs_.first(std::min(count, inputs_.size())), attrs_, solver_, values_);
  }

  /// Input i as a tensor; an error if it is something else.
  te::TensorInfo tensor(size_t i) const;
  /// Input i as a tuple of tensors; an error if it is something else.
  std::vector<te::TensorInfo> tensors(size_t i) const;

  /// The value of input i if it is known now: a constant during inference, any value at run time.
  std::optional<NDArray> value(size_t i) const;
  /// Element k (flat) of integer input i as a dimension: an integer if the value is known, else a
  /// term that is read at run time.
  Dim value_dim(size_t i, size_t k) const;

  /// Requires two dimensions to be equal. Decides now if both are known, solves for inference
  /// variables, and otherwise leaves a check to run time. `?` is consistent with everything. If
  /// they differ, fails with `message`.
  void require_equal(Dim a, Dim b, const std::string& message) const;
  /// Requires a ≤ b, `a` to be a multiple of `divisor`, or an extent to broadcast to another:
  /// decided now if the numbers are known, else checked at run time.
  void require_at_most(Dim a, Dim b, const std::string& message) const;
  void require_multiple(Dim a, Dim divisor, const std::string& message) const;
  void require_broadcasts(std::span<const Dim> from, std::span<const Dim> to,
                          const std::string& message) const;
  /// Requires an element for a fold that has to choose one: no `folded` extent is 0, unless one of
  /// the result's is.
  void require_some(std::span<const Dim> folded, std::span<const Dim> result,
                    const std::string& message) const;
  /// Sets the message for a run that cannot compute the term, or only for one that would divide by
  /// zero.
  void explain(Dim term, const std::string& message, bool division = false) const;
  void require(bool condition, const std::string& message) const {
    if (!condition) fail(message);
  }
  [[noreturn]] void fail(const std::string& message) const;

 private:
  /// Leaves a = b to the run, unless it has unknowns that are no terms.
  void leave_check(Dim a, Dim b, const std::string& message) const;

  std::span<const TypeRef> inputs_;
  const AttrsRef& attrs_;
  DimSolver* solver_;
  std::function<std::optional<NDArray>(size_t)> values_;
};

/// A relation. `infer` runs when every input's structure is known: tuples down to their fields,
/// tensors with known rank and dtype (dimensions may still be variables, symbols or `?`). It
/// returns the output type, or null if it must wait for dimensions to be solved.
struct Relation {
  /// Relations that improve before their inputs are known (T3) are of a known form.
  enum class Form : uint8_t {
    kGeneral,    // waits for its inputs
    kIdentity,   // output = input 0, all inputs equal types: unify at once
    kBroadcast,  // elementwise broadcast, all of one dtype, the result too
    kCompare,    // elementwise broadcast, inputs of one dtype, the result bool
    kDType       // about one dtype alone: no output
  };
  using Infer = std::function<TypeRef(const RelationCall& call)>;
  /// Improvement of an input of unknown structure (T3): the type that input i has in every
  /// solution, given the known inputs; null if that is open. Unknown inputs, i among them, are null
  /// in `call`.
  using Expect = std::function<TypeRef(const RelationCall& call, size_t i)>;

  Name name;
  Form form = Form::kGeneral;
  Infer infer = nullptr;
  std::string doc;
  Expect expect = nullptr;
  /// The attributes that programs may give in braces; null for a relation of an operator, which has
  /// its attributes, and for relations without any.
  const AttrsSchema* attrs = nullptr;
};

/// The relation with a name, or null. `where R` in programs refers to these names.
const Relation* find_relation(const Name& name);
/// Registers under `relation.name`; the object lives for ever. Throws `Error` if the name is taken.
const Relation* register_relation(Relation relation);
std::vector<std::string> relation_names();
/// Removes a relation from the registry; types that name it stay valid.
void unregister_relation(const Name& name);

// Relations that many operators use, in relay/op/registry/relations.cpp.
const Relation* identity_relation();   // "Identity": one tensor in, the same type out
const Relation* broadcast_relation();  // "Broadcast"
const Relation* compare_relation();    // "BroadcastComp"

/// For `Relation::Expect`: the type of a vector with input 0's dtype along one of its axes; null if
/// input 0 is not known.
TypeRef expect_vector(const RelationCall& call, int64_t axis);

/// numpy broadcasting of two shapes; nothing if they do not fit.
std::optional<std::vector<Dim>> broadcast_shapes(std::span<const Dim> a, std::span<const Dim> b);
/// "(2, 3)".
std::string shape_str(std::span<const Dim> dims);
/// `axis` in [-rank, rank) made non-negative; otherwise fails and names the attribute.
int64_t normalize_axis(const RelationCall& call, int64_t axis, size_t rank,
                       std::string_view what = "axis");
/// An axis that the relation has accepted, as a position.
inline size_t axis_position(int64_t axis, size_t rank) {
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

}  // namespace relay
