// Relations that must hold, and their consequences before all types are known (T2, T3).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <relay/infer/solve/solver.h>
#include <relay/ir/expr.h>
#include <relay/op/op.h>
#include <relay/support/diagnostic.h>

namespace relay::inference {

/// One relation between types. The last of `args` is the output, except for relations on a dtype
/// alone (Num, Float), which have none.
struct Constraint {
  enum class State : uint8_t { kPending, kSolved, kFailed };
  const Relation* relation = nullptr;
  const Operator* op = nullptr;  // null for a relation that a program names
  AttrsRef attrs;
  std::vector<TypeRef> args;
  const Call* call = nullptr;        // its constant arguments are values that the relation may read
  int32_t input = -1;                // of a dtype class: the input that needs it
  const Call* site = nullptr;        // the call of the function whose scheme it came with
  const GlobalVar* value = nullptr;  // that function, if it is used as a value instead
  Span span;                         // where it must hold
  Span defined;  // where it was written, if it came with the scheme of a function
  State state = State::kPending;
  bool check_only = false;  // belongs to a scheme: only checked here (T6)
  bool instance = false;    // came with a scheme
};

/// Num(d), Float(d): the demands of literals (T4).
const Relation* num_relation();
const Relation* float_relation();
const Relation* numeric_relation(Numeric numeric);
/// Num{wide=True}: a literal of the dtype needs 64 bits (T8).
AttrsRef numeric_attrs(bool wide);
bool is_wide(const AttrsRef& attrs);
/// DType{of="float"}(d): the demand of an operator's signature on a dtype. It decides nothing,
/// unlike Float(d). For a declared type it demands a tensor of such a dtype.
const Relation* dtype_relation();
AttrsRef dtype_attrs(DTypes dtypes);
/// True if a constraint is a demand on a dtype that only floating-point dtypes meet.
bool is_float_demand(const RelationType& demand);
/// True if a relation is about a dtype alone and has no output.
inline bool is_dtype_relation(const Relation* relation) {
  return relation->form == Relation::Form::kDType;
}
/// The operator whose own relation it is, or null. If a program names the relation, or a scheme
/// holds it, the operator's signature comes with it.
const Operator* operator_of(const Relation* relation);
/// Projection{index}(tuple, field), for a tuple whose width is not known yet.
const Relation* projection_relation();
AttrsRef projection_attrs(uint32_t index);

/// The value of argument i of a call if it is a constant.
using ValueOf = std::function<std::optional<NDArray>(const Call* call, size_t i)>;

/// The pending constraints of one inference.
class Constraints {
 public:
  Constraints(Solver& solver, DiagnosticSink& sink) : solver_(solver), sink_(sink) {}

  enum class Outcome : uint8_t { kSolved, kWait, kFailed };
  /// Tries to solve; fills in a null output. Reports errors.
  Outcome attempt(Constraint& constraint);
  /// The same if all inputs are closed types: the relation is a function then.
  Outcome attempt_closed(Constraint& constraint) { return solve_general(constraint); }
  /// Keeps a constraint until its variables are solved.
  ConstraintId wait(Constraint constraint);
  /// Tries a constraint, and keeps it if it has to wait.
  void require(Constraint constraint);
  /// Runs woken constraints to a fixed point.
  void propagate();

  Constraint& operator[](ConstraintId id) { return all_[id]; }
  size_t size() const { return all_.size(); }
  void set_values(ValueOf values) { values_ = std::move(values); }
  /// The pending constraints among those added since `mark`.
  std::vector<ConstraintId> pending_since(size_t mark) const;
  /// Calls of functions whose schemes cannot hold, each with the place of its error in the sink.
  struct FailedCall {
    const Call* call;  // null if the function is used as a value
    size_t diagnostic;
    const Relation* relation;  // that does not hold; null if an argument does not fit
    const Expr* callee;
    Span place;  // of the call, or of the use as a value
    Span met;    // what was looked at as it failed
  };
  /// Notes that the last error is about an argument of a call.
  void note_failed_call(const Call* call) {
    failed_calls_.push_back(
        {call, sink_.diagnostics().size() - 1, nullptr, call->callee().get(), call->span(), {}});
  }
  const std::vector<FailedCall>& failed_calls() const { return failed_calls_; }

 private:
  Outcome solve(Constraint& constraint);
  bool has_failed(const Constraint& c);
  void report(const Constraint& c, Diagnostic diagnostic);
  Outcome solve_elementwise(Constraint& c, bool compare);
  Outcome solve_shapes(Constraint& c, std::vector<TypeRef> shapes);
  Outcome broadcast_dims(Constraint& c, std::span<const TypeRef> shapes);
  Outcome solve_identity(Constraint& c);
  Outcome solve_general(Constraint& c);
  bool expect_inputs(Constraint& c, std::vector<TypeRef>& inputs);
  bool apply_signature(Constraint& c);
  bool apply_spec(Constraint& c, int32_t input, const ValueSpec& spec, TypeRef type);
  bool require_dtypes(const Constraint& c, int32_t input, DTypes dtypes, const TypeRef& type);
  Outcome solve_dtype(Constraint& c);
  Outcome solve_numeric(Constraint& c, Numeric numeric);
  Outcome solve_projection(Constraint& c);
  Outcome set_output_shape(Constraint& c, const TypeRef& shape);
  Outcome fail(const Constraint& c, std::string message,
               const std::vector<DiagnosticNote>& notes = {});
  Outcome fail(const Constraint& c, const Error& error);
  void note_roles(const Constraint& c, Diagnostic& diagnostic);
  void note_origins(const Constraint& c, Diagnostic& diagnostic);
  Outcome no_tensor(const Constraint& c, const TypeRef& found);
  Outcome shapes_differ(const Constraint& c, std::span<const TypeRef> shapes);

  Solver& solver_;
  DiagnosticSink& sink_;
  ValueOf values_;
  std::vector<Constraint> all_;
  std::vector<std::pair<char, TypeRef>> shared_;  // dtypes of the variables of one signature
  std::unordered_set<uint64_t> demanded_;         // classes that wait, by variable
  std::vector<FailedCall> failed_calls_;
  std::string_view rule_ = "T2";  // that the next error is about
};

}  // namespace relay::inference
